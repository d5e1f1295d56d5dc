/* What eval prints of one run or of several: their scores, the mean of seeds, the ensemble, the
 * losses of parts of the text, paired differences. */
#ifndef LINNET_TOGETHER_H
#define LINNET_TOGETHER_H

#include "eval/runs/rundata.h"
#include "eval/score/breakdown.h"

typedef struct Together {
    const EvalOptions *options; /* these two are given */
    char *const *runs;          /* (options->runs) */
    RunData *settings;          /* an array of stb_ds, of the runs that were met */
    char **names;               /* an array of stb_ds, as shown */
    ScoreRow *rows;             /* an array of stb_ds, of each run the plain one */
    json_t *objects;            /* with --json: of each run */
    bool averages;              /* there is an ensemble */
    Breakdown breakdown;
    Ensemble ensemble;
    ScoreListener listeners[2]; /* (count) to all runs */
    size_t count;
} Together;

/* Learns the settings of a run, of which there are several; before the others. */
bool together_meet(Together *together, const char *run, const Checkpoint *checkpoint,
                   Error *error);
/* Of runs that are not scored separately the text must outlive it; the window is that of the
 * first run. */
void together_begin(Together *together, const ScoredText *text, size_t window);
/* Takes the rows of a run; prints them unless --json is given. */
void together_add(Together *together, size_t run, const ScoreRow *rows, size_t count,
                  const ScoredText *text);
/* Prints the rest, writes the files, and frees it. */
void together_end(Together *together, const CorpusSplit *split);

#endif
