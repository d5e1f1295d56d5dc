/* What eval found out: a row for each way in which a text was scored. */
#ifndef LINNET_SCORE_ROWS_H
#define LINNET_SCORE_ROWS_H

#include "eval/runs/scores.h"
#include "eval/score/scorer.h"

/* A number that a way of scoring goes by; the first one's name is that of the way. */
typedef struct WaySetting {
    const char *name;
    double value;
    bool found; /* on the validation text */
} WaySetting;

enum { WAY_SETTINGS = 4 };

typedef struct ScoreRow {
    WaySetting settings[WAY_SETTINGS];
    size_t setting_count; /* 0: the model as it is */
    Score score;
    size_t window, stride, carried_streams;
} ScoreRow;

/* The text that was scored, for those who print. */
typedef struct ScoredText {
    const CorpusSplit *split;
    bool is_validation;
} ScoredText;

/* On stdout; the first row is the model as it is. */
void score_rows_print(const ScoreRow *rows, size_t count, const ScoredText *text);
void score_rows_print_json(const ScoreRow *rows, size_t count, const ScoredText *text);

/* Leaves the rows whose scores are finite in the run's folder. */
void score_rows_note(const ScoreRow *rows, size_t count, const ScoredText *text,
                     const char *run, size_t step);

#endif
