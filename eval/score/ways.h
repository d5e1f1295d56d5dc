/* Scores one split of a corpus in all the ways that the options ask for. */
#ifndef LINNET_WAYS_H
#define LINNET_WAYS_H

#include "eval/score/options.h"
#include "eval/score/rows.h"

/* As the model is, at a temperature, with a cache, and learning. */
enum { WAYS_MOST = 4 };

/* The options have been settled. The first row is the model as it is; returns how many there
 * are. */
size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options, const Model *model,
                  const Corpus *corpus, const CorpusSplit *split);

#endif
