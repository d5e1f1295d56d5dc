/* Muon, for the matrices inside the blocks: momentum, and then the nearest matrix whose
 * singular values are all about 1, so that no direction is learned faster than another.
 *
 *   M = b M + (1 - b) G,   U = (1 - b) G + b M,   X = U / |U|
 *   five times:  A = X X^T,   X = 3.4445 X + (-4.775 A + 2.0315 A A) X
 *   W = W - lr (0.2 sqrt(max(rows, columns)) X + decay W)
 *
 * The iteration (Newton and Schulz's, with coefficients by Keller Jordan) takes singular values
 * to between 0.5 and 1.5, which is near enough. The factor 0.2 sqrt(...) makes a step about as
 * long as one of AdamW, so that both share a learning rate. */
#ifndef LINNET_MUON_H
#define LINNET_MUON_H

#include "src/real.h"

/* What a step needs while it works. */
size_t muon_scratch_reals(size_t rows, size_t columns);

/* Some columns of matrices whose rows are `stride` apart: weights, momentum and gradient. The
 * gradient is multiplied by scale first. */
typedef struct MuonMatrix {
    real *w, *m;
    const real *gradient;
    size_t rows, columns, stride;
} MuonMatrix;

/* On the calling thread. */
void muon_step(const MuonMatrix *matrix, double momentum, double learning_rate, double decay,
               double scale, real *scratch);

#endif
