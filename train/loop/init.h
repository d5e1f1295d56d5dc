/* The settings of a run that starts from the weights of another: train --init RUN, or train
 * --convert RUN, which also takes over how the other was trained. */
#ifndef LINNET_INIT_H
#define LINNET_INIT_H

#include "models/adopt.h"
#include "train/loop/options.h"

/* The checkpoint that --init or --convert names, if it is open. */
typedef struct Init {
    bool is_open, unreadable, preset_has_tokenizer_file;
    Checkpoint checkpoint;
} Init;

/* Opens a run's best checkpoint, or a checkpoint. */
bool init_open(Init *init, const char *run, Error *error);
void init_close(Init *init);

/* Neither can be combined with --resume. */
bool init_refuse(const CommandLine *line, Error *error);

/* If the command line or the preset names a run, opens it and sets the model's shape, and the
 * tokenizer unless another is asked for; with --convert, all settings. Call it before the
 * preset and the command line are applied. */
bool init_take(Init *init, Settings *settings, const Settings *preset, const CommandLine *line,
               Error *error);
/* After they are: decides whose tokenizer it is, drops options of attention kinds that the
 * model no longer has, and refuses what contradicts --convert. */
bool init_settle(const Init *init, Settings *settings, const CommandLine *line, Error *error);
/* After config_check: whether the weights fit. */
bool init_check(const Init *init, const Settings *settings, Error *error);

#endif
