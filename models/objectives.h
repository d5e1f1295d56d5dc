/* What a model can learn besides the next token. */
#ifndef LINNET_OBJECTIVES_H
#define LINNET_OBJECTIVES_H

#include "models/pass.h"

/* Distillation: the teacher's predictions for a batch, inputs (rows), for pass_gradients. The
 * teacher is for evaluation, has as many rows, and outlives them. */
HeadTeacher objective_teacher(Pass *teacher, const int32_t *inputs, double share);

/* Attention transfer, in place of a training pass: adds to the gradients those of the squared
 * difference between the outputs of the model's attention sublayers and of its teacher's, which
 * has the same shape. Each sublayer reads the teacher's residual stream, and with a value
 * residual the first layer's values, which are constants for later layers. Rows after the last
 * target of their sequence do not count. Returns the sum over the other rows of the mean over
 * features and layers. */
double objective_transfer_attention(Pass *pass, Pass *teacher, Params *dparams,
                                    const int32_t *inputs,   /* (rows) */
                                    const int32_t *targets); /* (rows) */

#endif
