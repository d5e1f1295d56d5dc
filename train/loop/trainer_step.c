/* Training steps: the gradients of the shards, their sum, the update; what went wrong if the
 * loss or the gradient is not finite; validation. */
#include "models/objectives.h"
#include "models/update.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/ranks/ranks.h"
#include "src/math/vector.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* --- gradients --- */

/* Fills inputs and targets with the sequences of one shard of a batch; a shard with one
 * sequence less than others gets a row without targets. */
static BatchCount fill_shard(Trainer *t, size_t shard, size_t epoch, size_t index)
{
    const TrainOptions *train = &t->settings.train;
    size_t first = share_start(train->batch, train->shards, shard);
    size_t windows = share_start(train->batch, train->shards, shard + 1) - first;
    size_t filled = windows * t->pass.length;
    BatchCount count = batches_fill(&t->batches, epoch, index, first, windows, t->inputs,
                                    t->targets);
    for (size_t i = filled; i < t->pass.rows; i++) {
        t->inputs[i] = 0;
        t->targets[i] = TOKEN_NONE;
    }
    return count;
}

/* Continues from the carried states of the shard; the first batch starts from empty ones. */
static void restore_carried(Trainer *t, size_t shard, size_t batch)
{
    size_t reals = t->pass.states_reals;
    if (batch == 0)
        pass_restart(&t->pass);
    else
        memcpy(t->pass.states, t->carried + shard * reals, reals * sizeof(real));
    pass_move(&t->pass, batch * t->pass.length);
}

/* Adds the gradients of the filled rows; returns their loss. */
static double add_gradients(Trainer *t, RandomKey key)
{
    const TrainOptions *train = &t->settings.train;
    HeadTeacher teacher = {0};
    if (trainer_matches(t))
        return objective_transfer_attention(&t->pass, &t->teacher_pass, &t->gradients,
                                            t->inputs, t->targets);
    if (train->distill)
        teacher = objective_teacher(&t->teacher_pass, t->inputs, train->distill_share);
    return pass_gradients(&t->pass, &t->gradients, t->inputs, t->targets, key,
                          train->distill ? &teacher : NULL);
}

/* Sums the gradients of a shard over the step's batches, stopping at a loss that is not finite;
 * returns the number of batches computed. */
static size_t compute_shard(Trainer *t, size_t shard)
{
    const TrainOptions *train = &t->settings.train;
    size_t epoch = t->progress.step / t->steps_per_epoch, first = trainer_next_batch(t), i = 0;
    RandomKey key = random_key(train->seed, RANDOM_DROPOUT, t->progress.step);
    ShardSum *sum = &t->shard_sums[shard];
    /* into a gradient that is zero at first */
    params_bind(&t->gradients, &t->model.config, shards_begin(&t->shards, shard));
    if (t->pass.carries)
        restore_carried(t, shard, first);
    while (i < train->accumulate && first + i < t->batches_per_epoch && isfinite(sum->nats)) {
        BatchCount filled = fill_shard(t, shard, epoch, first + i);
        sum->tokens.read += filled.read;
        sum->tokens.targets += trainer_matches(t) ? filled.read : filled.targets;
        sum->nats += add_gradients(t, random_subkey(key, i * train->shards + shard));
        i++;
    }
    if (t->pass.carries)
        memcpy(t->carried_next + shard * t->pass.states_reals, t->pass.states,
               t->pass.states_reals * sizeof *t->carried_next);
    return i;
}

/* Computes this rank's shards, stopping at a loss that is not finite; returns the number of
 * batches that the last shard computed. */
static size_t compute_gradients(Trainer *t, Step *step)
{
    size_t batches = 0;
    for (size_t shard = 0; shard < t->shards.count; shard++)
        t->shard_sums[shard] = (ShardSum){0};
    for (size_t shard = t->shards.first; shard < t->shards.end; shard++) {
        batches = compute_shard(t, shard);
        if (!isfinite(t->shard_sums[shard].nats))
            break;
    }
    phase_enter(PHASE_IDLE);
    ranks_collect_shares(t->shard_sums, sizeof *t->shard_sums, t->shards.count);
    phase_enter(PHASE_REST);
    for (size_t shard = 0; shard < t->shards.count; shard++) {
        step->nats += t->shard_sums[shard].nats;
        step->tokens += t->shard_sums[shard].tokens.targets;
        step->read += t->shard_sums[shard].tokens.read;
    }
    return batches;
}

static UpdateSlice rank_slice(const Trainer *t)
{
    return (UpdateSlice){t->shards.bounds[ranks_index()], t->shards.bounds[ranks_index() + 1]};
}

/* Whether the next step changes the embeddings, and they share n-grams. */
static bool steps_subwords(const Trainer *t)
{
    return t->settings.train.subwords && !trainer_matches(t);
}

static double subwords_norm(Trainer *t, size_t tokens)
{
    const real *dwte = t->gradient_base + (t->model.params.wte - t->model.base);
    phase_enter(PHASE_OPTIMIZER);
    const double sum = subwords_gradients(&t->subwords, dwte);
    phase_enter(PHASE_REST);
    return sqrt(sum) / (double)tokens;
}

