/* The folder that a run leaves: settings.conf, log.csv, best.safetensors, last.safetensors, and
 * what observers put beside them. */
#ifndef LINNET_FOLDER_H
#define LINNET_FOLDER_H

#include "eval/runs/runlog.h"
#include "train/trainer.h"

typedef struct RunFolder {
    char *path;        /* of the folder */
    char *best, *last; /* of the checkpoints */
    RunLog log;
} RunFolder;

/* Makes a folder that was not there before: as named, else runs/KIND-CORPUS with the first free
 * number. Writes the settings and starts the log. */
bool folder_create(RunFolder *folder, const Trainer *trainer, Error *error);

/* Goes on in the folder of a run that was loaded: rows of the log behind its step are moved
 * aside, and the time spent is read from the log. */
bool folder_reopen(RunFolder *folder, const char *path, Trainer *trainer, Error *error);

/* The names in a run's folder; folder_free frees them. */
void folder_name(RunFolder *folder, const char *path);
void folder_free(RunFolder *folder);

#endif
