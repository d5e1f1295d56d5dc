/* Training in memory: contents of a step, bit-identical resuming, and non-finite steps. */
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/base/text.h"
#include "src/math/vector.h"
#include "tests/scratch.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "train/loop/settings.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *corpus_path;

/* A text of 60 lines in 20 words; another seed gives another text with the same words. */
static void write_corpus(uint64_t seed)
{
    char *text = NULL;
    for (size_t i = 0; i < 60; i++)
        for (size_t j = 0; j < 8; j++)
            text_append(&text, "w%zu%s",
                        i == 0 ? j
                               : (size_t)random_below(random_key(seed, RANDOM_TEST, i), j, 20),
                        j < 7 ? " " : "\n");
    scratch_write(corpus_path, text, strlen(text));
    free(text);
}

static void set_up(void)
{
    corpus_path = scratch_path("words.txt");
    write_corpus(1);
}

SUITE("training", .folder = true, .set_up = set_up);

/* Small, with everything that could break resuming: dropout, gradient accumulation, epochs that
 * end within the few steps. */
static const char recipe[] =
    "layers = 2\ndim = 8\nheads = 2\ncontext = 8\nbatch = 4\n"
    "accumulate = 2\ninput-dropout = 0.2\ndropout = 0.2\nwarmup = 3\nlr = 0.01\n"
    "epochs = 1\nlog-every = 1\n";

/* Reads the settings as train does; the corpus is the one above. */
static void settle(Trainer *trainer, size_t kind, const char *more)
{
    *trainer = (Trainer){0};
    char *text = text_format("%sattn = %s\ncorpus = %s\n%s", recipe, attention_name(kind),
                             corpus_path, more);
    if (attention_find(kind)->has_weights)
        text_append(&text, "attn-dropout = 0.1\n");
    support_settle(&trainer->settings, text);
    free(text);
}

static double loss_of(Trainer *trainer, bool whole)
{
    return score_loss(trainer_validate(trainer, whole, NULL));
}

static void start(Trainer *trainer)
{
    Error error;
    ck_assert_msg(trainer_plan(trainer, NULL, &error), "%s", error.text);
    trainer_allocate(trainer);
    ck_assert_msg(trainer_start(trainer, &error), "%s", error.text);
}

static void begin(Trainer *trainer, size_t kind, const char *more)
{
    settle(trainer, kind, more);
    start(trainer);
}

/* A new trainer resumed from the file. */
static void resume(Trainer *trainer, size_t kind, const char *more, const char *path)
{
    Checkpoint checkpoint;
    Error error;
    settle(trainer, kind, more);
    ck_assert_msg(checkpoint_open(&checkpoint, path, &error), "%s", error.text);
    ck_assert_msg(trainer_plan(trainer, &checkpoint.vocabulary, &error), "%s", error.text);
    trainer_allocate(trainer);
    ck_assert_msg(trainer_load(trainer, &checkpoint, &error), "%s", error.text);
    checkpoint_close(&checkpoint);
}

static void go(Trainer *trainer, size_t steps)
{
    Step step;
    Error error;
    for (size_t i = 0; i < steps; i++)
        ck_assert_msg(trainer_step(trainer, &step, &error), "%s", error.text);
}

static void check_same(const Trainer *a, const Trainer *b)
{
    size_t bytes = a->model.table.total * sizeof(real);
    ck_assert_mem_eq(a->model.base, b->model.base, bytes);
    ck_assert_mem_eq(a->m, b->m, bytes);
    ck_assert_mem_eq(a->v, b->v, bytes);
    ck_assert_mem_eq(&a->progress, &b->progress, sizeof a->progress);
}

/* --- one step --- */

