/* The layers around attention: the short convolution before, the head norm and gate after. */
#include "src/layers/convolution.h"
#include "src/layers/gates.h"
#include "src/layers/layernorm.h"
#include "src/layers/token_shift.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/math/team.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("mixer layers");

static const double near = 100 * REAL_EPSILON;

static real *draw(size_t count, uint64_t seed)
{
    real *x = memory_new(count, sizeof *x, "a test");
    for (size_t i = 0; i < count; i++)
        x[i] = (real)random_normal(random_key(seed, RANDOM_TEST, 0), i);
    return x;
}

static real *blank(size_t count)
{
    real *x = memory_new(count, sizeof *x, "a test");
    for (size_t i = 0; i < count; i++)
        x[i] = (real)NAN;
    return x;
}

static double slow_silu(double x)
{
    return x / (1 + exp(-x));
}

/* --- the convolution --- */

typedef struct Convolution {
    ConvolutionSizes sizes;
    size_t all, weights;                     /* elements of x, and of w */
    real *x, *w, *b, *dy, *y, *dx, *dw, *db; /* b: NULL with an odd number of channels */
} Convolution;

/* Lengths below, at and above the number of taps; full, partial and several tiles. */
#define SILU     CONVOLVE_SILU
#define PLAIN    CONVOLVE_PLAIN
#define RESIDUAL CONVOLVE_RESIDUAL
static const ConvolutionSizes shapes[] = {
    {1, 1, 1, 1, SILU},    {2, 1, 3, 4, SILU},       {3, 2, 5, 4, RESIDUAL},
    {2, 3, 32, 4, SILU},   {1, 5, 1, 2, RESIDUAL},   {2, 17, 40, 4, SILU},
    {2, 17, 40, 4, PLAIN}, {2, 17, 40, 4, RESIDUAL}, {1, 6, 131, 4, SILU},
    {1, 6, 131, 4, PLAIN}, {1, 30, 260, 3, PLAIN},   {1, 30, 260, 3, RESIDUAL},
    {1, 30, 260, 3, SILU}};

static Convolution convolution_make(ConvolutionSizes sizes)
{
    size_t all = sizes.batch * sizes.length * sizes.channels;
    size_t weights = sizes.taps * sizes.channels;
    Convolution c = {.sizes = sizes, .all = all, .weights = weights};
    c.x = draw(all, 1);
    c.w = draw(weights, 2);
    c.dy = draw(all, 3);
    c.dw = draw(weights, 4);
    c.b = sizes.channels % 2 ? NULL : draw(sizes.channels, 13);
    c.db = c.b ? draw(sizes.channels, 14) : NULL;
    c.y = blank(all);
    c.dx = blank(all);
    return c;
}

static void convolution_free(Convolution *c)
{
    real *all[] = {c->x, c->w, c->b, c->dy, c->y, c->dx, c->dw, c->db};
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
}

static double slow_convolution(const Convolution *c, size_t sequence, size_t t, size_t channel)
{
    const size_t taps = c->sizes.taps, channels = c->sizes.channels;
    size_t first = sequence * c->sizes.length;
    double h = c->b ? (double)c->b[channel] : 0;
    for (size_t tap = 0; tap < taps; tap++)
        if (t + tap + 1 >= taps)
            h += (double)c->w[tap * channels + channel] *
                 (double)c->x[(first + t + tap + 1 - taps) * channels + channel];
    return c->sizes.form == CONVOLVE_SILU ? slow_silu(h)
           : c->sizes.form == CONVOLVE_PLAIN
               ? h
               : (double)c->x[(first + t) * channels + channel] + h;
}

TEST(the_convolution_is_its_formula)
{
    for (size_t s = 0; s < COUNT(shapes); s++) {
        Convolution c = convolution_make(shapes[s]);
        convolution_forward(c.y, c.x, c.w, c.b, c.sizes, NULL);
        for (size_t i = 0; i < c.all; i++) {
            size_t row = i / c.sizes.channels, length = c.sizes.length;
            double expected = slow_convolution(&c, row / length, row % length,
                                               i % c.sizes.channels);
            ck_assert_double_eq_tol((double)c.y[i], expected, near * (1 + fabs(expected)));
        }
        convolution_free(&c);
    }
}

