/* Linear layer:  Y = X W + b,  with W stored as (in, out); or with a residual connection,
 * Y = base + dropout(X W + b). */
#ifndef LINNET_LINEAR_H
#define LINNET_LINEAR_H

#include "src/layers/dropout.h"

/* Memory of gemm_set_workspace for the products of a layer. */
size_t linear_workspace_reals(size_t rows, size_t in, size_t out);

/* Rows of y and w are `stride` apart: out, or more where these are some columns of a layer. */
void linear_forward(real *y,                      /* (rows, out) */
                    const real *x,                /* (rows, in) */
                    const real *w, const real *b, /* (in, out), (out) or NULL */
                    size_t rows, size_t in, size_t out, size_t stride,
                    const DropoutSum *sum); /* or NULL */

/* Adds the sum of the rows of dy to db. */
void linear_bias_backward(real *db,                      /* (out) */
                          const real *dy, size_t stride, /* (rows, out), rows `stride` apart */
                          size_t rows, size_t out);

/* Without the residual connection. Adds to dw and, if not NULL, to db; sets dx or adds to it.
 * dx may be x. */
void linear_backward(real *dx, GemmInto into, /* (rows, in) */
                     real *dw, real *db,      /* (in, out), (out) or NULL */
                     const real *dy,          /* (rows, out) */
                     const real *x,           /* (rows, in) */
                     const real *w,           /* (in, out) */
                     size_t rows, size_t in, size_t out, size_t stride);

#endif
