/* The observer that writes samples.txt in the run directory: a line "# step N, epoch E", then
 * the text, where lines that begin with # get a blank in front. */
#ifndef LINNET_SAMPLES_H
#define LINNET_SAMPLES_H

#include "train/loop/observer.h"

typedef struct Samples {
    const Trainer *trainer;
    char *path, *text; /* owned; the text is the content of the file */
} Samples;

void samples_init(Samples *samples, const Trainer *trainer, const char *folder);
void samples_free(Samples *samples);
extern const ObserverCalls samples_calls;

#endif
