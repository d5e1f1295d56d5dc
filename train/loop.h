/* The training loop. */
#ifndef LINNET_LOOP_H
#define LINNET_LOOP_H

#include "train/folder.h"
#include "train/observers/observer.h"
#include "train/observers/sampling.h"

typedef enum LoopEnd {
    LOOP_FINISHED, /* all steps are done */
    LOOP_PATIENCE, /* no best for too many validations */
    LOOP_STOPPED,  /* --stop-after */
    LOOP_SIGNAL,   /* signals_caught says which */
    LOOP_FAILED    /* the error says why */
} LoopEnd;

/* Whether there are steps to do and patience is not at its end, or there is something of the
 * run to be saved that could not be. */
bool loop_has_work(const Trainer *trainer);

/* Trains until one of these; in every case but the last the run is saved. */
LoopEnd loop_run(Trainer *trainer, RunFolder *folder, const Observers *observers,
                 StopAfter stop, Error *error);

#endif
