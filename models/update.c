#include "models/update.h"
#include "src/optim/muon.h"
#include "src/base/phase.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"

#include <math.h>

OPTION_NAMES(optimizer_name, "adamw", "muon");

/* --- pieces --- */

enum { PIECE = 32768 };

static bool by_muon(const ParamRow *row, size_t optimizer)
{
    return optimizer == OPTIMIZER_MUON && row->parts > 0;
}

static size_t piece_reals(const ParamRow *row, size_t optimizer)
{
    return by_muon(row, optimizer) ? row->count : PIECE;
}

void update_slices(const Model *model, size_t optimizer, size_t count, size_t *pieces,
                   size_t *bounds)
{
    const ParamTable *table = &model->table;
    size_t slice = 0, index = 0;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        const size_t reals = piece_reals(row, optimizer), end = row->offset + row->count;
        for (size_t at = row->offset; at < end; at += reals, index++)
            while (slice < count && at >= share_start(table->total, count, slice)) {
                pieces[slice] = index;
                bounds[slice++] = at;
            }
    }
    for (; slice <= count; slice++) {
        pieces[slice] = index;
        bounds[slice] = table->total;
    }
}

void update_square_sums(const Model *model, size_t optimizer, const real *gradient,
                        UpdateSlice slice, double *sums)
{
    size_t index = 0;
    phase_enter(PHASE_OPTIMIZER);
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        const size_t reals = piece_reals(row, optimizer), end = row->offset + row->count;
        for (size_t at = row->offset; at < end; at += reals, index++)
            if (at >= slice.first && at < slice.end)
                sums[index] = param_is_frozen(&model->table, i)
                                  ? 0
                                  : gradient_square_sum(gradient + at,
                                                        at + reals < end ? reals : end - at);
    }
    phase_enter(PHASE_REST);
}

double update_gradient_norm(const double *sums, size_t pieces, size_t tokens)
{
    double sum = 0;
    for (size_t i = 0; i < pieces; i++)
        sum += sums[i];
    return sqrt(sum) / (double)tokens;
}

static size_t columns_of_part(const ParamRow *row, size_t part)
{
    return part + 1 < row->parts ? row->part_columns : row->shape[1] - part * row->part_columns;
}

/* Scratch of Muon for its largest matrix. */
static size_t scratch_of_worker(const Model *model, size_t optimizer)
{
    size_t most = 0;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        for (size_t part = 0; by_muon(row, optimizer) && part < row->parts; part++) {
            size_t reals = muon_scratch_reals(row->shape[0], columns_of_part(row, part));
            most = reals > most ? reals : most;
        }
    }
    return most;
}

double update_flop(const Model *model, size_t optimizer)
{
    double flop = 0;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        for (size_t part = 0; by_muon(row, optimizer) && part < row->parts; part++)
            flop += muon_flop(row->shape[0], columns_of_part(row, part));
    }
    return flop;
}

size_t update_scratch_reals(const Model *model, size_t optimizer)
{
    return team_size() * scratch_of_worker(model, optimizer);
}

/* --- updating the weights --- */

typedef struct UpdateJob {
    Model *model;
    real *m, *v;          /* (table.total) */
    const real *gradient; /* (table.total) */
    const Update *update;
    UpdateSlice slice;
    double scale;  /* scale of the gradient */
    real *scratch; /* (update_scratch_reals) */
} UpdateJob;

/* The n-th Muon matrix of the slice. Queries, keys and values in c_attn are separate
 * matrices, and the keys of further steps; the values of all steps are one.
 * False after the last. */
static bool nth_muon_matrix(const UpdateJob *job, size_t n, MuonMatrix *matrix)
{
    const ParamTable *table = &job->model->table;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        bool updates = row->offset >= job->slice.first && row->offset < job->slice.end &&
                       by_muon(row, job->update->optimizer) && !param_is_frozen(table, i);
        size_t parts = updates ? row->parts : 0;
        if (n < parts) {
            size_t at = row->offset + n * row->part_columns;
            *matrix = (MuonMatrix){.w = job->model->base + at,
                                   .m = job->m + at,
                                   .gradient = job->gradient + at,
                                   .rows = row->shape[0],
                                   .columns = columns_of_part(row, n),
                                   .stride = row->shape[1]};
            return true;
        }
        n -= parts;
    }
    return false;
}

static void muon_tile(void *context, size_t tile, size_t worker)
{
    const UpdateJob *job = context;
    const Update *update = job->update;
    size_t scratch = worker * scratch_of_worker(job->model, update->optimizer);
    MuonMatrix matrix;
    if (nth_muon_matrix(job, tile, &matrix))
        muon_step(&matrix, update->momentum, update->learning_rate, update->weight_decay,
                  job->scale, job->scratch + scratch);
}

static void adamw_others(const UpdateJob *job, uint64_t t)
{
    const Update *update = job->update;
    const ParamTable *table = &job->model->table;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        size_t at = row->offset, end = at + row->count;
        double decay = row->is_embedding ? update->embedding_decay : update->weight_decay;
        at = at > job->slice.first ? at : job->slice.first;
        end = end < job->slice.end ? end : job->slice.end;
        if (at < end && !param_is_frozen(table, i) && !by_muon(row, update->optimizer))
            adamw_step(job->model->base + at, job->m + at, job->v + at, job->gradient + at,
                       end - at, update->adam, t, update->learning_rate,
                       row->has_weight_decay ? decay : 0, job->scale);
    }
}

double update_scale(const Update *update, double norm, size_t tokens)
{
    double scale = 1 / (double)tokens;
    return update->clip > 0 && norm > update->clip ? scale * (update->clip / norm) : scale;
}

void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  UpdateSlice slice, uint64_t t, double scale, real *scratch)
{
    phase_enter(PHASE_OPTIMIZER);
    UpdateJob job = {model, m, v, gradient, update, slice, scale, scratch};
    size_t matrices = 0;
    for (MuonMatrix matrix; nth_muon_matrix(&job, matrices, &matrix);)
        matrices++;
    team_run(matrices, muon_tile, &job); /* each of them, being small, on one thread */
    adamw_others(&job, t);
    phase_enter(PHASE_REST);
}
