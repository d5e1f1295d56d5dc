/* The program compare: runs as tables, charts and sentences in the terminal, as Markdown, JSON
 * or CSV, as an SVG picture, as a page. Runs on different corpora are shown one corpus after
 * another. */
#ifndef LINNET_COMPARE_H
#define LINNET_COMPARE_H

#include "eval/runs/runchart.h"
#include "eval/runs/rundata.h"
#include "src/base/json.h"

#include <stdio.h>

typedef enum ColourWhen { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWhen;

typedef struct CompareSettings {
    RunChartAxes axes;
    size_t color;         /* ColourWhen */
    size_t width, height; /* 0: fit the terminal */
    char *svg, *html;     /* files to write, or NULL */
    char *title;          /* of the picture; NULL: the default */
    char *reach;          /* losses, in a list */
    char *control;        /* the group that the others are compared with; NULL: the first */
    char *by;             /* the setting to show results against; NULL: none */
    bool markdown, json, csv, csv_log, group, forest;
} CompareSettings;

enum { COMPARE_SIZE_MOST = 1000 }; /* columns and rows */

/* Runs on one corpus are neighbours. */
void compare_show(RunData *runs, size_t count, const CompareSettings *settings);

/* The results of runs against settings->by, a line for each attention kind and for each value
 * of other settings that vary: on synthetic tasks that have such a setting the accuracy, else
 * the best validation loss against the number, with single seeds as points.
 *
 * Prints the table and the chart, and writes settings->svg, if given. Of the numbers each
 * line's best is chosen: moves its runs, to be compared with one another, to the front of the
 * (*count) runs, and sets *count to their number, 0 for tasks. Fails, before anything is
 * printed, if a run does not have this setting. */
bool compare_sweep(RunData *runs, size_t *count, const CompareSettings *settings, Error *error);

/* Prints a chart below a blank line, in the size and the colours of the settings; so many other
 * lines are on the screen. */
void compare_print_chart(Chart *chart, const CompareSettings *settings, size_t lines);

/* --- for other programs, in full precision --- */

/* A run: its results, settings and scores, and a point for every validation. Unknown values and
 * values that are not finite are null; text is escaped as for terminals, so it is UTF-8. */
json_t *compare_run_json(const RunData *run);

/* One object: the runs, the groups, which refer to runs by index, and the differences between
 * groups of one corpus. */
void compare_print_json(FILE *stream, const Comparison *all);

/* A line for every run: what it is, its results, its group, and every setting that differs
 * between runs. Or a line for every row of every log. Unknown values are empty. */
void compare_print_csv(FILE *stream, const Comparison *all);
void compare_print_csv_log(FILE *stream, const Comparison *all);

#endif
