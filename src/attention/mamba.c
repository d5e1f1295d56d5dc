/* Mamba-2 (Dao and Gu 2024): each position chooses a step size, by which the state decays and
 * by which the position is written,
 *
 *   S_i = a_i S_(i-1) + t_i k_i^T v_i,    o_i = q_i S_i + d v_i
 *   t_i = softplus(gate),    a_i = exp(-A t_i)
 *
 * where A > 0 and d are parameters of the head. A step of t is what the differential equation
 * S' = -A S + k^T v does in the time t, if k^T v is taken at its end.
 *
 * Mamba-3 (2025) takes it from both ends, as the trapezoid rule does, with shares l and 1 - l,
 * and the state is a complex number: queries and keys are turned by angles that add up from
 * position to position, like RoPE at a speed that the data choose,
 *
 *   S_i = a_i S_(i-1) + l_i t_i k_i^T v_i + (1 - l_i) t_i a_i k_(i-1)^T v_(i-1)
 *   l_i = sigmoid(gate'),    angle_i = angle_(i-1) + t_i pi tanh(gates'')
 *
 * with q and k turned in D/2 planes. Two values of a state can so take turns, which a decay
 * alone cannot do. A head has a single input and output (SISO), unlike Mamba-3's MIMO form.
 *
 * Shapes: queries and keys (rows, D); angles (rows, planes); states and their gradients (D,
 * Dv), then the last key, value and angles; biases and parameters of a head. */
#include "src/attention/decay.h"
#include "src/attention/rows.h"
#include "src/attention/timestep.h"

#define PI ((real)3.141592653589793)

/* --- memory --- */

Steps steps_lay_out(Arena *arena, const Chunk *chunk, bool trapezoid)
{
    Steps s = {.trapezoid = trapezoid, .planes = trapezoid ? chunk->width / 2 : 0};
    ARENA_REALS_EACH(arena, DECAY_CHUNK, &s.current, &s.previous, &s.weights, &s.diagonal);
    ARENA_REALS_EACH(arena, DECAY_CHUNK * s.planes, &s.angles, &s.cosines, &s.sines);
    s.keys = arena_reals(arena, DECAY_CHUNK * chunk->width);
    if (trapezoid)
        s.state = arena_reals(arena, chunk->width * chunk->value_width);
    return s;
}

/* --- the rows after the (D, Dv) of a state, or of its gradient --- */

typedef struct Last {
    real *k, *v, *angles; /* (D), (Dv), (planes) */
} Last;

static Last last_of(real *state, const Chunk *chunk)
{
    real *k = state + chunk->width * chunk->value_width, *v = k + chunk->width;
    return (Last){k, v, v + chunk->value_width};
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
    const real whole = 2 * PI;
    size_t at = i * s->planes;
    for (size_t p = 0; p < s->planes; p++) {
        real angle = before[p] + s->angles[at + p];
        angle -= whole * (real)rint((double)(angle / whole));
        s->angles[at + p] = angle;
        sine_and_cosine(angle, &s->sines[at + p], &s->cosines[at + p]);
    }
}

void steps_rotate(const Steps *s, const Chunk *chunk, real *x, size_t stride, bool back)
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

/* d angle += db a - da b, for the rotated a and b */
static void angles_backward(real *restrict dangles, const real *x, const real *dx,
                            size_t planes)
{
    for (size_t p = 0; p < planes; p++)
        dangles[p] += dx[planes + p] * x[p] - dx[p] * x[planes + p];
}

/* --- forward --- */

/* What a position adds to the state, and its log decay g; or the gradients of these. */
typedef struct Step {
    real g, current, previous;
} Step;

/* From the gates of a position; also the angles that it adds. */
static Step load_step(const Steps *s, real *angles, const real *gates, const real *params)
{
    real t = vector_softplus(gates[0]);
    Step step = {.g = -vector_exp(params[0]) * t, .current = t};
    if (!s->trapezoid)
        return step;
    real share = vector_sigmoid(gates[1]);
    for (size_t p = 0; p < s->planes; p++)
        angles[p] = t * PI * vector_tanh(gates[2 + p]);
    step.current = share * t;
    step.previous = (1 - share) * t;
    return step;
}

