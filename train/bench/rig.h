/* A model with all that a training step needs, and a batch of random tokens: for bench train
 * and bench scale. A batch has one shard per rank. */
#ifndef LINNET_BENCH_RIG_H
#define LINNET_BENCH_RIG_H

#include "train/bench/bench.h"
#include "models/pass.h"
#include "models/update.h"
#include "src/ranks/shards.h"

typedef struct Rig {
    Model model;
    Pass pass;
    Arena arena;
    Params gradients;
    Shards shards;
    Update update;
    real *m, *v, *scratch;
    int32_t *inputs, *targets;
    size_t *pieces; /* limits of the ranks' slices of the update */
    double *square_sums;
    uint64_t step;
} Rig;

void rig_make(Rig *rig, const BenchOptions *options);
void rig_free(Rig *rig);

/* Computes the gradient of the next shard of this rank. */
void rig_compute(Rig *rig);
/* Updates a slice of the weights with the summed gradient. Collective if it is not the whole.
 */
void rig_update(Rig *rig, const real *gradient, UpdateSlice slice);
/* A whole step on this rank, with the work of all shards. */
void rig_step_alone(Rig *rig);

#endif
