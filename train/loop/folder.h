/* The run directory: settings.conf, log.csv, best.safetensors, the checkpoints to resume from,
 * and the files of observers. It is locked while a session trains in it.
 *
 * There are two checkpoints to resume from, last and previous, in case one is damaged, and at
 * every moment at least one is complete:
 *
 *   next.safetensors is written whole, synced and read back;
 *   last becomes previous; next becomes last. */
#ifndef LINNET_FOLDER_H
#define LINNET_FOLDER_H

#include "models/checkpoint.h"
#include "train/loop/view.h"

typedef struct RunFolder {
    char *path; /* of the directory */
    char *best; /* the model with the best validation loss */
    char *next; /* the next checkpoint, until folder_turn */
    RunLog log;
} RunFolder;

/* Makes a new directory: the one named by --run, otherwise runs/KIND-CORPUS with the first free
 * number. Writes the settings and starts the log. */
bool folder_create(RunFolder *folder, const RunView *run, Error *error);

/* Removes a directory that was just made, so that the same command can try again. */
void folder_abandon(const RunFolder *folder);

/* Continues in the directory of a run loaded from a checkpoint; it must be locked already.
 * Removes temporary files of a killed session and moves log rows after the checkpoint's step
 * aside. *seconds becomes the time spent so far, from the log. */
bool folder_reopen(RunFolder *folder, const char *path, const RunView *run,
                   const Checkpoint *checkpoint, double *seconds, Error *error);

/* If the directory was removed during training, recreates it with the settings and the
 * log so far. Sets *recreated to whether it was gone. */
bool folder_restore(RunFolder *folder, const RunView *run, bool *recreated, Error *error);

/* Makes the next checkpoint, which is complete, the last one; the last one becomes the previous
 * one, or is replaced. On failure the earlier ones remain. */
bool folder_turn(const RunFolder *folder, bool replace, Error *error);

/* Keeps the checkpoint before the last one, which is of this step, for good: as
 * step-N.safetensors. */
bool folder_keep(const RunFolder *folder, size_t step, Error *error);

/* Writes the settings anew, with the time that has passed if the run is not finished. */
bool folder_write_settings(const RunFolder *folder, const RunView *run, Error *error);

void folder_free(RunFolder *folder);

/* How far the run in a directory is. A run that ended before its first checkpoint is missing:
 * nothing of it can be continued. */
typedef enum RunState { RUN_MISSING, RUN_OPEN, RUN_FINISHED } RunState;
typedef struct RunStanding {
    RunState state;
    double share;   /* of its steps that are done */
    double seconds; /* estimate of what the whole run takes; NaN: unknown */
} RunStanding;
RunStanding folder_standing(const char *path);

/* Removes the files that a run without a checkpoint has left, if it is one, and its directory
 * if nothing else is in it. Fails if another process trains there. */
bool folder_discard(const char *path, Error *error);

/* Removes the checkpoints of a run; its settings, log and scores stay. Fails if another process
 * trains there. */
bool folder_forget(const char *path, Error *error);

/* "ptb" of "../data/ptb.train.txt.gz"; the caller frees. */
char *folder_stem(const char *corpus);

/* Opens the newest complete checkpoint in a directory; warns if it skips a damaged one. */
bool folder_open_checkpoint(Checkpoint *checkpoint, const char *path, Error *error);
/* Call it before the next save if a checkpoint was skipped. Renames a damaged last checkpoint,
 * so that it does not replace an intact previous one, and finishes a save that was interrupted
 * between its renames. folder_reopen does it. */
bool folder_settle(const Checkpoint *opened, const char *path, Error *error);
/* The path of the newest checkpoint, damaged or not; NULL if there is none. The caller frees.
 */
char *folder_newest_checkpoint(const char *path);

#endif
