#include "models/update.h"
#include "src/optim/muon.h"
#include "src/phase.h"

#include <math.h>

const char *optimizer_name(size_t index)
{
    static const char *const names[] = {"adamw", "muon"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

double update_gradient_norm(const Model *model, const real *gradient, size_t tokens)
{
    phase_enter(PHASE_OPTIMIZER);
    double sum = gradient_square_sum(gradient, model->table.total);
    phase_enter(PHASE_REST);
    return sqrt(sum) / (double)tokens;
}

static bool by_muon(const ParamRow *row, size_t optimizer)
{
    return optimizer == OPTIMIZER_MUON && row->parts > 0;
}

size_t update_scratch_reals(const Model *model, size_t optimizer)
{
    size_t most = 0;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        if (!by_muon(row, optimizer))
            continue;
        size_t reals = muon_scratch_reals(row->shape[0], row->shape[1] / row->parts);
        most = reals > most ? reals : most;
    }
    return most;
}

/* Each part by itself: queries have nothing to do with keys. */
static void muon_row(Model *model, real *m, const real *gradient, const ParamRow *row,
                     const Update *update, double scale, real *scratch)
{
    size_t columns = row->shape[1] / row->parts;
    for (size_t part = 0; part < row->parts; part++) {
        size_t at = row->offset + part * columns;
        MuonMatrix matrix = {.w = model->base + at,
                             .m = m + at,
                             .gradient = gradient + at,
                             .rows = row->shape[0],
                             .columns = columns,
                             .stride = row->shape[1]};
        muon_step(&matrix, update->momentum, update->learning_rate, update->weight_decay, scale,
                  scratch);
    }
}

void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  uint64_t t, double norm, size_t tokens, real *scratch)
{
    phase_enter(PHASE_OPTIMIZER);
    double scale = 1 / (double)tokens;
    if (update->clip > 0 && norm > update->clip)
        scale *= update->clip / norm;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        if (by_muon(row, update->optimizer)) {
            muon_row(model, m, gradient, row, update, scale, scratch);
            continue;
        }
        adamw_step(model->base + row->offset, m + row->offset, v + row->offset,
                   gradient + row->offset, row->count, update->adam, t, update->learning_rate,
                   row->decays ? update->weight_decay : 0, scale);
    }
    phase_enter(PHASE_REST);
}