/* Runs forward on a sequence in parts of a length, carrying the state. */
static void in_parts(const Convolution *c, size_t most, real *y, real *state)
{
    const size_t length = c->sizes.length, channels = c->sizes.channels;
    ConvolutionSizes sizes = c->sizes;
    real *part_x = memory_new(sizes.batch * most * channels, sizeof(real), "a test");
    real *part_y = blank(sizes.batch * most * channels);
    for (size_t start = 0; start < length; start += most) {
        sizes.length = length - start < most ? length - start : most;
        size_t part = sizes.length * channels, whole = length * channels;
        for (size_t b = 0; b < sizes.batch; b++)
            memcpy(part_x + b * part, c->x + b * whole + start * channels, part * sizeof(real));
        convolution_forward(part_y, part_x, c->w, c->b, sizes, state);
        for (size_t b = 0; b < sizes.batch; b++)
            memcpy(y + b * whole + start * channels, part_y + b * part, part * sizeof(real));
    }
    free(part_x);
    free(part_y);
}

TEST(a_carried_state_is_exact_to_the_bit)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t most = 1; most <= 6; most += most == 4 ? 2 : 1) {
            Convolution c = convolution_make(shapes[s]);
            real *y = blank(c.all);
            real *state = memory_new(c.sizes.batch * (c.sizes.taps - 1) * c.sizes.channels,
                                     sizeof(real), "");
            convolution_forward(c.y, c.x, c.w, c.b, c.sizes, NULL);
            in_parts(&c, most, y, state);
            ck_assert(memcmp(y, c.y, c.all * sizeof(real)) == 0);
            free(y);
            free(state);
            convolution_free(&c);
        }
}

static void convolution_back(const Convolution *c)
{
    convolution_backward(c->dx, c->dw, c->db, c->dy, c->x, c->w, c->b, c->sizes, NULL);
}

/* --- the token shift --- */

typedef struct Shift {
    TokenShiftSizes sizes;
    size_t all;
    real *x, *m, *state, *dy, *y, *dx, *dm;
} Shift;

/* Single positions, full and partial tiles, several sequences. */
static const TokenShiftSizes shifts[] = {{1, 1, 1}, {2, 1, 3}, {3, 7, 32}, {2, 5, 70}};

static Shift shift_make(TokenShiftSizes sizes)
{
    Shift s = {.sizes = sizes, .all = sizes.batch * sizes.length * sizes.width};
    s.x = draw(s.all, 20), s.m = draw(sizes.width, 21), s.dy = draw(s.all, 22);
    s.state = draw(sizes.batch * sizes.width, 23), s.dm = draw(sizes.width, 24);
    s.y = blank(s.all), s.dx = draw(s.all, 25);
    return s;
}

static void shift_free(Shift *s)
{
    real *all[] = {s->x, s->m, s->state, s->dy, s->y, s->dx, s->dm};
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
}

/* From a state and from zeros. */
TEST(the_token_shift_is_its_formula)
{
    for (size_t k = 0; k < 2 * COUNT(shifts); k++) {
        Shift s = shift_make(shifts[k / 2]);
        const size_t width = s.sizes.width, length = s.sizes.length;
        token_shift_forward(s.y, s.x, s.m, k % 2 ? s.state : NULL, s.sizes);
        for (size_t i = 0; i < s.all; i++) {
            size_t row = i / width, c = i % width, b = row / length;
            double before = row % length ? (double)s.x[i - width]
                            : k % 2      ? (double)s.state[b * width + c]
                                         : 0;
            double expected = (double)s.x[i] + (double)s.m[c] * (before - (double)s.x[i]);
            ck_assert_double_eq_tol((double)s.y[i], expected, near * (1 + fabs(expected)));
        }
        shift_free(&s);
    }
}

/* --- the norm and the gate --- */

typedef struct Headnorm {
    HeadnormSizes sizes;
    size_t columns, all; /* heads * width, rows * columns */
    HeadnormParts parts, d;
    real *x, *dy, *y, *dx;
} Headnorm;

