/* The landmarks of Nystrom attention, from their means to what queries find at them:
 * nystrom.c says what A, F and M are, landmarks.c how they are computed. b counts the segments
 * that are complete, and so the landmarks.
 *
 * B is the length of a segment, T that of the text, D the width of the head. */
#ifndef LINNET_LANDMARKS_H
#define LINNET_LANDMARKS_H

#include "src/attention/attention.h"
#include "src/memory.h"

typedef struct Landmarks {
    const AttentionHead *head;
    real *q, *k;     /* (landmarks, D) means */
    real *weighted;  /* (landmarks, D) F before the division, */
    real *max, *sum; /* (landmarks) its rows' largest scores and sums */

    /* while at work */
    real *pairs, *dpairs; /* (T) some landmarks by some positions */
    real *inverse;        /* memory for that of A */
    real *dq, *dk, *df;   /* (landmarks, D) gradients of the means and of F */
    real *g, *c;          /* (landmarks, D), (landmarks) G and C */
} Landmarks;

/* What a text's landmarks have to remember is kept apart, as decoding has it in its state. */
Landmarks landmarks_take(Arena *kept, Arena *work, const AttentionHead *head);

/* B, and how many landmarks the last position sees: what does not end before it needs none. */
size_t landmarks_segment(const AttentionHead *head);
size_t landmarks_count(const AttentionHead *head);

/* Keys and values of the text, as they came. */
typedef struct LandmarkText {
    const real *k, *v;
    size_t stride;
} LandmarkText;

/* F as it is with b landmarks. */
typedef struct LandmarkRows {
    real *f, *lse; /* (b, D), (b) the logarithms L */
} LandmarkRows;

/* Forward keeps these for each b from 1 on. */
size_t landmarks_saved_reals(const AttentionHead *head);
LandmarkRows landmarks_saved(real *saved, size_t b, const AttentionHead *head);

/* Adds a position to the means of its segment, if that will be a landmark; or all of them. */
void landmarks_add(const Landmarks *l, size_t position, const real *q, const real *k);
void landmarks_add_all(const Landmarks *l, const AttentionData *data);

/* What the segment that has just become the b-th changes, whose means are there: writes F and
 * with it the values M, (b, D). */
void landmarks_complete(const Landmarks *l, size_t b, const LandmarkText *text,
                        LandmarkRows rows, real *values);
/* M alone. */
void landmarks_values(const Landmarks *l, size_t b, const real *f, real *values);

/* Backward begins, goes with b from the last to 1, and ends. It adds to dq, dk and dv of the
 * text; callers may add to l->dk. A step follows landmarks_values of the same b. */
void landmarks_begin_backward(const Landmarks *l);
void landmarks_backward(const Landmarks *l, size_t b, const AttentionData *data, real *saved,
                        const real *dvalues);
void landmarks_end_backward(const Landmarks *l, const AttentionData *data);

#endif
