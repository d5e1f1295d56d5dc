/* The landmarks of Nystrom attention: nystrom.c defines A, F and M, landmarks.c computes them.
 * b is the number of complete segments, and so of landmarks.
 *
 * B is the length of a segment, T that of the sequence, D the head dimension. */
#ifndef LINNET_LANDMARKS_H
#define LINNET_LANDMARKS_H

#include "src/attention/attention.h"
#include "src/base/memory.h"

enum { PSEUDOINVERSE_STEPS = 6 };

typedef struct Landmarks {
    const AttentionHead *head;
    real *q, *k;     /* (landmarks, D) means */
    real *weighted;  /* (landmarks, D) F before the division, */
    real *max, *sum; /* (landmarks) the largest score and the sum of each row */

    /* scratch */
    real *pairs, *dpairs; /* (T) a block of landmarks by positions */
    real *inverse;        /* matrices (landmarks, landmarks) of the pseudoinverse of A */
    real *dq, *dk, *df;   /* (landmarks, D) gradients of the means and of F */
    real *g, *c;          /* (landmarks, D), (landmarks) G and C */
} Landmarks;

/* What must be remembered lies in `kept`, since decoding has it in its state. */
Landmarks landmarks_lay_out(Arena *kept, Arena *work, const AttentionHead *head);

/* B, and the number of landmarks that the last position sees. */
size_t landmarks_segment(const AttentionHead *head);
size_t landmarks_count(const AttentionHead *head);

/* Keys and values of the sequence, not rotated. */
typedef struct LandmarkSequence {
    const real *k, *v; /* (T, D) */
    size_t stride;
} LandmarkSequence;

/* F with b landmarks. */
typedef struct LandmarkRows {
    real *f, *lse; /* (b, D), (b) the log sums L */
} LandmarkRows;

/* Forward saves these for each b from 1 on. */
size_t landmarks_saved_reals(const AttentionHead *head);
LandmarkRows landmarks_saved(real *saved /* (landmarks_saved_reals) */, size_t b,
                             const AttentionHead *head);

/* Add one position, or all, to the means of its segment, if that becomes a landmark. */
void landmarks_add(const Landmarks *l, size_t position, const real *q, const real *k); /* (D) */
void landmarks_add_all(const Landmarks *l, const AttentionData *data);

/* Updates F after the b-th segment is complete and its means are there; writes the values M. */
void landmarks_complete(const Landmarks *l, size_t b, const LandmarkSequence *sequence,
                        LandmarkRows rows, real *values /* (b, D) */);
/* Computes M alone. */
void landmarks_values(const Landmarks *l, size_t b, const real *f, real *values); /* (b, D) */

/* The backward pass: begin, one step for each b from the last to 1, each after landmarks_values
 * of the same b, and end. It adds to dq, dk and dv of the sequence; callers may add to l->dk.
 */
void landmarks_begin_backward(const Landmarks *l);
void landmarks_backward(const Landmarks *l, size_t b, const AttentionData *data,
                        real *saved,          /* (landmarks_saved_reals) */
                        const real *dvalues); /* (b, D) */
void landmarks_end_backward(const Landmarks *l, const AttentionData *data);

#endif
