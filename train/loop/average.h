/* Weight averaging (EMA or SWA): an average of the weights often predicts better than the last
 * weights. */
#ifndef LINNET_AVERAGE_H
#define LINNET_AVERAGE_H

#include "src/real.h"

typedef enum AverageKind { AVERAGE_NONE, AVERAGE_TAIL, AVERAGE_EMA } AverageKind;
const char *average_name(size_t index);

typedef struct Average {
    real *weights; /* NULL: no average */
    size_t taken;  /* how many times weights were added */
    size_t count;  /* of reals in weights */
} Average;

/* Adds the current weights to the average: uniformly (tail), or with exponential decay (ema).
 * An EMA warms up: its decay is smaller in the first steps, so the start is soon forgotten. */
void average_take(Average *average, const real *weights, AverageKind kind, double decay);

/* Swaps the average with the weights, unless it is empty; a second call undoes it. */
void average_swap(Average *average, real *weights);

#endif
