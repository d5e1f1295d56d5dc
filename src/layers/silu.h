/* silu(x) = x sigmoid(x), and its derivative. */
#ifndef LINNET_SILU_H
#define LINNET_SILU_H

#include "src/vector.h"

static inline real silu(real x)
{
    return x * vector_sigmoid(x);
}

static inline real silu_slope(real x)
{
    real s = vector_sigmoid(x);
    return s * (1 + x * (1 - s));
}

#endif
