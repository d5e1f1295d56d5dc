/* The pseudoinverse of a square matrix whose rows are positive and sum to 1, by six steps of a
 * Newton-Schulz iteration of the third order:
 *
 *   Z' = Z (13 - A Z (15 - A Z (7 - A Z))) / 4       from   Z = A^T / (|A|_1 |A|_inf)
 *
 * |A|_1 is the largest sum of a column, |A|_inf that of a row, here 1. Six steps hardly see
 * what is small among A's singular values: that keeps the result tame. It is what we define
 * and not an approximation to something else, so backward goes through every step. With
 *
 *   Y = A Z      W = 7 - Y      U = 15 - Y W      R = 13 - Y U      Z' = Z R / 4
 *
 * from the last step to the first
 *
 *   dR = Z^T dZ' / 4     dY = -dR U^T - dU W^T - dW     dA += dY Z^T
 *   dU = -Y^T dR         dW = -Y^T dU                   dZ = dZ' R^T / 4 + A^T dY */
#ifndef LINNET_PSEUDOINVERSE_H
#define LINNET_PSEUDOINVERSE_H

#include "src/real.h"

enum { PSEUDOINVERSE_STEPS = 6 };

/* All matrices are (size, size). */
typedef struct Pseudoinverse {
    size_t size;
    real *a, *result;   /* in and out of forward */
    real *dresult, *da; /* in and out of backward; dresult is lost */
    real *z[PSEUDOINVERSE_STEPS + 1], *y, *w, *u, *r;
    real *dz, *dy, *du, *dr;
    real *column_sums; /* (size) */
} Pseudoinverse;

size_t pseudoinverse_reals(size_t size);
Pseudoinverse pseudoinverse_at(real *memory, size_t size);

void pseudoinverse_forward(const Pseudoinverse *p);
/* Needs what forward has left. */
void pseudoinverse_backward(const Pseudoinverse *p);

#endif
