#include "src/layers/head.h"
#include "src/gemm.h"
#include "src/memory.h"
#include "src/soft_record.h"
#include "src/team.h"
#include "src/vector.h"

#define BLOCK_LOGITS ((size_t)1650000) /* logits of one block: 6.6 MB of floats */
#define BLOCK_ROWS   ((size_t)1024)
#define ROW_TILE     ((size_t)32)
#define SLICES       ((size_t)16)

/* A factor of several products, and memory to prepare it. */
typedef struct Share {
    Factor factor;
    real *memory;
} Share;

/* One of the models whose logits are computed. */
typedef struct Side {
    const real *x, *w, *b;
    size_t width;
    real cap;
    Share w_left[SLICES]; /* W_slice as A of the logits */
    Share x_turned;       /* the block's X^T as B of the logits */
    real *e;              /* (slices, slice, block) exp(z - m), then p */
    real *max, *sum;      /* (slices, block) */
    real *lse;            /* (block) */
} Side;

enum { OWN, TEACHER, SIDES };

typedef struct Job {
    HeadSizes sizes;
    Side side[SIDES];
    size_t sides;              /* 1: no teacher */
    real taught;               /* share of the teacher in the loss */
    real margin;               /* 0: none */
    const HeadTeacher *stored; /* NULL: none */
    real *rest;                /* (block) of the stored records */
    real *loss, *dx, *dw, *db;
    size_t right; /* rows whose target has the largest logit */
    const int32_t *targets;
    size_t slice; /* vocabulary entries of a slice */
    size_t slices;
    size_t block;          /* rows of a full block */
    size_t stride;         /* of e */
    size_t first, count;   /* the rows of the current block */
    Share w_right[SLICES]; /* W_slice as B of dX */
    Share x_right;         /* the block's X as B of dW */
    real *z_target;        /* (block) */
    real *partial;         /* (slices, block, width) dX of each slice */
} Job;

static size_t block_rows(HeadSizes sizes)
{
    size_t rows = BLOCK_LOGITS / sizes.vocabulary / ROW_TILE * ROW_TILE;
    rows = rows < ROW_TILE ? ROW_TILE : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    return rows < sizes.rows ? rows : sizes.rows;
}

static size_t slice_entries(HeadSizes sizes)
{
    size_t entries = team_tiles(sizes.vocabulary, SLICES);
    return (entries + 15) / 16 * 16;
}

static real *share_memory(Arena *arena, GemmSide side, bool transposed, size_t rows,
                          size_t columns)
{
    return arena_reals(arena, gemm_share_reals(side, transposed, rows, columns));
}

static void lay_out_side(Side *side, const Job *job, Arena *arena)
{
    for (size_t i = 0; i < job->slices; i++)
        side->w_left[i].memory = share_memory(arena, GEMM_A, false, job->slice, side->width);
    side->x_turned.memory = share_memory(arena, GEMM_B, true, side->width, job->block);
    side->e = arena_reals(arena, job->slices * job->slice * job->stride);
    side->max = arena_reals(arena, job->slices * job->block);
    side->sum = arena_reals(arena, job->slices * job->block);
    side->lse = arena_reals(arena, job->block);
}

static void layout(Job *job, Arena *arena)
{
    size_t block = job->block = block_rows(job->sizes), width = job->sizes.width;
    job->stride = gemm_stride(block);
    job->slice = slice_entries(job->sizes);
    job->slices = team_tiles(job->sizes.vocabulary, job->slice);
    for (size_t i = 0; i < job->sides; i++)
        lay_out_side(&job->side[i], job, arena);
    for (size_t i = 0; i < job->slices; i++)
        job->w_right[i].memory = share_memory(arena, GEMM_B, false, job->slice, width);
    job->x_right.memory = share_memory(arena, GEMM_B, false, block, width);
    job->z_target = arena_reals(arena, block);
    job->rest = arena_reals(arena, block);
    job->partial = arena_reals(arena, job->slices * block * width);
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

/* The entries of a slice and its scratch memory. */
typedef struct Slice {
    size_t first, entries;
    real *e, *max, *sum, *partial;
} Slice;

static Slice slice_of(const Job *job, size_t of, size_t tile)
{
    const Side *side = &job->side[of];
    return (Slice){.first = tile * job->slice,
                   .entries = team_extent(job->sizes.vocabulary, job->slice, tile),
                   .e = side->e + tile * job->slice * job->stride,
                   .max = side->max + tile * job->block,
                   .sum = side->sum + tile * job->block,
                   .partial = job->partial + tile * job->block * job->sizes.width};
}

static bool has_target(const Job *job, const Slice *slice, size_t row)
{
    int32_t target = job->targets[job->first + row];
    return target >= 0 && (size_t)target - slice->first < slice->entries;
}

/* Where the target of a row that has it in this slice is in e. */
static real *target_in(const Job *job, const Slice *slice, size_t row)
{
    size_t entry = (size_t)job->targets[job->first + row] - slice->first;
    return slice->e + entry * job->stride + row;
}

static void hold(real *restrict z, real cap, size_t count)
{
    for (size_t i = 0; i < count; i++)
        z[i] = cap * vector_tanh(z[i] / cap);
}

static void prepare(Share *share, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    share->factor = gemm_share(share->memory, factor, side, rows, columns);
}

static void share_w_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Job *job = context;
    size_t of = tile / job->slices, index = tile % job->slices;
    Side *side = &job->side[of];
    Slice slice = slice_of(job, of, index);
    Factor w = plain(side->w + slice.first * side->width, side->width);
    prepare(&side->w_left[index], w, GEMM_A, slice.entries, side->width);
    if (job->dx && of == OWN)
        prepare(&job->w_right[index], w, GEMM_B, slice.entries, side->width);
}

