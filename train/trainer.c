#include "train/trainer.h"
#include "eval/write/generator.h"
#include "models/update.h"
#include "src/containers.h"
#include "src/crc32c.h"
#include "src/optim/schedule.h"
#include "src/ranks.h"
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
    size_t batch = t->settings.train.batch * t->settings.model.context;
    model_layout(&t->model, &t->arena);
    shards_layout(&t->shards, &t->arena);
    t->m = arena_reals(&t->arena, total);
    t->v = arena_reals(&t->arena, total);
    t->update_scratch = arena_reals(
        &t->arena, update_scratch_reals(&t->model, t->settings.train.optimizer));
    t->average.count = t->settings.train.average == AVERAGE_NONE ? 0 : total;
    t->average.weights = arena_reals(&t->arena, t->average.count);
    pass_layout(&t->pass, &t->arena);
    t->inputs = arena_bytes(&t->arena, batch, sizeof *t->inputs);
    t->targets = arena_bytes(&t->arena, batch, sizeof *t->targets);
    t->shard_inputs = arena_bytes(&t->arena, t->pass.rows, sizeof *t->shard_inputs);
    t->shard_targets = arena_bytes(&t->arena, t->pass.rows, sizeof *t->shard_targets);
    t->score_buffer = arena_bytes(&t->arena, score_buffer_size(&t->pass),
                                  sizeof *t->score_buffer);
    if (t->pass.carries) {
        t->carried = arena_reals(&t->arena, t->shards.count * t->pass.states_reals);
        t->carried_next = arena_reals(&t->arena, t->shards.count * t->pass.states_reals);
    }
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

/* How the batch is cut, and the weights, among ranks. */
static bool plan_shards(Trainer *t, Error *error)
{
    TrainOptions *train = &t->settings.train;
    size_t ranks = ranks_count();
    if (train->shards == 0)
        train->shards = ranks;
    if (train->shards > train->batch)
        return error_set(error,
                         "--shards %zu: a batch of %zu windows has no so many parts; give a "
                         "larger --batch, fewer --shards or start fewer ranks",
                         train->shards, train->batch);
    if (train->shards < ranks)
        return error_set(
            error,
            "--shards %zu: so many parts of a batch cannot be shared by %zu ranks; "
            "start at most %zu",
            train->shards, ranks, train->shards);
    return true;
}

static void make_shards(Trainer *t)
{
    const TrainOptions *train = &t->settings.train;
    size_t ranks = ranks_count(), *bounds = NULL;
    t->pieces = memory_take(ranks + 1, sizeof *t->pieces, "the slices");
    arrsetlen(bounds, ranks + 1);
    update_slices(&t->model, train->optimizer, ranks, t->pieces, bounds);
    shards_make(&t->shards, train->shards, t->model.table.total, bounds);
    t->square_sums = memory_take(t->pieces[ranks], sizeof *t->square_sums, "the slices");
    t->shard_nats = memory_take(train->shards, sizeof *t->shard_nats, "the shards");
}

