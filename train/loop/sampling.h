/* Samples during training, with the current weights. They depend only on the run and the step,
 * not on interruptions. */
#ifndef LINNET_SAMPLING_H
#define LINNET_SAMPLING_H

#include "models/generator.h"
#include "train/loop/trainer.h"

typedef struct Sampling {
    const Trainer *trainer;
    size_t every; /* validations; 0: never, and then there is no generator */
    Generator generator;
} Sampling;

void sampling_make(Sampling *sampling, const Trainer *trainer);
void sampling_free(Sampling *sampling);

/* Generates a text: UTF-8, without control characters but line ends, the last at its end. The
 * caller frees. */
char *sampling_write(Sampling *sampling);

#endif