TEST(an_epoch_trains_on_every_token_once)
{
    for (size_t accumulate = 1; accumulate <= 5; accumulate++) {
        Trainer trainer;
        char *more = text_format("accumulate = %zu\nepochs = 2\n", accumulate);
        begin(&trainer, 0, more);
        size_t count = trainer.corpus.train.count;
        ck_assert_uint_eq(trainer.batches_per_epoch, (count + 31) / 32);
        ck_assert_uint_eq(trainer.steps, 2 * trainer.steps_per_epoch);
        go(&trainer, trainer.steps_per_epoch);
        ck_assert_uint_eq(trainer.progress.tokens, count);
        ck_assert_uint_eq(trainer.progress.step, trainer.steps_per_epoch);
        go(&trainer, trainer.steps_per_epoch);
        ck_assert_uint_eq(trainer.progress.tokens, 2 * count);
        free(more);
        trainer_free(&trainer);
    }
}

TEST(two_half_batches_make_one_step)
{
    Trainer whole, halves;
#define NO_DROPOUT "input-dropout = 0\ndropout = 0\noutput-dropout = 0\n"
    settle(&whole, 0, NO_DROPOUT "layers = 1\nbatch = 4\naccumulate = 1\n");
    settle(&halves, 0, NO_DROPOUT "layers = 1\nbatch = 2\naccumulate = 2\n");
    whole.settings.model.attention_dropout = halves.settings.model.attention_dropout = 0;
    Step a, b;
    Error error;
    start(&whole);
    start(&halves);
    ck_assert(trainer_step(&whole, &a, &error) && trainer_step(&halves, &b, &error));
    ck_assert_uint_eq(a.tokens, b.tokens);
    ck_assert_double_eq_tol(a.nats, b.nats, 1e-5 * a.nats);
    ck_assert_double_eq_tol(a.gradient_norm, b.gradient_norm, 1e-4 * a.gradient_norm);
    trainer_free(&whole);
    trainer_free(&halves);
}

TEST(equal_settings_give_bit_identical_runs)
{
    Trainer a, b, other;
    begin(&a, 0, "");
    begin(&b, 0, "");
    begin(&other, 0, "seed = 2\n");
    go(&a, 4);
    go(&b, 2);
    double loss = loss_of(&b, false); /* reading does not change anything */
    ck_assert(loss > 0 && isfinite(loss));
    go(&b, 2);
    go(&other, 4);
    check_same(&a, &b);
    ck_assert_mem_ne(a.model.base, other.model.base, 100 * sizeof(real));
    ck_assert(loss_of(&a, false) == loss_of(&b, false));
    trainer_free(&a);
    trainer_free(&b);
    trainer_free(&other);
}

/* Every coordinate of AdamW's first step has the size of the learning rate, whatever the
 * gradient; weight decay applies to matrices only, to embeddings by --embedding-decay. */
TEST(the_first_adamw_step_has_the_length_of_the_learning_rate)
{
    const double rate = 0.01 / 3, decay = 0.5; /* the first of three warmup steps */
    Trainer trainer;
    begin(&trainer, 0,
          "optimizer = adamw\nzero-init = no\nweight-decay = 0.5\nembedding-decay = 0.2\n"
          "clip = 0\n");
    size_t total = trainer.model.table.total;
    real *before = memory_new(total, sizeof *before, "a test");
    memcpy(before, trainer.model.base, total * sizeof *before);
    go(&trainer, 1);
    for (size_t r = 0; r < trainer.model.table.count; r++) {
        const ParamRow *row = &trainer.model.table.rows[r];
        double longest = 0;
        for (size_t i = row->offset; i < row->offset + row->count; i++) {
            double share = row->is_embedding ? 0.2 : row->has_weight_decay ? 1 : 0;
            double start = (double)before[i] * (1 - rate * decay * share);
            double length = fabs((double)trainer.model.base[i] - start);
            longest = length > longest ? length : longest;
        }
        ck_assert_msg(fabs(longest - rate) < 1e-3 * rate, "%s moved by %g, not %g", row->name,
                      longest, rate);
    }
    free(before);
    trainer_free(&trainer);
}

