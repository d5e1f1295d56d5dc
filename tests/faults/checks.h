/* The groups of checks of tests/faults/main.c. Each runs all its checks or, when quick, an even
 * selection that takes seconds. */
#ifndef LINNET_FAULT_CHECKS_H
#define LINNET_FAULT_CHECKS_H

#include <stdbool.h>

/* Every call that can fail fails once, in every program. */
void check_faults(bool quick);
/* A run killed at any time resumes bit-identically. */
void check_kills(bool quick);
/* Power failures at any time. */
void check_power(bool quick);
/* A really full disk, and closed streams. */
void check_places(void);
/* Every bit of a checkpoint flipped. */
void check_flips(bool quick);

/* A tiny run of GPT-2's shape, so that it can be exported, with a checkpoint at every step;
 * append the options of a session, and the text. */
#define RUN_TRAIN_OF(steps)                                                                 \
    "train --layers 1 --dim 8 --heads 1 --context 8 --pos learned --no-qk-norm --act gelu " \
    "--head-bias no --batch 2 --warmup 1 --steps " steps                                    \
    " --save-every 1 --eval-every 2 --log-every 1 --lr 0.01 --threads 2 "                   \
    "--sample-every 3 --tensorboard --quiet "
#define RUN_TRAIN  RUN_TRAIN_OF("6")
#define RUN_RESUME "train --quiet --resume "

/* Makes the run directories "ended" of an undisturbed run, "ended-packed" of one on the packed
 * text, and "base" of one stopped after three steps; and its export, "model". */
void make_runs(void);

/* Whether two runs ended with identical checkpoints. */
bool same_end(const char *run, const char *other);

#endif
