/* Linear layer:  Y = X W + b,  with W stored as (in, out). */
#ifndef LINNET_LINEAR_H
#define LINNET_LINEAR_H

#include "src/math/gemm.h"

/* Memory to lend to gemm for a layer's products. */
size_t linear_products_reals(size_t rows, size_t in, size_t out);

void linear_forward(real *y,                      /* (rows, out) */
                    const real *x,                /* (rows, in) */
                    const real *w, const real *b, /* (in, out), (out) or NULL */
                    size_t rows, size_t in, size_t out);
/* The same, with a call of finish for every tile of Y. */
void linear_forward_then(real *y, const real *x, const real *w, const real *b, size_t rows,
                         size_t in, size_t out, GemmFinish finish);

/* Adds the sum of the rows of dy to db. */
void linear_bias_backward(real *db, const real *dy, size_t stride, size_t rows, size_t out);

/* Adds to dw and, if not NULL, to db; sets dx or adds to it. */
void linear_backward(real *dx, GemmInto into, real *dw, real *db, const real *dy, const real *x,
                     const real *w, size_t rows, size_t in, size_t out);

#endif
