/* The page that compare --html writes: one file with everything in it.
 *
 * It needs no network and no other file. Without scripts the validation curves are a still
 * picture; with scripts the charts answer to the pointer and to keys. Everything that comes
 * from a run is escaped; see markup.h. The scripts, the style and the fixed markup are files of
 * their own, which the Makefile turns into strings. */
#ifndef LINNET_REPORT_H
#define LINNET_REPORT_H

#include "eval/runs/groups.h"

/* Writes the page, whole or not at all. Samples come from the runs' checkpoints, if there are
 * any. */
bool report_write(const char *path, const Comparison *all, Error *error);

#endif