/* Which parts a head norm has. */
enum { GAIN = 1, GATE = 2, BIAS = 4, BONUS = 8 };
static const size_t head_shapes[][3] = {{1, 1, 1}, {3, 2, 5}, {66, 2, 6}, {65, 1, 17}};
static const struct {
    int parts;
    GateForm form;
} head_forms[] = {{GAIN, GATE_SILU},
                  {GATE, GATE_SILU},
                  {GAIN | GATE, GATE_SILU},
                  {GATE, GATE_SIGMOID},
                  {GAIN | GATE, GATE_SIGMOID},
                  {GAIN | BIAS, GATE_SILU},
                  {GAIN | BIAS | GATE, GATE_PLAIN},
                  {GAIN | BIAS | BONUS, GATE_PLAIN},
                  {GAIN | BIAS | BONUS | GATE, GATE_PLAIN},
                  {BONUS, GATE_PLAIN},
                  {BONUS | GATE, GATE_SILU}};

static Headnorm headnorm_make(const size_t shape[3], int parts, GateForm form)
{
    Headnorm h = {.sizes = {shape[0], shape[1], shape[2], form}};
    size_t columns = h.columns = shape[1] * shape[2], all = h.all = shape[0] * columns;
    h.x = draw(all, 5);
    h.dy = draw(all, 6);
    h.y = blank(all);
    h.dx = blank(all);
    if (parts & GAIN)
        h.parts.gain = draw(columns, 7), h.d.gain = draw(columns, 8);
    if (parts & BIAS)
        h.parts.bias = draw(columns, 10), h.d.bias = draw(columns, 11);
    if (parts & GATE)
        h.parts.z = draw(all, 9), h.d.z = blank(all);
    if (parts & BONUS)
        h.parts.bonus = draw(all, 12), h.d.bonus = blank(all);
    return h;
}

static void headnorm_free(Headnorm *h)
{
    real *all[] = {h->x,          h->dy,         h->y,       h->dx,
                   h->parts.gain, h->parts.bias, h->parts.z, h->parts.bonus,
                   h->d.gain,     h->d.bias,     h->d.z,     h->d.bonus};
    for (size_t i = 0; i < COUNT(all); i++)
        free(all[i]);
}

static void headnorm_go(const Headnorm *h)
{
    headnorm_forward(h->y, h->x, h->parts, h->sizes);
}

static void headnorm_back(const Headnorm *h)
{
    headnorm_backward(h->dx, h->d, h->dy, h->x, h->parts, h->sizes);
}

static void for_every_headnorm(void (*test)(Headnorm *h))
{
    for (size_t s = 0; s < COUNT(head_shapes); s++)
        for (size_t f = 0; f < COUNT(head_forms); f++) {
            Headnorm h = headnorm_make(head_shapes[s], head_forms[f].parts, head_forms[f].form);
            test(&h);
            headnorm_free(&h);
        }
}

static double slow_gate(const Headnorm *h, double z)
{
    return h->sizes.form == GATE_SILU      ? slow_silu(z)
           : h->sizes.form == GATE_SIGMOID ? 1 / (1 + exp(-z))
                                           : z;
}

static void check_headnorm(Headnorm *h)
{
    const size_t width = h->sizes.width;
    headnorm_go(h);
    for (size_t i = 0; i < h->all; i++) {
        const real *head = h->x + i / width * width;
        double mean = 0, square = 0, expected = (double)h->x[i];
        for (size_t j = 0; h->parts.bias && j < width; j++)
            mean += (double)head[j] / (double)width;
        for (size_t j = 0; j < width; j++)
            square += ((double)head[j] - mean) * ((double)head[j] - mean);
        double epsilon = h->parts.bias ? 1e-5 * (double)width : 1e-5;
        if (h->parts.gain)
            expected = (expected - mean) * (double)h->parts.gain[i % h->columns] /
                       sqrt(square / (double)width + epsilon);
        if (h->parts.bias)
            expected += (double)h->parts.bias[i % h->columns];
        if (h->parts.bonus)
            expected += (double)h->parts.bonus[i];
        if (h->parts.z)
            expected *= slow_gate(h, (double)h->parts.z[i]);
        ck_assert_double_eq_tol((double)h->y[i], expected, near * (1 + fabs(expected)));
    }
}

