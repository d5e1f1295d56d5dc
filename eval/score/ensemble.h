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
    EnsembleRun *runs; /* room for all, from the caller; freed with the ensemble */
    size_t count;      /* of the runs that have read the text */
    double *logs;      /* (tokens) the log of the sum of their probabilities */
} Ensemble;

/* Scores the text with one more model, whose options are complete; sets its row. */
void ensemble_read(Ensemble *ensemble, const EvalOptions *options, const Model *model,
                   const CorpusSplit *split, int32_t prime);
void ensemble_free(Ensemble *ensemble);

/* The nats of the text by the average of all. */
double ensemble_nats(const Ensemble *ensemble, size_t tokens);

/* Print to stdout, a line for each run and one for the average. */
void ensemble_print(const Ensemble *ensemble, const ScoredText *text);
void ensemble_print_json(const Ensemble *ensemble, const ScoredText *text);

#endif
