/* Attention as its formulas say it.
 *
 * A head reads a sequence of T positions. Each has a query q_i, a key k_i and a value v_i, rows
 * of D numbers, and gets an output o_i: a mixture of the values v_j at and before it. Kinds
 * differ in the weight that position i gives to v_j, and form four families:
 *
 *   softmax      weights exp(q_i . k_j / sqrt(D)), over all or some of the past
 *   features     weights f(q_i) . f(k_j): without the exponential of a product, sums factor
 *   recurrences  a state S, a D by D matrix, that each position changes and then reads
 *   approximate  softmax over similar positions, or over the near past and summaries
 *
 * Every function below defines a kind, and the table at the end names them. Nothing here is
 * fast or clever: a weighted mean over the past takes T^2 / 2 steps. src/attention computes the
 * same outputs in tiles and chunks, and their gradients; tests/test_attention.c compares its
 * outputs with these for every kind. src/attention/README.md explains the ideas.
 *
 * A Head (reference.h) holds the rows q, k, v and out of one head; k^T v is the outer product
 * of two rows. `params` are a kind's parameters, if it has any. No maximum is subtracted
 * before exp(): doubles do not overflow at the sizes that are tested.
 *
 * Left out: dropout, and what surrounds a head (models/block.c). Constants such as 1e-6
 * belong to the definitions; they keep denominators away from 0. */
#include "tests/reference.h"
#include "src/base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The widest row of features. */
enum { MOST = 256 };

typedef ReferenceHead Head;

/* --- rows of numbers --- */

static double dot(const double *x, const double *y, size_t width)
{
    double sum = 0;
    for (size_t c = 0; c < width; c++)
        sum += x[c] * y[c];
    return sum;
}

/* y += weight x. Returns the weight, so that callers can sum their weights. */
static double add(double *y, double weight, const double *x, size_t width)
{
    for (size_t c = 0; c < width; c++)
        y[c] += weight * x[c];
    return weight;
}

/* y = factor x */
static void scale(double *y, double factor, const double *x, size_t width)
{
    for (size_t c = 0; c < width; c++)
        y[c] = factor * x[c];
}

/* y = x / |x| */
static void normalise(double *y, const double *x, size_t width)
{
    scale(y, 1 / sqrt(dot(x, x, width) + 1e-6), x, width);
}

