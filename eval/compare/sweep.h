/* The accuracy of runs on a synthetic task against a setting of it, such as the pairs of
 * recall: a line for each attention kind. */
#ifndef LINNET_COMPARE_SWEEP_H
#define LINNET_COMPARE_SWEEP_H

#include "eval/compare/show.h"

/* Prints the table and writes settings->svg, if given. Runs of one kind and value are averaged.
 * Fails, before anything is printed, if a run is not on a task with this setting. */
bool sweep_show(const RunData *runs, size_t count, const CompareSettings *settings,
                Error *error);

#endif
