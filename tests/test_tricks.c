/* Tests that regularisation and other training tricks do what they claim: a trick that does
 * nothing has correct gradients too. */
#include "src/layers/activation.h"
#include "src/layers/gates.h"
#include "src/layers/embedding.h"
#include "src/layers/layernorm.h"
#include "src/layers/rotary.h"
#include "src/base/memory.h"
#include "tests/rig.h"
#include "tests/tests.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

SUITE("tricks");

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const double near = 100 * REAL_EPSILON;

static void draw(real *x, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (real)random_normal(random_key(seed, RANDOM_TEST, 0), i);
}

static Dropout dropout_of(double rate)
{
    return (Dropout){random_key(1, RANDOM_DROPOUT, 3), (real)rate};
}

/* --- layers against their formulas --- */

TEST(dropout_leaves_out_its_share_and_keeps_the_mean)
{
    enum { ROWS = 400, WIDTH = 250, ALL = ROWS * WIDTH };
    real *x = memory_new(3 * ALL, sizeof *x, "a test"), *base = x + ALL, *y = base + ALL;
    draw(x, 2 * ALL, 1);
    for (int tenths = 0; tenths <= 9; tenths += 3) {
        double rate = tenths / 10.0;
        size_t dropped = 0;
        dropout_add(y, base, x, dropout_of(rate), ROWS, WIDTH);
        for (size_t i = 0; i < ALL; i++) {
            double kept = (double)base[i] + (double)x[i] / (1 - rate);
            if (y[i] == base[i])
                dropped++;
            else
                ck_assert_double_eq_tol((double)y[i], kept, near * (1 + fabs(kept)));
        }
        ck_assert_double_eq_tol((double)dropped / ALL, rate, 0.01);
    }
    free(x);
}

TEST(dropping_a_word_drops_it_everywhere)
{
    enum { ROWS = 600, LENGTH = 30, WIDTH = 4, WORDS = 200 };
    const double rate = 0.4;
    real tokens[WORDS * WIDTH], x[ROWS * WIDTH];
    int32_t ids[ROWS];
    size_t dropped = 0;
    draw(tokens, COUNT(tokens), 1);
    for (size_t row = 0; row < ROWS; row++)
        ids[row] = (int32_t)(row * 7 % WORDS); /* each word three times */
    embedding_forward(x, (EmbeddingTables){.tokens = tokens}, ids, NULL,
                      (EmbeddingDropouts){.words = dropout_of(rate)},
                      (EmbeddingSizes){ROWS, LENGTH, WIDTH, WORDS, 1, 0});
    for (size_t row = 0; row < ROWS; row++) {
        const real *token = &tokens[(size_t)ids[row] * WIDTH], *at = &x[row * WIDTH];
        double factor = (double)(at[0] / token[0]);
        dropped += row < WORDS && factor == 0;
        ck_assert(factor == 0 || fabs(factor - 1 / (1 - rate)) < near * 2);
        for (size_t i = 1; i < WIDTH; i++)
            ck_assert_double_eq_tol((double)at[i], factor * (double)token[i], near * 10);
        ck_assert_mem_eq(at, &x[(row + WORDS) % ROWS * WIDTH], WIDTH * sizeof *x);
    }
    ck_assert_double_eq_tol((double)dropped / WORDS, rate, 0.1);
}

/* The sum of the rows of all n-grams that end at the last of some tokens. */
static void slow_ngrams(double *x, const int32_t *ids, size_t count, const real *table,
                        EmbeddingSizes sizes)
{
    uint64_t hash = 0;
    for (size_t n = 1; n <= sizes.order && n <= count; n++) {
        hash = (hash ^ ((uint64_t)ids[count - n] + 1)) * 2654435761u % (1ull << 32);
        hash ^= hash >> 15;
        const real *row = table + hash % sizes.slots * sizes.width;
        for (size_t i = 0; n > 1 && i < sizes.width; i++)
            x[i] += (double)row[i];
    }
}

