/* What went wrong if the loss or the gradient of a step is not finite. */
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <stdlib.h>

/* The rank with the first number that is not finite: in the loss of a shard, or else in the
 * gradient of a piece. */
static size_t rank_astray(const Trainer *t, const Step *step)
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
static char *part_astray(const Trainer *t)
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
static char *gradient_astray(const Trainer *t)
{
    const ParamTable *table = &t->model.table;
    for (size_t i = table->count; i-- > 0;) {
        const ParamRow *row = &table->rows[i];
        if (!param_is_frozen(table, i) &&
            !finite_reals(t->gradient_base + row->offset, row->count))
            return text_format("the gradient of %s", row->name);
    }
    return text_format("the gradient norm, while each gradient is finite");
}

/* If the loss is not finite, that of the last batch is not. */
static void explain_here(const Trainer *t, const Step *step, size_t batches, Error *error)
{
    size_t number = t->progress.step, first = trainer_next_batch(t);
    bool loss = !isfinite(step->nats);
    char *where = loss ? part_astray(t) : gradient_astray(t);
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

void trainer_explain(const Trainer *t, const Step *step, size_t batches, Error *error)
{
    size_t rank = rank_astray(t, step);
    if (rank == ranks_own())
        explain_here(t, step, batches, error);
    ranks_share(error, sizeof *error, rank);
}
