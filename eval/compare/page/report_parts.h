/* The parts of report.h's page. */
#ifndef LINNET_REPORT_PARTS_H
#define LINNET_REPORT_PARTS_H

#include "eval/compare/page/report.h"

#include <stdio.h>

/* The files report.html, report.css and so on as strings; made by the Makefile. */
extern const char text_report_html[], text_report_css[], text_curves_js[], text_charts_js[],
    text_controls_js[];

/* Curves with more points are thinned; a screen has fewer columns. */
enum { REPORT_POINTS = 4000 };

/* The curves as JSON, for the script. */
void report_print_data(FILE *out, const Comparison *all);
/* The tables of results and of settings. */
void report_print_numbers(FILE *out, const Comparison *all);
void report_print_settings(FILE *out, const Comparison *all);
/* Samples of each run's model, now and during training. */
void report_print_samples(FILE *out, const Comparison *all);

#endif