TEST(an_embedding_adds_the_n_grams_that_end_in_it)
{
    enum { ROWS = 12, LENGTH = 6, WIDTH = 5, WORDS = 3, ORDER = 4, SLOTS = 7 };
    const EmbeddingSizes sizes = {ROWS, LENGTH, WIDTH, WORDS, ORDER, SLOTS};
    real tokens[WORDS * WIDTH], ngrams[SLOTS * WIDTH], x[ROWS * WIDTH];
    int32_t ids[ROWS];
    uint32_t slots[ROWS * (ORDER - 1)];
    draw(tokens, COUNT(tokens), 1);
    draw(ngrams, COUNT(ngrams), 2);
    for (size_t row = 0; row < ROWS; row++)
        ids[row] = (int32_t)(row * row % WORDS);
    embedding_find_ngrams(slots, NULL, ids, sizes);
    embedding_forward(x, (EmbeddingTables){.tokens = tokens, .ngrams = ngrams}, ids, slots,
                      (EmbeddingDropouts){0}, sizes);
    for (size_t row = 0; row < ROWS; row++) {
        double expected[WIDTH];
        for (size_t i = 0; i < WIDTH; i++)
            expected[i] = (double)tokens[(size_t)ids[row] * WIDTH + i];
        slow_ngrams(expected, ids + row / LENGTH * LENGTH, row % LENGTH + 1, ngrams, sizes);
        for (size_t i = 0; i < WIDTH; i++)
            ck_assert_double_eq_tol((double)x[row * WIDTH + i], expected[i], near * 10);
    }
}

/* Pieces may be shorter than the longest n-gram. */
TEST(n_grams_of_a_text_read_in_pieces_are_those_of_the_text)
{
    enum { TEXT = 12, ORDER = 5, BEFORE = ORDER - 1 };
    int32_t ids[TEXT];
    uint32_t whole[TEXT * BEFORE], pieces[TEXT * BEFORE];
    for (size_t i = 0; i < TEXT; i++)
        ids[i] = (int32_t)(i * i % 7);
    EmbeddingSizes sizes = {TEXT, TEXT, 1, 7, ORDER, 1000};
    embedding_find_ngrams(whole, NULL, ids, sizes);
    ck_assert_uint_eq(whole[0], NGRAM_NONE);
    ck_assert_uint_ne(whole[BEFORE], NGRAM_NONE);
    for (size_t length = 1; length <= 6; length += length < 4 ? 1 : 2) {
        real before[BEFORE] = {0};
        sizes.rows = sizes.length = length;
        for (size_t at = 0; at < TEXT; at += length)
            embedding_find_ngrams(pieces + at * BEFORE, before, ids + at, sizes);
        ck_assert_mem_eq(pieces, whole, sizeof whole);
    }
}

static double slow_activation(const char *name, double x, double gate)
{
    if (strcmp(name, "gelu") == 0)
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    if (strcmp(name, "gelu-erf") == 0)
        return x / 2 * (1 + erf(x / sqrt(2)));
    if (strcmp(name, "swiglu") == 0)
        return x / (1 + exp(-x)) * gate;
    double positive = x > 0 ? x : 0;
    return strcmp(name, "relu2") == 0 ? positive * positive : positive;
}

TEST(activations_are_their_formulas)
{
    enum { ROWS = 70, WIDTH = 13 };
    real x[ROWS * 2 * WIDTH], y[ROWS * WIDTH];
    draw(x, COUNT(x), 1);
    for (size_t a = 0; activation_find(a); a++) {
        const Activation *activation = activation_find(a);
        for (size_t row = 0; row < ROWS; row++)
            activation->forward(y + row * WIDTH, x + row * activation->inputs * WIDTH, WIDTH,
                                WIDTH);
        for (size_t i = 0; i < ROWS * WIDTH; i++) {
            const real *at = &x[i / WIDTH * activation->inputs * WIDTH + i % WIDTH];
            double gate = activation->inputs == 2 ? (double)at[WIDTH] : 0;
            double expected = slow_activation(activation->name, (double)*at, gate);
            ck_assert_double_eq_tol((double)y[i], expected, near * (1 + fabs(expected)));
        }
    }
}

