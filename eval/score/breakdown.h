/* The losses of runs on parts of a text.
 *
 * By position: the mean loss of the tokens whose position in their window, which is the number
 * of tokens that they are predicted from, lies in (2^(k-1), 2^k]. The usual windows, powers of
 * two, end with a range, so windows of 128 and of 1024 tokens share the ranges up to 128. In
 * others the last range ends with the window, and joins the one before if half of it is
 * missing: a loss of a few tokens is noise. A curve that keeps falling uses its context; where
 * the curves of two runs part is the length at which they differ.
 *
 * Paired: the difference of the losses of two runs, with an interval and p by the paired
 * bootstrap, and Holm's correction for all that are compared with the first.
 * The text is a sample of lines, and lines are drawn again from it with replacement. Both runs
 * have read the same lines, so what is hard for both cancels, and the interval is far narrower
 * than that of either loss. Tokens of a line depend on each other, lines hardly do. */
#ifndef LINNET_BREAKDOWN_H
#define LINNET_BREAKDOWN_H

#include "eval/score/ways.h"

enum { POSITION_RANGES = 17 }; /* up to position 65536 */

typedef struct PositionLosses {
    double nats[POSITION_RANGES];
    size_t tokens[POSITION_RANGES];
    size_t window;
} PositionLosses;

typedef struct Breakdown {
    const CorpusSplit *split;
    size_t runs;               /* that read the text one after the other */
    PositionLosses *positions; /* (runs) */
    uint32_t *units;           /* (scored tokens) the line that each token is of */
    bool are_lines;            /* else the units are windows: the text has no lines */
    size_t unit_count;
    double *sizes; /* (unit_count) scored tokens */
    double *nats;  /* (runs, unit_count) */
    size_t run;    /* that reads, and its next token */
    size_t next;
} Breakdown;

/* Texts of fewer than 20 lines are cut into windows of this length. The split must outlive it.
 */
void breakdown_make(Breakdown *breakdown, const ScoredText *text, size_t runs, size_t window);
void breakdown_free(Breakdown *breakdown);
/* Adds the losses of a run while it scores the text; one run after another. */
ScoreListener breakdown_listener(Breakdown *breakdown);

/* --- by position; names of the runs (breakdown->runs) --- */

/* How many ranges windows of this length have. */
size_t position_ranges(size_t window);
/* The table, and the chart below it. */
void positions_print(const Breakdown *breakdown, const char *const *names);
/* For a run: an array of ranges with their losses. */
json_t *positions_json(const PositionLosses *losses);
bool positions_write_svg(const Breakdown *breakdown, const char *const *names, const char *path,
                         Error *error);

/* --- paired: each run after the first against the first --- */

void paired_print(const Breakdown *breakdown, const char *const *names);
json_t *paired_json(const Breakdown *breakdown, const char *const *names);

#endif
