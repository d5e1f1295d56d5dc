#include "models/model.h"

#include <stdlib.h>

void model_make(Model *model, const ModelConfig *config)
{
    *model = (Model){.config = *config,
                     .kind = config_kind(config),
                     .activation = activation_find(config->activation)};
    param_table_make(&model->table, config);
    model->at.h = memory_take(config->layers, sizeof *model->at.h, "the layers");
}

void model_free(Model *model)
{
    param_table_free(&model->table);
    free(model->at.h);
    *model = (Model){0};
}

void model_layout(Model *model, Arena *arena)
{
    model->base = arena_reals(arena, model->table.total);
    params_bind(&model->at, &model->config, model->base);
}
