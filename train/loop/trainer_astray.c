#include "train/loop/trainer_astray.h"
#include "src/text.h"

#include <math.h>
#include <stdlib.h>

static bool finite_reals(const real *values, size_t count)
{
    return tensor_is_finite(TENSOR_REAL, values, count * sizeof *values);
}

/* Checks the residual stream before or after a sublayer. After the last one its gradient has
 * replaced it; there, check the mean that the final norm has saved. */
static bool stream_is_finite(const Trainer *t, size_t place)
{
    const Pass *pass = &t->pass;
    if (place == 2 * t->model.config.layers)
        return finite_reals(pass->mean[place], pass->rows);
    return finite_reals(pass->stream[place], pass->rows * t->model.config.dim);
}

/* The first part of the model, in the forward pass, with a value that is not finite. The caller
 * frees. */
static char *part_astray(const Trainer *t)
{
    if (!stream_is_finite(t, 0))
        return text_format("the embedding");
    for (size_t place = 0; place < 2 * t->model.config.layers; place++)
        if (!stream_is_finite(t, place + 1))
            return text_format("layer %zu, %s", place / 2 + 1,
                               place % 2 ? "feed-forward" : "attention");
    return text_format("the head");
}

/* The first such gradient in the backward pass. */
static char *gradient_astray(const Trainer *t)
{
    const ParamTable *table = &t->model.table;
    for (size_t i = table->count; i-- > 0;) {
        const ParamRow *row = &table->rows[i];
        if (!finite_reals(t->gradient_base + row->offset, row->count))
            return text_format("the gradient of %s", row->name);
    }
    return text_format("no single gradient, but their length");
}

void astray_explain(const Trainer *t, const Step *step, size_t first, size_t batches,
                    Error *error)
{
    size_t number = t->progress.step;
    bool loss = !isfinite(step->nats);
    char *where = loss ? part_astray(t) : gradient_astray(t);
    char *batch = loss || batches == 1
                      ? text_format("batch %zu", first + batches)
                      : text_format("batches %zu to %zu", first + 1, first + batches);
    error_set(error,
              "step %zu: the %s is not finite, at learning rate %g, in %s of epoch %zu; first: "
              "%s. The weights are as they were before. A new run with a lower --lr, a lower "
              "--clip or a longer --warmup may do better; --on-nan skip goes on without the "
              "step",
              number + 1, loss ? "loss" : "gradient", step->lr, batch,
              number / t->steps_per_epoch + 1, where);
    free(where);
    free(batch);
}
