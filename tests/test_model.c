/* The whole model: gradient checks, causality, decoding, threads, learning. */
#include "src/layers/head.h"
#include "src/optim/adamw.h"
#include "src/math/team.h"
#include "src/math/vector.h"
#include "tests/rig.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SUITE("model");

/* Blocks of other architectures than GPT-2. */
enum { VARIANTS = 32 };
static ModelConfig variant(size_t bits)
{
    ModelConfig config = rig_tiny;
    config.rms_norm = bits & 1;
    config.norm = bits & 2 ? NORM_POST : NORM_PRE;
    config.bias = !(bits & 4);
    config.norm_eps = 0.1;
    config.positions = bits & 8 ? POSITIONS_ROTARY : POSITIONS_LEARNED;
    config.parallel = bits & 16 && config.norm == NORM_PRE;
    config.rope_base = 7;
    config.rope_share = 0.5;
    config.ngrams = bits & 1 ? 1 : 3;
    config.ngram_rows = 16; /* several n-grams share a row */
    return config;
}

#ifdef LINNET_DOUBLE
/* Dropout masks depend only on the key, so the loss is smooth in the weights. */
static double loss_at(void *of)
{
    Rig *rig = of;
    const RandomKey key = random_key(1, RANDOM_DROPOUT, 0);
    pass_forward(&rig->pass, rig->inputs, &key);
    return pass_head_gradients(&rig->pass, &rig->gradients, rig->targets, &key, NULL);
}

static void check_gradients(ModelConfig config, size_t batch)
{
    Rig rig;
    rig_make(&rig, config, batch, 0.3);
    if (rig.pass.rows > 2)
        rig.targets[1] = -1; /* a row without a label */
    rig_gradients(&rig);
    rig_check_gradients(&rig, loss_at, "");
    rig_free(&rig);
}

TEST(gradients_match_central_differences)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t norm = NORM_PRE; norm <= NORM_POST; norm++)
            for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE;
                 positions++) {
                ModelConfig config = rig_tiny;
                size_t turn = kind + norm + positions; /* not all combinations */
                config.attention = one_kind(kind);
                config.norm = norm;
                config.positions = positions_for(kind, positions);
                config.parts = turn % 4 == 3 ? PARTS_COMMON : PARTS_AUTHORS;
                config.activation = turn % 5;
                config.tied = turn % 2 == 0;
                config.head_bias = positions % 2 == 0;
                config.attention_dropout = attention_find(kind)->has_weights ? 0.1 : 0;
                check_gradients(config, 2);
            }
}

static double mismatch_at(void *of)
{
    Rig *rig = of;
    return objective_transfer_attention(&rig->pass, rig->teacher, &rig->gradients, rig->inputs,
                                        rig->targets);
}

/* Every kind learns to do what a softmax of the same shape does. Values of the first layer are
 * constants for the others, so kinds that mix them in have only that layer. */
TEST(matching_gradients_match_central_differences)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        Rig rig, teacher;
        ModelConfig config = rig_tiny;
        config.norm = kind % 2 ? NORM_PRE : NORM_POST;
        config.parallel = kind % 4 == 1;
        if (attention_has(&attention_find(kind)->parts.value_mix.count))
            config.layers = 1;
        rig_make_for(&teacher, config, 2, 0.3, PASS_EVALUATE);
        config.attention = one_kind(kind);
        config.positions = positions_for(kind, POSITIONS_ROTARY);
        config.head_gate = config.qk_norm = kind % 3 == 0;
        rig_make(&rig, config, 2, 0.4);
        pass_free(&rig.pass);
        pass_make(&rig.pass, &rig.model, 2, config.context,
                  kind % 2 ? PASS_TRAIN : PASS_RECOMPUTE);
        rig.teacher = &teacher.pass;
        pass_allocate(&rig.pass, "a test");
        rig.targets[3] = rig.targets[4] = -1; /* the end of the first sequence */
        rig.targets[6] = -1;
        ck_assert(mismatch_at(&rig) > 0);
        rig_check_gradients(&rig, mismatch_at, ".attn.");
        rig_free(&rig);
        rig_free(&teacher);
    }
}