/* --- resuming --- */

static real *weight(const Trainer *trainer, const char *name)
{
    return trainer->model.base + param_table_find(&trainer->model.table, name)->offset;
}

/* A new trainer. The word "unbearable", if the text has it, gives a non-finite gradient. */
static void begin_unbearable(Trainer *trainer, size_t kind, const char *more)
{
    begin(trainer, kind, more);
    int32_t id = vocabulary_find(&trainer->corpus.vocabulary, "unbearable");
    size_t width = trainer->model.config.dim;
    for (size_t i = 0; id != TOKEN_NONE && i < width;
         i++) /* infinite after dropout's scaling */
        weight(trainer, "wte.weight")[(size_t)id * width + i] = (real)(i % 2 ? 3e38 : -3e38);
}

static void go_skipping(Trainer *trainer, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        Step step;
        Error error;
        if (!trainer_step(trainer, &step, &error))
            trainer_skip(trainer);
    }
}

/* A run that is saved after `first` steps and resumed is bit-identical to one without a stop;
 * of each epoch it skips so many steps. */
static void check_resuming(size_t kind, const char *more, size_t first, size_t second,
                           size_t skipped)
{
    Trainer straight, before, after;
    Error error;
    char *path = scratch_path("last.safetensors"), *straight_path = scratch_path("straight");
    begin_unbearable(&straight, kind, more);
    go_skipping(&straight, first + second);
    size_t epochs = (first + second) / straight.steps_per_epoch;
    ck_assert_uint_ge(straight.progress.skipped, skipped * epochs);
    ck_assert_uint_le(straight.progress.skipped, skipped * (epochs + 1));
    begin_unbearable(&before, kind, more);
    go_skipping(&before, first);
    ck_assert_msg(trainer_save(&before, path, true, &error), "%s", error.text);
    trainer_free(&before);
    resume(&after, kind, more, path);
    ck_assert_uint_eq(after.progress.step, first);
    go_skipping(&after, second);
    check_same(&straight, &after);
    ck_assert(trainer_save(&straight, straight_path, true, &error));
    ck_assert(trainer_save(&after, path, true, &error));
    ck_assert(support_same_files(path, straight_path));
    trainer_free(&straight);
    trainer_free(&after);
}

/* Weight averages before and after they begin, another optimizer, and every regulariser. */
static const char everything[] =
    "epochs = 2\noptimizer = muon\naverage = tail\naverage-from = 0.5\n"
    "schedule = trapezoid\nword-dropout = 0.1\noutput-dropout = 0.2\n"
    "qk-norm = yes\nvalue-residual = yes\n"
    "zero-init = yes\nhead-bias = unigram\n";

/* Every kind with the plain recipe and with everything; the other settings in turn. */
TEST(a_resumed_run_is_bit_identical)
{
    static const struct {
        const char *more;
        size_t first, second;
    } turns[] = {
        {"epochs = 3\n", 1, 14}, /* across the ends of two epochs */
        {"epochs = 3\n", 7, 1},
        {"pos = auto\nnorm = post\nact = swiglu\ntied = no\n", 2, 2},
        {"clip = 0.01\nweight-decay = 0.5\nschedule = linear\n", 2, 2},
        {everything, 3, 3},
        {"epochs = 3\ncycles = 3\n", 15, 3}, /* averaging */
    };
    for (size_t kind = 0; attention_find(kind); kind++) {
        size_t turn = kind % COUNT(turns);
        check_resuming(kind, "", 3, 3, 0);
        check_resuming(kind, everything, 9, 3, 0);
        check_resuming(kind, turns[turn].more, turns[turn].first, turns[turn].second, 0);
    }
    check_resuming(0, "subwords = yes\nepochs = 3\ncycles = 3\n", 15, 3, 0);
}

