#include "src/layers/head.h"
#include "src/base/memory.h"
#include "src/math/gemm.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#define BLOCK_LOGITS ((size_t)1650000) /* logits of one block: 6.6 MB of floats */
#define BLOCK_ROWS   ((size_t)1024)
#define FEWEST_ROWS  ((size_t)160) /* of a block, however large the vocabulary */
#define ROW_UNIT     ((size_t)32)
#define ROW_TILE     ((size_t)32)

/* A tile of work is some slices, one after another, each with logits that fit in the L2 cache.
 */
enum { TILES = 16, SLICE = 1024 };

/* A factor that is packed once for several products. */
typedef struct Packed {
    Factor factor;
    real *memory; /* (gemm_prepack_reals) */
} Packed;

/* The slices of W, each packed once for all blocks. */
typedef struct PackedSlices {
    Factor *factors; /* (slices) */
    real *memory;    /* (slices, each) */
    size_t each;     /* gemm_prepack_reals */
} PackedSlices;

/* One of the models whose logits are computed. */
typedef struct Side {
    const real *x; /* (rows, width) */
    const real *w; /* (vocabulary, width) */
    const real *b; /* (vocabulary) or NULL */
    size_t width;
    real cap;
    PackedSlices w_as_a; /* W_slice as A of the logits */
    Packed xt_as_b;      /* the block's X^T as B of the logits */
    real *e;             /* (slices, slice, block) exp(z - m), then p */
    real *max, *sum;     /* (slices, block) */
    real *lse;           /* (block) */
} Side;

enum { STUDENT, TEACHER, SIDES };

typedef struct Job {
    HeadSizes sizes;
    Side side[SIDES];
    size_t sides;           /* 1: no teacher */
    real teacher_share;     /* in the loss */
    real *loss;             /* (rows) */
    real *dx;               /* (rows, width), or NULL: only the losses */
    real *dw, *db;          /* (vocabulary, width), (vocabulary) or NULL */
    const int32_t *targets; /* (rows) */
    size_t right;           /* rows whose target has the largest logit */
    size_t slice;           /* vocabulary entries of a slice */
    size_t slices;
    size_t of_tile, tiles; /* slices of a tile; tiles */
    size_t block;          /* rows of a full block */
    size_t stride;         /* of e */
    size_t first, count;   /* the rows of the current block */
    PackedSlices w_as_b;   /* W_slice as B of dX */
    Packed x_as_b;         /* the block's X as B of dW */
    real *z_target;        /* (block) */
    real *partial;         /* (tiles, block, width) dX of each tile */
} Job;

/* The entries of a slice and its scratch memory. */
typedef struct Slice {
    size_t first, entries;
    real *e;         /* (entries, block), rows Job.stride apart */
    real *max, *sum; /* (block) */
} Slice;

/* --- the work of a call, and its memory --- */

static size_t block_rows(HeadSizes sizes)
{
    size_t rows = BLOCK_LOGITS / sizes.vocabulary / ROW_UNIT * ROW_UNIT;
    rows = rows < FEWEST_ROWS ? FEWEST_ROWS : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    return rows < sizes.rows ? rows : sizes.rows;
}

static real *packed_memory(Arena *arena, GemmSide side, bool transposed, size_t rows,
                           size_t columns)
{
    return arena_reals(arena, gemm_prepack_reals(side, transposed, rows, columns));
}

static PackedSlices packed_slices(Arena *arena, const Job *job, GemmSide side, size_t width)
{
    size_t each = gemm_prepack_reals(side, false, job->slice, width);
    return (PackedSlices){.factors = arena_bytes(arena, job->slices, sizeof(Factor)),
                          .memory = arena_reals(arena, job->slices * each),
                          .each = each};
}

static void lay_out_side(Side *side, const Job *job, Arena *arena)
{
    side->w_as_a = packed_slices(arena, job, GEMM_A, side->width);
    side->xt_as_b.memory = packed_memory(arena, GEMM_B, true, side->width, job->block);
    side->e = arena_reals(arena, job->slices * job->slice * job->stride);
    side->max = arena_reals(arena, job->slices * job->block);
    side->sum = arena_reals(arena, job->slices * job->block);
    side->lse = arena_reals(arena, job->block);
}