TEST(queries_and_keys_have_the_length_of_their_gain)
{
    enum { ROWS = 9, HEADS = 4, WIDTH = 5, STRIDE = HEADS * WIDTH + 7 };
    real x[ROWS * STRIDE], y[ROWS * STRIDE], r[ROWS * HEADS], gain[HEADS] = {1, 2, 0.5, -3};
    draw(x, COUNT(x), 1);
    memcpy(y, x, sizeof y);
    qknorm_forward(y, r, gain, ROWS, HEADS, WIDTH, STRIDE);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < STRIDE; column++) {
            size_t at = row * STRIDE + column, head = column / WIDTH;
            double squares = 0, expected = (double)x[at];
            for (size_t i = 0; head < HEADS && i < WIDTH; i++)
                squares += pow((double)x[row * STRIDE + head * WIDTH + i], 2);
            if (head < HEADS)
                expected *= (double)gain[head] / sqrt(squares / WIDTH + 1e-5);
            ck_assert_double_eq_tol((double)y[at], expected, near * (1 + fabs(expected)));
        }
}

TEST(norms_are_their_formulas)
{
    enum { ROWS = 70, WIDTH = 13 };
    real x[ROWS * WIDTH], y[ROWS * WIDTH], gain[WIDTH], bias[WIDTH], mean[ROWS], rstd[ROWS];
    const real epsilon = (real)0.01;
    draw(x, COUNT(x), 1);
    draw(gain, WIDTH, 2);
    draw(bias, WIDTH, 3);
    for (size_t form = 0; form < 4; form++) {
        bool rms = form & 1, biased = form & 2;
        layernorm_forward(y, rms ? NULL : mean, rstd, x, gain, biased ? bias : NULL, epsilon,
                          ROWS, WIDTH);
        for (size_t row = 0; row < ROWS; row++) {
            double middle = 0, squares = 0;
            for (size_t i = 0; !rms && i < WIDTH; i++)
                middle += (double)x[row * WIDTH + i] / WIDTH;
            for (size_t i = 0; i < WIDTH; i++)
                squares += pow((double)x[row * WIDTH + i] - middle, 2) / WIDTH;
            for (size_t i = 0; i < WIDTH; i++) {
                double n = ((double)x[row * WIDTH + i] - middle) /
                           sqrt(squares + (double)epsilon);
                double expected = n * (double)gain[i] + (biased ? (double)bias[i] : 0);
                ck_assert_double_eq_tol((double)y[row * WIDTH + i], expected,
                                        near * (1 + fabs(expected)));
            }
        }
    }
}

TEST(rope_rotates_its_share_of_the_pairs)
{
    enum { WIDTH = 8, HALF = WIDTH / 2, POSITION = 3 };
    const double base = 50;
    real x[WIDTH], y[WIDTH], row[WIDTH];
    draw(x, WIDTH, 1);
    for (size_t pairs = 1; pairs <= HALF; pairs++) {
        rotary_row(row, POSITION, WIDTH, pairs, base);
        memcpy(y, x, sizeof y);
        rotary_rotate(y, row, WIDTH, false);
        for (size_t i = 0; i < HALF; i++) {
            double angle = i < pairs ? POSITION / pow(base, (double)i / (double)pairs) : 0;
            double a = (double)x[i], b = (double)x[HALF + i];
            ck_assert_double_eq_tol((double)y[i], a * cos(angle) - b * sin(angle), near * 10);
            ck_assert_double_eq_tol((double)y[HALF + i], a * sin(angle) + b * cos(angle),
                                    near * 10);
        }
        rotary_rotate(y, row, WIDTH, true);
        for (size_t i = 0; i < WIDTH; i++)
            ck_assert_double_eq_tol((double)y[i], (double)x[i], near * 10);
    }
}

TEST(a_blend_has_a_share_of_both)
{
    enum { ROWS = 70, WIDTH = 5, STRIDE = 3 * WIDTH };
    real x[ROWS * STRIDE], y[ROWS * STRIDE], z[ROWS * WIDTH], kept[ROWS * WIDTH];
    draw(x, COUNT(x), 1);
    draw(z, COUNT(z), 2);
    memcpy(y, x, sizeof y);
    blend_forward(y, kept, z, &(real){(real)0.3}, NULL, ROWS, WIDTH, STRIDE);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < WIDTH; i++) {
            double own = (double)x[row * STRIDE + i], other = (double)z[row * WIDTH + i];
            ck_assert_double_eq_tol((double)y[row * STRIDE + i], 0.7 * own + 0.3 * other,
                                    near * 10);
            ck_assert(kept[row * WIDTH + i] == x[row * STRIDE + i]);
        }
    real g[ROWS * WIDTH];
    draw(g, COUNT(g), 3);
    memcpy(y, x, sizeof y);
    blend_forward(y, kept, z, NULL, g, ROWS, WIDTH, STRIDE);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        size_t at = i / WIDTH * STRIDE + i % WIDTH;
        double share = 1 / (1 + exp(-(double)g[i]));
        ck_assert_double_eq_tol((double)y[at],
                                (1 - share) * (double)x[at] + share * (double)z[i], near * 10);
        ck_assert(kept[i] == x[at]);
    }
}