/* Sums the gradient of the whole batch in this rank's slice; returns the norm of all. */
static double sum_gradients(Trainer *t, size_t tokens)
{
    phase_enter(PHASE_EXCHANGE);
    t->gradient_base = shards_sum(&t->shards);
    update_square_sums(&t->model, t->settings.train.optimizer, t->gradient_base, rank_slice(t),
                       t->square_sums);
    phase_enter(PHASE_EXCHANGE);
    ranks_collect(t->square_sums, sizeof *t->square_sums, t->pieces);
    if (steps_subwords(t)) /* every rank steps them all */
        ranks_collect(t->gradient_base, sizeof *t->gradient_base, t->shards.bounds);
    phase_enter(PHASE_REST);
    const double norm = update_gradient_norm(t->square_sums, t->pieces[ranks_count()], tokens);
    return steps_subwords(t) ? hypot(norm, subwords_norm(t, tokens)) : norm;
}

/* --- the update --- */

/* The steps before the current stage: the optimizer starts anew after the matching of attention
 * outputs, and in each of --cycles. */
static size_t stage_start(const Trainer *t)
{
    size_t ended = trainer_cycles_ended(t, t->progress.step);
    if (ended == 0)
        return trainer_matches(t) ? 0 : t->match_steps;
    return trainer_cycle_end(t, ended - 1);
}

static void apply_gradients(Trainer *t, const Step *step)
{
    const TrainOptions *train = &t->settings.train;
    Update update = {.adam = {train->beta1, train->beta2, 1e-8},
                     .optimizer = train->optimizer,
                     .momentum = train->momentum,
                     .learning_rate = step->lr,
                     .weight_decay = train->weight_decay,
                     .embedding_decay = train->weight_decay * train->embedding_decay,
                     .clip = train->clip};
    const size_t before = stage_start(t) + t->progress.skipped_in_stage;
    const uint64_t number = t->progress.step + 1 - before;
    const double scale = update_scale(&update, step->gradient_norm, step->tokens);
    update_apply(&t->model, t->m, t->v, t->gradient_base, &update, rank_slice(t), number, scale,
                 t->update_scratch);
    phase_enter(PHASE_EXCHANGE);
    ranks_collect(t->model.base, sizeof *t->model.base, t->shards.bounds);
    if (steps_subwords(t)) {
        phase_enter(PHASE_OPTIMIZER);
        subwords_step(&t->subwords, t->model.params.wte, update.adam, number,
                      update.learning_rate, update.embedding_decay, scale);
    }
    phase_enter(PHASE_REST);
}

/* --- a step that is not finite --- */

/* The rank with the first number that is not finite: in the loss of a shard, or else in the
 * gradient of a piece. */
