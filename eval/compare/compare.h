/* The program compare: runs as tables, charts and sentences in the terminal, as Markdown, JSON
 * or CSV, as an SVG picture, as a page. Runs whose losses do not compare, as on different
 * corpora, are shown one corpus after another. */
#ifndef LINNET_COMPARE_H
#define LINNET_COMPARE_H

#include "eval/runs/gridfile.h"
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
    char *within;         /* the setting whose values are compared apart; NULL: none */
    size_t watch;         /* seconds between pages of a grid that is not finished; 0: no */
    bool markdown, json, csv, csv_log, group, forest;
} CompareSettings;

enum {
    COMPARE_SIZE_MOST = 1000,  /* columns and rows */
    COMPARE_WATCH_MOST = 86400 /* seconds */
};

/* The results of runs against a setting, a line for each attention kind and for each value of
 * other settings that vary: on synthetic tasks that have such a setting the accuracy, else the
 * best validation loss against the number, with single seeds as points. `state` stands for the
 * bytes of the state. */
typedef struct Sweep Sweep;

/* Reads (*count) runs, which it borrows. Of the numbers each line's best is chosen: moves its
 * runs, to be compared with one another, to the front, and sets *count to their number; runs of
 * tasks stay. Fails, with NULL, if a run does not have this setting, or what the axes need. */
Sweep *sweep_make(RunData *runs, size_t *count, const CompareSettings *settings, Error *error);
void sweep_free(Sweep *sweep);
bool sweep_is_of_task(const Sweep *sweep);

/* Prints the table, unless it is Markdown the chart, and what was chosen. */
void sweep_print(const Sweep *sweep, const CompareSettings *settings);
/* Writes the chart, with the title of the settings or the usual one. */
bool sweep_write_svg(const Sweep *sweep, const CompareSettings *settings, Error *error);
/* The lines with every result, for other programs and for the page, which numbers the groups
 * of what is compared. */
json_t *sweep_json(const Sweep *sweep, const Comparison *all);

/* Shows runs, of which those on one corpus are neighbours, and the sweep that chose them (NULL:
 * none). Of a watched grid that is not finished it writes the page alone. */
void compare_show(RunData *runs, size_t count, const Sweep *sweep,
                  const CompareSettings *settings, const GridProgress *progress);

/* Prints a chart below a blank line, in the size and the colours of the settings; so many other
 * lines are on the screen. */
void compare_print_chart(Chart *chart, const CompareSettings *settings, size_t lines);

/* --- for other programs, in full precision --- */

/* A run: its results, settings and scores, and a point for every validation. Unknown values and
 * values that are not finite are null; text is escaped as for terminals, so it is UTF-8. */
json_t *compare_run_json(const RunData *run);

/* One object: the runs, the groups, which refer to runs by index, the differences between
 * groups of one corpus, and of a sweep (NULL: none) the lines. */
void compare_print_json(FILE *stream, const Comparison *all, const Sweep *sweep);

/* A line for every run: what it is, its results, its group, and every setting that differs
 * between runs. Or a line for every row of every log. Unknown values are empty. */
void compare_print_csv(FILE *stream, const Comparison *all);
void compare_print_csv_log(FILE *stream, const Comparison *all);

#endif
