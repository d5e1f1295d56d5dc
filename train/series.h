/* Several runs one after another: "--attn softmax,linear --seed 1,2,3" trains six models on the
 * same text and ends with their comparison. Repeating the command continues them:
 * a run directory that holds the run it would start is resumed. */
#ifndef LINNET_SERIES_H
#define LINNET_SERIES_H

#include "src/base/options.h"

/* Whether an option, other than a text, has a comma-separated list of values. */
bool series_asked_for(const CommandLine *line);

/* Calls train_one, which returns an exit status, for every combination of the listed values.
 * Stops at the first failure. Returns the exit status. */
int series_train(const CommandLine *line, int (*train_one)(const CommandLine *line));

#endif
