/* A model: its settings, its parameter table and its weights. */
#ifndef LINNET_MODEL_H
#define LINNET_MODEL_H

#include "models/params.h"
#include "src/memory.h"

typedef struct Model {
    ModelConfig config;
    const Activation *activation;
    ParamTable table;
    real *base; /* table.total reals in the caller's arena */
    Params at;  /* the same, by name */
} Model;

/* Makes the table; the config must have passed config_check. */
void model_make(Model *model, const ModelConfig *config);
void model_free(Model *model);

/* How its attention is called: the name of the kind, or several joined by +. The caller frees.
 */
char *model_attention(const Model *model);
/* Whether every layer decodes in the same memory and time at any position. */
bool model_is_endless(const Model *model);

/* Takes the weights' memory from the arena: once to measure, once for good. */
void model_layout(Model *model, Arena *arena);

#endif
