/* Chooses the observers of a session from its settings. */
#ifndef LINNET_AUDIENCE_H
#define LINNET_AUDIENCE_H

#include "train/loop.h"
#include "train/observers/screen.h"

/* Checks that all requested observers can work here; call it before creating anything. */
bool audience_check(const SessionOptions *options, Error *error);

/* Runs loop_run with these observers. */
LoopEnd audience_train(Trainer *trainer, RunFolder *folder, Screen *screen, StopAfter stop,
                       Error *error);

#endif
