#include "src/layers/head_job.h"
#include "src/base/memory.h"
#include "src/math/soft_record.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#define BLOCK_LOGITS ((size_t)1650000) /* logits of one block: 6.6 MB of floats */
#define BLOCK_ROWS   ((size_t)1024)
#define ROW_UNIT     ((size_t)32)

static size_t block_rows(HeadSizes sizes)
{
    size_t rows = BLOCK_LOGITS / sizes.vocabulary / ROW_UNIT * ROW_UNIT;
    rows = rows < ROW_UNIT ? ROW_UNIT : rows > BLOCK_ROWS ? BLOCK_ROWS : rows;
    return rows < sizes.rows ? rows : sizes.rows;
}

static size_t slice_entries(HeadSizes sizes)
{
    size_t entries = team_tiles(sizes.vocabulary, HEAD_SLICES);
    return (entries + 15) / 16 * 16;
}

static real *share_memory(Arena *arena, GemmSide side, bool transposed, size_t rows,
                          size_t columns)
{
    return arena_reals(arena, gemm_prepack_reals(side, transposed, rows, columns));
}

static void lay_out_side(HeadSide *side, const HeadJob *job, Arena *arena)
{
    for (size_t i = 0; i < job->slices; i++)
        side->w_left[i].memory = share_memory(arena, GEMM_A, false, job->slice, side->width);
    side->x_turned.memory = share_memory(arena, GEMM_B, true, side->width, job->block);
    side->e = arena_reals(arena, job->slices * job->slice * job->stride);
    side->max = arena_reals(arena, job->slices * job->block);
    side->sum = arena_reals(arena, job->slices * job->block);
    side->lse = arena_reals(arena, job->block);
}

static void layout(HeadJob *job, Arena *arena)
{
    size_t block = job->block = block_rows(job->sizes), width = job->sizes.width;
    job->stride = gemm_stride(memory_whole_lines(block)); /* fewer rows need no more memory */
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
    HeadJob job = {.sizes = sizes,
                   .side = {{.width = sizes.width}, {.width = teacher_width}},
                   .sides = teacher_width ? HEAD_SIDES : 1};
    Arena arena = {0};
    layout(&job, &arena);
    return arena_used_reals(&arena);
}

HeadSlice head_slice(const HeadJob *job, size_t of, size_t tile)
{
    const HeadSide *side = &job->side[of];
    return (HeadSlice){.first = tile * job->slice,
                       .entries = team_extent(job->sizes.vocabulary, job->slice, tile),
                       .e = side->e + tile * job->slice * job->stride,
                       .max = side->max + tile * job->block,
                       .sum = side->sum + tile * job->block,
                       .partial = job->partial + tile * job->block * job->sizes.width};
}

bool head_has_target(const HeadJob *job, const HeadSlice *slice, size_t row)
{
    int32_t target = job->targets[job->first + row];
    return target >= 0 && (size_t)target - slice->first < slice->entries;
}

real *head_target_in(const HeadJob *job, const HeadSlice *slice, size_t row)
{
    size_t entry = (size_t)job->targets[job->first + row] - slice->first;
    return slice->e + entry * job->stride + row;
}

static void hold(real *restrict z, real cap, size_t count)
{
#pragma omp simd
    for (size_t i = 0; i < count; i++)
        z[i] = cap * vector_tanh(z[i] / cap);
}

static void prepare(HeadShare *share, Factor factor, GemmSide side, size_t rows, size_t columns)
{
    share->factor = gemm_prepack(share->memory, factor, side, rows, columns);
}

static void share_w_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    HeadJob *job = context;
    size_t of = tile / job->slices, index = tile % job->slices;
    HeadSide *side = &job->side[of];
    HeadSlice slice = head_slice(job, of, index);
    Factor w = plain(side->w + slice.first * side->width, side->width);
    prepare(&side->w_left[index], w, GEMM_A, slice.entries, side->width);
    if (job->dx && of == HEAD_OWN)
        prepare(&job->w_right[index], w, GEMM_B, slice.entries, side->width);
}

