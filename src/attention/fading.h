/* Products of a chunk's decays: the share of a state that is left from one position to another.
 * They are not computed from differences of sums of logarithms, where a decay near 0 would
 * ruin the others. */
#ifndef LINNET_FADING_H
#define LINNET_FADING_H

#include "src/attention/triangle.h"
#include "src/base/memory.h"

/* The most positions of a chunk. */
enum { FADING_ROWS = 64 };

typedef struct Fading {
    real *decay;      /* (rows) a_i: the share of the state that position i keeps */
    real *from_start; /* (rows) F_i: the decays from the first up to i */
    real *to_end;     /* (rows) R_i: those after i up to the last */
    real *between;    /* (rows, FADING_ROWS) W_ij: those after j up to i, 0 for later j */
} Fading;

Fading fading_lay_out(Arena *arena);

/* Compute W, and F and R, from the decays. W may serve many chunks; F and R depend on the
 * number of rows. */
void fading_between(const Fading *f, size_t rows);
void fading_to_ends(const Fading *f, size_t rows);

/* M = M W, entry by entry; its rows are FADING_ROWS apart. */
void fading_weigh(const Fading *f, Triangle m);

#endif
