/* The groups of checks that tests/faults/main.c goes through. Each runs all there is, or, when
 * quick, an even choice that takes seconds. */
#ifndef LINNET_FAULT_CHECKS_H
#define LINNET_FAULT_CHECKS_H

#include <stdbool.h>

/* Every call that can fail does so once, in every program. */
void check_faults(bool quick);
/* A run that is killed at any time is continued as if nothing had been. */
void check_kills(bool quick);
/* What a disk may hold when the power fails. */
void check_power(bool quick);
/* A disk that is really full, streams that are closed. */
void check_places(void);
/* Every bit of a checkpoint turned over. */
void check_flips(bool quick);

/* A tiny run that is saved after each of its steps; to be followed by the options of one
 * session, and the text. */
#define RUN_TRAIN_OF(steps)                                                                \
    "train --layers 1 --dim 8 --heads 1 --context 8 --pos learned --batch 2 --warmup 1 "   \
    "--steps " steps " --save-every 1 --eval-every 2 --log-every 1 --lr 0.01 --threads 2 " \
    "--sample-every 3 --tensorboard --quiet "
#define RUN_TRAIN  RUN_TRAIN_OF("6")
#define RUN_RESUME "train --quiet --resume "

/* Makes the folders of such runs: "ended" is what an undisturbed run leaves, "ended-packed"
 * one on the packed text, "base" one that was stopped after three steps. */
void make_runs(void);

/* Whether two runs came to the same checkpoints, byte for byte. */
bool same_end(const char *run, const char *other);

#endif
