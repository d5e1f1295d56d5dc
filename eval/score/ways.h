/* Ways of scoring a split of a corpus, each a row: the model alone, with a temperature, with a
 * neural cache, with dynamic evaluation; several models as an ensemble. The options of eval say
 * which.
 *
 * Temperature scaling divides every logit by T before the softmax. A model trained for long is
 * overconfident, one trained with heavy dropout underconfident; one number corrects that. The
 * loss is a convex function of 1 / T, so there is one best temperature. It must be tuned on
 * another text than the one scored.
 *
 * An ensemble is the average of the probabilities that several models predict,
 *
 *   p(w) = (p_1(w) + ... + p_M(w)) / M
 *
 * for each token of a text. Models that make different mistakes predict better together than
 * the best of them alone. */
#ifndef LINNET_WAYS_H
#define LINNET_WAYS_H

#include "eval/score/cache.h"
#include "eval/score/dynamic.h"
#include "models/checkpoint.h"
#include "src/base/json.h"

/* --- the options --- */

typedef struct EvalOptions {
    size_t split, threads;
    bool json;
    CorpusOptions corpus; /* what a checkpoint fixes is for the baseline only */

    size_t runs;     /* to score */
    bool separately; /* they are those of a grid: each is scored as if it were alone */
    bool by_position, paired;
    char *svg; /* the file to write; NULL: none */
    size_t window, stride, batch, carry_state, precision;

    double temperature; /* 0: none */
    bool tune_temperature;
    size_t cache; /* 0: none */
    CacheSettings cache_settings;
    bool tune_cache;
    bool dynamic;
    DynamicOptions dynamic_settings;
    size_t dynamic_segment;
    bool tune_dynamic;

    bool baseline;
    size_t order;
} EvalOptions;

typedef enum SplitName { SPLIT_VALID, SPLIT_TEST, SPLIT_TRAIN } SplitName;

Options eval_options(EvalOptions *options);

/* These exit with an error on contradictory options; the second one once the runs are counted.
 */
void eval_options_check(const EvalOptions *options, const Options *groups,
                        const CommandLine *line);
void eval_options_check_runs(const EvalOptions *options);
/* Completes the protocol with the model's defaults, and sets whether the model carries its
 * state. */
void eval_options_settle(EvalOptions *options, ModelConfig *config);

/* --- the ways --- */

/* A setting of a way of scoring; the first one is named after the way. */
typedef struct WaySetting {
    const char *name;
    double value;
    bool found; /* tuned on the validation text */
} WaySetting;

enum { WAY_SETTINGS = 5 };

typedef struct ScoreRow {
    WaySetting settings[WAY_SETTINGS];
    size_t setting_count; /* 0: the model alone */
    Score score;
    size_t window, stride, carried_streams;
} ScoreRow;

/* The model alone, with a temperature, with a cache, with dynamic evaluation. */
enum { WAYS_MOST = 4 };

/* A corpus, and the split of it that is scored. */
typedef struct ScoredText {
    const Corpus *corpus;
    const CorpusSplit *split;
} ScoredText;

/* The options must be complete. The first row is the model alone, whose reading other
 * listeners, at most three, get too; returns the number of rows. */
size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options,
                  const LoadedModel *loaded, const ScoredText *text,
                  const ScoreListener *others, size_t other_count);

/* Several temperatures share one reading of the text: only the head is computed for each. */
enum { TEMPERATURES_MOST = 5 };

typedef struct Temperatures {
    double values[TEMPERATURES_MOST], nats[TEMPERATURES_MOST]; /* zeros before a text is read */
    size_t count;
} Temperatures;

/* Adds up the nats while a text is scored. */
ScoreListener temperatures_listener(Temperatures *temperatures);
/* The temperature with the lowest loss of a text, to three decimals, between 1/16 and 16.
 * Searches in steps of 8 % from 1 on, and between steps by a parabola. */
double temperature_tune(Scorer *scorer, const CorpusSplit *split);

typedef struct Ensemble {
    const CorpusSplit *split;
    double *logs; /* (scored tokens) the log of the sum of the runs' probabilities */
    size_t runs;  /* that have read the whole text */
    size_t next;  /* the next token */
} Ensemble;

/* The text must outlive it. */
void ensemble_make(Ensemble *ensemble, const CorpusSplit *split);
void ensemble_free(Ensemble *ensemble);
/* Adds what a run predicts while it scores the text; one run after another. */
ScoreListener ensemble_listener(Ensemble *ensemble);
/* The nats of the text by the average of all. */
double ensemble_nats(const Ensemble *ensemble);

/* --- printing --- */

/* To stdout, and as an object; the first row is the model alone. With a name, which need not be
 * safe: as one run of several. */
void score_rows_print(const char *name, const ScoreRow *rows, size_t count,
                      const ScoredText *text);
json_t *score_rows_json(const ScoreRow *rows, size_t count, const ScoredText *text);

/* The mean over seeds, from a row for each, and its 95 % interval. */
void seeds_print(const ScoreRow *rows, size_t count, const CorpusSplit *split);
json_t *seeds_json(const ScoreRow *rows, size_t count);

void ensemble_print(const Ensemble *ensemble);
/* Its figures and how many runs it is of. */
json_t *ensemble_json(const Ensemble *ensemble);

/* Saves the rows with finite scores in the run directory. */
void score_rows_note(const ScoreRow *rows, size_t count, const ScoredText *text,
                     const char *run, size_t step);

/* --- the loss of a text, in nats for all of it, as the figures that people compare --- */

/* What losses are of: "answer" in synthetic tasks. */
static inline const char *scored_unit(const CorpusSplit *split)
{
    return split->labels.data ? "answer" : "token";
}

/* "loss 4.4 nats per token, perplexity ..., ... bits per character, ... per byte"; the caller
 * frees. */
char *figures_text(double nats, const CorpusSplit *split);
/* The same figures, the nats, and the size of the split. */
json_t *figures_json(double nats, const CorpusSplit *split);

#endif
