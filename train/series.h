/* Several models one after another: --attn softmax,linear trains both on the same text in the
 * same order from the same seed, and ends with the comparison. */
#ifndef LINNET_SERIES_H
#define LINNET_SERIES_H

#include "src/options.h"

/* Calls train_one for each kind of the line's --attn; it returns an exit status and the folder
 * of its run. Stops at the first that does not end well. Returns the exit status. */
int series_train(const CommandLine *line,
                 int (*train_one)(const CommandLine *line, char **path));

#endif
