#include "models/update.h"

#include "src/phase.h"

#include <math.h>

double update_gradient_norm(const Model *model, const real *gradient, size_t tokens)
{
    phase_enter(PHASE_OPTIMIZER);
    double sum = gradient_square_sum(gradient, model->table.total);
    phase_enter(PHASE_REST);
    return sqrt(sum) / (double)tokens;
}

void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  uint64_t t, double norm, size_t tokens)
{
    phase_enter(PHASE_OPTIMIZER);
    double scale = 1 / (double)tokens;
    if (update->clip > 0 && norm > update->clip)
        scale *= update->clip / norm;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        adamw_step(model->base + row->offset, m + row->offset, v + row->offset,
                   gradient + row->offset, row->count, update->adam, t, update->learning_rate,
                   row->decays ? update->weight_decay : 0, scale);
    }
    phase_enter(PHASE_REST);
}
