/* What sweep.c makes of runs, and sweep_show.c shows. */
#ifndef LINNET_EVAL_COMPARE_SWEEP_H
#define LINNET_EVAL_COMPARE_SWEEP_H

#include "eval/compare/compare.h"

/* The runs of one attention kind, and of one value of each other setting that a grid varies. */
typedef struct Line {
    char *name;        /* of a task with the bytes of its state at the largest value */
    ChartPoint *seeds; /* an stb_ds array, by value, a point for each run */
    size_t *runs;      /* (seeds) an stb_ds array: their indexes */
    ChartPoint *means; /* an stb_ds array, a point for each value; NaN if a run diverged */
    size_t best;       /* index in means of the lowest loss; their number: none */
} Line;

struct Sweep {
    const RunData *runs; /* (count) */
    size_t count;
    const char *setting;
    bool of_task;   /* accuracies; else losses, */
    bool bits;      /* in bits per byte */
    char **factors; /* an stb_ds array, borrowed: other settings that have lines of their own */
    Line *lines;    /* an stb_ds array */
    double *values; /* an stb_ds array, ascending: all values of the setting */
    const char *y_label;
};

bool sweep_is_by_state(const Sweep *sweep);

/* Whether any run of the line did not diverge. */
bool sweep_line_is_chosen(const Line *line);

#endif