/* Step 1: a tile for each side, and one for the gradient. */
static void share_x_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Job *job = context;
    Side *side = &job->side[tile < job->sides ? tile : OWN];
    const real *x = side->x + job->first * side->width;
    if (tile < job->sides)
        prepare(&side->x_turned, transposed(x, side->width), GEMM_B, side->width, job->count);
    else if (job->dx)
        prepare(&job->x_right, plain(x, side->width), GEMM_B, job->count, side->width);
}

/* Subtracts the margin from the logit of the row's target. */
static void take_margin(const Job *job, const Slice *slice, size_t row)
{
    const Side *own = &job->side[OWN];
    size_t width = own->width, target = (size_t)job->targets[job->first + row];
    const real *x = own->x + (job->first + row) * width, *w = own->w + target * width;
    *target_in(job, slice, row) -= job->margin * (real)sqrt(vector_dot(x, x, width) *
                                                            vector_dot(w, w, width));
}

/* Turns the logits of one entry into exp(z - max) and adds them to the sums. */
static void add_entry(real *restrict z, real *restrict sum, const real *restrict max,
                      size_t rows)
{
    for (size_t row = 0; row < rows; row++) {
        z[row] = vector_exp(z[row] - max[row]);
        sum[row] += z[row];
    }
}

/* Step 2. */
static void logits_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t of = tile / job->slices, index = tile % job->slices, rows = job->count;
    const Side *side = &job->side[of];
    Slice slice = slice_of(job, of, index);
    /* Z = W_slice X^T */
    gemm_weights(slice.entries, rows, side->width, side->w_left[index].factor,
                 side->x_turned.factor, GEMM_SET, slice.e, job->stride);
    for (size_t row = 0; row < rows; row++)
        slice.max[row] = -(real)INFINITY;
    vector_zero(slice.sum, rows);
    for (size_t row = 0; of == OWN && job->margin > 0 && row < rows; row++)
        if (has_target(job, &slice, row))
            take_margin(job, &slice, row);
    for (size_t entry = 0; entry < slice.entries; entry++) {
        real *restrict z = slice.e + entry * job->stride, *restrict max = slice.max;
        real bias = side->b ? side->b[slice.first + entry] : 0;
        for (size_t row = 0; side->b && row < rows; row++)
            z[row] += bias;
        if (side->cap > 0)
            hold(z, side->cap, rows);
        for (size_t row = 0; row < rows; row++)
            max[row] = z[row] > max[row] ? z[row] : max[row];
    }
    for (size_t row = 0; of == OWN && row < rows; row++)
        if (has_target(job, &slice, row))
            job->z_target[row] = *target_in(job, &slice, row);
    for (size_t entry = 0; entry < slice.entries; entry++)
        add_entry(slice.e + entry * job->stride, slice.sum, slice.max, rows);
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

static real rest_of(const HeadTeacher *stored, size_t row)
{
    return soft_record_rest(stored->records[row], stored->listed, stored->unigram);
}

/* Step 3. */
static double finish_losses(Job *job)
{
    double total = 0;
    const Side *own = &job->side[OWN];
    for (size_t row = 0; row < job->count; row++) {
        real max = finish_sum(job, own, row);
        if (job->sides > TEACHER)
            finish_sum(job, &job->side[TEACHER], row);
        bool counts = job->targets[job->first + row] >= 0;
        if (job->stored)
            job->rest[row] = counts ? rest_of(job->stored, job->first + row) : 0;
        real loss = counts ? own->lse[row] - job->z_target[row] : 0;
        job->loss[job->first + row] = loss;
        job->right += counts && job->z_target[row] >= max;
        total += (double)loss;
    }
    return total;
}

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
static const real *scale_of(const Job *job, size_t of, const Slice *slice, real weight)
{
    for (size_t row = 0; row < job->count; row++)
        slice->sum[row] = job->targets[job->first + row] < 0
                              ? 0
                              : weight * vector_exp(slice->max[row] - job->side[of].lse[row]);
    return slice->sum;
}

