/* Compares the model with PyTorch: logits, loss, all gradients, all tensors after three AdamW
 * steps, and the loss after fifty. tests/golden/make_golden.py computed
 * tests/golden/values.txt from the same initial weights and tokens, which follow a formula. */
#include "models/update.h"
#include "src/layers/head.h"
#include "tests/rig.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SUITE("golden");

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
                                  .bias = true,
                                  .vocabulary = VOCABULARY};

static void start_weights(const ParamRow *row, size_t index, real *base)
{
    for (size_t i = 0; i < row->count; i++) {
        int pattern = (int)((7 * i * i + 37 * i + 23 * index) % 101) - 50;
        base[row->offset + i] = (real)pattern / 128 + row->init_mean;
    }
}

static void start(Rig *rig, ModelConfig config)
{
    rig_make(rig, config, BATCH, 0);
    for (size_t r = 0; r < rig->model.table.count; r++)
        start_weights(&rig->model.table.rows[r], r, rig->model.base);
    for (int32_t i = 0; i < ROWS; i++) {
        rig->inputs[i] = (7 * i + 3) % VOCABULARY;
        rig->targets[i] = (3 * i * i + 1) % VOCABULARY;
    }
}

static void train(Rig *rig, real *m, real *v, uint64_t first, uint64_t last)
{
    const Update update = {.adam = {0.9, 0.95, 1e-4},
                           .optimizer = OPTIMIZER_ADAMW,
                           .learning_rate = 0.01,
                           .weight_decay = 0.1,
                           .embedding_decay = 0.1,
                           .clip = 0.25};
    for (uint64_t t = first; t <= last; t++) {
        rig_gradients(rig);
        double norm = gradient_norm(&rig->model, rig->gradient_base, ROWS);
        update_apply(&rig->model, m, v, rig->gradient_base, &update,
                     (UpdateSlice){0, rig->model.table.total}, t,
                     update_scale(&update, norm, ROWS), NULL);
    }
}

/* --- the file --- */

/* Reads the next record, which must have this name. */
static void check_record(FILE *file, const char *model, const char *what, const char *name,
                         const real *values, size_t count, double near)
{
    char its_case[16], its_what[16], its_name[64];
    size_t its_count;
    double expected[512], most = 0;
    int read = fscanf(file, "%15s %15s %63s %zu", its_case, its_what, its_name, &its_count);
    ck_assert_msg(read == 4, "%s ends before %s %s", golden_path, what, name);
    ck_assert_str_eq(its_case, model);
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
                      "%s: %s %s[%zu] is %.13g, should be %.13g", model, what, name, i,
                      (double)values[i], expected[i]);
}

static void check_tensors(FILE *file, const Rig *rig, const char *model, const char *what,
                          const real *base)
{
    for (size_t r = 0; r < rig->model.table.count; r++) {
        const ParamRow *row = &rig->model.table.rows[r];
        check_record(file, model, what, row->name, base + row->offset, row->count, NEAR);
    }
}

static void check_case(FILE *file, const char *name, ModelConfig config)
{
    Rig rig;
    start(&rig, config);
    const real *weight = config.tied ? rig.model.params.wte : rig.model.params.head_weight;
    const real *u = pass_forward(&rig.pass, rig.inputs, NULL);
    real logits[BATCH * VOCABULARY];
    real *m = memory_new(rig.model.table.total, sizeof *m, "a test");
    real *v = memory_new(rig.model.table.total, sizeof *v, "a test");
    for (size_t text = 0; text < BATCH; text++)
        head_logits(logits + text * VOCABULARY, u + ((text + 1) * LENGTH - 1) * config.dim,
                    weight, rig.model.params.head_bias,
                    (HeadSizes){.rows = 1, .width = config.dim, .vocabulary = VOCABULARY});
    check_record(file, name, "logits", "last", logits, BATCH * VOCABULARY, NEAR);
    real loss = (real)rig_gradients(&rig);
    check_record(file, name, "loss", "all", &loss, 1, NEAR);
    check_tensors(file, &rig, name, "gradient", rig.gradient_base);
    train(&rig, m, v, 1, STEPS);
    check_tensors(file, &rig, name, "trained", rig.model.base);
    train(&rig, m, v, STEPS + 1, STEPS + MORE_STEPS);
    loss = (real)rig_gradients(&rig);
    check_record(file, name, "loss", "later", &loss, 1, LATER);
    free(m);
    free(v);
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

TEST(models_match_pytorch)
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
