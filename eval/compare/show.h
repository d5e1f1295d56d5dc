/* Shows a comparison of runs: table, chart and sentences in the terminal, as Markdown, JSON or
 * CSV, as an SVG picture, as a page. Runs on different corpora are shown one corpus after
 * another. */
#ifndef LINNET_COMPARE_SHOW_H
#define LINNET_COMPARE_SHOW_H

#include "eval/runs/runchart.h"
#include "eval/runs/rundata.h"

typedef enum ColourWhen { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER } ColourWhen;

typedef struct CompareSettings {
    RunChartAxes axes;
    size_t color;         /* ColourWhen */
    size_t width, height; /* 0: fit the terminal */
    char *svg, *html;     /* files to write, or NULL */
    char *title;          /* of the picture; NULL: the default */
    char *reach;          /* losses, in a list */
    char *by; /* the setting of synthetic tasks to compare accuracies by; NULL: none */
    bool markdown, json, csv, group;
} CompareSettings;

enum { COMPARE_SIZE_MOST = 1000 }; /* columns and rows */

/* Runs on one corpus are neighbours. */
void compare_show(RunData *runs, size_t count, const CompareSettings *settings);

#endif
