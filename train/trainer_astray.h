/* Why a step was not taken: where in the model, in the text and on the schedule the numbers
 * ceased to be finite. */
#ifndef LINNET_TRAINER_ASTRAY_H
#define LINNET_TRAINER_ASTRAY_H

#include "train/trainer.h"

/* Right after the step's batches were computed, the last of them being the one in which the
 * loss went astray, if it did: their activations and gradients are still there. */
void astray_explain(const Trainer *trainer, const Step *step, size_t batches, Error *error);

#endif