/* Convolution, head norm and output gate around any kind; and layers of different kinds. */
TEST(gradients_match_with_all_optional_parts)
{
    for (size_t bits = 0; bits < 24; bits++) {
        static const ConvolutionUse convolutions[] = {CONVOLUTION_NO, CONVOLUTION_YES,
                                                      CONVOLUTION_RESIDUAL};
        ModelConfig config = rig_tiny;
        config.attention = (Choices){2, {bits % 2, 1}};
        config.convolution = convolutions[bits / 8];
        config.head_norm = bits & 2 ? TRISTATE_YES : TRISTATE_NO;
        config.gate = bits & 4 ? TRISTATE_YES : TRISTATE_NO;
        check_gradients(config, 2);
    }
}

TEST(gradients_match_with_all_regularisation)
{
    for (size_t post = 0; post < 2; post++) {
        ModelConfig config = rig_tiny;
        config.norm = post ? NORM_POST : NORM_PRE;
        config.word_dropout = config.ngram_dropout = config.output_dropout = 0.3;
        config.ngrams = 2;
        config.ngram_rows = 16;
        config.logit_cap = post ? 4 : 0;
        check_gradients(config, 3);
    }
}

/* QK-norm, value residual and head gate for every kind; and without its norm and gate. */
TEST(gradients_match_with_optional_parts)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t bits = 1; bits < 4; bits++) {
            ModelConfig config = rig_tiny;
            config.attention = one_kind(kind);
            config.positions = positions_for(kind, POSITIONS_ROTARY);
            config.layers = 3;
            config.qk_norm = bits & 1;
            config.value_residual = bits & 2;
            config.head_gate = bits != 2;
            config.head_norm = bits == 3 ? TRISTATE_NO : TRISTATE_AUTO;
            config.gate = bits >= 2 ? TRISTATE_NO : TRISTATE_AUTO;
            check_gradients(config, 2);
        }
}

TEST(gradients_match_for_all_variants)
{
    for (size_t bits = 0; bits < VARIANTS; bits++)
        check_gradients(variant(bits), 2);
}

TEST(gradients_match_for_odd_sizes)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        size_t heads = attention_find(kind)->alternates ? 2 : 1;
        ModelConfig one = {.attention = one_kind(kind),
                           .bias = kind % 2,
                           .layers = 1,
                           .dim = heads,
                           .heads = heads,
                           .ffn = 1,
                           .context = 1,
                           .vocabulary = 2};
        check_gradients(one, 1);
        ModelConfig ragged = rig_tiny;
        ragged.attention = one_kind(kind);
        ragged.context = 67; /* not a multiple of the chunk size */
        ragged.layers = 1;
        ragged.heads = heads;
        ragged.positions = positions_for(kind, POSITIONS_ROTARY);
        check_gradients(ragged, 1);
        /* several slices of the vocabulary, several blocks of rows */
        ModelConfig wide = rig_tiny;
        wide.attention = one_kind(kind);
        wide.layers = 1;
        wide.vocabulary = 300;
        wide.context = 3;
        check_gradients(wide, 3);
    }
}
#endif

/* u[2L] and then logits for all rows. */
static real *all_logits(Rig *rig)
{
    const ModelConfig *config = &rig->model.config;
    const real *u = pass_forward(&rig->pass, rig->inputs, NULL);
    real *logits = memory_new(rig->pass.rows * config->vocabulary, sizeof *logits, "a test");
    HeadSizes sizes = {rig->pass.rows, config->dim, config->vocabulary,
                       (real)config->logit_cap};
    head_logits(logits, u, rig->model.params.wte, NULL, sizes);
    return logits;
}

TEST(logits_are_causal)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE; positions++) {
            ModelConfig config = rig_tiny;
            config.attention = one_kind(kind);
            config.positions = positions_for(kind, positions);
            config.ngrams = 1 + kind % 3;
            config.context = 70;
            Rig rig;
            rig_make(&rig, config, 1, 0.3);
            static const size_t changes[] = {1, 5, 63, 64, 65, 69};
            for (size_t c = 0; c < COUNT(changes); c++) {
                real *before = all_logits(&rig);
                for (size_t t = changes[c]; t < config.context; t++)
                    rig.inputs[t] = (rig.inputs[t] + 1) % (int32_t)config.vocabulary;
                real *after = all_logits(&rig);
                size_t row = config.vocabulary * sizeof(real);
                ck_assert(memcmp(before, after, changes[c] * row) == 0);
                ck_assert(memcmp(before, after, config.context * row) != 0);
                free(before);
                free(after);
            }
            rig_free(&rig);
        }
}

