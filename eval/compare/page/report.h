/* The page that compare --html writes: one file with everything in it.
 *
 * It reports groups, runs that differ in the seed only; single runs are there on request. It
 * needs no network and no other file. Without scripts the forest plot and the validation curves
 * are still pictures; with scripts the charts answer to the pointer and to keys. Everything
 * that comes from a run is escaped; see markup.h. The scripts, the style and the fixed markup
 * are files of their own, which the Makefile turns into strings. */
#ifndef LINNET_REPORT_H
#define LINNET_REPORT_H

#include "eval/runs/gridfile.h"
#include "eval/runs/groups.h"
#include "src/base/json.h"

#include <stdio.h>

typedef struct Report {
    const Comparison *all;
    const json_t *by;      /* the results by a setting, of sweep_json; NULL: none */
    GridProgress progress; /* of the grids that were named; no runs: none was */
    size_t watch;          /* seconds after which the page of unfinished grids loads itself
                            * anew; 0: never */
} Report;

/* Writes the page, whole or not at all. Samples come from the runs' checkpoints, if there are
 * any. */
bool report_write(const char *path, const Report *report, Error *error);

/* --- its parts --- */

/* The files report.html, report.css and so on as strings; made by the Makefile. */
extern const char text_report_html[], text_report_css[], text_curves_js[], text_charts_js[],
    text_figures_js[], text_controls_js[];

/* Everything that the script draws, as JSON. */
void report_print_data(FILE *out, const Report *report);
/* The tables of results and of settings. */
void report_print_numbers(FILE *out, const Comparison *all);
void report_print_settings(FILE *out, const Comparison *all);
/* Samples of each group's best model, now and during training. */
void report_print_samples(FILE *out, const Comparison *all);

#endif
