/* A table of runs, such as eval/results.csv: a CSV file with a row for each, in place of their
 * folders. A row has no curve, only what the run came to.
 *
 * Columns are found by their names; `run` and `command` must be there. Losses are in nats per
 * token, `validation` and `test`; their `..._tokens` and `..._bytes`, which give bits per byte,
 * and `accuracy` (of 1), `parameters`, `state` (bytes), `seconds`, `tokens_per_second` and
 * `peak_mb` may be missing or empty, as may the losses. `command` is the last column and goes
 * on to the end of the line, commas included: its options are the settings of the run, its last
 * word the text. */
#ifndef LINNET_RUNTABLE_H
#define LINNET_RUNTABLE_H

#include "eval/runs/rundata.h"

/* Whether the path is that of a file with such a name, not of a folder. */
bool runtable_is(const char *path);

/* Appends the runs of a table, which is not trusted, to an stb_ds array. */
bool runtable_read(const char *path, RunData **runs, Error *error);

#endif