/* y = softmax(x) */
static void softmax_row(double *y, const double *x, size_t width)
{
    double sum = 0;
    for (size_t c = 0; c < width; c++) {
        y[c] = exp(x[c]);
        sum += y[c];
    }
    scale(y, 1 / sum, y, width);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double clip(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

/* RoPE: y is x at a position. Features c and c + D/2 are the coordinates of a point in a plane,
 * rotated by an angle proportional to the position. */
static void rotate(double *y, const double *x, size_t position, const Head *h)
{
    size_t half = h->width / 2;
    memcpy(y, x, h->width * sizeof *x);
    for (size_t c = 0; h->rotary && c < half; c++) {
        double angle = (double)position * pow(10000, -(double)c / (double)half);
        y[c] = x[c] * cos(angle) - x[c + half] * sin(angle);
        y[c + half] = x[c] * sin(angle) + x[c + half] * cos(angle);
    }
}

/* q . k / sqrt(D), with q at position i and k at position j. */
static double score(const double *q, size_t i, const double *k, size_t j, const Head *h)
{
    double q_turned[MOST], k_turned[MOST];
    rotate(q_turned, q, i, h);
    rotate(k_turned, k, j, h);
    return dot(q_turned, k_turned, h->width) / sqrt((double)h->width);
}

/* --- weighted means --- */

/* o_i = sum of w_ij v_j / (rest + sum of w_ij), both over j <= i: here is the causal mask. */
typedef double Weight(const Head *h, size_t i, size_t j);

static void weighted_mean(const Head *h, Weight *weight, double rest)
{
    for (size_t i = 0; i < h->length; i++) {
        double sum = rest;
        for (size_t j = 0; j <= i; j++)
            sum += add(h->out[i], weight(h, i, j), h->v[j], h->value_width);
        scale(h->out[i], 1 / sum, h->out[i], h->value_width);
    }
}

/* --- softmax over all or some of the past --- */

/* w_ij = exp(q_i . k_j / sqrt(D)) */
static double softmax(const Head *h, size_t i, size_t j)
{
    return exp(score(h->q[i], i, h->k[j], j, h));
}

/* An extra exp(b) in the denominator; b is 0, or a parameter. */
static void softmax1(const Head *h)
{
    weighted_mean(h, softmax, exp(h->options->sink ? h->params[0] : 0));
}

/* Each position between j and i, and i itself, makes the weight smaller by a factor. */
static double fox(const Head *h, size_t i, size_t j)
{
    double kept = 1;
    for (size_t s = j + 1; s <= i; s++)
        kept *= sigmoid(h->gates[s][0]);
    return kept * softmax(h, i, j);
}

/* The last positions only. */
static double window(const Head *h, size_t i, size_t j)
{
    return i - j < h->options->window ? softmax(h, i, j) : 0;
}

/* Even heads: the last l positions. Odd heads: every l-th position. */
static double strided(const Head *h, size_t i, size_t j)
{
    size_t l = h->options->period;
    bool sees = h->index % 2 == 0 ? i - j < l : (i - j) % l == 0;
    return sees ? softmax(h, i, j) : 0;
}

/* Even heads: the own block of l positions. Odd heads: itself, and the last c of each block. */
static double fixed(const Head *h, size_t i, size_t j)
{
    size_t l = h->options->period, c = h->options->summary;
    bool sees = h->index % 2 == 0 ? i / l == j / l : i == j || j % l + c >= l;
    return sees ? softmax(h, i, j) : 0;
}

/* --- features --- */

/* Writes the D features of a query or key. */
typedef void Feature(double *f, const double *x, size_t width);

/* w_ij = f(q_i) . f(k_j). RoPE rotates features above the fraction bar only: below it, rotated
 * features could sum to 0. */
static void mean_by_features(const Head *h, Feature *feature, double rest)
{
    double q[MOST], k[MOST], q_turned[MOST], k_turned[MOST];
    for (size_t i = 0; i < h->length; i++) {
        double sum = rest;
        feature(q, h->q[i], h->width);
        rotate(q_turned, q, i, h);
        for (size_t j = 0; j <= i; j++) {
            feature(k, h->k[j], h->width);
            rotate(k_turned, k, j, h);
            add(h->out[i], dot(q_turned, k_turned, h->width), h->v[j], h->width);
            sum += dot(q, k, h->width);
        }
        scale(h->out[i], 1 / sum, h->out[i], h->width);
    }
}

/* f(x) = elu(x) + 1 */
static void linear(double *f, const double *x, size_t width)
{
    for (size_t c = 0; c < width; c++)
        f[c] = x[c] > 0 ? x[c] + 1 : exp(x[c]);
}

/* f(x) = max(x, 0) + 1/1000 */
static void relu(double *f, const double *x, size_t width)
{
    for (size_t c = 0; c < width; c++)
        f[c] = fmax(x[c], 0) + 1e-3;
}

/* f(x) = max(x, 0)^2 + 1/1000, with x scaled to mean square 1 */
static void sqrelu(double *f, const double *x, size_t width)
{
    normalise(f, x, width);
    for (size_t c = 0; c < width; c++)
        f[c] = (double)width * fmax(f[c], 0) * fmax(f[c], 0) + 1e-3;
}

/* f(x) = exp(x / D^(1/4)), with exponents clipped to +-15 */
static void exponential(double *f, const double *x, size_t width)
{
    for (size_t c = 0; c < width; c++)
        f[c] = exp(clip(x[c] / pow((double)width, 0.25), -15, 15));
}

/* f(x) = softmax(x / D^(1/4)) over the features */
static void softmaxfeat(double *f, const double *x, size_t width)
{
    scale(f, 1 / pow((double)width, 0.25), x, width);
    softmax_row(f, f, width);
}

/* For each feature c a softmax of k_jc over the positions j <= i, with the sum z_c:
 * w_ij = sum over c of softmax(q_i)_c exp(k_jc) / z_c; these sum to 1 already. */
static void efficient(const Head *h)
{
    for (size_t i = 0; i < h->length; i++) {
        double share[MOST], z[MOST] = {0};
        softmax_row(share, h->q[i], h->width);
        for (size_t j = 0; j <= i; j++)
            for (size_t c = 0; c < h->width; c++)
                z[c] += exp(clip(h->k[j][c], -15, 15));
        for (size_t j = 0; j <= i; j++)
            for (size_t c = 0; c < h->width; c++)
                add(h->out[i], share[c] * exp(clip(h->k[j][c], -15, 15)) / z[c], h->v[j],
                    h->width);
    }
}

/* w_ij = 1 + tau cos(q_i, k_j): the first two terms of the exponential's series. */
static double taylor(const Head *h, size_t i, size_t j)
{
    double q[MOST], k[MOST];
    normalise(q, h->q[i], h->width);
    normalise(k, h->k[j], h->width);
    return 1 + h->options->tau * score(q, i, k, j, h) * sqrt((double)h->width);
}

/* x / D^(1/4), of at most length 6. */
static void shorten(double *u, const double *x, const Head *h)
{
    scale(u, 1 / pow((double)h->width, 0.25), x, h->width);
    double length = sqrt(dot(u, u, h->width));
    scale(u, length > 6 ? 6 / length : 1, u, h->width);
}

/* w_ij = 1 + s + s^2 / 2, s = q_i . k_j / sqrt(D): the first three terms. */
static double taylor2(const Head *h, size_t i, size_t j)
{
    double q[MOST], k[MOST];
    rotate(q, h->q[i], i, h);
    rotate(k, h->k[j], j, h);
    shorten(q, q, h);
    shorten(k, k, h);
    double s = dot(q, k, h->width);
    return 1 + s + s * s / 2;
}

/* w_ij = f(q_i) . f(k_j), with one feature for each of some random directions d:
 * f(x) = exp(d . u - |u|^2 / 2), u = x / D^(1/4). On average over d, f(q) f(k) is
 * exp(q . k / sqrt(D)). */
static double performer(const Head *h, size_t i, size_t j)
{
    size_t count = h->options->features ? h->options->features : 2 * h->width;
    double q[MOST], k[MOST], sum = 0;
    rotate(q, h->q[i], i, h);
    rotate(k, h->k[j], j, h);
    scale(q, 1 / pow((double)h->width, 0.25), q, h->width);
    scale(k, 1 / pow((double)h->width, 0.25), k, h->width);
    for (size_t r = 0; r < count; r++) {
        const double *direction = h->params + r * h->width;
        double of_q = exp(dot(direction, q, h->width) - dot(q, q, h->width) / 2);
        double of_k = exp(dot(direction, k, h->width) - dot(k, k, h->width) / 2);
        sum += of_q * (of_k + 1e-12);
    }
    return sum;
}

/* One sum over both: softmax in blocks of 64, relative to the largest score m_i, and before it
 * w_ij = f(q_i) . f(k_j), f(x) = softmax(W x) and softmax(-W x), with a W for q and one for k.
 */
static void hedgehog_features(double *f, const double *x, const double *w, size_t width)
{
    for (size_t r = 0; r < width; r++) {
        f[r] = dot(w + r * width, x, width);
        f[width + r] = -f[r];
    }
    softmax_row(f, f, width);
    softmax_row(f + width, f + width, width);
}

static void hedgehog(const Head *h)
{
    for (size_t i = 0; i < h->length; i++) {
        size_t width = h->width, block = i / 64 * 64;
        double x[MOST], of_q[2 * MOST], of_k[2 * MOST], most = -HUGE_VAL, sum = 0;
        rotate(x, h->q[i], i, h);
        hedgehog_features(of_q, x, h->params, width);
        for (size_t j = block; j <= i; j++)
            most = fmax(most, score(h->q[i], i, h->k[j], j, h));
        for (size_t j = 0; j <= i; j++) {
            rotate(x, h->k[j], j, h);
            hedgehog_features(of_k, x, h->params + width * width, width);
            double weight = j < block ? dot(of_q, of_k, 2 * width)
                                      : exp(score(h->q[i], i, h->k[j], j, h) - most);
            sum += add(h->out[i], weight, h->v[j], width);
        }
        scale(h->out[i], 1 / sum, h->out[i], width);
    }
}

/* --- recurrences --- */

/* What a position does to the state S, a D by Dv matrix, and then reads from it:
 *
 *   S' = a S_(i-1),    S_i = S' - erase^T (find S') + k^T v,    o_i = q S_i
 *
 * a has a share of every row of S. Without the delta rule erase is 0. With it, what the state
 * stores under one row of numbers is removed under another. */
typedef struct Step {
    double a[MOST], find[MOST], erase[MOST], k[MOST], v[MOST], q[MOST];
} Step;

/* Changes a step from a = 1, no erasing, and q = q_i / sqrt(D). */
typedef void Rule(Step *s, const Head *h, size_t i);

static Step plain_step(const Head *h, size_t i)
{
    Step s = {.a = {0}};
    for (size_t c = 0; c < h->width; c++)
        s.a[c] = 1;
    rotate(s.q, h->q[i], i, h);
    rotate(s.k, h->k[i], i, h);
    memcpy(s.v, h->v[i], h->value_width * sizeof *s.v);
    scale(s.q, 1 / sqrt((double)h->width), s.q, h->width);
    return s;
}

static void take_step(double **state, double *out, const Step *s, const Head *h)
{
    double found[MOST] = {0};
    for (size_t c = 0; c < h->width; c++) {
        scale(state[c], s->a[c], state[c], h->value_width);
        add(found, s->find[c], state[c], h->value_width);
    }
    for (size_t c = 0; c < h->width; c++) {
        add(state[c], -s->erase[c], found, h->value_width);
        add(state[c], s->k[c], s->v, h->value_width);
        add(out, s->q[c], state[c], h->value_width);
    }
}

static void recurrence(const Head *h, Rule *rule)
{
    double **state = reference_matrix(h->width, h->value_width);
    for (size_t i = 0; i < h->length; i++) {
        Step s = plain_step(h, i);
        rule(&s, h, i);
        take_step(state, h->out[i], &s, h);
    }
    free(state);
}

/* The same decay for every row. */
static void fill(double *a, double decay, size_t width)
{
    for (size_t c = 0; c < width; c++)
        a[c] = decay;
}

/* A constant of the head. */
static void retention(Step *s, const Head *h, size_t i)
{
    (void)i;
    fill(s->a, 1 - exp2(-5 - (double)h->index), h->width);
}

/* a = sigmoid(gate)^(1/16): the root keeps decays near 1 (Yang et al. 2023) */
static void gated(Step *s, const Head *h, size_t i)
{
    fill(s->a, pow(sigmoid(h->gates[i][0]), 1.0 / 16), h->width);
}

/* The same with a gate for each row of the state, which counts as -40 or more. */
static void gla(Step *s, const Head *h, size_t i)
{
    for (size_t c = 0; c < h->width; c++)
        s->a[c] = pow(sigmoid(fmax(h->gates[i][c], -64)), 1.0 / 16);
}

/* f = l + (1 - l) sigmoid(k), and 1 - f is written under; l is the sigmoid of a parameter, and
 * 0 in the first layer. A decay counts as exp(-4) or more. */
static void hgrn2(Step *s, const Head *h, size_t i)
{
    for (size_t c = 0; c < h->width; c++) {
        double least = h->layer > 0 ? sigmoid(h->params[c]) : 0;
        double f = least + (1 - least) * sigmoid(h->k[i][c]);
        s->a[c] = fmax(f, exp(-4));
        s->k[c] = 1 - f;
        s->q[c] = h->q[i][c] * sigmoid(h->q[i][c]) / sqrt((double)h->width);
    }
}

/* The difference between v and what is stored under the key is written at the rate b. Queries
 * and keys have length 1: S_i = S' + b k^T (v - k S'),  o_i = q S_i / sqrt(D) */
static void delta_at(Step *s, const Head *h, size_t i, double gate)
{
    double b = sigmoid(gate) * (h->options->negative_eigenvalues ? 2 : 1);
    rotate(s->q, h->q[i], i, h);
    normalise(s->q, s->q, h->width);
    scale(s->q, 1 / sqrt((double)h->width), s->q, h->width);
    normalise(s->k, s->k, h->width);
    memcpy(s->find, s->k, h->width * sizeof *s->k);
    memcpy(s->erase, s->k, h->width * sizeof *s->k);
    scale(s->erase, b, s->erase, h->width);
    scale(s->v, b, s->v, h->value_width);
}

static void delta(Step *s, const Head *h, size_t i)
{
    delta_at(s, h, i, h->gates[i][0]);
}

/* a = exp(-A softplus(gate)); the parameter is log A. */
static void gated_delta(Step *s, const Head *h, size_t i)
{
    delta(s, h, i);
    fill(s->a, exp(-exp(h->params[0]) * log1p(exp(h->gates[i][1]))), h->width);
}

/* A weaker lookup, by s, of the state before its decay; and queries corrected by d:
 * o_i = unit(q - d s k) S_i */
static void comba(Step *s, const Head *h, size_t i)
{
    double strength = sigmoid(h->params[1]), raw[MOST];
    gated_delta(s, h, i);
    scale(s->find, strength / s->a[0], s->find, h->width);
    rotate(s->q, h->q[i], i, h);
    rotate(raw, h->k[i], i, h);
    add(s->q, -h->params[2] * strength, raw, h->width);
    normalise(s->q, s->q, h->width);
    scale(s->q, 1 / sqrt((double)h->width), s->q, h->width);
}

/* Several steps of gated_delta, each with a key, a value and a rate: only the first decays, and
 * the last has the query. */
static void deltaproduct(const Head *h)
{
    double **state = reference_matrix(h->width, h->value_width);
    for (size_t i = 0; i < h->length; i++)
        for (size_t j = 0; j < h->copies; j++) {
            Step s = plain_step(h, i);
            rotate(s.k, h->k[i] + j * h->width, i, h);
            memcpy(s.v, h->v[i] + j * h->value_width, h->value_width * sizeof *s.v);
            delta_at(&s, h, i, h->gates[i][j]);
            double gate = h->gates[i][h->copies];
            fill(s.a, j == 0 ? exp(-exp(h->params[0]) * log1p(exp(gate))) : 1, h->width);
            if (j + 1 < h->copies)
                fill(s.q, 0, h->width);
            take_step(state, h->out[i], &s, h);
        }
    free(state);
}

/* a = exp(-A softplus(gate)), a gate for each feature, but at least exp(-4). */
static void timesteps(Step *s, const Head *h, size_t i)
{
    for (size_t c = 0; c < h->width; c++)
        s->a[c] = exp(fmax(-exp(h->params[0]) * log1p(exp(h->gates[i][c])), -4));
}

/* The delta rule, with a decay for each feature. */
static void kda(Step *s, const Head *h, size_t i)
{
    delta_at(s, h, i, h->rates[i][0]);
    timesteps(s, h, i);
}

/* S_i = S' + k^T (w v - (b k) S') with a number b and w for each feature. */
static void gdn2(Step *s, const Head *h, size_t i)
{
    const double *b = h->rates[i], *w = b + h->width;
    kda(s, h, i);
    for (size_t c = 0; c < h->width; c++) {
        s->erase[c] = s->k[c];
        s->find[c] = (h->options->negative_eigenvalues ? 2 : 1) * sigmoid(b[c]) * s->k[c];
    }
    for (size_t c = 0; c < h->value_width; c++)
        s->v[c] = sigmoid(w[c]) * h->v[i][c];
}

/* The lookup comes before the decay: h S = (h / a) S'. */
static void rwkv7(Step *s, const Head *h, size_t i)
{
    for (size_t c = 0; c < h->width; c++)
        s->erase[c] = h->params[c] * s->k[c];
    normalise(s->erase, s->erase, h->width);
    for (size_t c = 0; c < h->width; c++) {
        double rate = sigmoid(h->rates[i][c]);
        s->a[c] = exp(-sigmoid(h->gates[i][c]) / sqrt(exp(1)));
        s->find[c] = s->erase[c] / s->a[c];
        s->erase[c] *= rate;
        s->k[c] *= 1 + (rate - 1) * h->params[h->width + c];
        s->q[c] *= sqrt((double)h->width);
    }
}

/* a = exp(-A t), and t k^T v is written, for a step size t = softplus(gate). */
static void mamba2(Step *s, const Head *h, size_t i)
{
    double t = log1p(exp(h->gates[i][0]));
    fill(s->a, exp(-exp(h->params[0]) * t), h->width);
    scale(s->k, t, s->k, h->width);
    scale(s->q, sqrt((double)h->width), s->q, h->width);
}

/* With d v_i added to each output. */
static void mamba2_whole(const Head *h)
{
    recurrence(h, mamba2);
    for (size_t i = 0; i < h->length; i++)
        add(h->out[i], h->params[1], h->v[i], h->value_width);
}

/* Turns the planes of x by the angles of all steps up to i. */
static void turn_by_steps(double *x, const Head *h, size_t i)
{
    size_t half = h->width / 2;
    for (size_t c = 0; c < half; c++) {
        double angle = 0, a = x[c], b = x[c + half];
        for (size_t j = 0; j <= i; j++)
            angle += log1p(exp(h->gates[j][0])) * acos(-1) * tanh(h->gates[j][2 + c]);
        x[c] = a * cos(angle) - b * sin(angle);
        x[c + half] = a * sin(angle) + b * cos(angle);
    }
}

/* S_i = a S_(i-1) + l t k_i^T v_i + (1 - l) t a k_(i-1)^T v_(i-1): two steps, the first of
 * which has the pair of the position before, and no query. */
static void mamba3_whole(const Head *h)
{
    double **state = reference_matrix(h->width, h->value_width);
    Step before = {.a = {0}};
    for (size_t i = 0; i < h->length; i++) {
        double t = log1p(exp(h->gates[i][0])), share = sigmoid(h->gates[i][1]);
        Step s = plain_step(h, i);
        turn_by_steps(s.q, h, i);
        turn_by_steps(s.k, h, i);
        const Step last = s;
        fill(before.a, 1, h->width);
        fill(before.q, 0, h->width);
        scale(before.k, (1 - share) * t, before.k, h->width);
        take_step(state, h->out[i], &before, h);
        mamba2(&s, h, i);
        scale(s.k, share, s.k, h->width);
        take_step(state, h->out[i], &s, h);
        add(h->out[i], h->params[1], h->v[i], h->value_width);
        before = last;
    }
    free(state);
}

/* --- buckets: softmax over positions that are alike --- */

/* The bucket of x: which of the random directions and their opposites is nearest. */
static size_t bucket(const double *x, size_t round, const Head *h)
{
    size_t half = h->options->buckets / 2, best = 0;
    double longest = -INFINITY;
    for (size_t b = 0; b < 2 * half; b++) {
        const double *direction = h->params + (round * half + b % half) * h->width;
        double along = (b < half ? 1 : -1) * dot(direction, x, h->width);
        if (along > longest) {
            longest = along;
            best = b;
        }
    }
    return best;
}

/* w_ij = exp(q_i . k_j / sqrt(D)) with k_j = q_j / |q_j| */
static double alike(const Head *h, size_t i, size_t j)
{
    double key[MOST];
    normalise(key, h->q[j], h->width);
    return exp(score(h->q[i], i, key, j, h));
}

/* In each round, the last earlier positions of the own bucket; itself if there is none. */
static void reformer(const Head *h)
{
    for (size_t i = 0; i < h->length; i++) {
        double sum = 0;
        for (size_t round = 0; round < h->options->hashes; round++) {
            size_t found = 0, own = bucket(h->q[i], round, h);
            for (size_t j = i; j-- > 0 && found < h->options->near;)
                if (bucket(h->q[j], round, h) == own) {
                    sum += add(h->out[i], alike(h, i, j), h->v[j], h->width);
                    found++;
                }
            if (found == 0)
                sum += add(h->out[i], alike(h, i, i), h->v[i], h->width);
        }
        scale(h->out[i], 1 / sum, h->out[i], h->width);
    }
}

/* --- blocks: the far past is summarised --- */

/* Adds an earlier block of B positions to the sum of i. It counts as r entries, weighted sums
 * of its keys and values, K~ = E K and V~ = F V, that each stand for B / r positions. */
static double add_entries(const Head *h, size_t i, size_t block, size_t r, const double *e,
                          const double *f)
{
    size_t segment = h->options->segment, first = block * segment, last = first + segment - 1;
    double sum = 0, stands_for = (double)segment / (double)r;
    for (size_t a = 0; a < r; a++) {
        double key[MOST] = {0}, value[MOST] = {0};
        for (size_t place = 0; place < segment; place++) {
            add(key, e[a * segment + place], h->k[first + place], h->width);
            add(value, f[a * segment + place], h->v[first + place], h->width);
        }
        double weight = stands_for * exp(score(h->q[i], i, key, last, h));
        sum += add(h->out[i], weight, value, h->width);
    }
    return sum;
}

/* One softmax over the entries of earlier blocks and the positions of the own block. */
static void compressed(const Head *h, size_t r, const double *e, const double *f)
{
    for (size_t i = 0; i < h->length; i++) {
        size_t own = i / h->options->segment;
        double sum = 0;
        for (size_t block = 0; block < own; block++)
            sum += add_entries(h, i, block, r, e, f);
        for (size_t j = own * h->options->segment; j <= i; j++)
            sum += add(h->out[i], softmax(h, i, j), h->v[j], h->width);
        scale(h->out[i], 1 / sum, h->out[i], h->width);
    }
}

/* E and F, each (r, B), are parameters. */
static void linformer(const Head *h)
{
    size_t r = h->options->rank;
    compressed(h, r, h->params, h->params + r * h->options->segment);
}

/* One entry: the mean. */
static void pooled(const Head *h)
{
    size_t segment = h->options->segment;
    double **mean = reference_matrix(1, segment);
    for (size_t place = 0; place < segment; place++)
        mean[0][place] = 1 / (double)segment;
    compressed(h, 1, mean[0], mean[0]);
    free(mean);
}

/* X Y, for X with n rows */
static double **product(double **x, double **y, size_t n, size_t inner, size_t columns)
{
    double **xy = reference_matrix(n, columns);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < inner; j++)
            add(xy[i], x[i][j], y[j], columns);
    return xy;
}

/* X becomes number I - Y X. */
static void subtract_product(double **x, double number, double **y, size_t n)
{
    double **yx = product(y, x, n, n, n);
    for (size_t i = 0; i < n; i++) {
        scale(x[i], -1, yx[i], n);
        x[i][i] += number;
    }
    free(yx);
}

/* Approximates the pseudoinverse of A, whose rows sum to 1, by six steps of an iteration:
 * Z' = Z (13 - A Z (15 - A Z (7 - A Z))) / 4, from Z = A^T / (the largest column sum of A). */
static double **pseudoinverse(double **a, size_t n)
{
    double **z = reference_matrix(n, n), largest = 0;
    for (size_t j = 0; j < n; j++) {
        double column = 0;
        for (size_t i = 0; i < n; i++) {
            z[j][i] = a[i][j];
            column += a[i][j];
        }
        largest = fmax(largest, column);
    }
    for (size_t i = 0; i < n; i++)
        scale(z[i], 1 / largest, z[i], n);
    for (int step = 0; step < 6; step++) {
        double **y = product(a, z, n, n, n), **bracket = reference_matrix(n, n), **better;
        for (size_t i = 0; i < n; i++)
            bracket[i][i] = 1;
        subtract_product(bracket, 7, y, n);
        subtract_product(bracket, 15, y, n);
        subtract_product(bracket, 13, y, n);
        better = product(z, bracket, n, n, n);
        for (size_t i = 0; i < n; i++)
            scale(z[i], 1.0 / 4, better[i], n);
        free(y), free(bracket), free(better);
    }
    return z;
}

/* The values of the b landmarks that the queries after b blocks see. A landmark has the means
 * q~ and k~ of a block. Returns A^+ F, where A^+ is the pseudoinverse of A, and
 *   A = softmax of q~_l . k~_m / sqrt(D) over the landmarks m                      (b, b)
 *   F = softmax of q~_l . k_j / sqrt(D) over the positions j of the blocks, times V (b, D) */
static double **landmark_values(const Head *h, double **q, double **k, size_t b)
{
    size_t past = b * h->options->segment;
    double **a = reference_matrix(b, b), **p = reference_matrix(b, past);
    double root = sqrt((double)h->width);
    for (size_t l = 0; l < b; l++) {
        for (size_t m = 0; m < b; m++)
            a[l][m] = dot(q[l], k[m], h->width) / root;
        for (size_t j = 0; j < past; j++)
            p[l][j] = dot(q[l], h->k[j], h->width) / root;
        softmax_row(a[l], a[l], b);
        softmax_row(p[l], p[l], past);
    }
    double **f = product(p, h->v, b, past, h->width), **inverse = pseudoinverse(a, b);
    double **values = product(inverse, f, b, b, h->width);
    free(a), free(p), free(f), free(inverse);
    return values;
}

/* The means of all blocks. */
static double **block_means(const Head *h, double **x)
{
    size_t segment = h->options->segment;
    double **means = reference_matrix(h->length / segment + 1, h->width);
    for (size_t i = 0; i < h->length; i++)
        add(means[i / segment], 1 / (double)segment, x[i], h->width);
    return means;
}

/* One softmax over the landmarks of earlier blocks, each for B positions, and the own block. */
static void nystrom(const Head *h)
{
    size_t segment = h->options->segment;
    double **q = block_means(h, h->q), **k = block_means(h, h->k);
    for (size_t own = 0; own * segment < h->length; own++) {
        double **values = landmark_values(h, q, k, own);
        for (size_t i = own * segment; i < h->length && i / segment == own; i++) {
            double sum = 0;
            for (size_t l = 0; l < own; l++) {
                size_t last = (l + 1) * segment - 1;
                double weight = (double)segment * exp(score(h->q[i], i, k[l], last, h));
                sum += add(h->out[i], weight, values[l], h->width);
            }
            for (size_t j = own * segment; j <= i; j++)
                sum += add(h->out[i], softmax(h, i, j), h->v[j], h->width);
            scale(h->out[i], 1 / sum, h->out[i], h->width);
        }
        free(values);
    }
    free(q), free(k);
}

/* --- the table --- */

static const struct Row {
    const char *name;
    Weight *weight;
    Feature *feature;
    double rest; /* in the denominators of the two above */
    Rule *rule;
    void (*whole)(const Head *h); /* whatever has another form */
} table[] = {
    {"softmax", .weight = softmax},
    {"softmax1", .whole = softmax1},
    {"fox", .weight = fox},
    {"window", .weight = window},
    {"strided", .weight = strided},
    {"fixed", .weight = fixed},
    {"reformer", .whole = reformer},
    {"linformer", .whole = linformer},
    {"pooled", .whole = pooled},
    {"nystrom", .whole = nystrom},
    {"linear", .feature = linear, .rest = 1e-6},
    {"relu", .feature = relu},
    {"sqrelu", .feature = sqrelu},
    {"exp", .feature = exponential},
    {"softmaxfeat", .feature = softmaxfeat, .rest = 1e-10},
    {"efficient", .whole = efficient},
    {"taylor", .weight = taylor, .rest = 1e-6},
    {"taylor2", .weight = taylor2},
    {"performer", .weight = performer},
    {"hedgehog", .whole = hedgehog},
    {"retention", .rule = retention},
    {"gated", .rule = gated},
    {"mamba2", .whole = mamba2_whole},
    {"mamba3", .whole = mamba3_whole},
    {"gla", .rule = gla},
    {"hgrn2", .rule = hgrn2},
    {"delta", .rule = delta},
    {"gated-delta", .rule = gated_delta},
    {"comba", .rule = comba},
    {"deltaproduct", .whole = deltaproduct},
    {"kda", .rule = kda},
    {"gdn2", .rule = gdn2},
    {"rwkv7", .rule = rwkv7},
};

bool reference_run(const char *name, const ReferenceHead *head)
{
    const struct Row *row = table, *end = table + sizeof table / sizeof *table;
    assert(head->width <= MOST);
    while (row < end && strcmp(row->name, name) != 0)
        row++;
    if (row == end)
        return false;
    if (row->weight)
        weighted_mean(head, row->weight, row->rest);
    else if (row->feature)
        mean_by_features(head, row->feature, row->rest);
    else if (row->rule)
        recurrence(head, row->rule);
    else
        row->whole(head);
    return true;
}

/* First the pointers, then the numbers. */
double **reference_matrix(size_t rows, size_t columns)
{
    size_t numbers = rows * columns * sizeof(double);
    double **matrix = memory_new(rows * sizeof *matrix + numbers + 1, 1, "a matrix");
    double *at = (double *)(void *)(matrix + rows);
    for (size_t i = 0; i < rows; i++)
        matrix[i] = at + i * columns;
    return matrix;
}
