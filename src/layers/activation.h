/* Activation functions of the MLP (feed-forward), as rows of a table.
 *
 *   gelu     x sigmoid(1.5957691 (x + 0.044715 x^3)), the tanh approximation of GELU
 *   gelu-erf x Phi(x), the exact GELU; Phi is the normal distribution function
 *   relu     max(x, 0)
 *   relu2    max(x, 0)^2
 *   swiglu   x sigmoid(x) u; the input row has twice the width: x (the gate), then u */
#ifndef LINNET_ACTIVATION_H
#define LINNET_ACTIVATION_H

#include "src/math/vector.h"

/* silu(x) = x sigmoid(x), and its derivative. */
static inline real silu(real x)
{
    return x * vector_sigmoid(x);
}

static inline real silu_slope(real x)
{
    real s = vector_sigmoid(x);
    return s * (1 + x * (1 - s));
}

typedef struct Activation {
    const char *name;
    size_t inputs; /* inputs per output: 1, or 2 with a gate */
    /* Process some columns of a row, or all. A gate's u is `up` numbers after its x. */
    void (*forward)(real *restrict y,       /* (columns) */
                    const real *restrict x, /* (columns), and u at x + up */
                    size_t columns, size_t up);
    /* The same, and x becomes the derivative of y by x, and u that by u. */
    void (*derive)(real *restrict y, /* (columns) */
                   real *restrict x, /* (columns), and u at x + up */
                   size_t columns, size_t up);
} Activation;

const Activation *activation_find(size_t index); /* NULL past the end */
const char *activation_name(size_t index);

#endif
