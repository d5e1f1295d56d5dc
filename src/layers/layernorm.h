/* LayerNorm and RMSNorm, of rows and of heads.
 *
 *   LayerNorm   y = (x - mean) * rstd * gain + bias,   rstd = 1 / sqrt(variance + epsilon)
 *   RMSNorm     y = x * rstd * gain + bias,            rstd = 1 / sqrt(mean(x^2) + epsilon)
 *
 * The norm of rows saves mean and rstd for the backward pass, QK-norm one number per head; the
 * norm after attention computes its own again. */
#ifndef LINNET_LAYERNORM_H
#define LINNET_LAYERNORM_H

#include "src/base/real.h"

/* Of each row: RMSNorm if mean is NULL; no bias if bias (dbias) is NULL. */
void layernorm_forward(real *y,                            /* (rows, width) */
                       real *mean, real *rstd,             /* (rows); mean NULL: RMSNorm */
                       const real *x,                      /* (rows, width) */
                       const real *gain, const real *bias, /* (width); bias or NULL */
                       real epsilon, size_t rows, size_t width);

/* Adds to dgain and dbias; sets dx, or adds to it. dx may alias dy or, if it is set, x. */
void layernorm_backward(real *dx, bool add,                           /* (rows, width) */
                        real *dgain, real *dbias,                     /* (width) */
                        const real *dy, const real *x,                /* (rows, width) */
                        const real *mean, const real *rstd,           /* (rows) */
                        const real *gain, size_t rows, size_t width); /* (width) */

/* Per-head output normalisation and a gate, after the attention of some kinds: RMSNorm, or with
 * a bias LayerNorm (GroupNorm), whose epsilon grows with the width of the heads.
 *
 *   n = x r gain,                    r = 1 / sqrt(mean of x^2 over the head + HEAD_EPSILON)
 *   n = (x - mean) r gain + bias,    r = 1 / sqrt(variance of the head + HEAD_EPSILON * width)
 *   y = (n + bonus) f(z),            f(z) = z sigmoid(z)  or  sigmoid(z)  or  z
 *
 * Each part can be absent: without a gain n = x, and without z f = 1. */
#define HEAD_EPSILON ((real)1e-5)

typedef enum GateForm { GATE_SILU, GATE_SIGMOID, GATE_PLAIN } GateForm;

/* The parts, each or NULL; or their gradients. */
typedef struct HeadnormParts {
    real *gain, *bias; /* (heads * width) */
    real *bonus, *z;   /* (rows, heads * width) */
} HeadnormParts;

typedef struct HeadnormSizes {
    size_t rows, heads, width;
    GateForm form;
} HeadnormSizes;

void headnorm_forward(real *y,       /* (rows, heads * width) */
                      const real *x, /* (rows, heads * width) */
                      HeadnormParts parts, HeadnormSizes sizes);

/* Adds to the gradients of gain and bias, writes those of bonus and z, which may be in their
 * place, and dx, which may alias dy. */
void headnorm_backward(real *dx,                        /* (rows, heads * width) */
                       HeadnormParts d, const real *dy, /* (rows, heads * width) */
                       const real *x,                   /* (rows, heads * width) */
                       HeadnormParts parts, HeadnormSizes sizes);

/* QK-norm: RMSNorm of each head's queries and keys, with one gain per head.
 *
 *   y = x r gain,    r as above
 *
 * It bounds the attention scores, so large learning rates do not make them blow up; the gain
 * sets how sharp a head's attention is. Normalises in place the first `heads` heads of each
 * row; queries and keys count as heads of their own. */
void qknorm_forward(real *x,          /* (rows, heads * width), rows `stride` apart */
                    real *r,          /* (rows, heads) for backward */
                    const real *gain, /* (heads) */
                    size_t rows, size_t heads, size_t width, size_t stride);

/* Computes dx from y and r; dx holds dy on entry. Adds to dgain. */
void qknorm_backward(real *dx,         /* (rows, heads * width), rows `stride` apart */
                     real *dgain,      /* (heads) */
                     const real *y,    /* (rows, heads * width), rows `stride` apart */
                     const real *r,    /* (rows, heads) */
                     const real *gain, /* (heads) */
                     size_t rows, size_t heads, size_t width, size_t stride);

#endif
