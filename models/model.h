/* A model: configuration, parameter table and weights. */
#ifndef LINNET_MODEL_H
#define LINNET_MODEL_H

#include "models/params.h"
#include "src/memory.h"

typedef struct Model {
    ModelConfig config;
    const Activation *activation;
    ParamTable table;
    real *base; /* table.total reals in the caller's arena */
    Params at;  /* named pointers into base */
} Model;

/* Makes the parameter table; the config must have passed config_check. */
void model_make(Model *model, const ModelConfig *config);
void model_free(Model *model);

/* The name of the attention kind, or several joined by +. The caller frees it. */
char *model_attention(const Model *model);
/* Whether every layer decodes in constant memory and time per token. */
bool model_is_endless(const Model *model);

/* Allocates the weights from the arena; called once to measure, once to allocate. */
void model_layout(Model *model, Arena *arena);

#endif
