#include "models/model.h"

#include <stdlib.h>

void model_make(Model *model, const ModelConfig *config)
{
    *model = (Model){.config = *config, .activation = activation_find(config->activation)};
    param_table_make(&model->table, config);
    model->at.h = memory_take(config->layers, sizeof *model->at.h, "the layers");
}

void model_free(Model *model)
{
    param_table_free(&model->table);
    free(model->at.h);
    *model = (Model){0};
}

char *model_attention(const Model *model)
{
    ModelConfig config = model->config;
    const OptionGroup group = config_group(&config);
    return option_value(&group, option_find(&group, 1, "attn", NULL));
}

bool model_is_endless(const Model *model)
{
    const ModelConfig *config = &model->config;
    for (size_t k = 0; k < config->attention.count; k++)
        if (!config_kind(config, k)->finite_state)
            return false;
    return config->positions != POSITIONS_LEARNED;
}

void model_layout(Model *model, Arena *arena)
{
    model->base = arena_reals(arena, model->table.total);
    params_bind(&model->at, &model->config, model->base);
}
