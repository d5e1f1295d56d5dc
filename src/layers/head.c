#include "src/layers/head.h"
#include "src/gemm.h"
#include "src/memory.h"
#include "src/team.h"
#include "src/vector.h"

#define BLOCK_LOGITS ((size_t)1650000) /* logits of one block: 6.6 MB of floats */
#define BLOCK_ROWS   ((size_t)1024)
#define ROW_TILE     ((size_t)32)
#define SLICES       ((size_t)16)

typedef struct Job {
    HeadSizes sizes;
    real *loss, *dx, *dw, *db;
    const real *x, *w, *b;
    const int32_t *targets;
    size_t slice; /* columns of a slice */
    size_t slices;
    size_t block;         /* rows of a full block */
    size_t first, count;  /* the rows of the current block */
    real *e;              /* (slices, block, slice) exp(z - m), then p */
    real *max, *sum;      /* (slices, block) */
    real *lse, *z_target; /* (block) */
    real *partial;        /* (slices, block, width) dX of each slice */
} Job;

static size_t block_rows(HeadSizes sizes)
{
    size_t rows = BLOCK_LOGITS / sizes.vocabulary / ROW_TILE * ROW_TILE;
    rows = rows < ROW_TILE ? ROW_TILE : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    return rows < sizes.rows ? rows : sizes.rows;
}

static size_t slice_columns(HeadSizes sizes)
{
    size_t columns = team_tiles(sizes.vocabulary, SLICES);
    return (columns + 15) / 16 * 16;
}

static void layout(Job *job, Arena *arena)
{
    size_t block = job->block = block_rows(job->sizes);
    job->slice = slice_columns(job->sizes);
    job->slices = team_tiles(job->sizes.vocabulary, job->slice);
    job->e = arena_reals(arena, job->slices * block * job->slice);
    job->max = arena_reals(arena, job->slices * block);
    job->sum = arena_reals(arena, job->slices * block);
    job->lse = arena_reals(arena, block);
    job->z_target = arena_reals(arena, block);
    job->partial = arena_reals(arena, job->slices * block * job->sizes.width);
}

size_t head_scratch_reals(HeadSizes sizes)
{
    Job job = {.sizes = sizes};
    Arena arena = {0};
    layout(&job, &arena);
    return arena_used_reals(&arena);
}

/* Offsets of a slice's columns and of its scratch memory. */
typedef struct Slice {
    size_t first, columns;
    real *e, *max, *sum, *partial;
} Slice;

static Slice slice_of(const Job *job, size_t tile)
{
    return (Slice){.first = tile * job->slice,
                   .columns = team_extent(job->sizes.vocabulary, job->slice, tile),
                   .e = job->e + tile * job->block * job->slice,
                   .max = job->max + tile * job->block,
                   .sum = job->sum + tile * job->block,
                   .partial = job->partial + tile * job->block * job->sizes.width};
}

static void hold(real *restrict z, real cap, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] = cap * vector_tanh(z[i] / cap);
}

/* Step 1. */
static void logits_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    Slice slice = slice_of(job, tile);
    size_t width = job->sizes.width;
    /* Z = X W_slice^T */
    gemm_weights(job->count, slice.columns, width, plain(job->x + job->first * width, width),
                 transposed(job->w + slice.first * width, width), GEMM_SET, slice.e,
                 job->slice);
    for (size_t row = 0; row < job->count; row++) {
        real *restrict z = slice.e + row * job->slice;
        if (job->b)
            for (size_t i = 0; i < slice.columns; i++)
                z[i] += job->b[slice.first + i];
        if (job->sizes.cap > 0)
            hold(z, job->sizes.cap, slice.columns);
        int32_t target = job->targets[job->first + row];
        if (target >= 0 && (size_t)target - slice.first < slice.columns)
            job->z_target[row] = z[(size_t)target - slice.first];
        real max = vector_max(z, slice.columns), sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < slice.columns; i++) {
            z[i] = vector_exp(z[i] - max);
            sum += z[i];
        }
        slice.max[row] = max;
        slice.sum[row] = sum;
    }
}

/* Step 2. */
static double finish_losses(const Job *job)
{
    double total = 0;
    for (size_t row = 0; row < job->count; row++) {
        real max = job->max[row], sum = 0;
        for (size_t s = 1; s < job->slices; s++)
            max = job->max[s * job->block + row] > max ? job->max[s * job->block + row] : max;
        for (size_t s = 0; s < job->slices; s++)
            sum += job->sum[s * job->block + row] *
                   (real)exp(job->max[s * job->block + row] - max);
        job->lse[row] = max + (real)log(sum);
        bool counts = job->targets[job->first + row] >= 0;
        real loss = counts ? job->lse[row] - job->z_target[row] : 0;
        job->loss[job->first + row] = loss;
        total += (double)loss;
    }
    return total;
}

