/* An average of the weights on their way, which is often better than where they stand. */
#ifndef LINNET_AVERAGE_H
#define LINNET_AVERAGE_H

#include "src/real.h"

typedef enum AverageKind { AVERAGE_NONE, AVERAGE_TAIL, AVERAGE_EMA } AverageKind;
const char *average_name(size_t index);

typedef struct Average {
    real *weights; /* NULL: none is kept */
    size_t taken;  /* how often the weights have been taken into it */
    size_t count;  /* of weights */
} Average;

/* Takes in the weights as they are: all with the same share, or older ones with less. An
 * exponential average is short at first, so that the start is soon forgotten. */
void average_take(Average *average, const real *weights, AverageKind kind, double decay);

/* Exchanges the average with the weights, if anything has been taken; twice is nothing. */
void average_swap(Average *average, real *weights);

#endif