TEST(norm_and_gate_are_their_formulas)
{
    for_every_headnorm(check_headnorm);
}

static void check_in_place(Headnorm *h)
{
    size_t all = h->all;
    headnorm_back(h);
    Headnorm in_place = *h;
    in_place.dx = in_place.dy;
    in_place.d.z = in_place.parts.z;
    in_place.d.bonus = in_place.parts.bonus;
    headnorm_back(&in_place);
    ck_assert(memcmp(h->dx, h->dy, all * sizeof(real)) == 0);
    ck_assert(!h->parts.z || memcmp(h->d.z, h->parts.z, all * sizeof(real)) == 0);
    ck_assert(!h->parts.bonus || memcmp(h->d.bonus, h->parts.bonus, all * sizeof(real)) == 0);
}

TEST(gradients_may_overwrite_their_source)
{
    for_every_headnorm(check_in_place);
}

TEST(extreme_numbers_stay_finite)
{
    static const real extremes[] = {0, (real)1e-20, (real)-1e4, (real)1e4};
    for (size_t e = 0; e < COUNT(extremes); e++) {
        Headnorm h = headnorm_make((size_t[]){4, 2, 8}, GAIN | GATE | (e % 2 ? BIAS : 0),
                                   GATE_SILU);
        for (size_t i = 0; i < 4 * 2 * 8; i++)
            h.x[i] = h.parts.z[i] = extremes[e];
        headnorm_go(&h);
        headnorm_back(&h);
        for (size_t i = 0; i < 4 * 2 * 8; i++)
            ck_assert(isfinite(h.y[i]) && isfinite(h.dx[i]) && isfinite(h.d.z[i]));
        headnorm_free(&h);
    }
}

/* --- the head gate --- */

/* Fewer channels than the gate reads, and more; without weights the output is the input. */
TEST(the_head_gate_is_its_formula)
{
    static const HeadgateSizes sizes[] = {{3, 2, 5, 10}, {70, 3, 8, 24}, {1, 1, 1, 1}};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        size_t heads = sizes[s].heads, width = sizes[s].width, all = heads * width;
        size_t count = sizes[s].rows * all, channels = headgate_channels(all);
        ck_assert_uint_eq(channels, s == 1 ? 12 : all);
        real *x = draw(count, 10), *u = draw(count, 11), *w = draw(channels * heads, 12);
        real *y = blank(count), *factors = blank(sizes[s].rows * heads);
        headgate_forward(y, factors, x, u, w, sizes[s]);
        for (size_t i = 0; i < count; i++) {
            double gate = 0;
            for (size_t c = 0; c < channels; c++)
                gate += (double)u[i / all * all + c] * (double)w[c * heads + i % all / width];
            double expected = 2 * (double)x[i] / (1 + exp(-gate));
            ck_assert_double_eq_tol((double)y[i], expected, near * (1 + fabs(expected)));
        }
        memset(w, 0, channels * heads * sizeof *w);
        headgate_forward(y, factors, x, u, w, sizes[s]);
        ck_assert_mem_eq(y, x, count * sizeof *x);
        free(x), free(u), free(w), free(y), free(factors);
    }
}

/* --- gradients --- */

#ifdef LINNET_DOUBLE
static double product(const real *y, const real *dy, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += y[i] * dy[i];
    return sum;
}

static double convolution_loss(void *layer)
{
    const Convolution *c = layer;
    convolution_forward(c->y, c->x, c->w, c->b, c->sizes, NULL);
    return product(c->y, c->dy, c->all);
}

TEST(gradients_of_the_convolution)
{
    for (size_t s = 0; s + 1 < COUNT(shapes); s++) {
        Convolution c = convolution_make(shapes[s]);
        for (size_t i = 0; i < c.weights; i++)
            c.dw[i] = 1;
        for (size_t i = 0; c.b && i < c.sizes.channels; i++)
            c.db[i] = 1;
        convolution_back(&c);
        check_slopes(&(Variable){"x", c.x, c.dx, 0, 1, c.all, 0}, convolution_loss, &c,
                     "convolution");
        check_slopes(&(Variable){"w", c.w, c.dw, 1, 1, c.weights, 0}, convolution_loss, &c,
                     "convolution");
        if (c.b)
            check_slopes(&(Variable){"b", c.b, c.db, 1, 1, c.sizes.channels, 0},
                         convolution_loss, &c, "convolution");
        convolution_free(&c);
    }
}

