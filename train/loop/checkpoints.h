/* The checkpoints to resume from: last and previous. If one is damaged, the other is there, and
 * at every moment at least one is complete:
 *
 *   next.safetensors is written whole, synced and read back;
 *   last becomes previous; next becomes last.
 *
 * A program killed at any point leaves at least one of the three complete. */
#ifndef LINNET_CHECKPOINTS_H
#define LINNET_CHECKPOINTS_H

#include "train/loop/trainer.h"

/* Saves the run in its directory. On failure the earlier checkpoints remain. */
bool checkpoints_save(const char *folder, const Trainer *trainer, Error *error);

/* Opens the newest complete checkpoint; warns if it skips a damaged one. */
bool checkpoints_open(Checkpoint *checkpoint, const char *folder, Error *error);

/* The path of the newest checkpoint, damaged or not; NULL if there is none. The caller frees.
 */
char *checkpoints_newest(const char *folder);

/* Call it before the next save if a checkpoint was skipped. Renames a damaged last checkpoint,
 * so that it does not replace an intact previous one, and finishes a save that was interrupted
 * between its renames. */
bool checkpoints_settle(const Checkpoint *opened, const char *folder, Error *error);

#endif
