/* An ensemble: the average of the probabilities that several models predict,
 *
 *   p(w) = (p_1(w) + ... + p_M(w)) / M
 *
 * for each token of a text. Models that make different mistakes predict better together than
 * the best of them alone. */
#ifndef LINNET_ENSEMBLE_H
#define LINNET_ENSEMBLE_H

#include "eval/score/ways.h"

typedef struct EnsembleRun {
    const char *name; /* of the caller */
    ScoreRow row;     /* of the run alone */
} EnsembleRun;

typedef struct Ensemble {
    EnsembleRun *runs;
    size_t count; /* of the runs that have read the text */
    const CorpusSplit *split;
    double *logs; /* for each scored token, the log of the sum of the runs' probabilities */
} Ensemble;

/* For a text and a number of runs; the text must outlive it. */
void ensemble_make(Ensemble *ensemble, size_t runs, const CorpusSplit *split);
void ensemble_free(Ensemble *ensemble);

/* Scores the text with one more run, whose options are complete; returns its row. Another
 * listener may be NULL. */
const ScoreRow *ensemble_read(Ensemble *ensemble, const char *name, const EvalOptions *options,
                              const Model *model, int32_t prime, const ScoreListener *another);

/* The nats of the text by the average of all. */
double ensemble_nats(const Ensemble *ensemble);

/* Print to stdout, a line for each run and one for the average. */
void ensemble_print(const Ensemble *ensemble);
void ensemble_print_json(const Ensemble *ensemble);

#endif
