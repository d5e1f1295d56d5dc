#include "train/trainer.h"
#include "models/update.h"
#include "src/optim/schedule.h"
#include "src/team.h"
#include "src/text.h"
#include "src/vector.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- making it --- */

static void lay_out(Trainer *t)
{
    size_t total = t->model.table.total;
    model_layout(&t->model, &t->arena);
    t->gradient_base = arena_reals(&t->arena, total);
    t->m = arena_reals(&t->arena, total);
    t->v = arena_reals(&t->arena, total);
    t->update_scratch = arena_reals(
        &t->arena, update_scratch_reals(&t->model, t->settings.train.optimizer));
    t->average.count = t->settings.train.average == AVERAGE_NONE ? 0 : total;
    t->average.weights = arena_reals(&t->arena, t->average.count);
    pass_layout(&t->pass, &t->arena);
    t->inputs = arena_bytes(&t->arena, t->pass.rows, sizeof *t->inputs);
    t->targets = arena_bytes(&t->arena, t->pass.rows, sizeof *t->targets);
    t->score_buffer = arena_bytes(&t->arena, score_buffer_size(&t->pass),
                                  sizeof *t->score_buffer);
    t->held = arena_reals(&t->arena, t->pass.states_reals);
}

/* Memory that can be had without pushing others out. What the kernel keeps of files, in case
 * they are read again, it gives up for the asking; on a machine that has run for long that is
 * most of it. */
static double available_bytes(void)
{
    double pages = (double)sysconf(_SC_AVPHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    double bytes = pages * page, kilobytes;
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1)
            bytes = 1024 * kilobytes;
    if (file)
        fclose(file);
    return bytes;
}

static bool check_memory(const Trainer *t, Error *error)
{
    const double megabyte = 1e6;
    double need = (double)t->arena.used, limit = (double)t->settings.session.max_mem * megabyte;
    if (limit == 0)
        limit = 0.8 * available_bytes();
    if (need <= limit)
        return true;
    return error_set(
        error,
        "training needs %.0f MB, the limit is %.0f MB; a lower --batch, --context, "
        "--dim, --ffn or --layers needs less, and so does --recompute; --max-mem sets the "
        "limit",
        need / megabyte, limit / megabyte);
}

bool trainer_make(Trainer *t, const Vocabulary *known, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    if (!corpus_load(&t->corpus, train->corpus, &t->settings.corpus, known, error))
        return false;
    size_t context = t->settings.model.context;
    if (t->corpus.train.count < context + 1)
        return error_set(error,
                         "%s: %zu training tokens are too few for --context %zu; it takes one "
                         "more than the context",
                         train->corpus, t->corpus.train.count, context);
    t->settings.model.vocabulary = t->corpus.vocabulary.count;
    model_make(&t->model, &t->settings.model);
    pass_make(&t->pass, &t->model, train->batch, context,
              t->settings.session.recompute ? PASS_RECOMPUTE : PASS_TRAIN);
    t->gradients.h = memory_take(t->model.config.layers, sizeof *t->gradients.h, "the layers");
    lay_out(t);
    if (!check_memory(t, error))
        return false;
    arena_allocate(&t->arena, "training");
    lay_out(t);
    params_bind(&t->gradients, &t->model.config, t->gradient_base);
    pass_prepare(&t->pass);
    batches_init(&t->batches, t->corpus.train.ids, t->corpus.train.count, context, train->batch,
                 train->seed);
    t->batches.streams = t->pass.carries || train->streams;
    t->batches_per_epoch = batches_per_epoch(&t->batches);
    t->steps_per_epoch = team_tiles(t->batches_per_epoch, train->accumulate);
    t->steps = train->steps ? train->steps : train->epochs * t->steps_per_epoch;
    t->progress.best_loss = INFINITY;
    return true;
}

void trainer_start(Trainer *t)
{
    const ModelConfig *config = &t->model.config;
    params_initialise(&t->model.table, config, t->model.base, t->settings.train.seed);
    if (config->head_bias == HEAD_BIAS_UNIGRAM)
        params_start_unigram(&t->model.at, config, t->corpus.train.ids, t->corpus.train.count);
}

void trainer_free(Trainer *t)
{
    OptionGroup groups[GROUP_COUNT];
    settings_groups(&t->settings, groups);
    options_free_texts(groups, GROUP_COUNT);
    batches_free(&t->batches);
    pass_free(&t->pass);
    model_free(&t->model);
    free(t->gradients.h);
    arena_free(&t->arena);
    corpus_free(&t->corpus);
}

