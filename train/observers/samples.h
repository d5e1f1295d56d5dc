/* The observer that keeps what the model wrote in samples.txt, in the run's folder: a line
 * "# step N, epoch E", then the text, in which a line that begins with # has a blank before it.
 */
#ifndef LINNET_SAMPLES_H
#define LINNET_SAMPLES_H

#include "train/observers/observer.h"

typedef struct Samples {
    const Trainer *trainer;
    char *path, *text; /* owned; the text is all that the file holds */
} Samples;

void samples_init(Samples *samples, const Trainer *trainer, const char *folder);
void samples_free(Samples *samples);
extern const ObserverCalls samples_calls;

#endif
