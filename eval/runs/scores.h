/* What eval found out about a run, noted in the run's folder as scores.csv: one row for each
 * text, protocol and method, so that the table of compare can show a test perplexity, and knows
 * which ones were measured alike. */
#ifndef LINNET_SCORES_H
#define LINNET_SCORES_H

#include "src/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RUN_SCORES  "scores.csv"
#define SCORE_PLAIN "plain" /* the method that is the model as it is */

enum { SCORE_SPLIT = 16, SCORE_METHOD = 96 };

typedef struct RunScore {
    char split[SCORE_SPLIT]; /* "train", "valid", "test" */
    size_t window, stride;
    size_t carried_streams; /* 0: no state was carried */
    size_t text_crc;        /* CRC-32 of the token ids that were scored */
    size_t tokens;
    double nats;
    size_t step; /* of the checkpoint */
    /* Printable ASCII without commas: what was done besides reading, such as "cache 500 theta
     * tuned lambda tuned"; and what tuning found, such as "theta 0.1 lambda 0.05". */
    char method[SCORE_METHOD], found[SCORE_METHOD];
} RunScore;

/* Nats per token. */
double score_row_loss(const RunScore *score);
/* Whether it is of the model as it is, with nothing beside it. */
bool score_is_plain(const RunScore *score);
/* Whether two figures may stand side by side: the same text read in the same way. */
bool score_same_protocol(const RunScore *a, const RunScore *b);

/* Reads a file that anyone may have written, also one from before there were methods; *scores
 * becomes an array of stb_ds (arrlen, arrfree), NULL when there are none. On failure it is
 * NULL. */
bool scores_read(const char *path, RunScore **scores, Error *error);

/* Notes a score in the file, which need not exist, in place of an older one by the same
 * protocol. The score is finite. */
bool scores_note(const char *path, const RunScore *score, Error *error);

#endif
