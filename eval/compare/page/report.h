/* The page that compare --html writes: one file with everything in it.
 *
 * It needs no network and no other file. Without scripts the validation curves are a still
 * picture; with scripts the charts answer to the pointer and to keys. Everything that comes
 * from a run is escaped; see markup.h. The scripts, the style and the fixed markup are files of
 * their own, which the Makefile turns into strings. */
#ifndef LINNET_REPORT_H
#define LINNET_REPORT_H

#include "eval/runs/groups.h"

#include <stdio.h>

/* Writes the page, whole or not at all. Samples come from the runs' checkpoints, if there are
 * any. */
bool report_write(const char *path, const Comparison *all, Error *error);

/* --- its parts --- */

/* The files report.html, report.css and so on as strings; made by the Makefile. */
extern const char text_report_html[], text_report_css[], text_curves_js[], text_charts_js[],
    text_controls_js[];

/* The curves as JSON, for the script. */
void report_print_data(FILE *out, const Comparison *all);
/* The tables of results and of settings. */
void report_print_numbers(FILE *out, const Comparison *all);
void report_print_settings(FILE *out, const Comparison *all);
/* Samples of each run's model, now and during training. */
void report_print_samples(FILE *out, const Comparison *all);

#endif