/* --- in the model --- */

/* The small model without dropout. */
static ModelConfig undisturbed(void)
{
    ModelConfig config = rig_tiny;
    config.input_dropout = config.dropout = 0;
    return config;
}

/* Each acts in training, and none in evaluation. */
TEST(what_is_dropped_is_dropped_in_training)
{
    static const size_t rates[] = {
        offsetof(ModelConfig, word_dropout),      offsetof(ModelConfig, ngram_dropout),
        offsetof(ModelConfig, input_dropout),     offsetof(ModelConfig, dropout),
        offsetof(ModelConfig, attention_dropout), offsetof(ModelConfig, output_dropout)};
    for (size_t i = 0; i <= COUNT(rates); i++) {
        ModelConfig config = undisturbed();
        config.ngrams = 2;
        config.ngram_rows = 16;
        if (i < COUNT(rates))
            *(double *)((char *)&config + rates[i]) = 0.5;
        Rig rig;
        rig_make(&rig, config, 4, 0.3);
        double read = pass_loss(&rig.pass, rig.inputs, rig.targets);
        double trained = rig_gradients(&rig);
        ck_assert((fabs(trained / read - 1) < 1e-5) == (i == COUNT(rates)));
        rig_free(&rig);
    }
}

TEST(branches_that_start_at_zero_add_nothing)
{
    for (int zero = 0; zero <= 1; zero++) {
        ModelConfig config = undisturbed();
        config.zero_init = zero;
        Rig rig;
        rig_make(&rig, config, 2, 0);
        pass_forward(&rig.pass, rig.inputs, NULL);
        size_t size = rig.pass.rows * config.dim * sizeof(real);
        real *const *residual = rig.pass.act.residual;
        for (size_t place = 1; place <= 2 * config.layers; place++)
            ck_assert((memcmp(residual[0], residual[place], size) == 0) == (zero == 1));
        rig_free(&rig);
    }
}

static double loss_of(Rig *rig)
{
    return pass_loss(&rig->pass, rig->inputs, rig->targets);
}

/* Scales a projection of a layer: 0 queries, 1 keys, 2 values. */
static void scale_columns(Affine *c_attn, const ModelConfig *config, size_t part, real factor)
{
    size_t width = config->dim;
    for (size_t row = 0; row <= width; row++) {
        real *at = row == width ? c_attn->bias : &c_attn->weight[row * 3 * width];
        for (size_t i = 0; i < width; i++)
            at[part * width + i] *= factor;
    }
}

TEST(normed_queries_and_keys_have_a_direction_only)
{
    for (int norm = 0; norm <= 1; norm++) {
        ModelConfig config = undisturbed();
        config.qk_norm = norm;
        Rig rig;
        rig_make(&rig, config, 2, 0.3);
        double before = loss_of(&rig);
        for (size_t layer = 0; layer < config.layers; layer++)
            for (size_t part = 0; part < 2; part++)
                scale_columns(&rig.model.params.h[layer].c_attn, &config, part, 4);
        ck_assert((fabs(loss_of(&rig) - before) < 1e-4 * before) == (norm == 1));
        rig_free(&rig);
    }
}

/* With the full share, later layers use only the first layer's values. */
TEST(later_layers_mix_in_the_first_values)
{
    for (int share = 0; share <= 1; share++) {
        ModelConfig config = undisturbed();
        config.layers = 3;
        config.value_residual = true;
        Rig rig;
        rig_make(&rig, config, 2, 0.3);
        double losses[2];
        for (int turn = 0; turn < 2; turn++) {
            for (size_t layer = 1; layer < config.layers; layer++) {
                BlockParams *h = &rig.model.params.h[layer];
                *h->value_mix = (real)share;
                scale_columns(&h->c_attn, &config, 2, turn ? 2 : 1);
            }
            losses[turn] = loss_of(&rig);
        }
        ck_assert((losses[0] == losses[1]) == (share == 1));
        rig_free(&rig);
    }
}