static size_t first_nonfinite_rank(const Trainer *t, const Step *step)
{
    size_t ranks = ranks_count(), bad = 0, rank = 0;
    if (!isfinite(step->nats)) {
        while (bad + 1 < t->shards.count && isfinite(t->shard_sums[bad].nats))
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

static bool finite_reals(const real *values, size_t count)
{
    return tensor_is_finite(TENSOR_REAL, values, count * sizeof *values);
}

/* Checks the residual stream before or after a sublayer. After the last one its gradient has
 * replaced it; there, check what the final norm has saved, which is 0 if a row was infinite. */
static bool stream_is_finite(const Trainer *t, size_t place)
{
    const Pass *pass = &t->pass;
    if (place < 2 * t->model.config.layers)
        return finite_reals(pass->act.residual[place], pass->rows * t->model.config.dim);
    for (size_t row = 0; row < pass->rows; row++)
        if (!(pass->act.rstd[place][row] > 0))
            return false;
    return finite_reals(pass->act.rstd[place], pass->rows);
}

/* The first part of the model, in the forward pass, with a value that is not finite. With a
 * parallel residual, only the sum after a whole layer is kept. The caller frees. */
static char *first_nonfinite_part(const Trainer *t)
{
    if (trainer_matches(t))
        return text_format("the attention outputs being matched");
    if (!stream_is_finite(t, 0))
        return text_format("the embedding");
    bool whole = t->model.config.parallel;
    for (size_t place = whole ? 2 : 1; place <= 2 * t->model.config.layers; place += 1 + whole)
        if (!stream_is_finite(t, place))
            return text_format("layer %zu%s", (place + 1) / 2,
                               whole       ? ""
                               : place % 2 ? ", attention"
                                           : ", MLP");
    return text_format("the head");
}

/* The first such gradient in the backward pass. */
static char *first_nonfinite_gradient(const Trainer *t)
{
    const ParamTable *table = &t->model.table;
    for (size_t i = table->count; i-- > 0;) {
        const ParamRow *row = &table->rows[i];
        if (!(table->frozen && table->frozen[i]) &&
            !finite_reals(t->gradient_base + row->offset, row->count))
            return text_format("the gradient of %s", row->name);
    }
    return text_format("the gradient norm, while each gradient is finite");
}

/* Says where the first number of the step that is not finite arose, right after its batches,
 * while their activations and gradients are still there. If the loss is not finite, that of the
 * last batch is not. */
static void explain(const Trainer *t, const Step *step, size_t batches, Error *error)
{
    size_t number = t->progress.step, first = trainer_next_batch(t);
    bool loss = !isfinite(step->nats);
    char *where = loss ? first_nonfinite_part(t) : first_nonfinite_gradient(t);
    char *batch = loss || batches == 1
                      ? text_format("batch %zu", first + batches)
                      : text_format("batches %zu to %zu", first + 1, first + batches);
    error_set(error,
              "step %zu: the %s is not finite, at learning rate %g, in %s of epoch %zu; first "
              "in %s. The weights are unchanged. A new run with a lower --lr, %s or a longer "
              "--warmup may do better%s",
              number + 1, loss ? "loss" : "gradient", step->lr, batch,
              number / t->steps_per_epoch + 1, where,
              t->settings.train.clip > 0 ? "a lower --clip" : "--clip 1",
              t->settings.train.on_nan == ON_NAN_STOP
                  ? "; with --on-nan skip, --resume goes on without the step"
                  : "");
    free(where);
    free(batch);
}

/* --- the step --- */

/* Whether the squared gradient, which the optimizer needs, is finite in this program's numbers.
 */
static bool step_is_finite(const TrainOptions *train, const Step *step)
{
    double norm = step->gradient_norm;
    if (!isfinite(step->nats) || !isfinite(norm))
        return false;
    if (train->clip > 0 && norm > train->clip)
        norm = train->clip;
    return isfinite((real)(norm * norm));
}

/* Prepares the stage of the next step. After the matching of attention outputs the sums of
 * losses start anew, too, which were of another kind. All this follows from the number of the
 * step, so that a run may be resumed anywhere. */
static void enter_stage(Trainer *t)
{
    Progress *progress = &t->progress;
    t->model.table.frozen = trainer_matches(t) ? t->frozen : NULL;
    if (progress->step != stage_start(t))
        return;
    vector_zero(t->m, t->model.table.total);
    vector_zero(t->v, t->model.table.total);
    if (t->settings.train.subwords)
        subwords_restart(&t->subwords);
    progress->skipped_in_stage = 0;
    if (progress->step == t->match_steps) {
        progress->log = progress->round = (LossSum){0};
        progress->stale = 0;
    }
}

static void add_loss(LossSum *sum, const Step *step)
{
    sum->nats += step->nats;
    sum->tokens += step->tokens;
}

bool trainer_step(Trainer *t, Step *step, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    Progress *progress = &t->progress;
    enter_stage(t);
    *step = (Step){.lr = trainer_rate(t, &train->length, progress->step)};
    /* 1. the gradients of this rank's shards */
    size_t batches = compute_gradients(t, step);
    step->misread = !trainer_check_read(t, error);
    if (step->misread) /* the loss says nothing */
        return false;
    /* 2. their sum over all shards, and its norm */
    step->gradient_norm = isfinite(step->nats) ? sum_gradients(t, step->tokens) : (double)NAN;
    if (!step_is_finite(train, step)) {
        size_t rank = first_nonfinite_rank(t, step);
        if (rank == ranks_index())
            explain(t, step, batches, error);
        ranks_share(error, sizeof *error, rank);
        return false;
    }
    /* 3. the update of the weights */
    apply_gradients(t, step);
    real *carried = t->carried;
    t->carried = t->carried_next;
    t->carried_next = carried;
    progress->step++;
    progress->skipped_in_row = 0;
    trainer_add_to_average(t);
    progress->tokens += step->read;
    add_loss(&progress->log, step);
    add_loss(&progress->round, step);
    return true;
}

/* The carried states of a step that is skipped may not be finite, and those before it belong to
 * an earlier place of the text: the streams go on from empty ones. */
void trainer_skip(Trainer *t)
{
    if (t->pass.carries)
        vector_zero(t->carried, t->shards.count * t->pass.states_reals);
    t->progress.step++;
    t->progress.skipped++;
    t->progress.skipped_in_row++;
    t->progress.skipped_in_stage++;
}

/* --- between steps --- */

bool trainer_check_weights(const Trainer *t, Error *error)
{
    size_t bytes = t->model.table.total * sizeof *t->model.base;
    return ranks_count() == 1 ||
           ranks_same("the weights of its model",
                      crc32_z(0, (const Bytef *)t->model.base, bytes), error);
}

bool trainer_check_read(const Trainer *t, Error *error)
{
    return !t->corpus.mappings[0] || ranks_agree(corpus_check(&t->corpus, error), error);
}

Score trainer_validate(Trainer *t, bool whole, int (*stops)(void))
{
    Windows windows = trainer_windows(t);
    windows.stops = stops;
    if (whole)
        windows.part = 0;
    trainer_swap_average(t);
    Score score = score_windows(&t->pass, &windows, NULL, 0);
    trainer_swap_average(t);
    return score;
}
