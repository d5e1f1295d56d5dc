/* The settings of a run that starts from the weights of another: train --init RUN, or train
 * --convert RUN, which also takes over how the other was trained. */
#ifndef LINNET_INIT_H
#define LINNET_INIT_H

#include "models/adopt.h"
#include "train/loop/options.h"

/* What --init or --convert names: a run, whose best checkpoint it is, or a checkpoint. */
typedef struct Init {
    bool is_named, is_open, preset_has_tokenizer_file;
    Checkpoint checkpoint; /* if it is open */
} Init;

void init_close(Init *init);

/* If the command line or the preset names a run, opens it and sets the model's shape, and the
 * tokenizer unless another is asked for; with --convert, all settings. Call it before the
 * preset and the command line are applied. */
bool init_apply(Init *init, Settings *settings, const Settings *preset, const CommandLine *line,
                Error *error);
/* After they are: decides whose tokenizer it is, drops options of attention kinds that the
 * model no longer has, and refuses what contradicts --convert. */
bool init_settle(const Init *init, Settings *settings, const CommandLine *line, Error *error);
/* After config_check: whether the weights fit. */
bool init_check(const Init *init, const Settings *settings, Error *error);

/* Fills the settings from defaults, the model that --init names, the preset or the resumed
 * run's text, and the command line, in this order. Resuming, a fixed setting that the command
 * line changes is an error, unless it extends the run: then settings->before has the old
 * values. What fails is the command line, unless the checkpoint of --init cannot be opened.
 * Otherwise that is open afterwards, for the weights; the caller closes it. */
bool settings_read(Settings *settings, const CommandLine *line, const char *resumed, Init *init,
                   Error *error);

#endif