/* --- training --- */

double trainer_epoch(const Trainer *t, size_t steps)
{
    return (double)steps / (double)t->steps_per_epoch;
}

/* Of the epoch that has the next step. */
static size_t next_batch(const Trainer *t)
{
    return t->progress.step % t->steps_per_epoch * t->settings.train.accumulate;
}

/* Sums the gradients of the step's batches. */
static void compute_gradients(Trainer *t, Step *step)
{
    const TrainOptions *train = &t->settings.train;
    size_t number = t->progress.step, epoch = number / t->steps_per_epoch;
    size_t first = next_batch(t);
    RandomKey key = random_key(train->seed, RANDOM_DROPOUT, number);
    vector_zero(t->gradient_base, t->model.table.total);
    if (t->pass.carries && first == 0)
        pass_restart(&t->pass);
    for (size_t i = 0; i < train->accumulate && first + i < t->batches_per_epoch; i++) {
        step->tokens += batches_fill(&t->batches, epoch, first + i, t->inputs, t->targets);
        step->nats += pass_gradients(&t->pass, &t->gradients, t->inputs, t->targets,
                                     random_subkey(key, i));
    }
}

static void apply_gradients(Trainer *t, const Step *step)
{
    const TrainOptions *train = &t->settings.train;
    Update update = {.adam = {train->beta1, train->beta2, 1e-8},
                     .optimizer = train->optimizer,
                     .momentum = train->momentum,
                     .learning_rate = step->lr,
                     .weight_decay = train->weight_decay,
                     .clip = train->clip};
    update_apply(&t->model, t->m, t->v, t->gradient_base, &update, t->progress.step + 1,
                 step->gradient_norm, step->tokens, t->update_scratch);
}

/* Random features that are drawn again from time to time, but not in the last fifth of the
 * training, when the model settles. */
static void redraw_features(Trainer *t)
{
    size_t every = t->settings.model.own.redraw, step = t->progress.step;
    if (every > 0 && step % every == 0 && step < t->steps - t->steps / 5)
        params_redraw(&t->model.table, &t->model.config, t->model.base, t->settings.train.seed,
                      step);
}

static void take_average(Trainer *t)
{
    const TrainOptions *train = &t->settings.train;
    double share = (double)t->progress.step / (double)t->steps;
    if (train->average != AVERAGE_NONE && share > train->average_from) {
        average_take(&t->average, t->model.base, (AverageKind)train->average,
                     train->average_decay);
        t->progress.averaged = t->average.taken;
    }
}

bool trainer_step(Trainer *t, Step *step, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    Progress *progress = &t->progress;
    *step = (Step){.lr = train->lr * schedule_factor(schedule_find(train->schedule),
                                                     progress->step, train->warmup, t->steps,
                                                     train->lr_floor)};
    compute_gradients(t, step);
    step->gradient_norm = update_gradient_norm(&t->model, t->gradient_base, step->tokens);
    if (!isfinite(step->nats) || !isfinite(step->gradient_norm))
        return error_set(error,
                         "step %zu: the %s is not finite, at learning rate %g; the weights are "
                         "as they were before. A new run with a lower --lr, a lower --clip or "
                         "a longer --warmup may do better",
                         progress->step + 1, isfinite(step->nats) ? "gradient" : "loss",
                         step->lr);
    apply_gradients(t, step);
    progress->step++;
    redraw_features(t);
    take_average(t);
    progress->tokens += step->tokens;
    progress->log_nats += step->nats;
    progress->log_tokens += step->tokens;
    return true;
}

double trainer_validate(Trainer *t)
{
    size_t bytes = t->pass.states_reals * sizeof(real), position = t->pass.position;
    if (t->pass.carries)
        memcpy(t->held, t->pass.states, bytes);
    average_swap(&t->average, t->model.base);
    Score score = score_text(&t->pass, t->corpus.valid.ids, t->corpus.valid.count,
                             t->corpus.vocabulary.eos, t->pass.length, t->score_buffer);
    average_swap(&t->average, t->model.base);
    if (t->pass.carries) {
        memcpy(t->pass.states, t->held, bytes);
        pass_move(&t->pass, position);
    }
    return score_loss(score);
}

/* --- saving and continuing --- */

/* The fields of Progress, by the names under which a checkpoint keeps them. Times are not among
 * them: two runs of the same settings leave the same bytes. They are in the log. */
