/* What the page shows, and how a run looks in it: what all parts of the page share. */
#ifndef LINNET_REPORT_LOOK_H
#define LINNET_REPORT_LOOK_H

#include "eval/runs/groups.h"

#include <stdio.h>

/* Borrows all that it points to. */
typedef struct Report {
    const RunData *runs; /* those of one corpus together */
    size_t count;
    char *const *names;     /* of the runs; no two are the same */
    const RunGroup *groups; /* an array of stb_ds */
} Report;

/* The number of the corpus of a run, counted in the order of the runs. */
size_t report_corpus_of(const Report *report, size_t run);

/* Prints the rules that define the variables --c0, --c1, ... of light and dark pages. */
void report_print_colours(FILE *out);

/* Prints the name of the colour's variable, such as "var(--c0)". */
void report_print_colour(FILE *out, size_t identity);

/* Prints a piece of line in the colour and the dashes of a run. */
void report_print_swatch(FILE *out, const RunData *run);

#endif
