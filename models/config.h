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
    POSITIONS_NONE,
    POSITIONS_AUTO /* what suits the kinds; config_check decides */
} Positions;

/* Of the output head: none, one that starts at zeros, or one that starts at the logarithms of
 * how often words come. */
typedef enum HeadBias { HEAD_BIAS_NO, HEAD_BIAS_YES, HEAD_BIAS_UNIGRAM } HeadBias;

typedef enum NormPlace { NORM_PRE, NORM_POST } NormPlace;

/* Something around the attention kind: as the kind would have it, or not. */
typedef enum Wish { WISH_AUTO, WISH_NO, WISH_YES } Wish;
const char *wish_name(size_t index);

/* The same, and yes, but residual in place of SiLU behind it. */
typedef enum ConvolutionWish {
    CONVOLUTION_AUTO = WISH_AUTO,
    CONVOLUTION_NO = WISH_NO,
    CONVOLUTION_YES = WISH_YES,
    CONVOLUTION_RESIDUAL
} ConvolutionWish;

typedef struct ModelConfig {
    Choices attention;      /* indexes into the table of kinds, repeated over the layers */
    AttentionOptions own;   /* of the kinds */
    size_t convolution;     /* ConvolutionWish */
    size_t head_norm, gate; /* Wish */
    size_t layers, dim, heads, ffn, context;
    size_t positions, norm, activation; /* Positions, NormPlace, index into the table */
    size_t head_bias;                   /* HeadBias */
    bool tied, zero_init, qk_norm, value_residual;
    bool carry_state; /* from each window of a text into the next */
    double word_dropout, input_dropout, dropout, attention_dropout, output_dropout;
    bool locked; /* masks of the input, the branches and the output */
    double output_penalty, change_penalty;
    double logit_cap;  /* 0: none */
    size_t vocabulary; /* not an option: the corpus decides */
} ModelConfig;

extern const Option model_option_rows[];
extern const size_t model_option_count;

/* What single ranges cannot say: heads divide the width, and so on. Fills in what is left open:
 * ffn 0 is four times the width, the positions are what suits the kinds. */
bool config_check(ModelConfig *config, Error *error);

static inline size_t config_head_width(const ModelConfig *config)
{
    return config->dim / config->heads;
}

const AttentionKind *config_kind(const ModelConfig *config, size_t layer);
/* What stands around the kind of a layer. */
bool config_convolves(const ModelConfig *config, size_t layer);
bool config_norms_heads(const ModelConfig *config, size_t layer);
bool config_gates_output(const ModelConfig *config, size_t layer);

/* Whether the model's state can go on from window to window; config_check asks if it is to. */
bool config_check_carrying(const ModelConfig *config, Error *error);

/* Whether the kinds at hand have every option of their own that was changed. */
bool config_check_own(const ModelConfig *config, Error *error);

/* Whether a row is an option of the kinds' own; whether a kind has the option; and whether a
 * model has it: those that are nobody's own, and those of its kinds. */
bool config_is_own(const Option *option);
bool config_kind_uses(const AttentionKind *kind, const char *name);
bool config_has_option(const ModelConfig *config, const Option *option);

#endif
