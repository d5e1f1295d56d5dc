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

static size_t pieces_of(const ParamRow *row, size_t optimizer)
{
    return team_tiles(row->count, piece_reals(row, optimizer));
}

/* The part of a tensor that lies in a slice; `index` is the index of its first piece. */
typedef struct Stretch {
    size_t first, end;
} Stretch;

static Stretch stretch_of(const ParamRow *row, size_t optimizer, size_t index,
                          UpdateSlice slice)
{
    size_t reals = piece_reals(row, optimizer);
    size_t from = slice.first > index ? (slice.first - index) * reals : 0;
    size_t to = slice.end > index ? (slice.end - index) * reals : 0;
    return (Stretch){from, to < row->count ? to : row->count};
}

void update_slices(const Model *model, size_t optimizer, size_t count, size_t *pieces,
                   size_t *reals)
{
    const ParamTable *table = &model->table;
    size_t slice = 0, index = 0;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        for (size_t piece = 0; piece < pieces_of(row, optimizer); piece++, index++) {
            size_t at = row->offset + piece * PIECE;
            while (slice < count && at >= share_start(table->total, count, slice)) {
                pieces[slice] = index;
                reals[slice++] = at;
            }
        }
    }
    for (; slice <= count; slice++) {
        pieces[slice] = index;
        reals[slice] = table->total;
    }
}

void update_square_sums(const Model *model, size_t optimizer, const real *gradient,
                        UpdateSlice slice, double *sums)
{
    size_t index = 0;
    phase_enter(PHASE_OPTIMIZER);
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        for (size_t piece = 0; piece < pieces_of(row, optimizer); piece++, index++) {
            size_t reals = piece_reals(row, optimizer);
            if (index >= slice.first && index < slice.end)
                sums[index] = param_is_frozen(&model->table, i)
                                  ? 0
                                  : gradient_square_sum(gradient + row->offset + piece * reals,
                                                        team_extent(row->count, reals, piece));
        }
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

/* --- updating the weights --- */

/* Scratch of Muon for its largest matrix. */
static size_t scratch_of_worker(const Model *model, size_t optimizer)
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

size_t update_scratch_reals(const Model *model, size_t optimizer)
{
    return team_size() * scratch_of_worker(model, optimizer);
}

typedef struct Move {
    Model *model;
    real *m, *v;
    const real *gradient;
    const Update *update;
    UpdateSlice slice;
    double scale; /* scale of the gradient */
    real *scratch;
} Move;

/* The n-th Muon matrix of the slice. Queries, keys and values in c_attn are separate matrices.
 * False after the last. */
static bool nth_matrix(const Move *move, size_t n, MuonMatrix *matrix)
{
    const ParamTable *table = &move->model->table;
    size_t index = 0, optimizer = move->update->optimizer;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        bool within = index >= move->slice.first && index < move->slice.end &&
                      !param_is_frozen(table, i);
        size_t parts = within && by_muon(row, optimizer) ? row->parts : 0;
        if (n < parts) {
            size_t columns = row->shape[1] / row->parts, at = row->offset + n * columns;
            *matrix = (MuonMatrix){.w = move->model->base + at,
                                   .m = move->m + at,
                                   .gradient = move->gradient + at,
                                   .rows = row->shape[0],
                                   .columns = columns,
                                   .stride = row->shape[1]};
            return true;
        }
        n -= parts;
        index += pieces_of(row, optimizer);
    }
    return false;
}

static void move_matrix(void *job, size_t tile, size_t worker)
{
    const Move *move = job;
    const Update *update = move->update;
    size_t scratch = worker * scratch_of_worker(move->model, update->optimizer);
    MuonMatrix matrix;
    if (nth_matrix(move, tile, &matrix))
        muon_step(&matrix, update->momentum, update->learning_rate, update->weight_decay,
                  move->scale, move->scratch + scratch);
}

/* Many small matrices: each is updated by one thread. */
static void move_matrices(Move *move)
{
    size_t count = 0;
    for (MuonMatrix matrix; nth_matrix(move, count, &matrix);)
        count++;
    team_run(count, move_matrix, move);
}

static double decay_of(const ParamRow *row, const Update *update)
{
    if (!row->decays)
        return 0;
    return row->embeds ? update->embedding_decay : update->weight_decay;
}

static void move_others(const Move *move, uint64_t t)
{
    const Update *update = move->update;
    size_t index = 0;
    const ParamTable *table = &move->model->table;
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        Stretch stretch = stretch_of(row, update->optimizer, index, move->slice);
        size_t at = row->offset + stretch.first;
        index += pieces_of(row, update->optimizer);
        if (stretch.end > stretch.first && !param_is_frozen(table, i) &&
            !by_muon(row, update->optimizer))
            adamw_step(move->model->base + at, move->m + at, move->v + at, move->gradient + at,
                       stretch.end - stretch.first, update->adam, t, update->learning_rate,
                       decay_of(row, update), move->scale);
    }
}

void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  UpdateSlice slice, uint64_t t, double norm, size_t tokens, real *scratch)
{
    phase_enter(PHASE_OPTIMIZER);
    Move move = {model, m, v, gradient, update, slice, 1 / (double)tokens, scratch};
    if (update->clip > 0 && norm > update->clip)
        move.scale *= update->clip / norm;
    move_matrices(&move);
    move_others(&move, t);
    phase_enter(PHASE_REST);
}
