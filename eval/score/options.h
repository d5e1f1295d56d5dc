/* The options of eval, and their checks. */
#ifndef LINNET_EVAL_OPTIONS_H
#define LINNET_EVAL_OPTIONS_H

#include "data/corpora/corpus.h"
#include "models/config.h"
#include "src/base/options.h"

typedef struct EvalOptions {
    size_t split, threads;
    bool json;
    CorpusOptions corpus; /* what a checkpoint fixes is for the baseline only */

    size_t runs; /* to score: of several, the average too */
    size_t window, stride, batch, carry_state, precision;

    double temperature; /* 0: none */
    bool tune_temperature;
    size_t cache; /* 0: none */
    double cache_theta, cache_lambda;
    bool tune_cache;
    bool dynamic;
    double dynamic_lr, dynamic_decay, dynamic_epsilon;
    size_t dynamic_segment, dynamic_statistics;
    bool tune_dynamic;

    char *soft_targets; /* the file to write; NULL: none */
    bool baseline;
    size_t order;
} EvalOptions;

typedef enum SplitName { SPLIT_VALID, SPLIT_TEST, SPLIT_TRAIN } SplitName;

enum { EVAL_GROUPS = 6 };
void eval_options_groups(EvalOptions *options, OptionGroup groups[EVAL_GROUPS]);

/* These exit with an error on contradictory options. */
void eval_options_check(const EvalOptions *options, const OptionGroup groups[EVAL_GROUPS],
                        const CommandLine *line);
/* Completes the protocol with the model's defaults, and sets whether the model carries its
 * state. */
void eval_options_settle(EvalOptions *options, ModelConfig *config);

#endif