void steps_load(const Steps *s, const Chunk *chunk, real *g, real *decay)
{
    const AttentionData *data = &chunk->data;
    const real *before = s->angles;
    if (s->trapezoid)
        before = last_of(chunk->state, chunk).angles;
    for (size_t i = 0; i < chunk->rows; i++) {
        real *angles = s->angles + i * s->planes;
        Step step = load_step(s, angles, data->gates + i * chunk->head->gates_stride,
                              data->params);
        g[i] = step.g;
        decay[i] = vector_exp(step.g);
        s->current[i] = s->weights[i] = step.current;
        s->previous[i] = step.previous;
        if (i > 0)
            s->weights[i - 1] += step.previous;
        add_angles(s, before, i);
        before = angles;
    }
}

void steps_load_keys(const Steps *s, const Chunk *chunk)
{
    size_t width = chunk->width, of_values = chunk->value_width;
    steps_rotate(s, chunk, chunk->k, width, false);
    memcpy(s->keys, chunk->k, chunk->rows * width * sizeof(real));
    rows_scale(chunk->k, width, s->weights, chunk->rows, width);
    if (!s->trapezoid)
        return;
    const Last last = last_of(chunk->state, chunk);
    memcpy(s->state, chunk->state, width * of_values * sizeof(real));
    for (size_t a = 0; a < width; a++)
        vector_add_scaled(s->state + a * of_values, last.v, s->previous[0] * last.k[a],
                          of_values);
}

void steps_end(const Steps *s, const Chunk *chunk, real *state)
{
    size_t width = chunk->width, end = chunk->rows - 1;
    Last last = last_of(state, chunk);
    memcpy(last.k, s->keys + end * width, width * sizeof(real));
    memcpy(last.v, chunk->data.v + end * chunk->head->stride,
           chunk->value_width * sizeof(real));
    memcpy(last.angles, s->angles + end * s->planes, s->planes * sizeof(real));
}

/* --- backward --- */

/* The gradients of the last key, value and angles at the chunk's end go to its last position;
 * those at its start come from the pair that was added to the state. Returns the gradient of
 * the first `previous`. */
static real last_backward(const Steps *s, const Chunk *chunk, real *ds)
{
    size_t width = chunk->width, of_values = chunk->value_width;
    size_t end = (chunk->rows - 1) * chunk->head->stride;
    const Last last = last_of(chunk->state, chunk);
    Last d = last_of(ds, chunk);
    real sum = 0, before = s->previous[0];
    vector_add_scaled(chunk->data.dk + end, d.k, 1, width);
    vector_add_scaled(chunk->data.dv + end, d.v, 1, of_values);
    vector_zero(d.v, of_values);
    for (size_t a = 0; a < width; a++) {
        const real *row = ds + a * of_values;
        real product = vector_dot(row, last.v, of_values);
        sum += last.k[a] * product;
        d.k[a] = before * product;
        vector_add_scaled(d.v, row, before * last.k[a], of_values);
    }
    return sum;
}

/* From the gradient of the weighted key of a position, and from the diagonal. Returns that of
 * the weight, and of the current pair's weight in addition to it. */
static real weights_backward(const Steps *s, const Chunk *chunk, size_t i, real *of_current)
{
    size_t width = chunk->width;
    const real *q = chunk->q + i * width, *k = s->keys + i * width;
    real *restrict dq = chunk->data.dq + i * chunk->head->stride;
    real *restrict dk = chunk->data.dk + i * chunk->head->stride;
    real of_weight = vector_dot(k, dk, width), shared = s->diagonal[i] * s->current[i];
    *of_current = s->diagonal[i] * vector_dot(q, k, width);
    for (size_t j = 0; j < width; j++) {
        dk[j] = s->weights[i] * dk[j] + shared * q[j];
        dq[j] += shared * k[j];
    }
    return of_weight;
}

/* A step rotates its own position and all later ones. */
static void rotations_backward(const Steps *s, const Chunk *chunk, real *ds)
{
    size_t width = chunk->width, stride = chunk->head->stride;
    real *later = last_of(ds, chunk).angles;
    for (size_t i = chunk->rows; i-- > 0;) {
        angles_backward(later, chunk->q + i * width, chunk->data.dq + i * stride, s->planes);
        angles_backward(later, s->keys + i * width, chunk->data.dk + i * stride, s->planes);
        memcpy(s->angles + i * s->planes, later, s->planes * sizeof(real));
    }
    steps_rotate(s, chunk, chunk->data.dq, stride, true);
    steps_rotate(s, chunk, chunk->data.dk, stride, true);
}

