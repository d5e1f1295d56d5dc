#include "tests/rig.h"
#include "src/base/text.h"
#include "src/math/vector.h"
#include "tests/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

const ModelConfig rig_tiny = {.layers = 2,
                              .dim = 8,
                              .heads = 2,
                              .ffn = 12,
                              .context = 5,
                              .tied = true,
                              .bias = true,
                              .input_dropout = 0.2,
                              .dropout = 0.2,
                              .vocabulary = 11};

void rig_make_for(Rig *rig, ModelConfig config, size_t batch, double spread, PassUse use)
{
    *rig = (Rig){0};
    Error error;
    ck_assert_msg(support_check_config(&config, &error), "%s", error.text);
    model_make(&rig->model, &config);
    model_allocate(&rig->model);
    pass_make(&rig->pass, &rig->model, batch, config.context, use);
    pass_allocate(&rig->pass, "a test");
    rig->gradients.h = memory_new(config.layers, sizeof *rig->gradients.h, "a test");
    rig->gradient_base = memory_new(rig->model.table.total, sizeof(real), "a test");
    params_bind(&rig->gradients, &config, rig->gradient_base);
    params_initialise(&rig->model.table, &rig->model.config, rig->model.base, 1);
    for (size_t i = 0; i < rig->model.table.total && spread > 0; i++)
        rig->model.base[i] += (real)(spread * random_normal(random_key(1, RANDOM_TEST, 1), i));
    rig->inputs = memory_new(rig->pass.rows, sizeof *rig->inputs, "a test");
    rig->targets = memory_new(rig->pass.rows, sizeof *rig->targets, "a test");
    for (size_t i = 0; i < rig->pass.rows; i++) {
        RandomKey key = random_key(1, RANDOM_TEST, 2);
        rig->inputs[i] = (int32_t)random_below(key, 2 * i, config.vocabulary);
        rig->targets[i] = (int32_t)random_below(key, 2 * i + 1, config.vocabulary);
    }
}

void rig_make(Rig *rig, ModelConfig config, size_t batch, double spread)
{
    rig_make_for(rig, config, batch, spread, PASS_TRAIN);
}

void rig_free(Rig *rig)
{
    pass_free(&rig->pass);
    model_free(&rig->model);
    free(rig->gradients.h);
    free(rig->gradient_base);
    free(rig->inputs);
    free(rig->targets);
}

double rig_gradients_into(Rig *rig, Params *gradients)
{
    RandomKey key = random_key(1, RANDOM_DROPOUT, 0);
    return pass_gradients(&rig->pass, gradients, rig->inputs, rig->targets, key, NULL);
}

double rig_gradients(Rig *rig)
{
    vector_zero(rig->gradient_base, rig->model.table.total);
    return rig_gradients_into(rig, &rig->gradients);
}

void rig_check_gradients(Rig *rig, double (*loss)(void *rig), const char *part)
{
    const ModelConfig *config = &rig->model.config;
    const size_t bytes = rig->model.table.total * sizeof(real);
    real *gradient = memcpy(memory_new(bytes, 1, "a test"), rig->gradient_base, bytes);
    char *label = text_format("%s, positions %zu, norm %zu, activation %zu",
                              config_kind(config, config->attention.count - 1)->name,
                              config->positions, config->norm, config->activation);
    for (size_t r = 0; r < rig->model.table.count; r++) {
        const ParamRow *row = &rig->model.table.rows[r];
        const Variable x = {.name = row->name,
                            .value = rig->model.base + row->offset,
                            .gradient = gradient + row->offset,
                            .rows = 1,
                            .columns = row->count};
        if (!row->is_random_feature && strstr(row->name, part))
            check_slopes(&x, loss, rig, label);
    }
    free(gradient);
    free(label);
}

Score rig_score(Pass *pass, Tokens ids, size_t count, int32_t prime, size_t stride)
{
    Windows windows = {
        .ids = ids, .count = count, .window = pass->length, .stride = stride, .prime = prime};
    return score_windows(pass, &windows, NULL, 0);
}
