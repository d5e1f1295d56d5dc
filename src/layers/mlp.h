/* The MLP (feed-forward sublayer):
 *
 *   H = X W_in + b_in        A = f(H)        Y = A W_out + b_out
 *
 * Bias, activation and its derivative are applied to each tile of a product while it is in the
 * cache. Rows of H and A have a stride of their own: strides that are powers of two collide in
 * the cache. */
#ifndef LINNET_MLP_H
#define LINNET_MLP_H

#include "src/layers/activation.h"
#include "src/layers/dropout.h"

typedef struct MlpSizes {
    const Activation *activation;
    size_t rows, width, hidden; /* columns of X and Y, and of A; H has as many for each input */
} MlpSizes;

/* Weights or their gradients. F: columns of H, `hidden` for each input of the activation. */
typedef struct MlpWeights {
    real *w_in, *b_in;   /* (width, F), (F) or NULL */
    real *w_out, *b_out; /* (hidden, width), (width) or NULL */
} MlpWeights;

/* Memory of H, of A, and of gemm_set_workspace for the products. */
size_t mlp_hidden_reals(const MlpSizes *sizes);
size_t mlp_active_reals(const MlpSizes *sizes);
size_t mlp_workspace_reals(const MlpSizes *sizes);

/* The up projection: computes H and, unless it is NULL, A. */
void mlp_up_forward(real *hidden,  /* (rows, F), rows gemm_stride(F) apart */
                    real *active,  /* (rows, hidden), rows gemm_stride(hidden) apart */
                    const real *x, /* (rows, width) */
                    const MlpWeights *weights, const MlpSizes *sizes);

/* The down projection: Y from A; with a residual connection Y = base + dropout(A W_out +
 * b_out).
 */
void mlp_down_forward(real *y,            /* (rows, width) */
                      const real *active, /* (rows, hidden), as above */
                      const MlpWeights *weights, const MlpSizes *sizes,
                      const DropoutSum *sum); /* or NULL */

/* From dY to dH; adds to the gradients of W_out and b_out. A is computed again from H, in the
 * memory of dA, and dH replaces H: dhidden and hidden are the same memory. */
void mlp_down_backward(real *dhidden, /* (rows, F), as above */
                       real *dactive, /* (rows, hidden), as above; undefined afterwards */
                       const MlpWeights *dweights, const real *dy, /* (rows, width) */
                       const real *hidden,                         /* (rows, F), as above */
                       const MlpWeights *weights, const MlpSizes *sizes);

/* From dH to dX; adds to the gradients of W_in and b_in. */
void mlp_up_backward(real *dx,                                        /* (rows, width) */
                     const MlpWeights *dweights, const real *dhidden, /* (rows, F), as above */
                     const real *x,                                   /* (rows, width) */
                     const MlpWeights *weights, const MlpSizes *sizes);

#endif
