/* Texts that the model writes while it is trained, with the weights of the moment: the same at
 * the same step of the same run, however often that is interrupted. */
#ifndef LINNET_SAMPLING_H
#define LINNET_SAMPLING_H

#include "eval/write/generator.h"
#include "train/trainer.h"

typedef struct Sampling {
    const Trainer *trainer;
    size_t every; /* validations; 0: never, and then there is no generator */
    Generator generator;
} Sampling;

void sampling_make(Sampling *sampling, const Trainer *trainer);
void sampling_free(Sampling *sampling);

/* The text of the moment: UTF-8 in which only line ends are control characters, the last of
 * them at its end. The caller frees. */
char *sampling_write(Sampling *sampling);

#endif
