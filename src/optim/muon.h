/* Muon, the optimizer of the matrices inside the blocks: momentum, then orthogonalisation,
 * which sets all singular values to about 1, so that all directions are learned equally fast.
 *
 *   M = b M + (1 - b) G,   U = (1 - b) G + b M,   X = U / |U|
 *   five times:  A = X X^T,   X = 3.4445 X + (-4.775 A + 2.0315 A A) X
 *   W = W - lr (0.2 sqrt(max(rows, columns)) X + decay W)
 *
 * The Newton-Schulz iteration, with Keller Jordan's coefficients, brings the singular values to
 * between 0.5 and 1.5, which is close enough. The factor 0.2 sqrt(...) gives a step about the
 * norm of an AdamW step, so both use one learning rate. */
#ifndef LINNET_MUON_H
#define LINNET_MUON_H

#include "src/base/real.h"

/* Returns the scratch memory of a step, in reals. */
size_t muon_scratch_reals(size_t rows, size_t columns);

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
