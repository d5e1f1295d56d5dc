/* Saves a run while it trains: the checkpoint to continue from, and the best model. A failed
 * save does not stop the training, since the disk may have room at the next one; it is an error
 * only if the last one of the session fails. All ranks call these functions. */
#ifndef LINNET_SAVER_H
#define LINNET_SAVER_H

#include "train/loop/folder.h"
#include "train/loop/trainer.h"

/* Whether the last attempt to save a file failed. */
typedef struct SaveAttempt {
    bool failed;
    Error why;
} SaveAttempt;

typedef struct Saver {
    Trainer *trainer;
    RunFolder *folder;
    const RunView *view;
    const Observers *observers;
    SaveAttempt last, best; /* of the last checkpoint, and of the best model */
    size_t saved_step;      /* of the session's last checkpoint; SIZE_MAX: none */
    size_t awaiting_step;   /* of the last checkpoint, if its validation is due; else 0 */
    double tried_at;        /* the last attempt to save one, in seconds of the run */
    bool keep_finished;     /* the next checkpoint is the first after that of a finished run */
} Saver;

Saver saver_make(Trainer *trainer, RunFolder *folder, const RunView *view,
                 const Observers *observers);

/* Saves the checkpoint to continue from. */
void saver_save(Saver *saver);
/* Whether that is older than --save-minutes. */
bool saver_is_due(const Saver *saver);
/* Saves the best model. If that fails, the best validation stays that of the file on disk. */
void saver_save_best(Saver *saver, Validation on_disk);
/* The last save of the session, if there is anything new to save: a failure is an error now. */
bool saver_end(Saver *saver, Error *error);

#endif
