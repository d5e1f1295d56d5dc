/* The page that compare --html writes: one file with everything in it, for people who want to
 * look closer than a terminal lets them, or to hand a comparison on.
 *
 * It needs no network and no other file, and can be read without scripts: the validation curves
 * are a still picture then. With them the charts answer to the pointer and to keys. What stands
 * in it of the runs is escaped everywhere; see markup.h. The script, the style and the markup
 * that never changes are files of their own, report.js, report.css and report.html, which the
 * Makefile turns into strings. */
#ifndef LINNET_REPORT_H
#define LINNET_REPORT_H

#include "eval/runs/rundata.h"

/* Borrows all that it points to. */
typedef struct Report {
    const RunData *runs;
    size_t count;
    char *const *names; /* of the runs; no two are the same */
    double entropy;     /* of the corpus that all of them share; NaN: not known */
} Report;

/* Writes the page, whole or not at all. The samples in it are made anew from the runs'
 * checkpoints, where there are any. */
bool report_write(const char *path, const Report *report, Error *error);

#endif