#define FIELD(name) offsetof(Progress, name)
static const struct {
    const char *name;
    size_t offset;
    bool is_size;
} fields[] = {
    {"step", FIELD(step), true},
    {"tokens", FIELD(tokens), true},
    {"best_loss", FIELD(best_loss), false},
    {"best_step", FIELD(best_step), true},
    {"last_loss", FIELD(last_loss), false},
    {"last_step", FIELD(last_step), true},
    {"stale", FIELD(stale), true},
    {"log_nats", FIELD(log_nats), false},
    {"log_tokens", FIELD(log_tokens), true},
    {"averaged", FIELD(averaged), true},
};
enum { FIELDS = sizeof fields / sizeof *fields };

#define CRC_KEY      "corpus_crc32"
#define TRAINING_KEY "training"

static char *field_text(const Progress *progress, size_t i)
{
    const char *at = (const char *)progress + fields[i].offset;
    if (fields[i].is_size)
        return text_format("%zu", *(const size_t *)(const void *)at);
    return text_format("%a", *(const double *)(const void *)at); /* exact */
}

bool trainer_save(const Trainer *t, const char *path, bool with_moments, Error *error)
{
    OptionGroup groups[GROUP_COUNT];
    settings_groups((Settings *)&t->settings, groups);
    char *training = options_write_text(groups, GROUP_COUNT);
    char *crc = text_format("%08x", (unsigned)t->corpus.train.crc);
    MetadataPair extra[FIELDS + 2] = {{TRAINING_KEY, training}, {CRC_KEY, crc}};
    size_t count = 2;
    char *texts[FIELDS] = {NULL};
    for (size_t i = 0; i < FIELDS; i++) {
        texts[i] = field_text(&t->progress, i);
        extra[count++] = (MetadataPair){fields[i].name, texts[i]};
    }
    bool averaged = t->average.taken > 0;
    Model model = t->model;
    if (averaged && !with_moments) /* what is to be used, not gone on with */
        model.base = t->average.weights;
    CheckpointContent content = {
        .model = &model,
        .vocabulary = &t->corpus.vocabulary,
        .corpus = &t->settings.corpus,
        .m = with_moments ? t->m : NULL,
        .v = with_moments ? t->v : NULL,
        .average = averaged && with_moments ? t->average.weights : NULL,
        .carried = with_moments && t->pass.carries ? t->pass.states : NULL,
        .carried_reals = t->pass.states_reals,
        .extra = extra,
        .extra_count = count};
    bool good = checkpoint_save(path, &content, error);
    for (size_t i = 0; i < FIELDS; i++)
        free(texts[i]);
    free(training);
    free(crc);
    return good;
}

static bool read_progress(Progress *progress, const Checkpoint *checkpoint, Error *error)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = checkpoint_extra(checkpoint, fields[i].name);
        char *at = (char *)progress + fields[i].offset, *end;
        bool good = text != NULL;
        if (good && fields[i].is_size) {
            good = text_to_size(text, (size_t *)(void *)at);
        } else if (good) {
            *(double *)(void *)at = strtod(text, &end);
            good = end != text && !*end;
        }
        if (!good)
            return error_set(error,
                             "%s: its '%s' cannot be read; training cannot continue "
                             "from it",
                             checkpoint->file.path, fields[i].name);
    }
    return true;
}

/* What the streams of the epoch have come to, and where. */
static bool load_carried(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    if (!t->pass.carries)
        return true;
    pass_move(&t->pass, next_batch(t) * t->pass.length);
    return checkpoint_load_carried(checkpoint, t->pass.states, t->pass.states_reals, error);
}

static bool load_numbers(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    bool averaged = t->settings.train.average != AVERAGE_NONE && t->progress.averaged > 0;
    t->average.taken = averaged ? t->progress.averaged : 0;
    return checkpoint_load(checkpoint, t->model.base, t->m, t->v,
                           averaged ? t->average.weights : NULL, error);
}

bool trainer_load(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    char *crc = text_format("%08x", (unsigned)t->corpus.train.crc);
    const char *trained_on = checkpoint_extra(checkpoint, CRC_KEY);
    bool same = trained_on && strcmp(crc, trained_on) == 0;
    if (!same)
        error_set(error,
                  "%s: not the training text of this run: its checksum is %s, the run's "
                  "%s",
                  t->settings.train.corpus, crc, trained_on ? trained_on : "missing");
    free(crc);
    return same && read_progress(&t->progress, checkpoint, error) &&
           load_numbers(t, checkpoint, error) && load_carried(t, checkpoint, error);
}