TEST(a_resumed_run_restores_its_carried_state)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        if (attention_find(kind)->engine->carry != CARRY_WHOLLY)
            continue;
        const char *more = "epochs = 3\npos = none\ncarry-state = yes\n";
        check_resuming(kind, more, 3, 3, 0);
        check_resuming(kind, more, 1, 14, 0);
        check_resuming(kind, more, 7, 1, 0);
    }
}

/* Validation reads another text, with its own streams. */
TEST(validation_does_not_change_the_carried_state)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        if (attention_find(kind)->engine->carry != CARRY_WHOLLY)
            continue;
        Trainer a, b;
        const char *more = "epochs = 3\npos = sinusoidal\ncarry-state = yes\n";
        begin(&a, kind, more);
        begin(&b, kind, more);
        for (size_t i = 0; i < 9; i++) {
            go(&a, 1);
            go(&b, 1);
            ck_assert(loss_of(&b, false) == loss_of(&b, false));
        }
        check_same(&a, &b);
        trainer_free(&a);
        trainer_free(&b);
    }
}

/* The first loss of a model initialised with unigram frequencies is their entropy. */
TEST(a_unigram_start_has_the_unigram_loss)
{
    Trainer trainer;
    begin(&trainer, 0, "head-bias = unigram\n");
    const CorpusSplit *text = &trainer.corpus.train;
    size_t vocabulary = trainer.corpus.vocabulary.count;
    double *seen = memory_new(vocabulary, sizeof *seen, "a test"), entropy = 0;
    for (size_t i = 0; i < text->count; i++)
        seen[tokens_at(text->ids, i)]++;
    for (size_t i = 0; i < text->count; i++)
        entropy -= log(seen[tokens_at(text->ids, i)] / (double)text->count) /
                   (double)text->count;
    ck_assert_double_eq_tol(loss_of(&trainer, false), entropy, 0.1);
    free(seen);
    trainer_free(&trainer);
}

/* tail: the mean of all weights since averaging began. ema: the previous average keeps a weight
 * of one half, less in the first steps. Neither affects training. */
static void check_average(const char *kind, double (*kept)(double taken))
{
    enum { FROM = 8, STEPS = 20 };
    Trainer plain, averaging;
    char *more = text_format("steps = 20\naverage = %s\naverage-from = 0.4\n"
                             "average-decay = 0.5\n",
                             kind);
    begin(&plain, 0, "steps = 20\n");
    begin(&averaging, 0, more);
    free(more);
    size_t total = plain.model.table.total;
    double *expected = memory_new(total, sizeof *expected, "a test");
    for (size_t step = 0; step < STEPS; step++) {
        go(&plain, 1);
        go(&averaging, 1);
        loss_of(&averaging, false);
        double old = step < FROM ? 0 : kept((double)(step - FROM));
        for (size_t i = 0; i < total; i++)
            expected[i] = old * expected[i] + (1 - old) * (double)plain.model.base[i];
    }
    ck_assert_mem_eq(plain.model.base, averaging.model.base, total * sizeof(real));
    ck_assert_uint_eq(averaging.progress.averaged, STEPS - FROM);
    for (size_t i = 0; i < total; i++)
        ck_assert_double_eq_tol((double)averaging.average[i], expected[i], 1e-5);
    free(expected);
    trainer_free(&plain);
    trainer_free(&averaging);
}

static double kept_of_a_tail(double taken)
{
    return taken / (taken + 1);
}

static double kept_of_an_ema(double taken)
{
    return taken == 0 ? 0 : fmin(0.5, (1 + taken) / (10 + taken));
}

TEST(averages_agree_with_the_weights_averaged_by_hand)
{
    check_average("tail", kept_of_a_tail);
    check_average("ema", kept_of_an_ema);
}

