/* The chunkwise form of attention with a recurrent state: positions are processed in chunks,
 * pairs inside a chunk by matrix products, everything before it through the state.
 *
 * chunkwise.c is the driver of all such kinds: it walks over the chunks, owns their memory and
 * that of the states, and decides what is saved. A Recurrence is the mathematics of one chunk;
 * the engine of a kind is CHUNKWISE_ENGINE(its Recurrence, its count of operations, its
 * kind of state).
 *
 * Forward saves the state at the start of each span of chunks; a state known to be zero is not
 * saved. Backward goes from the last span to the first and recomputes the states inside a span,
 * which costs less than fetching them from main memory.
 *
 * D is the dimension of queries and keys, Dv of values, F the number of features of a row of q
 * or k. */
#ifndef LINNET_CHUNKWISE_H
#define LINNET_CHUNKWISE_H

#include "src/attention/attention.h"
#include "src/base/memory.h"
#include "src/math/gemm.h"
#include "src/math/vector.h"

/* --- products with the lower triangle of a square matrix, such as the causal scores inside a
 * chunk. They work band by band, so most of the empty half costs nothing. Entries above the
 * diagonal are zero inside a band's own square, and are neither written nor read elsewhere. */

typedef struct Triangle {
    real *data; /* (rows, rows), stride apart */
    size_t rows, stride;
} Triangle;

/* M = tril(A B^T), with A and B (rows, width). X and Y are (rows, width), too. */
void triangle_product(Triangle m, Factor a, Factor b, size_t width);

/* Y += M X      and      Y += M^T X */
void triangle_add(real *y /* (rows, width) */, size_t y_stride, Triangle m, Factor x,
                  size_t width);
void triangle_transposed_add(real *y /* (rows, width) */, size_t y_stride, Triangle m, Factor x,
                             size_t width);

/* X := (I + L)^-1 X    and    X := (I + L)^-T X.  Such systems arise when what a position
 * writes depends on what the earlier ones have written. L is strictly lower triangular: only
 * entries below the diagonal are read. I + L is never inverted. */
void triangle_solve(Triangle l, real *x /* (rows, width) */, size_t stride, size_t width);
void triangle_solve_transposed(Triangle l, real *x /* (rows, width) */, size_t stride,
                               size_t width);

/* --- chunks --- */

/* A row of a recurrence for each copy of keys and values of a position. In memory a row is its
 * q, k, v and gates, (2 D + Dv + gates). */
typedef struct ChunkExpansion {
    size_t gates; /* of a row */
    /* Computes a row from the inputs of its position, the first in data. The output of a
     * position is that of its last row. */
    void (*load)(real *row, const AttentionData *data, size_t index, const AttentionHead *head);
    /* From the gradients of a row to those of the inputs that it was loaded from. */
    void (*backward)(const real *drow, const AttentionData *data, size_t index,
                     const AttentionHead *head);
} ChunkExpansion;

/* The current chunk. The struct of a recurrence begins with it. With an expansion the head and
 * the data are those of the rows. */
typedef struct Chunk {
    const AttentionHead *head;
    size_t width, value_width, features; /* D, Dv and F */
    AttentionData data;                  /* pointers are at the chunk's first position */
    Factor v, dout;                      /* (rows, Dv) of these */
    size_t start, rows;                  /* its first position, and how many it has */
    ptrdiff_t ahead;    /* positions from here to the chunk that is processed next, */
    size_t next_rows;   /* and how many that has */
    size_t slot;        /* backward: its index in the span */
    bool slot_filled;   /* backward: its slot still holds what prepare() left there */
    real *state;        /* (F, Dv), then the sums, at its start */
    bool state_is_zero; /* that state is zero */
    bool is_last;       /* nothing reads the state at its end: the gradient is zero */

    /* memory for any use */
    real *q, *k;   /* (rows, F) */
    Triangle p, a; /* (rows, rows) */

    /* the driver's */
    const AttentionHead *outer; /* the head of the positions, with as many rows as copies */
    AttentionHead inner;        /* with an expansion: the head of the rows, */
    real *expanded, *dexpanded; /* (rows, 2 D + Dv + gates) its rows and their gradients, */
    real *out, *out_gradients;  /* (rows, Dv) the outputs of all, and their gradients, */
    AttentionData positions;    /* and the tensors of the chunk's positions */
    size_t state_reals;
    real *states; /* (span, state_reals) at the starts of a span's chunks */
    real *dstate; /* (state_reals) */
} Chunk;

/* The most bytes that the struct of a recurrence takes; each file asserts that its own fits. */
enum { CHUNKWISE_MOST = 2048 };

/* The mathematics of one chunk. WORK is the struct of the recurrence, whose chunk is set. */
typedef struct Recurrence {
    size_t chunk, span;                            /* positions of a chunk, chunks of a span */
    size_t (*features)(const AttentionHead *head); /* NULL: D */
    size_t sums;      /* rows of F or Dv numbers that follow the (F, Dv) in the state, */
    size_t step_rows; /* and then rows that only step() has */
    bool saves_row;   /* one number per position is saved besides the states: data.saved */
    const ChunkExpansion *expansion; /* NULL: a row is a position */

    /* Fills the rest of the struct. While the arena measures, its base is NULL. */
    void (*lay_out)(void *work, Arena *arena);
    /* Loads what the following need. */
    void (*prepare)(void *work);
    /* Computes the outputs of the chunk. */
    void (*forward)(void *work);
    /* Takes a state, (state_reals), from the chunk's start to its end. */
    void (*update_state)(void *work, real *state);
    /* Computes the gradients of the chunk's inputs, and takes that of the state,
     * (state_reals), from the chunk's end to its start. */
    void (*backward)(void *work, real *dstate);
    /* The recurrent form, for a chunk of one position: computes its output, and takes the
     * chunk's state to its end. Nothing is loaded yet. */
    void (*step)(void *work);
} Recurrence;

AttentionMemory chunkwise_memory(const AttentionHead *head);
void chunkwise_forward(const AttentionData *data, const AttentionHead *head);
void chunkwise_backward(const AttentionData *data, const AttentionHead *head);
void chunkwise_step(const AttentionData *data, const AttentionHead *head);

#define CHUNKWISE_ENGINE(its_recurrence, its_flop, its_carry)                     \
    {                                                                             \
        .memory = chunkwise_memory, .forward = chunkwise_forward,                 \
        .backward = chunkwise_backward, .step = chunkwise_step, .flop = its_flop, \
        .finite_state = true, .carry = its_carry, .recurrence = &(its_recurrence) \
    }

/* Prefetches row i of the next chunk, where x (rows, D or Dv) is the first row of this one.
 * Without the attribute gcc takes the function for one without effect and drops the calls. */
__attribute__((always_inline)) static inline void chunk_fetch_next(const Chunk *c,
                                                                   const real *x, size_t stride,
                                                                   size_t i)
{
    if (i < c->next_rows)
        vector_fetch(x + (c->ahead + (ptrdiff_t)i) * (ptrdiff_t)stride, c->width);
}

/* C = A B, (m, k) by (k, n), where A or B may be known to be zero. */
void chunk_product(bool zero, size_t m, size_t n, size_t k, Factor a, Factor b,
                   real *c /* (m, n) */, size_t c_stride);

#endif
