/* Fewer rows of a log, with the same look.
 *
 * A curve of a hundred thousand points has hundreds in every column of a screen. Of each
 * stretch of rows only those are kept that its curves need: the lowest and the highest value,
 * so that no peak is lost, and one that is no number, so that a gap stays a gap. The first row
 * and the last stay as well. */
#ifndef LINNET_THIN_H
#define LINNET_THIN_H

#include "eval/runs/runlog.h"

/* The rows that the curves of training loss, validation loss and speed need, each of at most so
 * many points (5 or more), as a new array of stb_ds: all of the rows where there are no more.
 */
RunLogRow *thin_rows(const RunLogRow *rows, size_t most);

#endif