/* Whether two trainers after these steps, one of which forgets its moments, then differ. */
static bool moments_matter(size_t steps, const char *more)
{
    Trainer kept, forgetful;
    begin(&kept, 0, more);
    begin(&forgetful, 0, more);
    go(&kept, steps);
    go(&forgetful, steps);
    vector_zero(forgetful.m, forgetful.model.table.total);
    vector_zero(forgetful.v, forgetful.model.table.total);
    go(&kept, 1);
    go(&forgetful, 1);
    size_t bytes = kept.model.table.total * sizeof(real);
    bool differ = memcmp(kept.model.base, forgetful.model.base, bytes) != 0;
    trainer_free(&kept);
    trainer_free(&forgetful);
    return differ;
}

TEST(the_optimizer_starts_anew_in_each_cycle)
{
    const char *more = "steps = 18\nwarmup = 0\ncycles = 3\n";
    for (size_t steps = 1; steps < 18; steps++)
        ck_assert(moments_matter(steps, more) == (steps < 12 || steps % 2 == 1));
    Trainer trainer;
    begin(&trainer, 0, more);
    go(&trainer, 12);
    real before = trainer.model.params.ln_f.bias[0];
    go(&trainer, 1); /* the first step of AdamW is as long as the learning rate */
    double moved = fabs((double)(trainer.model.params.ln_f.bias[0] - before));
    ck_assert_double_eq_tol(moved, trainer.settings.train.length.lr, 1e-5);
    trainer_free(&trainer);
}

/* Of 18 steps the first fall ends after the twelfth, and each of the others takes two. The
 * average is validated at the ends only. */
TEST(cycles_average_the_weights_at_the_ends_of_their_falls)
{
    enum { STEPS = 18, FIRST = 12, CYCLE = 2 };
    Trainer trainer;
    begin(&trainer, 0, "steps = 18\nwarmup = 0\ncycles = 3\n");
    size_t total = trainer.model.table.total, ends = 0;
    double *sum = memory_new(total, sizeof *sum, "a test");
    for (size_t step = 1; step <= STEPS; step++) {
        go(&trainer, 1);
        bool end = step >= FIRST && (step - FIRST) % CYCLE == 0;
        ck_assert(trainer_ends_cycle(&trainer, step) == end);
        ck_assert((trainer_average(&trainer) != NULL) == end);
        ends += end;
        ck_assert_uint_eq(trainer.progress.averaged, ends);
        for (size_t i = 0; end && i < total; i++) {
            sum[i] += (double)trainer.model.base[i];
            ck_assert_double_eq_tol((double)trainer.average[i], sum[i] / (double)ends, 1e-6);
        }
    }
    double loss = loss_of(&trainer, true);
    memcpy(trainer.model.base, trainer.average, total * sizeof(real));
    trainer.progress.averaged = 0;
    ck_assert(loss_of(&trainer, true) == loss);
    free(sum);
    trainer_free(&trainer);
}

TEST(progress_survives_to_the_bit)
{
    Trainer before, after;
    Error error;
    char *path = scratch_path("last.safetensors");
    begin(&before, 0, "");
    go(&before, 2);
    before.progress.best.loss = 1.0 / 3;
    before.progress.best.step = 1;
    before.progress.last.loss = (double)NAN;
    before.progress.last.step = 2;
    before.progress.stale = 5;
    before.progress.final.loss = 1.0 / 7;
    ck_assert_msg(trainer_save(&before, path, true, &error), "%s", error.text);
    resume(&after, 0, "", path);
    ck_assert(after.progress.best.loss == 1.0 / 3 && isnan(after.progress.last.loss));
    ck_assert(after.progress.best.step == 1 && after.progress.last.step == 2);
    ck_assert(after.progress.final.loss == 1.0 / 7);
    ck_assert(after.progress.stale == 5 && after.progress.log.nats == before.progress.log.nats);
    ck_assert_uint_eq(after.progress.log.tokens, before.progress.log.tokens);
    trainer_free(&before);
    trainer_free(&after);
}

/* --- validation on a part --- */

