/* A model: configuration, parameter table and weights.
 *
 * Parameters are named pointers for the layers, and one table for loops over all tensors.
 * params_visit is the single definition. It visits every tensor with its name, shape, initial
 * standard deviation and whether weight decay applies. Memory layout, pointer binding,
 * initialisation, optimizer, checkpoints and gradient checks all derive from it. Weights,
 * gradients and moments share one layout. */
#ifndef LINNET_MODEL_H
#define LINNET_MODEL_H

#include "data/corpora/tokens.h"
#include "models/config.h"
#include "src/base/memory.h"

/* ---- Parameters ---- */

typedef struct Affine {
    real *weight, *bias; /* linear layer: (in, out), (out); norm: (width), (width).
                            A bias is NULL if the model has none */
} Affine;

/* A linear layer, or two: low rank. */
typedef struct Projection {
    real *low;  /* (in, rank) or NULL */
    Affine out; /* (in or rank, out), (out) */
} Projection;

/* S and O are the widths of rows of queries, keys and values, and of attention's output: 3C and
 * C unless the kind has other shares. */
typedef struct BlockParams {
    Affine ln_1;
    Affine c_attn;    /* (C, S), (S) */
    Affine attn_proj; /* (O, C), (C) */
    Affine ln_2, c_fc, mlp_proj;
    /* NULL unless the kind or the model has them: */
    Affine convolution;      /* (CONVOLUTION_TAPS, S), (S) */
    Projection gates, rates; /* (C, H * gates or rates of a head) */
    Projection out_gate;     /* (C, O) */
    Projection mix_gate;     /* (C, O) of the kind's own value residual */
    real *kind_params;       /* (H, parameters of a head) of the attention kind */
    real *token_shift;       /* (SHIFTS, C) shares of the position before; without an output
                                gate SHIFT_Z, the last, is missing */
    Affine head_norm;        /* (O), and biases only of a group norm */
    real *head_gate;         /* (HEADGATE_CHANNELS or C, H) */
    real *qk_gain;           /* (2H or 2) QK-norm gains: queries, then keys */
    real *value_mix;         /* (1) weight of the first layer's values (value residual) */
} BlockParams;

enum { CONVOLUTION_TAPS = 4 };

typedef struct Params {
    real *wte;         /* (V, C) */
    real *wpe;         /* (T, C), learned positions only */
    real *ngrams;      /* (ngram_rows, C) or NULL */
    BlockParams *h;    /* one per layer */
    Affine ln_f;       /* pre-norm only */
    real *head_weight; /* (V, C), untied only */
    real *head_bias;   /* (V) or NULL */
} Params;

/* The weight of the output head, (V, C). */
static inline real *params_head(const ModelConfig *config, const Params *params)
{
    return config->tied ? params->wte : params->head_weight;
}

typedef struct ParamRow {
    char name[64];
    size_t shape[2], rank, count; /* count: number of elements */
    size_t offset;                /* in reals, from the start of the buffer */
    double init_std;              /* 0: the mean alone */
    real init_mean;               /* 1 for the gains of norms */
    bool has_weight_decay;
    bool is_embedding; /* its weight decay is that of --embedding-decay */
    size_t parts;      /* number of matrices side by side in a block weight (3 in c_attn); 0 for
                          other tensors */
    size_t part_columns;    /* of each but the last, which has the rest */
    size_t layer;           /* of a tensor of a layer */
    bool is_random_feature; /* drawn by its kind, never trained */
    bool is_composed;       /* by the trainer, of parts that it trains (--subwords) */
    /* Initialises the numbers of a head in place of the normal distribution; NULL: no. */
    void (*start_head)(real *values, const AttentionHead *head, RandomKey key);
    const double *powers; /* of a token shift (LayerParts) */
} ParamRow;

typedef struct ParamTable {
    ParamRow *rows;
    size_t count;
    size_t total;       /* reals per buffer, including padding between tensors */
    size_t parameters;  /* trainable parameters */
    const bool *frozen; /* [count] tensors that the optimizer leaves alone; NULL: none */
} ParamTable;

static inline bool param_is_frozen(const ParamTable *table, size_t i)
{
    return table->rows[i].is_composed || (table->frozen && table->frozen[i]);
}

void param_table_make(ParamTable *table, const ModelConfig *config);
void param_table_free(ParamTable *table);
/* The trainable parameters of a model. */
size_t param_count(const ModelConfig *config);
/* The width of the MLP, config->ffn, with which they come nearest to a number; 0: they are more
 * without an MLP. */
size_t param_match_ffn(const ModelConfig *config, size_t parameters);
const ParamRow *param_table_find(const ParamTable *table, const char *name);

/* Points every field of *params into a buffer of table->total reals; params->h must have room
 * for all layers. */
void params_bind(Params *params, const ModelConfig *config, real *base);

/* Initialises the weights, (table.total): a pure function of the seed and the index of each
 * tensor. */
void params_initialise(const ParamTable *table, const ModelConfig *config, real *base,
                       uint64_t seed);
/* Initialises the head bias to the log token frequencies of a text. */
void params_start_unigram(Params *params, const ModelConfig *config, Tokens ids, size_t count);

/* ---- Models ---- */

typedef struct Model {
    ModelConfig config;
    const Activation *activation;
    ParamTable table;
    real *base;    /* (table.total) */
    Params params; /* named pointers into base */
    Arena memory;  /* the weights, after model_allocate */
} Model;

/* Makes the parameter table; the config must have passed config_check. */
void model_make(Model *model, const ModelConfig *config);
void model_free(Model *model);

/* Whether every layer decodes in constant memory and time per token. */
bool model_is_endless(const Model *model);

/* Allocates the weights, zeroed, in memory of the model's own. */
void model_allocate(Model *model);
/* Or allocates them in an arena: called once to measure, once with its memory. */
void model_layout(Model *model, Arena *arena);

#endif
