/* The layers of a pass, from the tokens to u[2L], the input of the output head (pass.h). */
#ifndef LINNET_PASS_LAYERS_H
#define LINNET_PASS_LAYERS_H

#include "models/pass.h"

/* Computes u[2L]; without dropout if the key is NULL. */
const real *layers_forward(Pass *pass, const int32_t *inputs, const RandomKey *key);
/* u[2L] of the last forward pass once more. */
const real *layers_output(Pass *pass);

/* From the gradient of u[2L], in pass->branch. */
void layers_backward(Pass *pass, Params *gradients, const int32_t *inputs,
                     const RandomKey *key);

/* The output dropout of u[2L], before the head. */
Dropout layers_output_dropout(const Pass *pass, const RandomKey *key);

#endif
