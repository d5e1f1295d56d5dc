/* Setting up a training run, and the average of its weights. trainer_memory.c lays it out in
 * memory, trainer_step.c has its steps, trainer_saving.c saves it. */
#include "train/loop/trainer.h"
#include "models/adopt.h"
#include "models/update.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/optim/schedule.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what validations read --- */

Windows trainer_windows(const Trainer *t)
{
    return (Windows){.ids = t->corpus.valid.ids,
                     .count = t->corpus.valid.count,
                     .window = t->pass.length,
                     .stride = t->pass.length,
                     .prime = vocabulary_start(&t->corpus.vocabulary),
                     .part = t->part,
                     .labels = t->corpus.valid.labels};
}

/* The tokens of --eval-tokens auto; 0: all. A pure function of settings and text. Evaluation is
 * about three times as fast as training. A loss of few tokens is mostly noise. */
static size_t choose_eval_tokens(const Trainer *t)
{
    enum { PERCENT = 12, LEAST = 8192 };
    const TrainOptions *train = &t->settings.train;
    size_t steps = t->steps_per_epoch < t->steps ? t->steps_per_epoch : t->steps;
    if (train->eval_every > 0 && train->eval_every < steps)
        steps = train->eval_every;
    if (steps == t->steps) /* the only validation is the last one */
        return 0;
    double tokens = (double)steps * (double)train->accumulate * (double)train->batch *
                    (double)t->pass.length * PERCENT / 100;
    if (tokens >= (double)t->corpus.valid.count)
        return 0;
    return tokens > LEAST ? (size_t)tokens : LEAST;
}

static void choose_part(Trainer *t)
{
    size_t *tokens = &t->settings.train.eval_tokens;
    if (*tokens == OPTION_AUTO)
        *tokens = choose_eval_tokens(t);
    if (*tokens >= t->corpus.valid.count)
        *tokens = 0;
    t->part = team_tiles(*tokens, t->pass.length);
    Windows windows = trainer_windows(t);
    size_t read = windows_tokens(&windows, &t->pass);
    t->part_tokens = read < t->corpus.valid.count ? read : 0;
    if (t->part_tokens > 0 && t->corpus.line > 0) /* lines have the same number of labels */
        t->part_tokens = t->part_tokens / t->corpus.line *
                         (t->corpus.valid.labelled * t->corpus.line / t->corpus.valid.count);
}

size_t trainer_length(const Trainer *t, const Length *length)
{
    return length->steps ? length->steps : length->epochs * t->steps_per_epoch;
}

/* The schedule of the steps that follow the matching of attention outputs. */
static Schedule schedule_of(const Trainer *t, const Length *length)
{
    return (Schedule){.shape = length->schedule,
                      .warmup = t->settings.train.warmup,
                      .steps = trainer_length(t, length) - t->match_steps,
                      .cycles = length->cycles,
                      .floor = length->lr_floor};
}

double trainer_rate(const Trainer *t, const Length *length, size_t step)
{
    size_t matching = t->match_steps;
    Schedule schedule = schedule_of(t, length);
    if (step >= matching)
        return length->lr * schedule_factor(&schedule, step - matching);
    schedule.steps = matching;
    schedule.cycles = 0;
    return t->settings.train.match_lr * schedule_factor(&schedule, step);
}

size_t trainer_cycle_end(const Trainer *t, size_t cycle)
{
    Schedule schedule = schedule_of(t, &t->settings.train.length);
    return t->match_steps + schedule_cycle_end(&schedule, cycle);
}

size_t trainer_cycles_ended(const Trainer *t, size_t step)
{
    Schedule schedule = schedule_of(t, &t->settings.train.length);
    return schedule.cycles == 0 || step <= t->match_steps
               ? 0
               : schedule_cycles_ended(&schedule, step - t->match_steps);
}

/* A conversion first matches attention outputs; both stages have a warmup. */
static bool plan_stages(Trainer *t, Error *error)
{
    TrainOptions *train = &t->settings.train;
    if (train->convert && !train->distill)
        return error_set(error,
                         "--convert without --distill in the settings of the checkpoint, which "
                         "was edited; start a new run with --convert RUN");
    t->match_steps = train->convert ? train->match_epochs * t->steps_per_epoch : 0;
    if (t->match_steps > 0 && t->match_steps >= t->steps)
        return error_usage(error,
                           "--match-epochs %zu: that is %zu steps, and the whole run has %zu; "
                           "give more --epochs%s",
                           train->match_epochs, t->match_steps, t->steps,
                           t->settings.session.resume ? "" : ", or fewer --match-epochs");
    size_t shorter = t->steps - t->match_steps;
    if (t->match_steps > 0 && t->match_steps < shorter)
        shorter = t->match_steps;
    if (train->warmup == OPTION_AUTO)
        train->warmup = shorter / 10 < 200 ? shorter / 10 : 200;
    size_t tensors = t->model.table.count;
    t->frozen = memory_new(tensors, sizeof *t->frozen, "the tensors");
    for (size_t i = 0; t->match_steps > 0 && i < tensors; i++)
        t->frozen[i] = !adopt_learns(&t->model.table.rows[i], &t->model.config,
                                     &t->teacher.checkpoint);
    return true;
}

