/* Compares the model with PyTorch: logits, loss, all gradients, all tensors after three AdamW
 * steps, and the loss after fifty. tests/golden/make_golden.py computed
 * tests/golden/values.txt from the same initial weights and tokens, which follow a formula. */
#include "models/pass.h"
#include "models/update.h"
#include "src/layers/head.h"
#include "src/vector.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 2, LENGTH = 70, VOCABULARY = 11, ROWS = BATCH * LENGTH };
enum { STEPS = 3, MORE_STEPS = 47 };
static const char golden_path[] = "tests/golden/values.txt";

/* Errors are relative to the largest element of the tensor. */
#ifdef LINNET_DOUBLE
#define NEAR  1e-10
#define LATER 1e-9 /* after fifty steps, which amplify rounding */
#else
#define NEAR  1e-5
#define LATER 1e-3
#endif

static const ModelConfig usual = {.layers = 2,
                                  .dim = 6,
                                  .heads = 3,
                                  .ffn = 10,
                                  .context = LENGTH,
                                  .positions = POSITIONS_LEARNED,
                                  .norm = NORM_PRE,
                                  .tied = true,
                                  .vocabulary = VOCABULARY};

typedef struct Rig {
    const char *name; /* name of the case in the file */
    Model model;
    Pass pass;
    Params gradients;
    Arena arena;
    real *gradient_base, *m, *v, *logits;
    int32_t inputs[ROWS], targets[ROWS];
} Rig;

static void start_weights(const ParamRow *row, size_t index, real *base)
{
    for (size_t i = 0; i < row->count; i++) {
        int pattern = (int)((7 * i * i + 37 * i + 23 * index) % 101) - 50;
        base[row->offset + i] = (real)pattern / 128 + row->start;
    }
}

static void rig_make(Rig *rig, const char *name, ModelConfig config)
{
    *rig = (Rig){.name = name};
    Error error;
    ck_assert_msg(config_check(&config, &error), "%s", error.text);
    model_make(&rig->model, &config);
    pass_make(&rig->pass, &rig->model, BATCH, LENGTH, PASS_TRAIN);
    rig->gradients.h = memory_take(config.layers, sizeof *rig->gradients.h, "a test");
    size_t total = rig->model.table.total;
    for (int measured = 0; measured < 2; measured++) {
        model_layout(&rig->model, &rig->arena);
        rig->gradient_base = arena_reals(&rig->arena, total);
        rig->m = arena_reals(&rig->arena, total);
        rig->v = arena_reals(&rig->arena, total);
        rig->logits = arena_reals(&rig->arena, BATCH * VOCABULARY);
        pass_layout(&rig->pass, &rig->arena);
        if (!measured)
            arena_allocate(&rig->arena, "a test");
    }
    params_bind(&rig->gradients, &config, rig->gradient_base);
    pass_prepare(&rig->pass);
    for (size_t r = 0; r < rig->model.table.count; r++)
        start_weights(&rig->model.table.rows[r], r, rig->model.base);
    for (int32_t i = 0; i < ROWS; i++) {
        rig->inputs[i] = (7 * i + 3) % VOCABULARY;
        rig->targets[i] = (3 * i * i + 1) % VOCABULARY;
    }
}

static void rig_free(Rig *rig)
{
    pass_free(&rig->pass);
    model_free(&rig->model);
    free(rig->gradients.h);
    arena_free(&rig->arena);
}

static double rig_gradients(Rig *rig)
{
    vector_zero(rig->gradient_base, rig->model.table.total);
    return pass_gradients(&rig->pass, &rig->gradients, rig->inputs, rig->targets,
                          random_key(1, RANDOM_DROPOUT, 0));
}

/* Strides between elements. */
static void train(Rig *rig, uint64_t first, uint64_t last)
{
    const Update update = {.adam = {0.9, 0.95, 1e-4},
                           .optimizer = OPTIMIZER_ADAMW,
                           .learning_rate = 0.01,
                           .weight_decay = 0.1,
                           .clip = 0.25};
    for (uint64_t t = first; t <= last; t++) {
        rig_gradients(rig);
        double norm = gradient_norm(&rig->model, rig->gradient_base, ROWS);
        update_apply(&rig->model, rig->m, rig->v, rig->gradient_base, &update,
                     update_whole(&rig->model, OPTIMIZER_ADAMW), t, norm, ROWS, NULL);
    }
}