static double shift_loss(void *layer)
{
    const Shift *s = layer;
    token_shift_forward(s->y, s->x, s->m, s->state, s->sizes);
    return product(s->y, s->dy, s->all);
}

TEST(gradients_of_the_token_shift)
{
    for (size_t k = 0; k < COUNT(shifts); k++) {
        Shift s = shift_make(shifts[k]);
        for (size_t i = 0; i < s.sizes.width; i++)
            s.dm[i] = 1;
        for (size_t i = 0; i < s.all; i++)
            s.dx[i] = 2;
        token_shift_backward(s.dx, s.dm, s.dy, s.x, s.m, s.state, s.sizes);
        check_slopes(&(Variable){"x", s.x, s.dx, 2, 1, s.all, 0}, shift_loss, &s,
                     "token shift");
        check_slopes(&(Variable){"m", s.m, s.dm, 1, 1, s.sizes.width, 0}, shift_loss, &s,
                     "token shift");
        shift_free(&s);
    }
}

static double headnorm_loss(void *layer)
{
    const Headnorm *h = layer;
    headnorm_go(h);
    return product(h->y, h->dy, h->all);
}

/* Gradients of gain and bias accumulate: they start at 1. */
static void check_headnorm_gradients(Headnorm *h)
{
    const Variable variables[] = {{"x", h->x, h->dx, 0, 1, h->all, 0},
                                  {"gain", h->parts.gain, h->d.gain, 1, 1, h->columns, 0},
                                  {"bias", h->parts.bias, h->d.bias, 1, 1, h->columns, 0},
                                  {"bonus", h->parts.bonus, h->d.bonus, 0, 1, h->all, 0},
                                  {"z", h->parts.z, h->d.z, 0, 1, h->all, 0}};
    for (size_t i = 0; h->d.gain && i < h->columns; i++)
        h->d.gain[i] = 1;
    for (size_t i = 0; h->d.bias && i < h->columns; i++)
        h->d.bias[i] = 1;
    headnorm_back(h);
    for (size_t v = 0; v < COUNT(variables); v++)
        if (variables[v].value)
            check_slopes(&variables[v], headnorm_loss, h, "norm and gate");
}

TEST(gradients_of_norm_and_gate)
{
    for_every_headnorm(check_headnorm_gradients);
}
#endif

/* --- threads --- */

static void check_same(const real *a, const real *b, size_t count)
{
    ck_assert(memcmp(a, b, count * sizeof *a) == 0);
}

LOOP_TEST(the_bits_do_not_depend_on_the_threads, 0, 2)
{
    Convolution c[2];
    Headnorm h[2];
    for (size_t i = 0; i < 2; i++) {
        team_start(i ? 3 : 1);
        c[i] = convolution_make((ConvolutionSizes){3, 50, 300, 4, _i ? RESIDUAL : SILU});
        h[i] = headnorm_make((size_t[]){300, 4, 32}, GAIN | GATE, GATE_SILU);
        convolution_forward(c[i].y, c[i].x, c[i].w, c[i].b, c[i].sizes, NULL);
        convolution_back(&c[i]);
        headnorm_go(&h[i]);
        headnorm_back(&h[i]);
        team_stop();
    }
    check_same(c[0].y, c[1].y, c[0].all);
    check_same(c[0].dx, c[1].dx, c[0].all);
    check_same(c[0].dw, c[1].dw, c[0].weights);
    if (c[0].db && c[1].db)
        check_same(c[0].db, c[1].db, c[0].sizes.channels);
    check_same(h[0].y, h[1].y, (size_t)300 * 4 * 32);
    check_same(h[0].dx, h[1].dx, (size_t)300 * 4 * 32);
    check_same(h[0].d.z, h[1].d.z, (size_t)300 * 4 * 32);
    check_same(h[0].d.gain, h[1].d.gain, (size_t)4 * 32);
    for (size_t i = 0; i < 2; i++) {
        convolution_free(&c[i]);
        headnorm_free(&h[i]);
    }
}
