/* The settings of a session, and the run that it starts from: train --init RUN, or train
 * --convert RUN, which also takes over how the other was trained. */
#ifndef LINNET_SETTINGS_H
#define LINNET_SETTINGS_H

#include "models/adopt.h"
#include "train/loop/options.h"

/* What --init or --convert names: a run, whose best checkpoint it is, or a checkpoint. */
typedef struct Init {
    bool is_named, is_open, preset_has_tokenizer_file;
    Checkpoint checkpoint; /* if it is open */
} Init;

void init_close(Init *init);

/* Fills the settings from defaults, the model that --init names, the preset or the resumed
 * run's text, and the command line, in this order. Resuming, a fixed setting that the command
 * line changes is an error, unless it extends the run: then settings->before has the old
 * values. What fails is the command line, unless the checkpoint of --init cannot be opened.
 * Otherwise that is open afterwards, for the weights; the caller closes it. */
bool settings_read(Settings *settings, const CommandLine *line, const char *resumed, Init *init,
                   Error *error);

#endif