static void layout(Job *job, Arena *arena)
{
    size_t block = job->block = block_rows(job->sizes), width = job->sizes.width;
    job->stride = gemm_stride(memory_whole_lines(block)); /* fewer rows need no more memory */
    size_t of_tile = team_tiles(job->sizes.vocabulary, TILES);
    job->of_tile = team_tiles(of_tile, SLICE);
    job->slice = memory_whole_lines(team_tiles(of_tile, job->of_tile));
    job->slices = team_tiles(job->sizes.vocabulary, job->slice);
    job->tiles = team_tiles(job->slices, job->of_tile);
    for (size_t i = 0; i < job->sides; i++)
        lay_out_side(&job->side[i], job, arena);
    job->w_as_b = packed_slices(arena, job, GEMM_B, width);
    job->x_as_b.memory = packed_memory(arena, GEMM_B, false, block, width);
    job->z_target = arena_reals(arena, block);
    job->partial = arena_reals(arena, job->tiles * block * width);
}

size_t head_scratch_reals(HeadSizes sizes, size_t teacher_width)
{
    Job job = {.sizes = sizes,
               .side = {{.width = sizes.width}, {.width = teacher_width}},
               .sides = teacher_width ? SIDES : 1};
    Arena arena = {0};
    layout(&job, &arena);
    return arena_used_reals(&arena);
}

static Slice slice_of(const Job *job, size_t which, size_t index)
{
    const Side *side = &job->side[which];
    return (Slice){.first = index * job->slice,
                   .entries = team_extent(job->sizes.vocabulary, job->slice, index),
                   .e = side->e + index * job->slice * job->stride,
                   .max = side->max + index * job->block,
                   .sum = side->sum + index * job->block};
}

static bool has_target(const Job *job, const Slice *slice, size_t row)
{
    int32_t target = job->targets[job->first + row];
    return target >= 0 && (size_t)target - slice->first < slice->entries;
}

static real *target_in(const Job *job, const Slice *slice, size_t row)
{
    size_t entry = (size_t)job->targets[job->first + row] - slice->first;
    return slice->e + entry * job->stride + row;
}

/* --- steps 1 to 3: logits and losses --- */

/* z = cap tanh(z / cap), (count) */
static void soft_cap(real *restrict z, real cap, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        z[i] = cap * vector_tanh(z[i] / cap);
}

static void pack(Packed *packed, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    packed->factor = gemm_prepack(packed->memory, factor, side, rows, columns);
}

static void pack_slice(PackedSlices *packed, size_t index, Factor factor, GemmSide side,
                       size_t rows, size_t columns)
{
    packed->factors[index] = gemm_prepack(packed->memory + index * packed->each, factor, side,
                                          rows, columns);
}

static void pack_w_slice(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Job *job = context;
    size_t which = tile / job->slices, index = tile % job->slices;
    Side *side = &job->side[which];
    Slice slice = slice_of(job, which, index);
    Factor w = plain(side->w + slice.first * side->width, side->width);
    pack_slice(&side->w_as_a, index, w, GEMM_A, slice.entries, side->width);
    if (job->dx && which == STUDENT)
        pack_slice(&job->w_as_b, index, w, GEMM_B, slice.entries, side->width);
}

/* Step 1: a tile for each side, and one for the gradient. */
static void pack_x_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Job *job = context;
    Side *side = &job->side[tile < job->sides ? tile : STUDENT];
    const real *x = side->x + job->first * side->width;
    if (tile < job->sides)
        pack(&side->xt_as_b, transposed(x, side->width), GEMM_B, side->width, job->count);
    else if (job->dx)
        pack(&job->x_as_b, plain(x, side->width), GEMM_B, job->count, side->width);
}

/* Turns the logits z (rows) of one entry into exp(z - max) and adds them to the sums. */
static void add_entry(real *restrict z, real *restrict sum, const real *restrict max,
                      size_t rows)
{
#pragma omp simd
    for (size_t row = 0; row < rows; row++) {
        z[row] = vector_exp(z[row] - max[row]);
        sum[row] += z[row];
    }
}