static void check_decoding(ModelConfig config)
{
    config.context = 70;
    Rig rig;
    rig_make(&rig, config, 1, 0.3);
    real *expected = all_logits(&rig), logits[11];
    Pass decoder;
    pass_make_decoder(&decoder, &rig.model, 1, config.context);
    pass_allocate(&decoder, "a test");
    pass_restart(&decoder);
    for (size_t t = 0; t < config.context; t++) {
        pass_step(&decoder, logits, &rig.inputs[t]);
        for (size_t i = 0; i < config.vocabulary; i++)
            ck_assert_double_eq_tol((double)logits[i],
                                    (double)expected[t * config.vocabulary + i], 5e-5);
    }
    free(expected);
    pass_free(&decoder);
    rig_free(&rig);
}

TEST(decoding_matches_forward)
{
    for (size_t bits = 0; bits < VARIANTS; bits++)
        check_decoding(variant(bits));
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t norm = NORM_PRE; norm <= NORM_POST; norm++)
            for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_NONE;
                 positions++) {
                ModelConfig config = rig_tiny;
                config.attention = one_kind(kind);
                config.positions = positions_for(kind, positions);
                config.norm = norm;
                config.qk_norm = config.value_residual = config.head_gate = norm == NORM_POST;
                config.logit_cap = norm == NORM_POST ? 3 : 0;
                check_decoding(config);
            }
}

TEST(threads_give_identical_bits)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        ModelConfig config = {.attention = one_kind(kind),
                              .bias = kind % 2 == 0,
                              .rms_norm = kind % 3 == 0,
                              .parallel = kind % 3 == 1,
                              .layers = 2,
                              .dim = 96,
                              .heads = 3,
                              .ffn = 384,
                              .context = 100,
                              .tied = true,
                              .dropout = 0.1,
                              .qk_norm = kind % 2,
                              .value_residual = kind % 2,
                              .head_gate = kind % 2,
                              .ngrams = 1 + kind % 3,
                              .vocabulary = 1500};
        real *first = NULL;
        double first_loss = 0;
        for (size_t threads = 1; threads <= 3; threads += 2) {
            team_start(threads);
            Rig rig;
            rig_make(&rig, config, 5, 0);
            double loss = rig_gradients(&rig);
            size_t size = rig.model.table.total * sizeof(real);
            if (!first) {
                first = memcpy(memory_new(size, 1, "a test"), rig.gradient_base, size);
                first_loss = loss;
            }
            ck_assert(loss == first_loss);
            ck_assert(memcmp(first, rig.gradient_base, size) == 0);
            rig_free(&rig);
            team_stop();
        }
        free(first);
    }
}

static void check_recomputing(ModelConfig config)
{
    Rig kept, again;
    rig_make_for(&kept, config, 2, 0.1, PASS_TRAIN);
    rig_make_for(&again, config, 2, 0.1, PASS_RECOMPUTE);
    ck_assert(again.pass.memory.size < kept.pass.memory.size);
    ck_assert(rig_gradients(&kept) == rig_gradients(&again));
    ck_assert(memcmp(kept.gradient_base, again.gradient_base,
                     kept.model.table.total * sizeof(real)) == 0);
    rig_free(&kept);
    rig_free(&again);
}

static void silence(Affine *branch, size_t inputs, size_t width)
{
    vector_zero(branch->weight, inputs * width);
    vector_zero(branch->bias, width);
}

/* The last state of a layer with only these of its sublayers. */
static real *state_with(ModelConfig config, bool attention, bool mlp)
{
    Rig rig;
    rig_make(&rig, config, 1, 0.3);
    if (!attention)
        silence(&rig.model.params.h[0].attn_proj, config.dim, config.dim);
    if (!mlp)
        silence(&rig.model.params.h[0].mlp_proj, config.ffn, config.dim);
    size_t reals = rig.pass.rows * config.dim;
    real *state = memory_new(reals, sizeof *state, "a test");
    pass_forward(&rig.pass, rig.inputs, NULL);
    memcpy(state, rig.pass.act.residual[2], reals * sizeof *state);
    rig_free(&rig);
    return state;
}