bool trainer_plan(Trainer *t, const Vocabulary *known, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    if (!plan_shards(t, error) ||
        !corpus_load(&t->corpus, train->corpus, &t->settings.corpus, known, error))
        return false;
    size_t context = t->settings.model.context;
    if (t->corpus.train.count < context + 1)
        return error_set(error,
                         "%s: %zu training tokens are too few for --context %zu; it takes one "
                         "more than the context",
                         train->corpus, t->corpus.train.count, context);
    t->settings.model.vocabulary = t->corpus.vocabulary.count;
    model_make(&t->model, &t->settings.model);
    pass_make(&t->pass, &t->model, team_tiles(train->batch, train->shards), context,
              t->settings.session.recompute ? PASS_RECOMPUTE : PASS_TRAIN);
    make_shards(t);
    t->gradients.h = memory_take(t->model.config.layers, sizeof *t->gradients.h, "the layers");
    measure(t);
    batches_init(&t->batches, t->corpus.train.ids, t->corpus.train.count,
                 &(BatchOptions){.context = context,
                                 .batch = train->batch,
                                 .jitter = train->jitter,
                                 .streams = t->pass.carries || train->streams,
                                 .seed = train->seed});
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
    shards_free(&t->shards);
    free(t->pieces);
    free(t->square_sums);
    free(t->shard_nats);
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

/* The windows of one shard of the batch, and where others have one more, a row that does not
 * count. */
static void cut_shard(Trainer *t, size_t shard)
{
    const TrainOptions *train = &t->settings.train;
    size_t first = share_start(train->batch, train->shards, shard);
    size_t windows = share_start(train->batch, train->shards, shard + 1) - first;
    size_t context = t->pass.length, count = windows * context;
    memcpy(t->shard_inputs, t->inputs + first * context, count * sizeof *t->inputs);
    memcpy(t->shard_targets, t->targets + first * context, count * sizeof *t->targets);
    for (size_t i = count; i < t->pass.rows; i++) {
        t->shard_inputs[i] = 0;
        t->shard_targets[i] = -1;
    }
}

/* What the shard's windows go on from, and what they leave. */
static void take_up_carried(Trainer *t, size_t shard, size_t batch)
{
    size_t reals = t->pass.states_reals;
    if (batch == 0)
        pass_restart(&t->pass);
    else
        memcpy(t->pass.states, t->carried + shard * reals, reals * sizeof(real));
    pass_move(&t->pass, batch * t->pass.length);
}

static void leave_carried(Trainer *t, size_t shard)
{
    size_t reals = t->pass.states_reals;
    memcpy(t->carried_next + shard * reals, t->pass.states, reals * sizeof(real));
}

/* Sums the gradients of a shard of the step's batches, up to one whose loss is not finite;
 * returns how many batches that were. */
static size_t compute_shard(Trainer *t, size_t shard, size_t *tokens)
{
    const TrainOptions *train = &t->settings.train;
    size_t epoch = t->progress.step / t->steps_per_epoch, first = trainer_next_batch(t), i = 0;
    RandomKey key = random_key(train->seed, RANDOM_DROPOUT, t->progress.step);
    double *nats = &t->shard_nats[shard];
    params_bind(&t->gradients, &t->model.config, shards_begin(&t->shards, shard));
    if (t->pass.carries)
        take_up_carried(t, shard, first);
    *tokens = 0;
    while (i < train->accumulate && first + i < t->batches_per_epoch && isfinite(*nats)) {
        *tokens += batches_fill(&t->batches, epoch, first + i, t->inputs, t->targets);
        cut_shard(t, shard);
        *nats += pass_gradients(&t->pass, &t->gradients, t->shard_inputs, t->shard_targets,
                                random_subkey(key, i * train->shards + shard));
        i++;
    }
    if (t->pass.carries)
        leave_carried(t, shard);
    return i;
}

/* Of this rank's shards, up to one whose loss is not finite; returns how many batches the last
 * of them came to. */
static size_t compute_gradients(Trainer *t, Step *step)
{
    size_t batches = 0, tokens = 0;
    for (size_t shard = 0; shard < t->shards.count; shard++)
        t->shard_nats[shard] = 0;
    for (size_t shard = t->shards.first; shard < t->shards.end; shard++) {
        batches = compute_shard(t, shard, &tokens);
        if (!isfinite(t->shard_nats[shard]))
            break;
    }
    ranks_collect_shares(t->shard_nats, sizeof *t->shard_nats, t->shards.count);
    step->tokens = tokens;
    for (size_t shard = 0; shard < t->shards.count; shard++)
        step->nats += t->shard_nats[shard];
    return batches;
}

static UpdateSlice own_slice(const Trainer *t)
{
    return (UpdateSlice){t->pieces[ranks_own()], t->pieces[ranks_own() + 1]};
}

/* The gradient of the whole batch, in this rank's slice, and its length. */
static double sum_gradients(Trainer *t, size_t tokens)
{
    t->gradient_base = shards_sum(&t->shards);
    update_square_sums(&t->model, t->settings.train.optimizer, t->gradient_base, own_slice(t),
                       t->square_sums);
    ranks_collect(t->square_sums, sizeof *t->square_sums, t->pieces);
    return update_gradient_norm(t->square_sums, t->pieces[ranks_count()], tokens);
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
    update_apply(&t->model, t->m, t->v, t->gradient_base, &update, own_slice(t),
                 t->progress.step + 1, step->gradient_norm, step->tokens, t->update_scratch);
    ranks_collect(t->model.base, sizeof *t->model.base, t->shards.bounds);
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

/* The rank where the first number was that is not finite: in the loss of a shard, or, going
 * backward, in the gradient of a piece. */
static size_t rank_astray(const Trainer *t, const Step *step)
{
    size_t ranks = ranks_count(), bad = 0, rank = 0;
    if (!isfinite(step->nats)) {
        while (bad + 1 < t->shards.count && isfinite(t->shard_nats[bad]))
            bad++;
        while (share_start(t->shards.count, ranks, rank + 1) <= bad)
            rank++;
        return rank;
    }
    bad = t->pieces[ranks] - 1;
    while (bad > 0 && isfinite(t->square_sums[bad]))
        bad--;
    while (t->pieces[rank + 1] <= bad)
        rank++;
    return rank;
}

static void explain(const Trainer *t, const Step *step, size_t batches, Error *error)
{
    size_t rank = rank_astray(t, step);
    if (rank == ranks_own())
        astray_explain(t, step, batches, error);
    ranks_share(error, sizeof *error, rank);
}

static void exchange(real **one, real **other)
{
    real *held = *one;
    *one = *other;
    *other = held;
}

bool trainer_check_weights(const Trainer *t, Error *error)
{
    size_t bytes = t->model.table.total * sizeof *t->model.base;
    return ranks_count() == 1 ||
           ranks_same("the weights of its model", crc32c(t->model.base, bytes), error);
}

bool trainer_step(Trainer *t, Step *step, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    Progress *progress = &t->progress;
    *step = (Step){.lr = train->lr * schedule_factor(schedule_find(train->schedule),
                                                     progress->step, train->warmup, t->steps,
                                                     train->lr_floor)};
    size_t batches = compute_gradients(t, step);
    step->gradient_norm = isfinite(step->nats) ? sum_gradients(t, step->tokens) : (double)NAN;
    if (!fits(train, step)) {
        explain(t, step, batches, error);
        return false;
    }
    apply_gradients(t, step);
    exchange(&t->carried, &t->carried_next);
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
}

void trainer_swap_average(Trainer *t)
{
    average_swap(&t->average, t->model.base);
}

double trainer_validate(Trainer *t)
{
    trainer_swap_average(t);
    Score score = score_text(&t->pass, t->corpus.valid.ids, t->corpus.valid.count,
                             t->corpus.vocabulary.eos, t->pass.length, t->score_buffer);
    trainer_swap_average(t);
    return score_loss(score);
}

void trainer_gather(Trainer *t)
{
    ranks_collect(t->m, sizeof *t->m, t->shards.bounds);
    ranks_collect(t->v, sizeof *t->v, t->shards.bounds);
    if (t->pass.carries)
        ranks_collect_shares(t->carried, t->pass.states_reals * sizeof *t->carried,
                             t->shards.count);
}