/* Loads the text, and checks that it suits the settings. */
static bool load_text(Trainer *t, const Vocabulary *known, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    if (!corpus_load(&t->corpus, train->corpus, &t->settings.corpus, known, error))
        return false;
    t->settings.corpus.tokenizer = tokenizer_index(t->corpus.vocabulary.tokenizer);
    t->settings.corpus.lowercase = t->corpus.vocabulary.lowercase;
    t->settings.model.vocabulary = t->corpus.vocabulary.count;
    size_t context = t->settings.model.context;
    assert(t->corpus.line == 0 || t->corpus.line == context);
    if (t->corpus.train.count < context + 1)
        return error_set(error,
                         "%s: %zu training tokens are too few for --context %zu; it takes one "
                         "more than the context",
                         train->corpus, t->corpus.train.count, context);
    if (team_tiles(t->corpus.train.count, context) > UINT32_MAX)
        return error_set(error,
                         "%s: %zu training tokens are too many for --context %zu; give a "
                         "longer context",
                         train->corpus, t->corpus.train.count, context);
    return true;
}

/* --match-params: sets the width of the MLP, now that the size of the vocabulary is known. */
static bool match_parameters(Trainer *t, Error *error)
{
    const double near = 0.002;
    const char *which = t->settings.session.match_params;
    ModelConfig *model = &t->settings.model, *other = &t->settings.match.model;
    size_t wanted = t->settings.match.parameters;
    if (!which)
        return true;
    other->vocabulary = model->vocabulary;
    if (wanted == 0)
        wanted = param_count(other);
    model->ffn = param_match_ffn(model, wanted);
    if (model->ffn == 0)
        return error_usage(error,
                           "--match-params %s: that is %zu parameters, and this model has more "
                           "without an MLP; lower --dim or --layers",
                           which, wanted);
    double difference = (double)param_count(model) / (double)wanted - 1;
    if (fabs(difference) > near && ranks_first())
        print_warning(
            "--match-params %s: the nearest, --ffn %zu, is %+.2g %% off %zu parameters", which,
            model->ffn, 100 * difference, wanted);
    char *text = text_format("%s, %zu parameters", which, wanted);
    t->history[HISTORY_MATCHED] = text_one_line(text);
    free(text);
    return true;
}

static bool plan_subwords(Trainer *t, Error *error)
{
    ParamTable *table = &t->model.table;
    for (size_t i = 0; i < table->count; i++)
        table->rows[i].is_composed = strcmp(table->rows[i].name, "wte.weight") == 0;
    return subwords_find(&t->subwords, &t->corpus.vocabulary, t->model.config.dim) ||
           error_usage(error,
                       "--subwords: no two tokens of this vocabulary have 3 characters in "
                       "common; omit it, or use --tokens word, wordpunct or bpe");
}

static void plan_batches(Trainer *t)
{
    const TrainOptions *train = &t->settings.train;
    batches_init(&t->batches, t->corpus.train.ids, t->corpus.train.count,
                 &(BatchOptions){.context = t->settings.model.context,
                                 .batch = train->batch,
                                 .streams = t->pass.carries,
                                 .seed = train->seed,
                                 .labels = t->corpus.train.labels});
    t->batches_per_epoch = batches_per_epoch(&t->batches);
    t->steps_per_epoch = team_tiles(t->batches_per_epoch, train->accumulate);
    t->steps = trainer_length(t, &train->length);
}

