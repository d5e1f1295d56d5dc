/* scores.csv in a run directory: results of eval, one row for each text, protocol and method.
 * compare shows test perplexities from it, and which ones are comparable. */
#ifndef LINNET_SCORES_H
#define LINNET_SCORES_H

#include "src/base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define RUN_SCORES  "scores.csv"
#define SCORE_PLAIN "plain" /* the method: the model alone */

enum { SCORE_SPLIT = 16, SCORE_METHOD = 96 };

typedef struct RunScore {
    char split[SCORE_SPLIT]; /* "train", "valid", "test" */
    size_t window, stride;   /* window 0: unknown, as of a table of runs */
    size_t carried_streams;  /* 0: no state was carried */
    size_t text_crc;         /* CRC-32 of the token ids that were scored */
    size_t tokens, bytes;    /* of the text; bytes 0: noted before they were */
    size_t bytes_crc;        /* CRC-32 of the bytes; 0: unknown */
    double nats;
    double accuracy; /* share of right answers in a synthetic task; NaN: no such task */
    size_t step;     /* of the checkpoint */
    /* Printable ASCII without commas: the method, such as "cache 500 theta tuned lambda tuned",
     * and the tuned values, such as "theta 0.1 lambda 0.05". */
    char method[SCORE_METHOD], found[SCORE_METHOD];
} RunScore;

/* Nats per token. */
double score_row_loss(const RunScore *score);
/* Whether the method is SCORE_PLAIN. */
bool score_is_plain(const RunScore *score);
/* Bits per byte; NaN if the bytes are unknown. */
double score_row_bits(const RunScore *score);

/* What makes two scores comparable besides the protocol: the same tokens, or, for bits per
 * byte, the same bytes. */
typedef enum ScoreUnit { SCORE_PER_TOKEN, SCORE_PER_BYTE } ScoreUnit;
bool score_same_protocol(const RunScore *a, const RunScore *b, ScoreUnit unit);

/* "Test perplexity: 82430 tokens, window 256, stride 64."; the caller's. */
char *score_protocol_text(const RunScore *score, ScoreUnit unit);

/* Reads an untrusted file, also of earlier versions. *scores becomes an array of stb_ds, NULL
 * if there are none or on failure. */
bool scores_read(const char *path, RunScore **scores, Error *error);

/* Saves a finite score of the run's own text in the file, which need not exist; replaces an
 * older one by the same protocol, and those of another text. */
bool scores_note(const char *path, const RunScore *score, Error *error);

#endif