/* --- the file --- */

/* Reads the next record, which must have this name. */
static void check_record(FILE *file, const Rig *rig, const char *what, const char *name,
                         const real *values, size_t count, double near)
{
    char its_case[16], its_what[16], its_name[64];
    size_t its_count;
    double expected[512], most = 0;
    int read = fscanf(file, "%15s %15s %63s %zu", its_case, its_what, its_name, &its_count);
    ck_assert_msg(read == 4, "%s ends before %s %s", golden_path, what, name);
    ck_assert_str_eq(its_case, rig->name);
    ck_assert_str_eq(its_what, what);
    ck_assert_str_eq(its_name, name);
    ck_assert_uint_eq(its_count, count);
    ck_assert_uint_le(count, COUNT(expected));
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(fscanf(file, "%lf", &expected[i]), 1);
        most = fmax(most, fabs(expected[i]));
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs((double)values[i] - expected[i]) <= near * fmax(most, 1e-3),
                      "%s: %s %s[%zu] is %.13g, should be %.13g", rig->name, what, name, i,
                      (double)values[i], expected[i]);
}

static void check_tensors(FILE *file, const Rig *rig, const char *what, const real *base)
{
    for (size_t r = 0; r < rig->model.table.count; r++) {
        const ParamRow *row = &rig->model.table.rows[r];
        check_record(file, rig, what, row->name, base + row->offset, row->count, NEAR);
    }
}

static void check_case(FILE *file, const char *name, ModelConfig config)
{
    Rig rig;
    rig_make(&rig, name, config);
    const real *weight = config.tied ? rig.model.at.wte : rig.model.at.head_weight;
    const real *u = pass_forward(&rig.pass, rig.inputs);
    for (size_t text = 0; text < BATCH; text++)
        head_logits(rig.logits + text * VOCABULARY, u + ((text + 1) * LENGTH - 1) * config.dim,
                    weight, rig.model.at.head_bias,
                    (HeadSizes){.rows = 1, .width = config.dim, .vocabulary = VOCABULARY});
    check_record(file, &rig, "logits", "last", rig.logits, BATCH * VOCABULARY, NEAR);
    real loss = (real)rig_gradients(&rig);
    check_record(file, &rig, "loss", "all", &loss, 1, NEAR);
    check_tensors(file, &rig, "gradient", rig.gradient_base);
    train(&rig, 1, STEPS);
    check_tensors(file, &rig, "trained", rig.model.base);
    train(&rig, STEPS + 1, STEPS + MORE_STEPS);
    loss = (real)rig_gradients(&rig);
    check_record(file, &rig, "loss", "later", &loss, 1, LATER);
    rig_free(&rig);
}

static size_t kind_named(const char *name)
{
    size_t kind = 0;
    while (attention_find(kind) && strcmp(attention_find(kind)->name, name) != 0)
        kind++;
    ck_assert_ptr_nonnull(attention_find(kind));
    return kind;
}

START_TEST(models_match_pytorch)
{
    FILE *file = fopen(golden_path, "r");
    ck_assert_msg(file != NULL, "no %s: run the tests from linnet's top folder", golden_path);
    ModelConfig softmax = usual, linear = usual;
    softmax.attention = (Choices){1, {kind_named("softmax")}};
    linear.attention = (Choices){1, {kind_named("linear")}};
    linear.positions = POSITIONS_ROTARY;
    linear.norm = NORM_POST;
    while (strcmp(activation_find(linear.activation)->name, "swiglu") != 0)
        linear.activation++;
    linear.tied = false;
    linear.head_bias = HEAD_BIAS_YES;
    check_case(file, "softmax", softmax);
    check_case(file, "linear", linear);
    char rest[2];
    ck_assert_msg(fscanf(file, "%1s", rest) == EOF, "%s goes on", golden_path);
    fclose(file);
}
END_TEST

Suite *golden_suite(void)
{
    Suite *suite = suite_create("golden");
    TCase *tests = tcase_create("golden");
    tcase_add_test(tests, models_match_pytorch);
    suite_add_tcase(suite, tests);
    return suite;
}
