/* Locates the first NaN or infinity of a failed step: in the model, the text and the schedule.
 */
#ifndef LINNET_TRAINER_ASTRAY_H
#define LINNET_TRAINER_ASTRAY_H

#include "train/loop/trainer.h"

/* Call it right after the step's batches (`batches` of them, from `first` of the epoch on),
 * while their activations and gradients are still there. If the loss is not finite, that of the
 * last batch is not. */
void astray_explain(const Trainer *trainer, const Step *step, size_t first, size_t batches,
                    Error *error);

#endif
