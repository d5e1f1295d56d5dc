/* Thins a log for drawing.
 *
 * A curve of a hundred thousand points has hundreds in every column of a screen. Each interval
 * keeps its lowest and its highest value, so that no peak is lost, and one value that is not
 * finite, so that gaps stay. The first and the last row stay as well. */
#ifndef LINNET_THIN_H
#define LINNET_THIN_H

#include "eval/runs/runlog.h"

/* A new stb_ds array of the rows to draw the training loss, validation loss and speed with at
 * most this many points each (5 or more). */
RunLogRow *thin_rows(const RunLogRow *rows, size_t most);

#endif
