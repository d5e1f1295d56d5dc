/* Scores one split of a corpus in all ways that the options request. */
#ifndef LINNET_WAYS_H
#define LINNET_WAYS_H

#include "eval/score/options.h"
#include "eval/score/rows.h"

/* The model alone, with a temperature, with a cache, with dynamic evaluation. */
enum { WAYS_MOST = 4 };

/* The options must be complete. The first row is the model alone; returns the number of rows.
 */
size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options, const Model *model,
                  const Corpus *corpus, const CorpusSplit *split);

#endif
