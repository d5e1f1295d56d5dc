#include "src/layers/convolution.h"
#include "src/layers/activation.h"
#include "src/math/team.h"

#include <assert.h>

/* A forward tile is a group of channels of one sequence. A backward tile is a group of channels
 * of all sequences, because it sums their dw. */
#define TILE_CHANNELS ((size_t)64)
#define AHEAD         ((size_t)8) /* prefetch distance in rows */

/* A shorter kernel uses the last of these taps; the weights of the others are zero. */
enum { TAPS = CONVOLUTION_MOST_TAPS };

static const real zeros[TILE_CHANNELS];

typedef struct Job {
    real *y, *dx;       /* (batch * length, channels) */
    real *dw;           /* (taps, channels) */
    real *db;           /* (channels) or NULL */
    real *state;        /* (batch, taps - 1, channels), which forward replaces; or NULL */
    const real *before; /* (batch, taps - 1, channels) the state as forward found it */
    const real *x, *dy; /* (batch * length, channels) */
    const real *w;      /* (taps, channels) */
    const real *b;      /* (channels) or NULL */
    ConvolutionSizes sizes;
} Job;

/* A group of channels of one sequence. */
typedef struct Strip {
    size_t offset; /* index of its first element in x, y and their gradients */
    size_t column; /* its first channel, the column in w */
    size_t count;
    size_t channels, taps;
    ConvolutionForm form;
    const real *x;           /* (length, count) rows `channels` apart, as in the state */
    const real *before;      /* (taps - 1, count) the state; or NULL */
    real *state;             /* (taps - 1, count) the same, which forward replaces */
    const real *w[TAPS], *b; /* [TAPS] -> (count); b: (count) or NULL */
} Strip;

static Strip strip_of(const Job *job, size_t sequence, size_t tile)
{
    const ConvolutionSizes *sizes = &job->sizes;
    size_t column = tile * TILE_CHANNELS, unused = TAPS - sizes->taps;
    Strip s = {.offset = sequence * sizes->length * sizes->channels + column,
               .column = column,
               .count = team_extent(sizes->channels, TILE_CHANNELS, tile),
               .channels = sizes->channels,
               .taps = sizes->taps,
               .form = sizes->form};
    s.x = job->x + s.offset;
    s.b = job->b ? job->b + column : zeros;
    size_t state = sequence * (s.taps - 1) * s.channels + column;
    if (job->before)
        s.before = job->before + state;
    if (job->state)
        s.state = job->state + state;
    for (size_t tap = 0; tap < TAPS; tap++)
        s.w[tap] = tap < unused ? zeros : job->w + (tap - unused) * s.channels + column;
    return s;
}

/* Returns the row of x `back` positions before t, from the state or zeros before the start. */
static const real *earlier_row(const Strip *s, size_t t, size_t back)
{
    if (t >= back)
        return s->x + (t - back) * s->channels;
    if (!s->before || back >= s->taps)
        return zeros;
    return s->before + (s->taps - 1 + t - back) * s->channels;
}

static inline void seen_rows(const real *rows[TAPS], const Strip *s, size_t t)
{
    for (size_t tap = 0; tap < TAPS; tap++)
        rows[tap] = earlier_row(s, t, TAPS - 1 - tap);
}

/* h of channel i */
static inline real convolved(const real *const w[TAPS], const real *b,
                             const real *const x[TAPS], size_t i)
{
    return w[0][i] * x[0][i] + w[1][i] * x[1][i] + w[2][i] * x[2][i] + w[3][i] * x[3][i] + b[i];
}

/* --- forward --- */

static void keep_last_rows(const Strip *s, size_t length)
{
    for (size_t row = 0; row + 1 < s->taps; row++)
        memmove(s->state + row * s->channels, earlier_row(s, length, s->taps - 1 - row),
                s->count * sizeof(real));
}

/* Callers pass a constant form, so that the compiler moves the branches out of the loop. */
static inline void convolve_row(real *restrict y, const Strip *s, const real *const x[TAPS],
                                ConvolutionForm form)
{
    const real *b = s->b;
    for (size_t i = 0; i < s->count; i++) {
        real h = convolved(s->w, b, x, i);
        y[i] = form == CONVOLVE_SILU    ? silu(h)
               : form == CONVOLVE_PLAIN ? h
                                        : x[TAPS - 1][i] + h;
    }
}

