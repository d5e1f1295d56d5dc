/* The run directory: settings.conf, log.csv, best.safetensors, the checkpoints to resume from,
 * and the files of observers. It is locked while a session trains in it. */
#ifndef LINNET_FOLDER_H
#define LINNET_FOLDER_H

#include "eval/runs/runlog.h"
#include "train/loop/trainer.h"

typedef struct RunFolder {
    char *path; /* of the directory */
    char *best; /* the model with the best validation loss */
    RunLog log;
} RunFolder;

/* Makes a new directory: the one named by --run, otherwise runs/KIND-CORPUS with the first free
 * number. Writes the settings and starts the log. */
bool folder_create(RunFolder *folder, const Trainer *trainer, Error *error);

/* Continues in the directory of a run loaded from a checkpoint; it must be locked already.
 * Removes temporary files of a killed session, moves log rows after the checkpoint's step
 * aside, and reads the time spent from the log. */
bool folder_reopen(RunFolder *folder, const char *path, Trainer *trainer,
                   const Checkpoint *checkpoint, Error *error);

/* If the directory was removed during training, recreates it with the settings and the
 * log so far. Sets *again to whether it was gone. */
bool folder_restore(RunFolder *folder, const Trainer *trainer, bool *again, Error *error);

/* "ptb" of "../data/ptb.train.txt.gz"; the caller frees. */
char *folder_stem(const char *corpus);

/* Sets the paths in a run directory; folder_free frees them. */
void folder_name(RunFolder *folder, const char *path);
void folder_free(RunFolder *folder);

#endif
