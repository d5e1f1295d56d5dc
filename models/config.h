/* Model configuration: hyperparameters and their command-line options. */
#ifndef LINNET_CONFIG_H
#define LINNET_CONFIG_H

#include "src/attention/attention.h"
#include "src/layers/activation.h"
#include "src/base/options.h"

typedef enum Positions {
    POSITIONS_LEARNED,
    POSITIONS_SINUSOIDAL,
    POSITIONS_ROTARY,
    POSITIONS_NONE,
    POSITIONS_AUTO /* depends on the attention kinds; config_check resolves it */
} Positions;

/* Bias of the output head: none, zero-initialised, or initialised to log token frequencies. */
typedef enum HeadBias { HEAD_BIAS_NO, HEAD_BIAS_YES, HEAD_BIAS_UNIGRAM } HeadBias;

typedef enum NormPlace { NORM_PRE, NORM_POST } NormPlace;

/* An optional part around the attention kind: auto follows the default of the kind. */
typedef enum Tristate { TRISTATE_AUTO, TRISTATE_NO, TRISTATE_YES } Tristate;
const char *tristate_name(size_t index);

/* Like Tristate; residual adds the convolution to its input instead of applying SiLU. */
typedef enum ConvolutionUse {
    CONVOLUTION_AUTO = TRISTATE_AUTO,
    CONVOLUTION_NO = TRISTATE_NO,
    CONVOLUTION_YES = TRISTATE_YES,
    CONVOLUTION_RESIDUAL
} ConvolutionUse;

/* What layers have around their attention kind: what the authors of the kind describe, or the
 * same for all kinds, so that a comparison tells kind and parts apart. */
typedef enum Parts { PARTS_AUTHORS, PARTS_COMMON } Parts;

typedef struct ModelConfig {
    Choices attention;             /* indexes into the table of kinds, cycled over the layers */
    AttentionOptions kind_options; /* options of single kinds */
    size_t parts;                  /* Parts */
    size_t convolution;            /* ConvolutionUse */
    size_t head_norm, gate;        /* Tristate */
    size_t layers, dim, heads, ffn, context;
    size_t positions, norm, activation; /* Positions, NormPlace, index into the table */
    size_t head_bias;                   /* HeadBias */
    bool tied, zero_init, qk_norm, value_residual, head_gate;
    bool parallel;                /* attention and MLP of a block read the same state */
    bool bias;                    /* of the linear layers inside the blocks, and of LayerNorm */
    bool rms_norm;                /* RMSNorm, which has no bias, in place of LayerNorm */
    double rope_base, rope_share; /* RoPE: base of the frequencies, share that rotates */
    size_t ngrams, ngram_rows;    /* longest n-gram with an embedding, 1: none; its table */
    double norm_eps;              /* epsilon of the norms of the residual stream */
    bool carry_state; /* recurrent state, from one sequence (context window) to the next */
    double word_dropout, ngram_dropout, input_dropout, dropout, attention_dropout,
        output_dropout;
    double logit_cap;  /* 0: none */
    size_t vocabulary; /* not an option: set from the corpus */
} ModelConfig;

/* The rows and the config that they describe. */
OptionGroup config_group(const ModelConfig *config);

/* Checks that the settings fit together, e.g. that heads divides dim, and resolves defaults:
 * ffn 0 becomes 4 dim, and positions auto becomes the encoding that suits the kinds. */
bool config_check(ModelConfig *config, Error *error);

static inline size_t config_head_width(const ModelConfig *config)
{
    return config->dim / config->heads;
}

/* The attention of a layer, without a batch. */
AttentionSizes config_attention_sizes(const ModelConfig *config, size_t layer);
/* Its first head, which has the widths. */
AttentionHead config_head(const ModelConfig *config, size_t layer);

/* Pairs of features that RoPE rotates in queries and keys of a width; config_check refuses 0.
 */
size_t config_rotating_pairs(const ModelConfig *config, size_t width);

/* Its attention kinds, as --attn names them; the caller frees. */
char *config_attention(const ModelConfig *config);
const AttentionKind *config_kind(const ModelConfig *config, size_t layer);
const LayerParts *config_parts(const ModelConfig *config, size_t layer);
/* Which optional parts a layer has. */
bool config_convolves(const ModelConfig *config, size_t layer);
bool config_norms_heads(const ModelConfig *config, size_t layer);
bool config_gates_output(const ModelConfig *config, size_t layer);
/* The first layer's values, into its own, which must be as wide. */
bool config_mixes_values(const ModelConfig *config, size_t layer);
bool config_norms_queries(const ModelConfig *config, size_t layer);
/* RoPE is for layers whose kind does not know positions; or, asked for where all do, for all.
 */
bool config_rotates(const ModelConfig *config, size_t layer);
/* Of a head's queries in a layer; and of the values of all heads together. */
size_t config_key_width(const ModelConfig *config, size_t layer);
size_t config_value_width(const ModelConfig *config, size_t layer);

/* Whether the recurrent state can be carried across sequences; config_check calls it if
 * carry_state is set. */
bool config_check_carrying(const ModelConfig *config, Error *error);

/* Fails if an option was set that none of the attention kinds uses. */
bool config_check_kind_options(const ModelConfig *config, Error *error);

/* Whether a kind uses an option of single kinds, which are those with an owner; whether a model
 * uses an option (general options, and those of its kinds). */
bool config_kind_uses(const AttentionKind *kind, const char *name);
bool config_has_option(const ModelConfig *config, const Option *option);

#endif