static void forward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    size_t length = job->sizes.length;
    size_t tiles = team_tiles(job->sizes.channels, TILE_CHANNELS);
    const Strip s = strip_of(job, tile / tiles, tile % tiles);
    for (size_t t = 0; t < length; t++) {
        const real *x[TAPS];
        real *y = job->y + s.offset + t * s.channels;
        seen_rows(x, &s, t);
        if (t + AHEAD < length) {
            vector_fetch(earlier_row(&s, t + AHEAD, 0), s.count);
            vector_fetch(y + AHEAD * s.channels, s.count);
        }
        if (s.form == CONVOLVE_SILU)
            convolve_row(y, &s, x, CONVOLVE_SILU);
        else if (s.form == CONVOLVE_PLAIN)
            convolve_row(y, &s, x, CONVOLVE_PLAIN);
        else
            convolve_row(y, &s, x, CONVOLVE_RESIDUAL);
    }
    if (s.state)
        keep_last_rows(&s, length);
}

void convolution_forward(real *y, const real *x, const real *w, const real *b,
                         ConvolutionSizes sizes, real *state)
{
    assert(sizes.taps >= 1 && sizes.taps <= TAPS);
    Job job = {.y = y, .state = state, .before = state, .x = x, .w = w, .b = b, .sizes = sizes};
    team_run(sizes.batch * team_tiles(sizes.channels, TILE_CHANNELS), forward_tile, &job);
}

/* --- backward --- */

/* From the last position to the first, with dh_t = dy_t silu'(h_t), or dy_t:
 *
 *   dx_t = sum over i of w_i dh_(t + taps - 1 - i)      dw_i += dh_t x_(t - taps + 1 + i)
 *                                                        db += dh_t
 *
 * The residual form also adds dy_t to dx_t. `behind` holds dh of this position and of the later
 * positions that read the same row of x. */
static inline void backward_position(const Job *job, const Strip *s, size_t t,
                                     ConvolutionForm form, real behind[TAPS][TILE_CHANNELS],
                                     real dw[TAPS][TILE_CHANNELS], real db[TILE_CHANNELS])
{
    const real *x[TAPS], *b = s->b, *dy = job->dy + s->offset + t * s->channels;
    real *dx = job->dx + s->offset + t * s->channels;
    real *dh = behind[t % TAPS];
    const real *dh_1 = behind[(t + 1) % TAPS], *dh_2 = behind[(t + 2) % TAPS];
    const real *dh_3 = behind[(t + 3) % TAPS];
    seen_rows(x, s, t);
    if (t >= AHEAD) {
        size_t distance = AHEAD * s->channels;
        vector_fetch(earlier_row(s, t, AHEAD), s->count);
        vector_fetch(dy - distance, s->count);
        vector_fetch(dx - distance, s->count);
    }
#pragma omp simd
    for (size_t i = 0; i < s->count; i++) {
        real gradient = form == CONVOLVE_SILU ? dy[i] * silu_slope(convolved(s->w, b, x, i))
                                              : dy[i];
        dh[i] = gradient;
        real sum = s->w[3][i] * gradient + s->w[2][i] * dh_1[i] + s->w[1][i] * dh_2[i] +
                   s->w[0][i] * dh_3[i];
        dx[i] = form == CONVOLVE_RESIDUAL ? sum + gradient : sum;
        for (size_t tap = 0; tap < TAPS; tap++)
            dw[tap][i] += gradient * x[tap][i];
        db[i] += gradient;
    }
}

static void backward_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job *job = context;
    real dw[TAPS][TILE_CHANNELS] = {{0}}, db[TILE_CHANNELS] = {0};
    Strip s = {0};
    for (size_t sequence = 0; sequence < job->sizes.batch; sequence++) {
        real behind[TAPS][TILE_CHANNELS] = {{0}};
        s = strip_of(job, sequence, tile);
        for (size_t t = job->sizes.length; t-- > 0;)
            if (s.form == CONVOLVE_SILU)
                backward_position(job, &s, t, CONVOLVE_SILU, behind, dw, db);
            else if (s.form == CONVOLVE_PLAIN)
                backward_position(job, &s, t, CONVOLVE_PLAIN, behind, dw, db);
            else
                backward_position(job, &s, t, CONVOLVE_RESIDUAL, behind, dw, db);
    }
    for (size_t tap = 0; tap < s.taps; tap++)
        vector_add_scaled(job->dw + tap * s.channels + s.column, dw[TAPS - s.taps + tap], 1,
                          s.count);
    if (job->db)
        vector_add_scaled(job->db + s.column, db, 1, s.count);
}

void convolution_backward(real *dx, real *dw, real *db, const real *dy, const real *x,
                          const real *w, const real *b, ConvolutionSizes sizes,
                          const real *state)
{
    assert(sizes.taps >= 1 && sizes.taps <= TAPS);
    Job job = {.before = state,
               .dx = dx,
               .dw = dw,
               .db = db,
               .x = x,
               .w = w,
               .b = b,
               .dy = dy,
               .sizes = sizes};
    team_run(team_tiles(sizes.channels, TILE_CHANNELS), backward_tile, &job);
}
