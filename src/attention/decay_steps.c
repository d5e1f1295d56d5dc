#include "src/attention/decay_steps.h"
#include "src/attention/rows.h"

Steps steps_lay_out(const DecaySteps *rule, Arena *arena, const Chunk *chunk)
{
    Steps s = {.rule = rule, .planes = rule->trapezoid ? chunk->width / 2 : 0};
    ROWS_TAKE(arena, FADING_ROWS, &s.own, &s.before, &s.weights, &s.diagonal);
    ROWS_TAKE(arena, FADING_ROWS * s.planes, &s.angles, &s.cosines, &s.sines);
    s.keys = arena_reals(arena, FADING_ROWS * chunk->width);
    if (rule->trapezoid)
        s.state = arena_reals(arena, chunk->width * chunk->width);
    return s;
}

/* --- the rows after the (D, D) of a state, or of its gradient --- */

typedef struct Last {
    real *k, *v, *angles;
} Last;

static Last last_of(real *state, size_t width)
{
    real *at = state + width * width;
    return (Last){at, at + width, at + 2 * width};
}

/* --- angles --- */

/* For x between -pi and pi, from the sine and cosine of its half. */
static inline void sine_and_cosine(real x, real *sine, real *cosine)
{
#ifdef LINNET_DOUBLE
    *sine = sin(x);
    *cosine = cos(x);
#else
    real half = x / 2, y = half * half;
    real s = 1.6059044e-10f, c = 2.0876757e-9f;
    s = s * y - 2.5052108e-8f;
    s = s * y + 2.7557319e-6f;
    s = s * y - 1.9841270e-4f;
    s = s * y + 8.3333333e-3f;
    s = s * y - 1.6666667e-1f;
    s = s * y * half + half;
    c = c * y - 2.7557319e-7f;
    c = c * y + 2.4801587e-5f;
    c = c * y - 1.3888889e-3f;
    c = c * y + 4.1666667e-2f;
    c = c * y - 0.5f;
    c = c * y + 1;
    *sine = 2 * s * c;
    *cosine = 1 - 2 * s * s;
#endif
}

/* Angles add up from position to position, without whole turns. */
static void add_angles(const Steps *s, const real *before, size_t i)
{
    const real whole = (real)6.283185307179586;
    size_t at = i * s->planes;
    for (size_t p = 0; p < s->planes; p++) {
        real angle = before[p] + s->angles[at + p];
        angle -= whole * (real)rint((double)(angle / whole));
        s->angles[at + p] = angle;
        sine_and_cosine(angle, &s->sines[at + p], &s->cosines[at + p]);
    }
}

void steps_turn(const Steps *s, const Chunk *chunk, real *x, size_t stride, bool back)
{
    real sign = back ? -1 : 1;
    for (size_t i = 0; i < chunk->rows; i++) {
        const real *cosines = s->cosines + i * s->planes, *sines = s->sines + i * s->planes;
        real *row = x + i * stride, *restrict a = row, *restrict b = row + s->planes;
        for (size_t p = 0; p < s->planes; p++) {
            real sine = sign * sines[p], old = a[p];
            a[p] = old * cosines[p] - b[p] * sine;
            b[p] = old * sine + b[p] * cosines[p];
        }
    }
}

/* d angle += db a - da b, for the turned a and b */
static void angles_backward(real *restrict dangles, const real *x, const real *dx,
                            size_t planes)
{
    for (size_t p = 0; p < planes; p++)
        dangles[p] += dx[planes + p] * x[p] - dx[p] * x[planes + p];
}

/* --- forward --- */

void steps_load(const Steps *s, const Chunk *chunk, real *g, real *decay)
{
    const AttentionData *data = &chunk->data;
    const real *before = s->angles;
    if (s->rule->trapezoid)
        before = last_of(chunk->state, chunk->width).angles;
    for (size_t i = 0; i < chunk->rows; i++) {
        real *own_angles = s->angles + i * s->planes;
        DecayStep step = s->rule->load(own_angles, data->gates + i * chunk->head->gates_stride,
                                       data->params, s->planes);
        g[i] = step.g;
        decay[i] = vector_exp(step.g);
        s->own[i] = s->weights[i] = step.own;
        s->before[i] = step.before;
        if (i > 0)
            s->weights[i - 1] += step.before;
        add_angles(s, before, i);
        before = own_angles;
    }
}