/* Only with a parallel residual do attention and MLP add what each adds alone. */
TEST(a_parallel_residual_is_a_sum)
{
    ModelConfig config = rig_tiny;
    config.layers = 1;
    for (int parallel = 0; parallel <= 1; parallel++) {
        config.parallel = parallel;
        real *both = state_with(config, true, true), *none = state_with(config, false, false);
        real *one = state_with(config, true, false), *other = state_with(config, false, true);
        size_t reals = config.context * config.dim, apart = 0;
        for (size_t i = 0; i < reals; i++)
            apart += fabs((double)(one[i] + other[i] - none[i] - both[i])) > 1e-5;
        ck_assert_msg((apart == 0) == parallel, "parallel %d: %zu of %zu differ", parallel,
                      apart, reals);
        free(both);
        free(none);
        free(one);
        free(other);
    }
}

TEST(recompute_gives_identical_bits)
{
    for (size_t bits = 0; bits < VARIANTS; bits++)
        check_recomputing(variant(bits));
    for (size_t k = 0; attention_find(k); k++)
        for (size_t norm = NORM_PRE; norm <= NORM_POST; norm++) {
            ModelConfig config = rig_tiny;
            config.attention = one_kind(k);
            config.norm = norm;
            config.qk_norm = config.value_residual = config.head_gate = norm == NORM_POST;
            config.positions = positions_for(k, POSITIONS_ROTARY);
            config.attention_dropout = attention_find(k)->has_weights ? 0.1 : 0;
            check_recomputing(config);
        }
}

TEST(fresh_model_predicts_uniformly)
{
    ModelConfig config = rig_tiny;
    config.dim = 32;
    config.vocabulary = 500;
    Rig rig;
    rig_make(&rig, config, 4, 0);
    double loss = pass_loss(&rig.pass, rig.inputs, rig.targets) / (double)rig.pass.rows;
    ck_assert_double_eq_tol(loss, log(500.0), 0.1);
    rig_free(&rig);
}

TEST(model_overfits_one_batch)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        ModelConfig config = rig_tiny;
        config.attention = one_kind(kind);
        config.dim = 32;
        config.context = 12;
        config.input_dropout = config.dropout = 0;
        Rig rig;
        rig_make(&rig, config, 4, 0);
        size_t total = rig.model.table.total;
        real *m = memory_new(total, sizeof *m, "a test");
        real *v = memory_new(total, sizeof *v, "a test");
        double loss = INFINITY;
        for (uint64_t t = 1; t <= 600 && !(loss < 0.05); t++) {
            loss = rig_gradients(&rig) / (double)rig.pass.rows;
            adamw_step(rig.model.base, m, v, rig.gradient_base, total, (AdamW){0.9, 0.99, 1e-8},
                       t, 3e-3, 0, 1.0 / (double)rig.pass.rows);
        }
        ck_assert_msg(loss < 0.05, "%s: the loss is still %g",
                      config_kind(&rig.model.config, 0)->name, loss);
        free(m);
        free(v);
        rig_free(&rig);
    }
}

/* The width that a search over all widths would find. */
TEST(the_width_of_the_mlp_makes_parameters_equal)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t activation = 0; activation_find(activation); activation++) {
            ModelConfig config = rig_tiny;
            config.attention = one_kind(kind);
            config.activation = activation;
            config.vocabulary = 500;
            for (size_t ffn = 1; ffn < 40; ffn += 13) {
                config.ffn = ffn;
                size_t exact = param_count(&config);
                ck_assert_uint_eq(param_match_ffn(&config, exact), ffn);
                ck_assert_uint_eq(param_match_ffn(&config, exact + 1), ffn);
                ck_assert_uint_eq(param_match_ffn(&config, exact - 1), ffn);
            }
            config.ffn = 1;
            ck_assert_uint_eq(param_match_ffn(&config, 1), 0);
        }
}