/* The tokens that validations of these settings read, of 10,800. */
static void check_part(const char *more, size_t stored, size_t read)
{
    Trainer trainer;
    char *valid = scratch_path("valid.txt"), *text = NULL;
    for (size_t i = 0; i < 1200; i++)
        text_append(&text, "w%zu w1 w%zu w3 w4 w5 w6 w7\n", i % 8, (i + i / 7) % 8);
    scratch_write(valid, text, strlen(text));
    free(text);
    text = text_format("valid = %s\n%s", valid, more);
    begin(&trainer, 0, text);
    ck_assert_uint_eq(trainer.corpus.valid.count, 10800);
    ck_assert_uint_eq(trainer.settings.train.eval_tokens, stored);
    ck_assert_uint_eq(trainer.part_tokens, read);
    double loss = loss_of(&trainer, false), whole = loss_of(&trainer, true);
    ck_assert((loss == whole) == (read == 0));
    ck_assert_double_eq_tol(loss, whole, 0.1);
    trainer_free(&trainer);
    free(text);
}

TEST(validations_read_a_part_of_the_text)
{
    check_part("eval-tokens = 100\n", 100, 104); /* whole windows */
    check_part("eval-tokens = 0\n", 0, 0);
    check_part("eval-tokens = 10800\n", 0, 0);
    check_part("", 0, 0); /* one validation, at the end */
    check_part("eval-every = 1\n", 8192, 8192);
    check_part("epochs = 2\n", 8192, 8192);
}

/* A run that is older than --eval-tokens goes on validating on the whole text. */
TEST(an_old_run_validates_on_the_whole_text)
{
    static const char *const resumed[] = {"corpus = x\neval-every = 5\n",
                                          "corpus = x\neval-tokens = 77\n", NULL};
    static const size_t expected[] = {0, 77, OPTION_AUTO};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        Settings settings = {0};
        Init init;
        Error error;
        const CommandLine nothing = {0};
        ck_assert_msg(settings_read(&settings, &nothing, resumed[i], &init, &error), "%s",
                      error.text);
        ck_assert_uint_eq(settings.train.eval_tokens, expected[i]);
        const Options groups = settings_options(&settings);
        options_free_texts(&groups);
    }
}

