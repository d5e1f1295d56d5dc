/* The checkpoints that a run goes on from. There are two, last and previous, so that there is
 * one when the other turns out to be damaged, and there is one at every moment:
 *
 *   next.safetensors is written whole, synced and read back;
 *   last becomes previous; next becomes last.
 *
 * A program that is killed between any two of these leaves at least one of the three whole. */
#ifndef LINNET_CHECKPOINTS_H
#define LINNET_CHECKPOINTS_H

#include "train/trainer.h"

/* Saves the run as it stands in its folder. On failure those that were there still are. */
bool checkpoints_save(const char *folder, const Trainer *trainer, Error *error);

/* Opens the newest of them that is whole. If one is passed over, a warning says so. */
bool checkpoints_open(Checkpoint *checkpoint, const char *folder, Error *error);

/* The path of the newest, whole or not; NULL if there is none. The caller frees. */
char *checkpoints_newest(const char *folder);

/* After one was passed over, and before the next is saved: renames a damaged last checkpoint,
 * which must not become the previous one in place of one that is whole, and finishes a save
 * that was cut off between its renames. */
bool checkpoints_settle(const Checkpoint *opened, const char *folder, Error *error);

#endif
