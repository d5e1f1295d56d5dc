/* Why a step was not taken: where in the model, in the text and on the schedule the numbers
 * ceased to be finite. */
#ifndef LINNET_ASTRAY_H
#define LINNET_ASTRAY_H

#include "train/trainer.h"

/* Right after the loss went astray in the step's batch of this number, from 0: its activations
 * are still there. */
void astray_explain_loss(const Trainer *trainer, const Step *step, size_t batch, Error *error);
/* Once the gradients of all of the step's batches have been summed. */
void astray_explain_gradient(const Trainer *trainer, const Step *step, Error *error);

#endif