/* Subtracts the share of the stored predictions from p. */
static void subtract_stored(const Job *job, const Slice *slice)
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
static void weigh(const Job *job, size_t tile)
{
    const Side *own = &job->side[OWN];
    Slice slice = slice_of(job, OWN, tile), taught = {0};
    size_t rows = job->count;
    real cap = own->cap;
    const real *scale = scale_of(job, OWN, &slice, 1), *share = NULL;
    if (job->sides > TEACHER) {
        taught = slice_of(job, TEACHER, tile);
        share = scale_of(job, TEACHER, &taught, job->taught);
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
        if (has_target(job, &slice, row))
            *target_in(job, &slice, row) -= (1 - job->taught) * (1 - bend * bend);
    }
    for (size_t entry = 0; job->db && entry < slice.entries; entry++)
        job->db[slice.first + entry] += vector_sum(slice.e + entry * job->stride, rows);
}

/* Step 4. */
static void gradient_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    Slice slice = slice_of(job, OWN, tile);
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
    const Job *job = context;
    size_t width = job->sizes.width, first = tile * ROW_TILE * width;
    size_t count = team_extent(job->count, ROW_TILE, tile) * width;
    real *dx = job->dx + job->first * width + first;
    for (size_t i = 0; i < count; i++)
        dx[i] = job->partial[first + i];
    for (size_t s = 1; s < job->slices; s++)
        vector_add_scaled(dx, job->partial + s * job->block * width + first, 1, count);
}

/* Without dx, only the losses. */
static double compute(Job *job, real *scratch)
{
    Arena arena = arena_over(scratch);
    layout(job, &arena);
    double total = 0;
    team_run(job->sides * job->slices, share_w_tile, job);
    for (; job->first < job->sizes.rows; job->first += job->block) {
        size_t left = job->sizes.rows - job->first;
        job->count = left < job->block ? left : job->block;
        team_run(job->sides + 1, share_x_tile, job);
        team_run(job->sides * job->slices, logits_tile, job);
        total += finish_losses(job);
        if (job->dx) {
            team_run(job->slices, gradient_tile, job);
            team_run(team_tiles(job->count, ROW_TILE), sum_tile, job);
        }
    }
    return total;
}

static Side own_side(const real *x, const real *w, const real *b, HeadSizes sizes)
{
    return (Side){.x = x, .w = w, .b = b, .width = sizes.width, .cap = sizes.cap};
}

double head_gradients(real *loss, real *dx, real *dw, real *db, const real *x, const real *w,
                      const real *b, const int32_t *targets, const HeadTeacher *teacher,
                      real margin, HeadSizes sizes, real *scratch)
{
    Job job = {.sizes = sizes,
               .side = {own_side(x, w, b, sizes)},
               .sides = 1,
               .margin = margin,
               .loss = loss,
               .dx = dx,
               .dw = dw,
               .db = db,
               .targets = targets};
    if (teacher)
        job.taught = teacher->share;
    if (teacher && !teacher->x)
        job.stored = teacher;
    if (teacher && teacher->x)
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
               .side = {own_side(x, w, b, sizes)},
               .sides = 1,
               .loss = loss,
               .targets = targets};
    double total = compute(&job, scratch);
    *right = job.right;
    return total;
}

void head_logits(real *logits, const real *x, const real *w, const real *b, HeadSizes sizes)
{
    /* Z = X W^T + b, in row groups of fixed size: logits do not depend on other rows. */
    for (size_t row = 0; row < sizes.rows; row += GEMM_FEW)
        gemm_team(team_extent(sizes.rows, GEMM_FEW, row / GEMM_FEW), sizes.vocabulary,
                  sizes.width, plain(x + row * sizes.width, sizes.width),
                  transposed(w, sizes.width), GEMM_SET, logits + row * sizes.vocabulary,
                  sizes.vocabulary, (GemmExtra){0});
    for (size_t row = 0; b && row < sizes.rows; row++)
        vector_add_scaled(logits + row * sizes.vocabulary, b, 1, sizes.vocabulary);
    if (sizes.cap > 0)
        hold(logits, sizes.cap, sizes.rows * sizes.vocabulary);
}
