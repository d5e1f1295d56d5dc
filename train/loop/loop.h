/* The training loop. */
#ifndef LINNET_LOOP_H
#define LINNET_LOOP_H

#include "train/loop/folder.h"
#include "train/loop/trainer.h"

typedef enum LoopEnd {
    LOOP_FINISHED, /* all steps are done */
    LOOP_PATIENCE, /* early stopping */
    LOOP_STOPPED,  /* --stop-after */
    LOOP_SIGNAL,   /* signals_caught says which */
    LOOP_FAILED    /* see the error */
} LoopEnd;

/* Whether steps remain and early stopping has not ended the run, or a failed save must be
 * repeated. */
bool loop_has_work(const Trainer *trainer);

/* Trains until one of these ends; unless that is LOOP_FAILED, the run is saved. The view is the
 * trainer's, and is kept up to date. */
LoopEnd loop_run(Trainer *trainer, RunFolder *folder, RunView *view, const Observers *observers,
                 Error *error);

#endif
