/* Scores one split of a corpus in all ways that the options request: a row for each. */
#ifndef LINNET_WAYS_H
#define LINNET_WAYS_H

#include "eval/score/options.h"
#include "models/score.h"
#include "src/base/json.h"

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

/* The options must be complete. The first row is the model alone; returns the number of rows.
 */
size_t ways_score(ScoreRow rows[WAYS_MOST], const EvalOptions *options, const Model *model,
                  const Corpus *corpus, const CorpusSplit *split);

/* The scored text, for printing. */
typedef struct ScoredText {
    const Corpus *corpus;
    const CorpusSplit *split; /* of it */
} ScoredText;

/* "window 128, stride 32"; the caller frees. */
char *score_row_protocol(const ScoreRow *row);
/* Adds the figures of the row and its protocol to an object. */
void score_row_add_json(json_t *object, const ScoreRow *row, const CorpusSplit *split);

/* Print to stdout; the first row is the model alone. */
void score_rows_print(const ScoreRow *rows, size_t count, const ScoredText *text);
void score_rows_print_json(const ScoreRow *rows, size_t count, const ScoredText *text);

/* Saves the rows with finite scores in the run directory. */
void score_rows_note(const ScoreRow *rows, size_t count, const ScoredText *text,
                     const char *run, size_t step);

/* --- the loss of a text, in nats for all of it, as the figures that people compare --- */

/* "loss 4.4 nats per token, perplexity ..., ... bits per character, ... per byte"; the caller
 * frees. */
char *figures_text(double nats, const CorpusSplit *split);
/* The same figures, the nats, and the size of the split. */
json_t *figures_json(double nats, const CorpusSplit *split);
/* Prints the size of the split, the protocol, such as "window 128, stride 32", and the nats. */
void figures_print_size(const CorpusSplit *split, const char *protocol, double nats);

#endif