/* Adds to the gradient of log A, which is dg g. */
static void step_backward(const Steps *s, const AttentionData *data, Step d,
                          const real *dangles)
{
    const real *gates = data->gates;
    real *dgates = data->dgates, rate = vector_exp(data->params[0]), dt = d.current;
    real t = vector_softplus(gates[0]);
    if (s->trapezoid) {
        real share = vector_sigmoid(gates[1]), of_angles = 0;
        for (size_t p = 0; p < s->planes; p++) {
            real speed = vector_tanh(gates[2 + p]);
            of_angles += dangles[p] * PI * speed;
            dgates[2 + p] = dangles[p] * t * PI * (1 - speed * speed);
        }
        dgates[1] = (d.current - d.previous) * t * share * (1 - share);
        dt = of_angles + d.current * share + d.previous * (1 - share);
    }
    dgates[0] = (dt - rate * d.g) * vector_sigmoid(gates[0]);
    data->dparams[0] -= d.g * rate * t;
}

void steps_backward(const Steps *s, const Chunk *chunk, const real *dg, real *ds)
{
    const AttentionData *data = &chunk->data;
    real *weights = s->weights, *current = s->diagonal;
    for (size_t i = 0; i < chunk->rows; i++) {
        real of_current = 0;
        weights[i] = weights_backward(s, chunk, i, &of_current);
        current[i] = of_current + weights[i];
    }
    real previous = 0;
    if (s->trapezoid) {
        previous = last_backward(s, chunk, ds);
        rotations_backward(s, chunk, ds);
    }
    for (size_t i = 0; i < chunk->rows; previous = weights[i++]) {
        const AttentionData at = attention_rows(data, i, chunk->head);
        step_backward(s, &at, (Step){dg[i], current[i], previous}, s->angles + i * s->planes);
    }
}

/* --- the kinds --- */

/* The step size, the share, and the angles. */
static size_t trapezoid_gates(const AttentionHead *head)
{
    return 2 + head->width / 2;
}

static void start_gates(real *bias, const AttentionHead *head, RandomKey key)
{
    for (size_t i = 0; i < attention_count(&head->kind->gates.count, head); i++)
        bias[i] = i == 0 ? timestep_bias(random_uniform(key, head->index)) : 0;
}

static void start_params(real *params, const AttentionHead *head, RandomKey key)
{
    timestep_start_params_from_one(params, head, key);
    params[DECAY_SKIP] = 1;
}

const AttentionKind attention_mamba2 = {
    .name = "mamba2",
    .source = "Dao and Gu 2024, arXiv 2405.21060",
    .help = "Mamba-2: a data-dependent step size sets both the decay and the weight of a write",
    .encodes_positions = true,
    .parts = {.convolution = true,
              .gate = true,
              .norm = true,
              .keys = {.parts = 2, .of = 1},
              .values = {.parts = 2, .of = 1},
              .shares_keys = true,
              .convolution_bias = true,
              .keeps_lengths = true,
              .norms_all_heads = true,
              .gates_first = true},
    .gates = {.count = {.fixed = 1}, .start = start_gates},
    .param_count = {.fixed = DECAY_SKIP + 1},
    .start_params = start_params,
    .form = 1,
    .changed =
        "all heads share queries and keys, which are twice as wide, like the values; the "
        "convolution has a bias; one norm of all heads follows the output gate; outputs "
        "are not over the root of the head dimension; no QK-norm (since 0.2)",
    .engine = &decay_engine,
    .engine_options = &(const DecayRule){.steps = true},
};

const AttentionKind attention_mamba3 = {
    .name = "mamba3",
    .source = "Lahoti et al. 2026, arXiv 2603.15569",
    .help = "Mamba-3: mamba2 with the trapezoid rule and data-dependent RoPE",
    .encodes_positions = true,
    .parts = {.gate = true, .norm = true},
    .gates = {.count = {.more = trapezoid_gates},
              .low = {.rank = {.fixed = 32}},
              .start = start_gates},
    .param_count = {.fixed = DECAY_SKIP + 1},
    .start_params = start_params,
    .form = 1,
    .changed = "outputs are not over the root of the head dimension (since 0.2)",
    .engine = &decay_trapezoid_engine,
    .engine_options = &(const DecayRule){.steps = true, .trapezoid = true},
};