/* 12 % of the training tokens between two validations, if that is less than the text. */
TEST(a_part_is_a_share_of_the_training_tokens)
{
    static const struct {
        const char *more;
        size_t tokens;
    } cases[] = {{"epochs = 2\n", 0}, /* 400,030 and 40,016 tokens */
                 {"epochs = 2\neval-every = 3000\n", 3000 * 32 * 12 / 100},
                 {"epochs = 2\neval-every = 1500\naccumulate = 2\n", 3000 * 32 * 12 / 100},
                 {"epochs = 2\neval-every = 11000\n", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Trainer trainer;
        char *text = text_format("corpus = toy\naccumulate = 1\n%s", cases[i].more);
        begin(&trainer, 0, text);
        ck_assert_uint_eq(trainer.settings.train.eval_tokens, cases[i].tokens);
        trainer_free(&trainer);
        free(text);
    }
}

/* Tries to resume from the file; fills the error. */
static bool try_resume(const char *path, Error *error)
{
    Trainer trainer;
    Checkpoint checkpoint;
    settle(&trainer, 0, "");
    ck_assert_msg(checkpoint_open(&checkpoint, path, error), "%s", error->text);
    bool good = trainer_plan(&trainer, &checkpoint.vocabulary, error);
    if (good)
        trainer_allocate(&trainer);
    good = good && trainer_load(&trainer, &checkpoint, error);
    checkpoint_close(&checkpoint);
    trainer_free(&trainer);
    return good;
}

TEST(a_run_resumes_only_from_a_complete_checkpoint)
{
    Trainer trainer;
    Error error;
    char *weights = scratch_path("best.safetensors"), *bare = scratch_path("bare.safetensors");
    begin(&trainer, 0, "");
    go(&trainer, 1);
    ck_assert(trainer_save(&trainer, weights, false, &error));
    char *crc = text_format("%08x", (unsigned)trainer.corpus.train.crc);
    MetadataPair extra = {"corpus_crc32", crc};
    CheckpointContent content = {.model = &trainer.model,
                                 .vocabulary = &trainer.corpus.vocabulary,
                                 .corpus = &trainer.settings.corpus,
                                 .m = trainer.m,
                                 .v = trainer.v,
                                 .extra = &extra,
                                 .extra_count = 1};
    ck_assert(checkpoint_save(bare, &content, &error));
    char *edited = scratch_path("edited.safetensors");
    trainer.progress.due = 2;
    ck_assert(trainer_save(&trainer, edited, true, &error));
    trainer_free(&trainer);
    ck_assert(!try_resume(edited, &error));
    support_check_error(&error, edited, "cannot read its 'validation_due'");
    ck_assert(!try_resume(weights, &error));
    support_check_error(&error, weights, "weights only");
    ck_assert(!try_resume(bare, &error));
    support_check_error(&error, bare, "cannot read its 'step'");
    free(crc);
}

/* --- non-finite steps --- */

/* The loss stays finite, because the embedding ignores the huge feature; the gradient does not.
 */
static void overflow_gradient(const Trainer *trainer)
{
    size_t width = trainer->model.config.dim;
    weight(trainer, "ln_f.bias")[0] = (real)3e38;
    for (size_t i = 0; i < trainer->model.config.vocabulary; i++)
        weight(trainer, "wte.weight")[i * width] = 0;
}

/* A copy of weights and moments; the caller frees. */
static real *copy_of(const Trainer *trainer)
{
    size_t total = trainer->model.table.total, bytes = total * sizeof(real);
    real *copy = memory_new(3, bytes, "a test");
    memcpy(copy, trainer->model.base, bytes);
    memcpy(copy + total, trainer->m, bytes);
    memcpy(copy + 2 * total, trainer->v, bytes);
    return copy;
}

static void check_refusal(Trainer *trainer, const char *phrase)
{
    Step step;
    Error error;
    Progress progress = trainer->progress;
    real *before = copy_of(trainer);
    ck_assert(!trainer_step(trainer, &step, &error));
    support_check_error(&error, "step 3", phrase);
    real *after = copy_of(trainer);
    ck_assert_mem_eq(before, after, 3 * trainer->model.table.total * sizeof(real));
    ck_assert_mem_eq(&progress, &trainer->progress, sizeof progress);
    free(before);
    free(after);
}

TEST(a_non_finite_step_is_not_taken)
{
    for (int poison = 0; poison < 3; poison++) {
        Trainer trainer;
        begin(&trainer, 0, "tied = yes\n");
        go(&trainer, 2);
        if (poison == 2)
            overflow_gradient(&trainer);
        else
            *weight(&trainer, "ln_f.weight") = (real)(poison ? INFINITY : NAN);
        check_refusal(&trainer, poison == 2 ? "the gradient is not finite" : "not finite");
        trainer_free(&trainer);
    }
}

/* The error names the first non-finite value: a weight, and its tensor. */
TEST(a_non_finite_step_is_explained)
{
    static const char *const poisons[][3] = {
        {"", "wte.weight", "first in the embedding"},
        {"", "h.0.attn.c_proj.bias", "first in layer 1, attention"},
        {"", "h.1.mlp.c_proj.bias", "first in layer 2, MLP"},
        {"", "ln_f.bias", "first in the head"},
        {"rms-norm = yes\n", "h.1.mlp.c_proj.bias", "first in layer 2, MLP"},
        {"rms-norm = yes\n", "ln_f.weight", "first in the head"},
        {"parallel = yes\n", "h.0.mlp.c_proj.bias", "first in layer 1."},
        {"parallel = yes\n", "ln_f.bias", "first in the head"}};
    for (size_t i = 0; i < COUNT(poisons); i++) {
        Trainer trainer;
        Step step;
        Error error;
        char *more = text_format("tied = no\n%s", poisons[i][0]);
        begin(&trainer, 0, more);
        free(more);
        go(&trainer, 1);
        ParamTable *table = &trainer.model.table;
        const ParamRow *row = param_table_find(table, poisons[i][1]);
        for (size_t j = 0; j < row->count; j++)
            trainer.model.base[row->offset + j] = (real)NAN;
        ck_assert(!trainer_step(&trainer, &step, &error));
        support_check_error(&error, "step 2", poisons[i][2]);
        ck_says(error, "learning rate 0.00666667, in batch 3 of epoch 1");
        trainer_free(&trainer);
    }
}

static void write_unbearable_corpus(void)
{
    char *text = text_format("w1 w2 unbearable w3\n");
    for (size_t i = 0; i < 80; i++)
        text_append(&text, "w%zu w%zu w%zu w%zu\n", i % 7, i % 5, i % 3, i % 11);
    scratch_write(corpus_path, text, strlen(text));
    free(text);
}

TEST(skipped_steps_survive_resuming)
{
    write_unbearable_corpus();
    const char *plain = "epochs = 4\ntied = no\n";
    const char *carried = "epochs = 4\ntied = no\npos = none\ncarry-state = yes\n";
    for (size_t kind = 0; attention_find(kind); kind++) {
        const char *name = attention_name(kind);
        if (strcmp(name, "softmax") == 0 || strcmp(name, "linear") == 0) {
            check_resuming(kind, plain, 5, 12, 1);
            check_resuming(kind, plain, 13, 2, 1);
        }
        if (strcmp(name, "gated-delta") == 0)
            check_resuming(kind, carried, 5, 12, 1);
    }
}

/* Their own may not be finite, and older ones belong to an earlier place. */
TEST(after_a_skipped_step_carried_states_are_empty)
{
    size_t kind = 0;
    while (strcmp(attention_name(kind), "gated-delta") != 0)
        kind++;
    Trainer trainer;
    begin(&trainer, kind, "pos = none\ncarry-state = yes\n");
    go(&trainer, 1);
    size_t reals = trainer.shards.count * trainer.pass.states_reals, filled = 0;
    for (size_t i = 0; i < reals; i++)
        filled += trainer.carried[i] != 0;
    ck_assert_uint_gt(filled, 0);
    trainer_skip(&trainer);
    for (size_t i = 0; i < reals; i++)
        ck_assert(trainer.carried[i] == 0);
    go(&trainer, 1);
    trainer_free(&trainer);
}

TEST(an_impossible_run_is_refused)
{
    static const char *const wrong[][2] = {
        {"context = 1000\n", "too few for --context 1000"},
        {"dim = 4096\ncontext = 400\nlayers = 250\nbatch = 100000\n", "training needs"},
        {"corpus = /nowhere/at/all.txt\n", "no such file"},
        {"vocab-size = 1\n", ""},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        Trainer trainer;
        Error error;
        settle(&trainer, 0, wrong[i][0]);
        trainer.settings.session.max_mem = 100;
        ck_assert_msg(!trainer_plan(&trainer, NULL, &error), "%s", wrong[i][0]);
        support_check_error(&error, "", wrong[i][1]);
        trainer_free(&trainer);
    }
}

TEST(training_lowers_the_loss)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        Trainer trainer;
        char *text = NULL;
        for (size_t i = 0; i < 200; i++)
            text_append(&text, "a b c d e f g h\n");
        scratch_write(corpus_path, text, strlen(text));
        begin(&trainer, kind, "steps = 150\ninput-dropout = 0\ndropout = 0\n");
        go(&trainer, 150);
        double loss = loss_of(&trainer, false);
        ck_assert_msg(loss < 0.5, "%s: the loss is still %g", attention_name(kind), loss);
        free(text);
        trainer_free(&trainer);
    }
}
