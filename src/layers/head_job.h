/* What the files of the output head (head.h) share: the work of one call, and its slices. */
#ifndef LINNET_HEAD_JOB_H
#define LINNET_HEAD_JOB_H

#include "src/math/gemm.h"
#include "src/layers/head.h"

enum { HEAD_SLICES = 16 };

/* A factor of several products, and memory to prepare it. */
typedef struct HeadShare {
    Factor factor;
    real *memory;
} HeadShare;

/* One of the models whose logits are computed. */
typedef struct HeadSide {
    const real *x, *w, *b;
    size_t width;
    real cap;
    HeadShare w_left[HEAD_SLICES]; /* W_slice as A of the logits */
    HeadShare x_turned;            /* the block's X^T as B of the logits */
    real *e;                       /* (slices, slice, block) exp(z - m), then p */
    real *max, *sum;               /* (slices, block) */
    real *lse;                     /* (block) */
} HeadSide;

enum { HEAD_OWN, HEAD_TEACHER, HEAD_SIDES };

typedef struct HeadJob {
    HeadSizes sizes;
    HeadSide side[HEAD_SIDES];
    size_t sides;              /* 1: no teacher */
    real taught;               /* share of the teacher in the loss */
    const HeadTeacher *stored; /* NULL: none */
    real *rest;                /* (block) of the stored records */
    real *loss, *dx, *dw, *db;
    size_t right; /* rows whose target has the largest logit */
    const int32_t *targets;
    size_t slice; /* vocabulary entries of a slice */
    size_t slices;
    size_t block;                   /* rows of a full block */
    size_t stride;                  /* of e */
    size_t first, count;            /* the rows of the current block */
    HeadShare w_right[HEAD_SLICES]; /* W_slice as B of dX */
    HeadShare x_right;              /* the block's X as B of dW */
    real *z_target;                 /* (block) */
    real *partial;                  /* (slices, block, width) dX of each slice */
} HeadJob;

/* The entries of a slice and its scratch memory. */
typedef struct HeadSlice {
    size_t first, entries;
    real *e, *max, *sum, *partial;
} HeadSlice;

HeadSlice head_slice(const HeadJob *job, size_t of, size_t tile);
bool head_has_target(const HeadJob *job, const HeadSlice *slice, size_t row);
/* Where the target of a row that has it in this slice is in e. */
real *head_target_in(const HeadJob *job, const HeadSlice *slice, size_t row);

/* Steps 4 and 5 for the current block, after its losses. */
void head_block_gradients(HeadJob *job);

#endif
