/* Attention as its formulas say it: slow, in double precision, position by position. The tests
 * compare the engines of src/attention with it. */
#ifndef LINNET_TEST_REFERENCE_H
#define LINNET_TEST_REFERENCE_H

#include "src/attention/attention.h"

/* One head of one sequence. Matrices are arrays of rows: q[i][c] is feature c of query i. */
typedef struct ReferenceHead {
    size_t length, width; /* T positions, D features of queries and keys, */
    size_t value_width;   /* Dv of values */
    size_t copies;        /* keys and values of a position */
    size_t index, heads;  /* of the head in its layer, and how many that has */
    size_t layer, layers; /* of the layer in the model, and how many that has */
    const AttentionOptions *options;
    bool rotary;          /* RoPE encodes positions */
    double **q, **k, **v; /* (T, D), (T, copies * D), (T, copies * Dv) */
    double **gates;       /* (T, gates) what a linear layer computed for each position, */
    double **rates;       /* (T, rates) and another one */
    double *params;       /* (param_count) */
    double **out;         /* (T, Dv) zero at first */
} ReferenceHead;

/* Computes the output of a kind; false if it has no formula here. */
bool reference_run(const char *name, const ReferenceHead *head);

/* A matrix of zeros; free() releases it. */
double **reference_matrix(size_t rows, size_t columns);

#endif
