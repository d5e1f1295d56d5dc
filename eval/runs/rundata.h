/* What a training run left in its folder, as far as comparing runs needs it.
 *
 * Only settings.conf, log.csv and, if it is there, scores.csv are read, all with suspicion: a
 * folder may come from another machine, another version or another program. The checkpoints are
 * left alone, so that runs can be compared while they train. */
#ifndef LINNET_RUNDATA_H
#define LINNET_RUNDATA_H

#include "eval/runs/runlog.h"
#include "eval/runs/scores.h"

#include <stdio.h>

#define RUN_SETTINGS "settings.conf"
#define RUN_LOG      "log.csv"

typedef struct RunSetting {
    char *name, *value;
} RunSetting;

typedef struct RunData {
    char *path, *name;    /* as given, and the folder's own name */
    RunSetting *settings; /* an array of stb_ds, in the order of the file */
    const char *attn;     /* of these; NULL when they do not say; so is corpus */
    const char *corpus;
    size_t parameters;    /* 0 when the settings do not say */
    double entropy_floor; /* nats per token that no model can save; NaN when not known */
    RunLogRow *rows;      /* an array of stb_ds */
    RunScore *scores;     /* an array of stb_ds; what eval noted */

    /* Drawn from the rows; NaN where there is nothing to draw from. */
    size_t validations;
    double best_val_loss, best_epoch; /* of the finite ones */
    size_t best_step;
    double final_train_loss;  /* may be a true NaN: the run went wrong */
    double tokens_per_second; /* the median */
    double seconds;           /* of the last row */
    double peak_mb;           /* the most of any row */

    size_t identity; /* among those that it is drawn with: see palette.h and groups.h */
} RunData;

/* Reads a run's folder; the caller frees the run with rundata_free, after a failure too. */
bool rundata_read(RunData *run, const char *path, Error *error);
void rundata_free(RunData *run);

/* The last word of the settings on one of them, NULL if there is none. */
const char *rundata_setting(const RunData *run, const char *name);

/* The run's score by the protocol of another one, if it is of what is its best checkpoint by
 * now; else NULL. */
const RunScore *rundata_score(const RunData *run, const RunScore *protocol);
/* A plain test score by the protocol that most of the runs have one by; NULL if there is none.
 */
const RunScore *rundata_shared_test(const RunData *runs, size_t count);

/* Prints the run as one JSON object: what is above, and a point for every validation. Numbers
 * that are unknown or not finite are null; names stand as terminals show them, so that they are
 * always valid UTF-8. */
void rundata_print_json(FILE *stream, const RunData *run);

#endif
