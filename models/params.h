/* The parameters of a model: named pointers to use, and one table to loop over.
 *
 * params_visit is the one description. It walks every tensor with its name, shape, initial
 * spread and whether weight decay applies; laying out memory, binding pointers, initialising,
 * the optimizer, checkpoints and gradient checks are visitors or loops over the table that a
 * visit recorded. Weights, gradients and moments share one layout. */
#ifndef LINNET_PARAMS_H
#define LINNET_PARAMS_H

#include "models/config.h"

typedef struct Affine {
    real *weight, *bias; /* of a linear layer (in, out), (out); of a norm (width), (width) */
} Affine;

typedef struct BlockParams {
    Affine ln_1, c_attn, attn_proj, ln_2, c_fc, mlp_proj;
    /* Where the kind or the model has them, else NULL: */
    real *convolution; /* (CONVOLUTION_TAPS, 3C) */
    real *gate_in;     /* (C, rank) the bottleneck of the gates */
    Affine gates;      /* (C or rank, H * gates of a head) */
    real *own;         /* (H, parameters of a head) */
    real *head_norm;   /* (C) gains */
    real *out_gate;    /* (C, C) */
    real *qk_gain;     /* (2H) of queries, then of keys */
    real *value_mix;   /* (1) the first layer's share of the values */
} BlockParams;

enum { CONVOLUTION_TAPS = 4 };

typedef struct Params {
    real *wte;         /* (V, C) */
    real *wpe;         /* (T, C), learned positions only */
    BlockParams *h;    /* one per layer */
    Affine ln_f;       /* pre-norm only */
    real *head_weight; /* (V, C), untied only */
    real *head_bias;   /* (V) or NULL */
} Params;

/* Who draws a tensor's first values: chance, or the attention kind of its layer. */
typedef enum ParamStart { START_AT_RANDOM, START_OWN, START_GATES } ParamStart;

typedef struct ParamRow {
    char name[64];
    size_t shape[2], rank, count; /* count: the product of the shape */
    size_t offset;                /* in reals, from the base of its buffer */
    double spread;                /* standard deviation at the start */
    real start;                   /* added to it: 1 for the gains of norms */
    bool decays;
    size_t parts; /* of a matrix inside a block: those that lie side by side in it; else 0 */
    ParamStart starter;
    size_t layer; /* of those that a kind starts */
    bool drawn;   /* drawn by its kind, and never trained */
} ParamRow;

typedef struct ParamTable {
    ParamRow *rows;
    size_t count;
    size_t total;      /* reals of a buffer, padding between tensors included */
    size_t parameters; /* numbers that are trained */
} ParamTable;

void param_table_make(ParamTable *table, const ModelConfig *config);
void param_table_free(ParamTable *table);
const ParamRow *param_table_find(const ParamTable *table, const char *name);

/* Points every field of *params into a buffer of table->total reals; params->h must have room
 * for all layers. */
void params_bind(Params *params, const ModelConfig *config, real *base);

/* Draws the initial weights: a pure function of the seed and each tensor's place. */
void params_initialise(const ParamTable *table, const ModelConfig *config, real *base,
                       uint64_t seed);
/* The head's bias from how often each token comes in a text. */
void params_start_unigram(Params *params, const ModelConfig *config, const int32_t *ids,
                          size_t count);

/* Draws anew what the kinds of some layers draw and never train: a pure function of the seed
 * and the step. */
void params_redraw(const ParamTable *table, const ModelConfig *config, real *base,
                   uint64_t seed, uint64_t step);

#endif
