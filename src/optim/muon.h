/* Muon, the optimizer of the matrices inside the blocks: momentum, then orthogonalisation,
 * which sets all singular values to about 1, so that all directions are learned equally fast.
 *
 *   M = b M + (1 - b) G,   U = (1 - b) G + b M
 *   X = U / s,  s = |U U^T|^(1/2), at least U's largest singular value
 *   three times:  X = a X + b X X^T X + c X X^T X X^T X
 *   W = W - lr (0.15 sqrt(max(rows, columns)) X + decay W)
 *
 * The three polynomials (Polar Express: each the best for what the one before it leaves) bring
 * singular values from 0.01 to 1 to between 0.73 and 1.27. They are computed on the smaller of
 * U U^T and U^T U: with the Gram matrix G = X X^T, X becomes P X and G becomes P G P, where
 * P = a + b G + c G G; all these are symmetric, commute, and so need half a product each. The
 * factor 0.15 sqrt(...) gives a step about the norm of an AdamW step, so both use one learning
 * rate. */
#ifndef LINNET_MUON_H
#define LINNET_MUON_H

#include "src/base/real.h"

#define MUON_STEP 0.15

/* Returns the scratch memory of a step, in reals. */
size_t muon_scratch_reals(size_t rows, size_t columns);
/* Returns the floating-point operations of the products of a step. */
double muon_flop(size_t rows, size_t columns);

/* A block of columns of the weights, momentum and gradient, whose rows are `stride` apart. */
typedef struct MuonMatrix {
    real *w, *m;          /* (rows, columns) */
    const real *gradient; /* (rows, columns) */
    size_t rows, columns, stride;
} MuonMatrix;

/* Takes one step on the calling thread. `scale` multiplies the gradient first. */
void muon_step(const MuonMatrix *matrix, double momentum, double learning_rate, double decay,
               double scale, real *scratch); /* (muon_scratch_reals) */

#endif
