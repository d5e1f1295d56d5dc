/* The results of eval: a row for each way of scoring. */
#ifndef LINNET_SCORE_ROWS_H
#define LINNET_SCORE_ROWS_H

#include "eval/runs/scores.h"
#include "eval/score/scorer.h"
#include "src/json.h"

/* A setting of a way of scoring; the first one is named after the way. */
typedef struct WaySetting {
    const char *name;
    double value;
    bool found; /* tuned on the validation text */
} WaySetting;

enum { WAY_SETTINGS = 4 };

typedef struct ScoreRow {
    WaySetting settings[WAY_SETTINGS];
    size_t setting_count; /* 0: the model alone */
    Score score;
    size_t window, stride, carried_streams;
} ScoreRow;

/* The scored text, for printing. */
typedef struct ScoredText {
    const CorpusSplit *split;
    bool is_validation;
} ScoredText;

/* "loss 4.4 nats per token, perplexity ..., ... bits per character"; the caller frees. */
char *score_figures_text(double nats, const CorpusSplit *split);
/* Add to an object: the same figures and the nats; the size of the split. */
void score_add_figures(json_t *object, double nats, const CorpusSplit *split);
void score_add_size(json_t *object, const CorpusSplit *split);

/* Print to stdout; the first row is the model alone. */
void score_rows_print(const ScoreRow *rows, size_t count, const ScoredText *text);
void score_rows_print_json(const ScoreRow *rows, size_t count, const ScoredText *text);

/* Saves the rows with finite scores in the run directory. */
void score_rows_note(const ScoreRow *rows, size_t count, const ScoredText *text,
                     const char *run, size_t step);

#endif
