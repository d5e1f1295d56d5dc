/* The pseudoinverse of a square matrix whose rows are positive and sum to 1, by six steps of a
 * Newton-Schulz iteration of the third order:
 *
 *   Z' = Z (13 - A Z (15 - A Z (7 - A Z))) / 4       from   Z = A^T / (|A|_1 |A|_inf)
 *
 * |A|_1 is the largest column sum, |A|_inf the largest row sum, here 1. Six steps barely invert
 * the small singular values of A, which keeps the result bounded. This result is the
 * definition, not an approximation, so backward differentiates every step. With
 *
 *   Y = A Z      W = 7 - Y      U = 15 - Y W      R = 13 - Y U      Z' = Z R / 4
 *
 * from the last step to the first
 *
 *   dR = Z^T dZ' / 4     dY = -dR U^T - dU W^T - dW     dA += dY Z^T
 *   dU = -Y^T dR         dW = -Y^T dU                   dZ = dZ' R^T / 4 + A^T dY */
#ifndef LINNET_PSEUDOINVERSE_H
#define LINNET_PSEUDOINVERSE_H

#include "src/base/real.h"

enum { PSEUDOINVERSE_STEPS = 6 };

/* All matrices are (size, size). */
typedef struct Pseudoinverse {
    size_t size;
    real *a, *result;   /* input and output of forward */
    real *dresult, *da; /* input and output of backward, which overwrites dresult */
    real *z[PSEUDOINVERSE_STEPS + 1], *y, *w, *u, *r;
    real *dz, *dy, *du, *dr;
    real *column_sums; /* (size) */
} Pseudoinverse;

size_t pseudoinverse_reals(size_t size);
Pseudoinverse pseudoinverse_at(real *memory, size_t size);

void pseudoinverse_forward(const Pseudoinverse *p);
/* Needs the intermediate results of forward. */
void pseudoinverse_backward(const Pseudoinverse *p);

#endif