bool trainer_plan(Trainer *t, const Vocabulary *known, Error *error)
{
    TrainOptions *train = &t->settings.train;
    size_t ranks = ranks_count(), *bounds = NULL; /* of the slices of the weights */
    if (!known)
        known = trainer_init_vocabulary(t);
    if (t->corpus.train.count == 0 && !load_text(t, known, error))
        return false;
    if (!match_parameters(t, error))
        return false;
    if (train->shards == 0)
        train->shards = ranks;
    model_make(&t->model, &t->settings.model);
    pass_make(&t->pass, &t->model, team_tiles(train->batch, train->shards),
              t->settings.model.context,
              t->settings.session.recompute ? PASS_RECOMPUTE : PASS_TRAIN);
    if (train->subwords && !plan_subwords(t, error))
        return false;
    if (train->distill && !trainer_open_teacher(t, error))
        return false;
    t->pieces = memory_new(ranks + 1, sizeof *t->pieces, "the slices");
    arrsetlen(bounds, ranks + 1);
    update_slices(&t->model, train->optimizer, ranks, t->pieces, bounds);
    shards_make(&t->shards, train->shards, t->model.table.total, bounds);
    t->gradients.h = memory_new(t->model.config.layers, sizeof *t->gradients.h, "the layers");
    plan_batches(t);
    if (!plan_stages(t, error))
        return false;
    choose_part(t);
    t->progress.best.loss = INFINITY;
    return trainer_check_memory(t, error) && (!t->init || trainer_plan_init(t, error));
}

bool trainer_start(Trainer *t, Error *error)
{
    const ModelConfig *config = &t->model.config;
    params_initialise(&t->model.table, config, t->model.base, t->settings.train.seed);
    if (config->head_bias == HEAD_BIAS_UNIGRAM)
        params_start_unigram(&t->model.params, config, t->corpus.train.ids,
                             t->corpus.train.count);
    bool good = !t->init || adopt_weights(&t->model, t->init, t->init_ids, error);
    t->init = NULL;
    if (t->settings.train.subwords)
        subwords_start(&t->subwords, t->model.params.wte);
    return good && trainer_check_read(t, error); /* the bias was counted in the text */
}

/* --- the average of the weights --- */

bool trainer_averages(const TrainOptions *train)
{
    return train->average != AVERAGE_NONE || train->length.cycles > 0;
}

/* Averages the weights of every step from --average-from on or, with --cycles, those at the
 * ends of the schedule and of the cycles: uniformly, or with exponential decay (ema). An EMA
 * warms up: its decay is smaller in the first steps, so the start is soon forgotten. */
void trainer_add_to_average(Trainer *t)
{
    const TrainOptions *train = &t->settings.train;
    size_t step = t->progress.step, matching = t->match_steps;
    double share = ((double)step - (double)matching) / (double)(t->steps - matching);
    if (!t->average || step <= matching ||
        !(train->average == AVERAGE_NONE ? trainer_ends_cycle(t, step)
                                         : share > train->average_from))
        return;
    double count = (double)t->progress.averaged++, kept = count / (count + 1);
    if (train->average == AVERAGE_EMA && count > 0)
        kept = fmin((1 + count) / (10 + count), train->average_decay);
    const real *weights = t->model.base, old = (real)kept;
    real *average = t->average;
    for (size_t i = 0; i < t->model.table.total; i++)
        average[i] = weights[i] + old * (average[i] - weights[i]);
}

real *trainer_average(const Trainer *t)
{
    bool shows = t->settings.train.average != AVERAGE_NONE ||
                 trainer_ends_cycle(t, t->progress.step);
    return shows && t->progress.averaged > 0 ? t->average : NULL;
}

void trainer_swap_average(Trainer *t)
{
    real *average = trainer_average(t);
    for (size_t i = 0; average && i < t->model.table.total; i++) {
        real current = t->model.base[i];
        t->model.base[i] = average[i];
        average[i] = current;
    }
}

/* --- view and end --- */

RunView trainer_view(const Trainer *t)
{
    return (RunView){.settings = &t->settings,
                     .model = &t->model,
                     .corpus = &t->corpus,
                     .progress = &t->progress,
                     .extension = &t->extension,
                     .history = t->history,
                     .start = t->start,
                     .steps = t->steps,
                     .steps_per_epoch = t->steps_per_epoch,
                     .match_steps = t->match_steps,
                     .part_tokens = t->part_tokens,
                     .memory = t->memory};
}

void trainer_free(Trainer *t)
{
    const Options options = settings_options(&t->settings);
    options_free_texts(&options);
    batches_free(&t->batches);
    shards_free(&t->shards);
    subwords_free(&t->subwords);
    free(t->pieces);
    pass_free(&t->pass);
    pass_free(&t->teacher_pass);
    loaded_close(&t->teacher);
    model_free(&t->model);
    free(t->gradients.h);
    arena_free(&t->arena);
    for (size_t i = 0; i < HISTORY_LINES; i++)
        free(t->history[i]);
    free(t->frozen);
    free(t->init_ids);
    free(t->start);
    corpus_free(&t->corpus);
}
