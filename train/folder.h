/* The folder that a run leaves: settings.conf, log.csv, best.safetensors, the checkpoints to go
 * on from, and what observers put beside them. While it is trained in, it is locked. */
#ifndef LINNET_FOLDER_H
#define LINNET_FOLDER_H

#include "eval/runs/runlog.h"
#include "train/trainer.h"

typedef struct RunFolder {
    char *path; /* of the folder */
    char *best; /* the model at its best validation */
    RunLog log;
} RunFolder;

/* Makes a folder that was not there before: as named, else runs/KIND-CORPUS with the first free
 * number. Writes the settings and starts the log. */
bool folder_create(RunFolder *folder, const Trainer *trainer, Error *error);

/* Goes on in the folder, locked before, of a run that was loaded from a checkpoint: what a
 * killed session left goes, rows of the log behind its step are moved aside, and the time spent
 * is read from the log. */
bool folder_reopen(RunFolder *folder, const char *path, Trainer *trainer,
                   const Checkpoint *checkpoint, Error *error);

/* Makes the folder again if it was removed while the run was in it: the settings, and the log
 * as far as it was written. *again tells whether it was gone. */
bool folder_restore(RunFolder *folder, const Trainer *trainer, bool *again, Error *error);

/* The names in a run's folder; folder_free frees them. */
void folder_name(RunFolder *folder, const char *path);
void folder_free(RunFolder *folder);

#endif