static void slice_logits(const Job *job, size_t which, size_t index)
{
    size_t rows = job->count;
    const Side *side = &job->side[which];
    Slice slice = slice_of(job, which, index);
    /* Z = W_slice X^T */
    gemm_weights(slice.entries, rows, side->width, side->w_as_a.factors[index],
                 side->xt_as_b.factor, GEMM_SET, slice.e, job->stride);
    for (size_t row = 0; row < rows; row++)
        slice.max[row] = -(real)INFINITY;
    vector_zero(slice.sum, rows);
    for (size_t entry = 0; entry < slice.entries; entry++) {
        real *restrict z = slice.e + entry * job->stride, *restrict max = slice.max;
        if (side->b) {
            const real bias = side->b[slice.first + entry];
            for (size_t row = 0; row < rows; row++)
                z[row] += bias;
        }
        if (side->cap > 0)
            soft_cap(z, side->cap, rows);
        for (size_t row = 0; row < rows; row++)
            max[row] = z[row] > max[row] ? z[row] : max[row];
    }
    for (size_t row = 0; which == STUDENT && row < rows; row++)
        if (has_target(job, &slice, row))
            job->z_target[row] = *target_in(job, &slice, row);
    for (size_t entry = 0; entry < slice.entries; entry++)
        add_entry(slice.e + entry * job->stride, slice.sum, slice.max, rows);
}

/* The slices of a tile end before this one. */
static size_t tile_end(const Job *job, size_t tile)
{
    return tile * job->of_tile + team_extent(job->slices, job->of_tile, tile);
}

/* Step 2. */
static void logits_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t which = tile / job->tiles, of_side = tile % job->tiles;
    for (size_t i = of_side * job->of_tile; i < tile_end(job, of_side); i++)
        slice_logits(job, which, i);
}

/* Sets the log-sum-exp of a row; returns its largest logit. */
static real finish_sum(const Job *job, const Side *side, size_t row)
{
    real max = side->max[row], sum = 0;
    for (size_t s = 1; s < job->slices; s++)
        max = side->max[s * job->block + row] > max ? side->max[s * job->block + row] : max;
    for (size_t s = 0; s < job->slices; s++)
        sum += side->sum[s * job->block + row] *
               (real)exp(side->max[s * job->block + row] - max);
    side->lse[row] = max + (real)log(sum);
    return max;
}

/* Step 3. */
static double finish_losses(Job *job)
{
    double total = 0;
    const Side *student = &job->side[STUDENT];
    for (size_t row = 0; row < job->count; row++) {
        real max = finish_sum(job, student, row);
        if (job->sides > TEACHER)
            finish_sum(job, &job->side[TEACHER], row);
        bool counts = job->targets[job->first + row] >= 0;
        real loss = counts ? student->lse[row] - job->z_target[row] : 0;
        job->loss[job->first + row] = loss;
        job->right += counts && job->z_target[row] >= max;
        total += (double)loss;
    }
    return total;
}

/* --- steps 4 and 5: gradients --- */

/* Backpropagates p through the soft cap: multiplies by 1 - (z / cap)^2, with z recovered from
 * e; p, e, max (rows). */
static void soft_cap_backward(real *p, const real *e, const real *max, real cap, size_t rows)
{
#pragma omp simd
    for (size_t row = 0; row < rows; row++) {
        real share = (max[row] + vector_log(e[row])) / cap;
        p[row] *= 1 - share * share;
    }
}

/* The factors from e to probabilities times `weight`, in place of the sums: (rows). */
static const real *scale_of(const Job *job, size_t which, const Slice *slice, real weight)
{
    for (size_t row = 0; row < job->count; row++)
        slice->sum[row] = job->targets[job->first + row] < 0
                              ? 0
                              : weight *
                                    vector_exp(slice->max[row] - job->side[which].lse[row]);
    return slice->sum;
}

/* From e to p, the gradient of the losses by the logits of a slice. */
static void logit_gradients(const Job *job, size_t index)
{
    const Side *student = &job->side[STUDENT];
    Slice slice = slice_of(job, STUDENT, index), teacher = {0};
    size_t rows = job->count;
    real cap = student->cap;
    const real *scale = scale_of(job, STUDENT, &slice, 1), *share = NULL;
    if (job->sides > TEACHER) {
        teacher = slice_of(job, TEACHER, index);
        share = scale_of(job, TEACHER, &teacher, job->teacher_share);
    }
    for (size_t entry = 0; entry < slice.entries; entry++) {
        real *restrict p = slice.e + entry * job->stride;
        real *restrict q = share ? teacher.e + entry * job->stride : NULL;
        if (cap > 0 && q)
            soft_cap_backward(q, p, slice.max, cap, rows);
        if (cap > 0)
            soft_cap_backward(p, p, slice.max, cap, rows);
        for (size_t row = 0; row < rows; row++)
            p[row] *= scale[row];
        for (size_t row = 0; q && row < rows; row++)
            p[row] -= q[row] * share[row];
    }
    for (size_t row = 0; row < rows; row++) {
        real capped = cap > 0 ? job->z_target[row] / cap : 0; /* tanh of the logit / cap */
        if (has_target(job, &slice, row))
            *target_in(job, &slice, row) -= (1 - job->teacher_share) * (1 - capped * capped);
    }
    for (size_t entry = 0; job->db && entry < slice.entries; entry++)
        job->db[slice.first + entry] += vector_sum(slice.e + entry * job->stride, rows);
}

