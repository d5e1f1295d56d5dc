/* The batches of training: a pure function of (seed, epoch, index).
 *
 * The training text of n tokens is a circle: before the first token comes the last one, a line
 * end. Each epoch cuts it, from a random offset, into ceil(n / context) windows, of which the
 * last may be shorter, and shuffles them. So every token is a target exactly once per epoch,
 * epochs have different windows, and resuming in the middle of an epoch needs no saved state.
 *
 * With labels the windows are the lines, from offset 0 on: each is an example of its own, after
 * the line end before it. The labels are the targets.
 *
 * Models that carry a state read the windows as streams instead: each row of a batch continues
 * where the same row of the previous batch ended, from the epoch's first batch on. */
#ifndef LINNET_BATCHES_H
#define LINNET_BATCHES_H

#include "data/corpora/tokens.h"

typedef struct BatchOptions {
    size_t context, batch;
    bool streams;
    uint64_t seed;
    Tokens labels; /* as those of a CorpusSplit, not owned; a window is a line then */
} BatchOptions;

typedef struct Batches {
    Tokens ids; /* (count), not owned */
    size_t count;
    BatchOptions options;
    size_t windows;  /* per epoch */
    size_t epoch;    /* the epoch of order and offset */
    uint32_t *order; /* (windows), owned: the n-th window to serve */
    size_t offset;   /* where the first window begins */
} Batches;

/* The ids must outlive the batches; there is at least one, and fewer than 2^32 windows. */
void batches_init(Batches *batches, Tokens ids, size_t count, const BatchOptions *options);
void batches_free(Batches *batches);

size_t batches_per_epoch(const Batches *batches);

typedef struct BatchCount {
    size_t read, targets; /* tokens; they differ with labels */
} BatchCount;

/* Fills inputs and targets, (rows, context) each, with the rows of a batch from `first` on, and
 * counts them. Padding, at the end of a short window or in a row without one, has the input 0
 * and the target -1. */
BatchCount batches_fill(Batches *batches, size_t epoch, size_t index, size_t first, size_t rows,
                        int32_t *inputs, int32_t *targets);

#endif
