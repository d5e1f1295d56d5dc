#include "src/layers/head_job.h"
#include "src/math/soft_record.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#define ROW_TILE ((size_t)32)

/* Backpropagates p through the soft cap: multiplies by 1 - (z / cap)^2, with z recovered from
 * e. */
static void hold_backward(real *p, const real *e, const real *max, real cap, size_t rows)
{
#pragma omp simd
    for (size_t row = 0; row < rows; row++) {
        real share = (max[row] + vector_log(e[row])) / cap;
        p[row] *= 1 - share * share;
    }
}

/* The factors from e to probabilities times `weight`, in place of the sums. */
static const real *scale_of(const HeadJob *job, size_t of, const HeadSlice *slice, real weight)
{
    for (size_t row = 0; row < job->count; row++)
        slice->sum[row] = job->targets[job->first + row] < 0
                              ? 0
                              : weight * vector_exp(slice->max[row] - job->side[of].lse[row]);
    return slice->sum;
}

/* Subtracts the share of the stored predictions from p. */
static void subtract_stored(const HeadJob *job, const HeadSlice *slice)
{
    const HeadTeacher *stored = job->stored;
    const real unit = stored->share / SOFT_UNIT;
    for (size_t entry = 0; entry < slice->entries; entry++)
        vector_add_scaled(slice->e + entry * job->stride, job->rest,
                          -stored->share * stored->unigram[slice->first + entry], job->count);
    for (size_t row = 0; row < job->count; row++) {
        const uint16_t *record = stored->records[job->first + row];
        if (job->targets[job->first + row] < 0)
            continue;
        for (size_t k = 0; k < stored->listed; k++) {
            size_t entry = record[k] - slice->first;
            if (entry < slice->entries)
                slice->e[entry * job->stride + row] -= unit * record[stored->listed + k] -
                                                       stored->share * job->rest[row] *
                                                           stored->unigram[record[k]];
        }
    }
}

/* From e to p, the gradient of the losses by the logits of a slice. */
static void weigh(const HeadJob *job, size_t tile)
{
    const HeadSide *own = &job->side[HEAD_OWN];
    HeadSlice slice = head_slice(job, HEAD_OWN, tile), taught = {0};
    size_t rows = job->count;
    real cap = own->cap;
    const real *scale = scale_of(job, HEAD_OWN, &slice, 1), *share = NULL;
    if (job->sides > HEAD_TEACHER) {
        taught = head_slice(job, HEAD_TEACHER, tile);
        share = scale_of(job, HEAD_TEACHER, &taught, job->taught);
    }
    for (size_t entry = 0; entry < slice.entries; entry++) {
        real *restrict p = slice.e + entry * job->stride;
        real *restrict q = share ? taught.e + entry * job->stride : NULL;
        if (cap > 0 && q)
            hold_backward(q, p, slice.max, cap, rows);
        if (cap > 0)
            hold_backward(p, p, slice.max, cap, rows);
        for (size_t row = 0; row < rows; row++)
            p[row] *= scale[row];
        for (size_t row = 0; q && row < rows; row++)
            p[row] -= q[row] * share[row];
    }
    if (job->stored)
        subtract_stored(job, &slice);
    for (size_t row = 0; row < rows; row++) {
        real bend = cap > 0 ? job->z_target[row] / cap : 0;
        if (head_has_target(job, &slice, row))
            *head_target_in(job, &slice, row) -= (1 - job->taught) * (1 - bend * bend);
    }
    for (size_t entry = 0; job->db && entry < slice.entries; entry++)
        job->db[slice.first + entry] += vector_sum(slice.e + entry * job->stride, rows);
}

/* Step 4. */
static void gradient_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const HeadJob *job = context;
    HeadSlice slice = head_slice(job, HEAD_OWN, tile);
    size_t width = job->sizes.width;
    weigh(job, tile);
    /* dW_slice += P X */
    gemm_weights(slice.entries, width, job->count, plain(slice.e, job->stride),
                 job->x_right.factor, GEMM_ADD, job->dw + slice.first * width, width);
    /* dX = P^T W_slice */
    gemm_weights(job->count, width, slice.entries, transposed(slice.e, job->stride),
                 job->w_right[tile].factor, GEMM_SET, slice.partial, width);
}

/* Step 5. */
static void sum_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const HeadJob *job = context;
    size_t width = job->sizes.width, first = tile * ROW_TILE * width;
    size_t count = team_extent(job->count, ROW_TILE, tile) * width;
    real *dx = job->dx + job->first * width + first;
    for (size_t i = 0; i < count; i++)
        dx[i] = job->partial[first + i];
    for (size_t s = 1; s < job->slices; s++)
        vector_add_scaled(dx, job->partial + s * job->block * width + first, 1, count);
}

void head_block_gradients(HeadJob *job)
{
    team_run(job->slices, gradient_tile, job);
    team_run(team_tiles(job->count, ROW_TILE), sum_tile, job);
}