/* Step 1: a tile for each side, and one for the gradient. */
static void share_x_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    HeadJob *job = context;
    HeadSide *side = &job->side[tile < job->sides ? tile : HEAD_OWN];
    const real *x = side->x + job->first * side->width;
    if (tile < job->sides)
        prepare(&side->x_turned, transposed(x, side->width), GEMM_B, side->width, job->count);
    else if (job->dx)
        prepare(&job->x_right, plain(x, side->width), GEMM_B, job->count, side->width);
}

/* Turns the logits of one entry into exp(z - max) and adds them to the sums. */
static void add_entry(real *restrict z, real *restrict sum, const real *restrict max,
                      size_t rows)
{
#pragma omp simd
    for (size_t row = 0; row < rows; row++) {
        z[row] = vector_exp(z[row] - max[row]);
        sum[row] += z[row];
    }
}

/* Step 2. */
static void logits_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const HeadJob *job = context;
    size_t of = tile / job->slices, index = tile % job->slices, rows = job->count;
    const HeadSide *side = &job->side[of];
    HeadSlice slice = head_slice(job, of, index);
    /* Z = W_slice X^T */
    gemm_weights(slice.entries, rows, side->width, side->w_left[index].factor,
                 side->x_turned.factor, GEMM_SET, slice.e, job->stride);
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
            hold(z, side->cap, rows);
        for (size_t row = 0; row < rows; row++)
            max[row] = z[row] > max[row] ? z[row] : max[row];
    }
    for (size_t row = 0; of == HEAD_OWN && row < rows; row++)
        if (head_has_target(job, &slice, row))
            job->z_target[row] = *head_target_in(job, &slice, row);
    for (size_t entry = 0; entry < slice.entries; entry++)
        add_entry(slice.e + entry * job->stride, slice.sum, slice.max, rows);
}

/* Sets the log-sum-exp of a row; returns its largest logit. */
static real finish_sum(const HeadJob *job, const HeadSide *side, size_t row)
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
static double finish_losses(HeadJob *job)
{
    double total = 0;
    const HeadSide *own = &job->side[HEAD_OWN];
    for (size_t row = 0; row < job->count; row++) {
        real max = finish_sum(job, own, row);
        if (job->sides > HEAD_TEACHER)
            finish_sum(job, &job->side[HEAD_TEACHER], row);
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

/* Without dx, only the losses. */
static double compute(HeadJob *job, real *scratch)
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
        if (job->dx)
            head_block_gradients(job);
    }
    return total;
}

static HeadSide own_side(const real *x, const real *w, const real *b, HeadSizes sizes)
{
    return (HeadSide){.x = x, .w = w, .b = b, .width = sizes.width, .cap = sizes.cap};
}

double head_gradients(real *loss, real *dx, real *dw, real *db, const real *x, const real *w,
                      const real *b, const int32_t *targets, const HeadTeacher *teacher,
                      HeadSizes sizes, real *scratch)
{
    HeadJob job = {.sizes = sizes,
                   .side = {own_side(x, w, b, sizes)},
                   .sides = 1,
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
        job.side[job.sides++] = (HeadSide){.x = teacher->x,
                                           .w = teacher->w,
                                           .b = teacher->b,
                                           .width = teacher->width,
                                           .cap = teacher->cap};
    return compute(&job, scratch);
}

double head_loss(size_t *right, real *loss, const real *x, const real *w, const real *b,
                 const int32_t *targets, HeadSizes sizes, real *scratch)
{
    HeadJob job = {.sizes = sizes,
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
    /* Z = X W^T + b */
    gemm_team(sizes.rows, sizes.vocabulary, sizes.width, plain(x, sizes.width),
              transposed(w, sizes.width), GEMM_SET, logits, sizes.vocabulary, (GemmExtra){0});
    for (size_t row = 0; b && row < sizes.rows; row++)
        vector_add_scaled(logits + row * sizes.vocabulary, b, 1, sizes.vocabulary);
    if (sizes.cap > 0)
        hold(logits, sizes.cap, sizes.rows * sizes.vocabulary);
}
