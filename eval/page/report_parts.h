/* What the pieces of report.h's page share. */
#ifndef LINNET_REPORT_PARTS_H
#define LINNET_REPORT_PARTS_H

#include "eval/page/report.h"

#include <stdio.h>

/* The files of these names, as strings; made by the Makefile. */
extern const char report_html[], report_css[], report_js[];

/* More points than this are thinned: a screen has fewer columns. */
enum { REPORT_POINTS = 4000 };

/* A piece of line in the colour and the dashes of a run. */
void report_print_swatch(FILE *out, const RunData *run);

/* The curves as JSON, for the script. */
void report_print_data(FILE *out, const Report *report);
/* What the models have in numbers, and how they were set. */
void report_print_numbers(FILE *out, const Report *report);
void report_print_settings(FILE *out, const Report *report);
/* What each run's model writes, and what it wrote while it was trained. */
void report_print_samples(FILE *out, const Report *report);

#endif