void steps_load_keys(const Steps *s, const Chunk *chunk)
{
    size_t width = chunk->width;
    steps_turn(s, chunk, chunk->k, width, false);
    memcpy(s->keys, chunk->k, chunk->rows * width * sizeof(real));
    rows_scale(chunk->k, width, s->weights, chunk->rows, width);
    if (!s->rule->trapezoid)
        return;
    const Last last = last_of(chunk->state, width);
    for (size_t a = 0; a < width; a++) {
        memcpy(s->state + a * width, chunk->state + a * width, width * sizeof(real));
        vector_add_scaled(s->state + a * width, last.v, s->before[0] * last.k[a], width);
    }
}

void steps_end(const Steps *s, const Chunk *chunk, real *state)
{
    size_t width = chunk->width, end = chunk->rows - 1;
    Last last = last_of(state, width);
    memcpy(last.k, s->keys + end * width, width * sizeof(real));
    memcpy(last.v, chunk->data.v + end * chunk->head->stride, width * sizeof(real));
    memcpy(last.angles, s->angles + end * s->planes, s->planes * sizeof(real));
}

/* --- backward --- */

/* The gradients of the last key, value and angles at the chunk's end go to its last position;
 * those at its start come from the pair that was added to the state. Returns the gradient of
 * the first before. */
static real last_backward(const Steps *s, const Chunk *chunk, real *ds)
{
    size_t width = chunk->width, end = (chunk->rows - 1) * chunk->head->stride;
    const Last last = last_of(chunk->state, width);
    Last d = last_of(ds, width);
    real sum = 0, before = s->before[0];
    vector_add_scaled(chunk->data.dk + end, d.k, 1, width);
    vector_add_scaled(chunk->data.dv + end, d.v, 1, width);
    vector_zero(d.v, width);
    for (size_t a = 0; a < width; a++) {
        real product = vector_dot(ds + a * width, last.v, width);
        sum += last.k[a] * product;
        d.k[a] = before * product;
        vector_add_scaled(d.v, ds + a * width, before * last.k[a], width);
    }
    return sum;
}

/* From the gradient of the weighted key of a position, and from the diagonal. Returns that of
 * the weight, and of own in addition to it. */
static real weights_backward(const Steps *s, const Chunk *chunk, size_t i, real *of_own)
{
    size_t width = chunk->width;
    const real *q = chunk->q + i * width, *k = s->keys + i * width;
    real *restrict dq = chunk->data.dq + i * chunk->head->stride;
    real *restrict dk = chunk->data.dk + i * chunk->head->stride;
    real of_weight = vector_dot(k, dk, width), shared = s->diagonal[i] * s->own[i];
    *of_own = s->diagonal[i] * vector_dot(q, k, width);
    for (size_t j = 0; j < width; j++) {
        dk[j] = s->weights[i] * dk[j] + shared * q[j];
        dq[j] += shared * k[j];
    }
    return of_weight;
}

/* A step turns its own position and all later ones. */
static void turns_backward(const Steps *s, const Chunk *chunk, real *ds)
{
    size_t width = chunk->width, stride = chunk->head->stride;
    real *later = last_of(ds, width).angles;
    for (size_t i = chunk->rows; i-- > 0;) {
        angles_backward(later, chunk->q + i * width, chunk->data.dq + i * stride, s->planes);
        angles_backward(later, s->keys + i * width, chunk->data.dk + i * stride, s->planes);
        memcpy(s->angles + i * s->planes, later, s->planes * sizeof(real));
    }
    steps_turn(s, chunk, chunk->data.dq, stride, true);
    steps_turn(s, chunk, chunk->data.dk, stride, true);
}

void steps_backward(const Steps *s, const Chunk *chunk, const real *dg, real *ds)
{
    const AttentionData *data = &chunk->data;
    real *weights = s->weights, *own = s->diagonal;
    for (size_t i = 0; i < chunk->rows; i++) {
        real of_own = 0;
        weights[i] = weights_backward(s, chunk, i, &of_own);
        own[i] = of_own + weights[i];
    }
    real before = 0;
    if (s->rule->trapezoid) {
        before = last_backward(s, chunk, ds);
        turns_backward(s, chunk, ds);
    }
    for (size_t i = 0; i < chunk->rows; before = weights[i++]) {
        size_t at = i * chunk->head->gates_stride;
        s->rule->backward(data->dgates + at, (DecayStep){dg[i], own[i], before},
                          s->angles + i * s->planes, data->gates + at, data->params,
                          data->dparams, s->planes);
    }
}
