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

/* Whether all steps are done, or patience is at its end. */
bool loop_is_over(const Trainer *trainer);

/* Trains until one of these; in every case but the last the run is saved. */
LoopEnd loop_run(Trainer *trainer, RunFolder *folder, const Observers *observers,
                 StopAfter stop, Error *error);

#endif