/* Step 4. */
static void gradient_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    const size_t width = job->sizes.width, first = tile * job->of_tile;
    real *dx = job->partial + tile * job->block * width;
    for (size_t i = first; i < tile_end(job, tile); i++) {
        Slice slice = slice_of(job, STUDENT, i);
        logit_gradients(job, i);
        /* dW_slice += P X */
        gemm_weights(slice.entries, width, job->count, plain(slice.e, job->stride),
                     job->x_as_b.factor, GEMM_ADD, job->dw + slice.first * width, width);
        /* dX += P^T W_slice */
        gemm_weights(job->count, width, slice.entries, transposed(slice.e, job->stride),
                     job->w_as_b.factors[i], i == first ? GEMM_SET : GEMM_ADD, dx, width);
    }
}

/* Step 5: a tile is some rows of dX. */
static void sum_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t width = job->sizes.width, first = tile * ROW_TILE * width;
    size_t count = team_extent(job->count, ROW_TILE, tile) * width;
    real *dx = job->dx + job->first * width + first;
    for (size_t i = 0; i < count; i++)
        dx[i] = job->partial[first + i];
    for (size_t i = 1; i < job->tiles; i++)
        vector_add_scaled(dx, job->partial + i * job->block * width + first, 1, count);
}

/* --- calls --- */

static double compute(Job *job, real *scratch)
{
    Arena arena = arena_over(scratch);
    layout(job, &arena);
    double total = 0;
    team_run(job->sides * job->slices, pack_w_slice, job);
    for (; job->first < job->sizes.rows; job->first += job->block) {
        size_t left = job->sizes.rows - job->first;
        job->count = left < job->block ? left : job->block;
        team_run(job->sides + 1, pack_x_tile, job);
        team_run(job->sides * job->tiles, logits_tile, job);
        total += finish_losses(job);
        if (!job->dx)
            continue;
        team_run(job->tiles, gradient_tile, job);
        team_run(team_tiles(job->count, ROW_TILE), sum_tile, job);
    }
    return total;
}

double head_gradients(real *loss, real *dx, real *dw, real *db, const real *x, const real *w,
                      const real *b, const int32_t *targets, const HeadTeacher *teacher,
                      HeadSizes sizes, real *scratch)
{
    Job job = {.sizes = sizes,
               .side = {{.x = x, .w = w, .b = b, .width = sizes.width, .cap = sizes.cap}},
               .sides = 1,
               .loss = loss,
               .dx = dx,
               .dw = dw,
               .db = db,
               .targets = targets};
    if (teacher)
        job.teacher_share = teacher->share;
    if (teacher)
        job.side[job.sides++] = (Side){.x = teacher->x,
                                       .w = teacher->w,
                                       .b = teacher->b,
                                       .width = teacher->width,
                                       .cap = teacher->cap};
    return compute(&job, scratch);
}

double head_loss(size_t *right, real *loss, const real *x, const real *w, const real *b,
                 const int32_t *targets, HeadSizes sizes, real *scratch)
{
    Job job = {.sizes = sizes,
               .side = {{.x = x, .w = w, .b = b, .width = sizes.width, .cap = sizes.cap}},
               .sides = 1,
               .loss = loss,
               .targets = targets};
    double total = compute(&job, scratch);
    *right = job.right;
    return total;
}

void head_logits(real *logits, const real *x, const real *w, const real *b, HeadSizes sizes)
{
    /* Z = X W^T + b */
    gemm_team(sizes.rows, sizes.vocabulary, sizes.width, plain(x, sizes.width),
              transposed(w, sizes.width), GEMM_SET, logits, sizes.vocabulary, (GemmExtra){0});
    for (size_t row = 0; b && row < sizes.rows; row++)
        vector_add_scaled(logits + row * sizes.vocabulary, b, 1, sizes.vocabulary);
    if (sizes.cap > 0)
        soft_cap(logits, sizes.cap, sizes.rows * sizes.vocabulary);
}
