/* The chunkwise form of attention with a recurrent state: positions are processed in chunks,
 * pairs inside a chunk by matrix products, everything before it through the state.
 *
 * Forward saves the state at the start of each span of chunks; a state known to be zero is not
 * saved. Backward goes from the last span to the first and recomputes the states inside a span,
 * which costs less than fetching them from main memory. */
#ifndef LINNET_CHUNKWISE_H
#define LINNET_CHUNKWISE_H

#include "src/attention/attention.h"
#include "src/gemm.h"
#include "src/memory.h"

/* One chunk of a sequence. */
typedef struct ChunkPlace {
    size_t start, rows;     /* its first position, and how many it has */
    size_t next, next_rows; /* the chunk to be processed next, to prefetch it */
    size_t slot;            /* its index in the span */
    real *state;            /* the state at its start */
    bool from_zeros;        /* that state is zero */
    bool unread;            /* nothing reads the state at its end: the gradient is zero */
} ChunkPlace;

/* What a kind does with one chunk; WORK is a struct of its own. */
typedef struct ChunkEngine {
    size_t chunk, span; /* positions of a chunk, chunks of a span */
    size_t (*state_reals)(const AttentionHead *head);

    /* Loads what advance() needs. AGAIN: backward returns to a chunk of which it has advanced
     * the state; what was stored under its slot is still there. */
    void (*load)(void *work, const ChunkPlace *place, bool again);
    /* Computes the outputs of the chunk. */
    void (*read)(void *work);
    /* Takes a state from the chunk's start to its end. */
    void (*advance)(void *work, real *state);
    /* Computes the gradients of the chunk's inputs, and takes that of the state from the
     * chunk's end to its start. */
    void (*backward)(void *work, real *dstate);
} ChunkEngine;

typedef struct ChunkWalk {
    const ChunkEngine *engine;
    const AttentionHead *head;
    real *states; /* scratch: the states at the starts of a span's chunks */
    real *dstate; /* scratch: the gradient of a state */
} ChunkWalk;

ChunkWalk chunkwise_take(const ChunkEngine *engine, Arena *arena, const AttentionHead *head);
size_t chunkwise_saved_reals(const ChunkEngine *engine, const AttentionHead *head);

/* A decoding step: the first position is the only chunk. */
ChunkPlace chunkwise_step(const ChunkWalk *walk);
void chunkwise_forward(const ChunkWalk *walk, void *work, real *saved, real *carry);
void chunkwise_backward(const ChunkWalk *walk, void *work, const real *saved);

/* C = A B, (m, k) by (k, n), where A or B may be known to be zero. */
void chunkwise_product(bool zero, size_t m, size_t n, size_t k, Factor a, Factor b, real *c,
                       size_t c_stride);

#endif