/* Backpropagates p through the soft cap: multiplies by 1 - (z / cap)^2. Recovers z from e;
 * p is e times the scale. */
static void hold_backward(real *restrict p, real scale, real max, real cap, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        real share = (max + vector_log(p[i])) / cap;
        p[i] *= scale * (1 - share * share);
    }
}

/* Step 3. */
static void gradient_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    Slice slice = slice_of(job, tile);
    size_t width = job->sizes.width;
    for (size_t row = 0; row < job->count; row++) {
        real *restrict p = slice.e + row * job->slice;
        int32_t target = job->targets[job->first + row];
        real scale = target < 0 ? 0 : vector_exp(slice.max[row] - job->lse[row]);
        real cap = job->sizes.cap, share = cap > 0 ? job->z_target[row] / cap : 0;
        if (cap > 0)
            hold_backward(p, scale, slice.max[row], cap, slice.columns);
        for (size_t i = 0; cap == 0 && i < slice.columns; i++)
            p[i] *= scale;
        if (target >= 0 && (size_t)target - slice.first < slice.columns)
            p[(size_t)target - slice.first] -= 1 - share * share;
        if (job->db)
            vector_add_scaled(job->db + slice.first, p, 1, slice.columns);
    }
    /* dW_slice += P^T X */
    gemm_weights(slice.columns, width, job->count, transposed(slice.e, job->slice),
                 plain(job->x + job->first * width, width), GEMM_ADD,
                 job->dw + slice.first * width, width);
    /* dX = P W_slice */
    gemm_weights(job->count, width, slice.columns, plain(slice.e, job->slice),
                 plain(job->w + slice.first * width, width), GEMM_SET, slice.partial, width);
}

/* Step 4. */
static void sum_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t width = job->sizes.width, first = tile * ROW_TILE * width;
    size_t count = team_extent(job->count, ROW_TILE, tile) * width;
    real *dx = job->dx + job->first * width + first;
    for (size_t i = 0; i < count; i++)
        dx[i] = job->partial[first + i];
    for (size_t s = 1; s < job->slices; s++)
        vector_add_scaled(dx, job->partial + s * job->block * width + first, 1, count);
}

double head_gradients(real *loss, real *dx, real *dw, real *db, const real *x, const real *w,
                      const real *b, const int32_t *targets, HeadSizes sizes, real *scratch)
{
    Job job = {.sizes = sizes,
               .loss = loss,
               .dx = dx,
               .dw = dw,
               .db = db,
               .x = x,
               .w = w,
               .b = b,
               .targets = targets};
    Arena arena = arena_over(scratch);
    layout(&job, &arena);
    double total = 0;
    for (; job.first < sizes.rows; job.first += job.block) {
        size_t left = sizes.rows - job.first;
        job.count = left < job.block ? left : job.block;
        team_run(job.slices, logits_tile, &job);
        total += finish_losses(&job);
        if (dx) {
            team_run(job.slices, gradient_tile, &job);
            team_run(team_tiles(job.count, ROW_TILE), sum_tile, &job);
        }
    }
    return total;
}

double head_loss(real *loss, const real *x, const real *w, const real *b,
                 const int32_t *targets, HeadSizes sizes, real *scratch)
{
    return head_gradients(loss, NULL, NULL, NULL, x, w, b, targets, sizes, scratch);
}

void head_logits(real *logits, const real *x, const real *w, const real *b, HeadSizes sizes)
{
    /* Z = X W^T + b, in row groups of fixed size: logits do not depend on other rows. */
    for (size_t row = 0; row < sizes.rows; row += GEMM_FEW)
        gemm_team(team_extent(sizes.rows, GEMM_FEW, row / GEMM_FEW), sizes.vocabulary,
                  sizes.width, plain(x + row * sizes.width, sizes.width),
                  transposed(w, sizes.width), GEMM_SET, logits + row * sizes.vocabulary,
                  sizes.vocabulary, NULL, NULL);
    for (size_t row = 0; b && row < sizes.rows; row++)
        vector_add_scaled(logits + row * sizes.vocabulary, b, 1, sizes.vocabulary);
    if (sizes.cap > 0)
        hold(logits, sizes.cap, sizes.rows * sizes.vocabulary);
}
