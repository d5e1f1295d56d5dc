/* What a model is, in numbers: its settings and their option rows. */
#ifndef LINNET_CONFIG_H
#define LINNET_CONFIG_H

#include "src/attention/attention.h"
#include "src/layers/activation.h"
#include "src/options.h"

typedef enum Positions {
    POSITIONS_LEARNED,
    POSITIONS_SINUSOIDAL,
    POSITIONS_ROTARY,
    POSITIONS_NONE
} Positions;

typedef enum NormPlace { NORM_PRE, NORM_POST } NormPlace;

typedef struct ModelConfig {
    size_t attention; /* index into the table of kinds */
    size_t layers, dim, heads, ffn, context;
    size_t positions, norm, activation; /* Positions, NormPlace, index into the table */
    bool tied, head_bias;
    double dropout, attention_dropout;
    size_t vocabulary; /* not an option: the corpus decides */
} ModelConfig;

extern const Option model_option_rows[];
extern const size_t model_option_count;

/* What single ranges cannot say: heads divide the width, and so on. Fills in what 0 leaves
 * open (ffn: four times the width). */
bool config_check(ModelConfig *config, Error *error);

static inline size_t config_head_width(const ModelConfig *config)
{
    return config->dim / config->heads;
}

static inline const AttentionKind *config_kind(const ModelConfig *config)
{
    return attention_find(config->attention);
}

#endif
