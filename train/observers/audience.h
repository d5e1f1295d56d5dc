/* The observers of a training: who they are follows from the settings of the session. */
#ifndef LINNET_AUDIENCE_H
#define LINNET_AUDIENCE_H

#include "train/loop.h"
#include "train/observers/screen.h"

/* Whether all that are asked for can do their work here; to be asked before anything is made.
 */
bool audience_check(const SessionOptions *options, Error *error);

/* Trains as loop_run does, before these observers. */
LoopEnd audience_train(Trainer *trainer, RunFolder *folder, Screen *screen, StopAfter stop,
                       Error *error);

#endif
