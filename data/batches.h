/* Which tokens a training step sees, as a pure function of (seed, epoch, index).
 *
 * The training text of n tokens is a circle: the token before the first is the last one, a
 * line end. Each epoch cuts it anew, at a random place, into ceil(n / context) windows, the
 * last of them shorter, and serves these in a random order. So every token is the target
 * exactly once per epoch, no epoch sees the same windows as another, and a run that is resumed
 * in the middle of an epoch needs no saved state.
 *
 * With jitter the windows differ in length: the cuts are closer together than the context, and
 * each is moved by a random part of what is left.
 *
 * For models that carry a state the windows are served as streams instead: each row of a batch
 * goes on where the same row of the batch before it ended, from the epoch's first batch on. */
#ifndef LINNET_BATCHES_H
#define LINNET_BATCHES_H

#include "src/random.h"
#include "src/real.h"

typedef struct BatchOptions {
    size_t context, batch;
    double jitter; /* by which share of the context windows may be shorter, in [0, 1) */
    bool streams;
    uint64_t seed;
} BatchOptions;

typedef struct Batches {
    const int32_t *ids; /* (count), not owned */
    size_t count;
    BatchOptions options;
    size_t slack;    /* how far a cut may be moved */
    size_t stride;   /* from cut to cut, before they are moved */
    size_t windows;  /* per epoch */
    size_t epoch;    /* the one that order, offset and cuts are for */
    RandomKey cuts;  /* how far each is moved */
    uint32_t *order; /* (windows), owned: the window that is served n-th */
    size_t offset;   /* where in the circle the first window begins */
} Batches;

/* The ids must outlive the batches; there is at least one, and fewer than 2^32 windows. */
void batches_init(Batches *batches, const int32_t *ids, size_t count,
                  const BatchOptions *options);
void batches_free(Batches *batches);

size_t batches_per_epoch(const Batches *batches);

/* Fills inputs and targets, (batch, context) each, and returns the number of targets. A place
 * without a target, at the end of a short window or in a row without one, gets the input 0
 * and the target -1. */
size_t batches_fill(Batches *batches, size_t epoch, size_t index, int32_t *inputs,
                    int32_t *targets);

#endif
