#include "train/trainer.h"
#include "eval/write/generator.h"
#include "models/update.h"
#include "src/optim/schedule.h"
#include "src/team.h"
#include "src/vector.h"
#include "train/allowance.h"
#include "train/astray.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool check_memory(const Trainer *t, Error *error)
{
    const double megabyte = 1e6;
    double need = (double)t->memory;
    Allowance allowance = allowance_find((double)t->settings.session.max_mem * megabyte);
    if (need <= allowance.bytes)
        return true;
    return error_set(error,
                     "training needs %.0f MB, the limit is %.0f MB, %s; a lower --batch, "
                     "--context, --dim, --ffn or --layers needs less, and so does --recompute",
                     need / megabyte, allowance.bytes / megabyte, allowance.reason);
}

/* All that will be taken from here on. */
static void measure(Trainer *t)
{
    lay_out(t);
    t->memory = t->arena.used;
    if (t->settings.session.sample_every > 0)
        t->memory += generator_bytes(&t->model);
}

bool trainer_plan(Trainer *t, const Vocabulary *known, Error *error)
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
    measure(t);
    batches_init(&t->batches, t->corpus.train.ids, t->corpus.train.count, context, train->batch,
                 train->seed);
    t->batches.streams = t->pass.carries || train->streams;
    t->batches_per_epoch = batches_per_epoch(&t->batches);
    t->steps_per_epoch = team_tiles(t->batches_per_epoch, train->accumulate);
    t->steps = train->steps ? train->steps : train->epochs * t->steps_per_epoch;
    t->progress.best_loss = INFINITY;
    return check_memory(t, error);
}

void trainer_allocate(Trainer *t)
{
    arena_allocate(&t->arena, "training");
    lay_out(t);
    params_bind(&t->gradients, &t->model.config, t->gradient_base);
    pass_prepare(&t->pass);
}

bool trainer_make(Trainer *t, const Vocabulary *known, Error *error)
{
    if (!trainer_plan(t, known, error))
        return false;
    trainer_allocate(t);
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

size_t trainer_next_batch(const Trainer *t)
{
    return t->progress.step % t->steps_per_epoch * t->settings.train.accumulate;
}

/* Sums the gradients of the step's batches, up to one whose loss is not finite; returns how
 * many batches that were. */
static size_t compute_gradients(Trainer *t, Step *step)
{
    const TrainOptions *train = &t->settings.train;
    size_t number = t->progress.step, epoch = number / t->steps_per_epoch;
    size_t first = trainer_next_batch(t), i = 0;
    RandomKey key = random_key(train->seed, RANDOM_DROPOUT, number);
    vector_zero(t->gradient_base, t->model.table.total);
    if (t->pass.carries && first == 0)
        pass_restart(&t->pass);
    while (i < train->accumulate && first + i < t->batches_per_epoch && isfinite(step->nats)) {
        step->tokens += batches_fill(&t->batches, epoch, first + i, t->inputs, t->targets);
        step->nats += pass_gradients(&t->pass, &t->gradients, t->inputs, t->targets,
                                     random_subkey(key, i));
        i++;
    }
    return i;
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

/* Whether the update can be made in this program's numbers; the optimizer squares it. */
static bool fits(const TrainOptions *train, const Step *step)
{
    double norm = step->gradient_norm;
    if (!isfinite(step->nats) || !isfinite(norm))
        return false;
    if (train->clip > 0 && norm > train->clip)
        norm = train->clip;
    return isfinite((real)(norm * norm));
}

/* What is carried from step to step is held until it is known that the step is one. */
static void hold_carried(Trainer *t)
{
    if (t->pass.carries)
        memcpy(t->held, t->pass.states, t->pass.states_reals * sizeof(real));
}

static void restore_carried(Trainer *t)
{
    if (!t->pass.carries)
        return;
    memcpy(t->pass.states, t->held, t->pass.states_reals * sizeof(real));
    pass_move(&t->pass, trainer_next_batch(t) * t->pass.length);
}

bool trainer_step(Trainer *t, Step *step, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    Progress *progress = &t->progress;
    *step = (Step){.lr = train->lr * schedule_factor(schedule_find(train->schedule),
                                                     progress->step, train->warmup, t->steps,
                                                     train->lr_floor)};
    hold_carried(t);
    size_t batches = compute_gradients(t, step);
    step->gradient_norm = update_gradient_norm(&t->model, t->gradient_base, step->tokens);
    if (!fits(train, step)) {
        astray_explain(t, step, batches, error);
        restore_carried(t);
        return false;
    }
    apply_gradients(t, step);
    progress->step++;
    progress->skipped_in_row = 0;
    redraw_features(t);
    take_average(t);
    progress->tokens += step->tokens;
    progress->log_nats += step->nats;
    progress->log_tokens += step->tokens;
    return true;
}

void trainer_skip(Trainer *t)
{
    t->progress.step++;
    t->progress.skipped++;
    t->progress.skipped_in_row++;
    if (t->pass.carries)
        pass_move(&t->pass, trainer_next_batch(t) * t->pass.length);
}

double trainer_validate(Trainer *t)
{
    size_t position = t->pass.position;
    hold_carried(t);
    average_swap(&t->average, t->model.base);
    Score score = score_text(&t->pass, t->corpus.valid.ids, t->corpus.valid.count,
                             t->corpus.vocabulary.eos, t->pass.length, t->score_buffer);
    average_swap(&t->average, t->model.base);
    if (t->pass.carries) {
        memcpy(t->pass.states, t->held, t->pass.states_reals * sizeof(real));
        pass_move(&t->pass, position);
    }
    return score_loss(score);
}
