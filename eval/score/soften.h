/* Writes soft targets (data/soft_targets.h): the mean of what several runs predict for each
 * token of a text. Runs read the text one after the other, and each is averaged into the
 * records of those before it. */
#ifndef LINNET_SOFTEN_H
#define LINNET_SOFTEN_H

#include "data/soft_targets.h"
#include "models/score.h"

typedef struct Softener {
    const char *path;
    const CorpusSplit *split;
    size_t vocabulary, listed;
    real *unigram;     /* (vocabulary) */
    uint16_t *records; /* (tokens, 2 listed) */
    real *logits;      /* (SOFTEN_ROWS, vocabulary), then probabilities */
    size_t runs;       /* that have read the whole text */
    size_t at;         /* the next token */
} Softener;

/* Fails if the file cannot be written or the vocabulary is too large. Texts only. The split and
 * the path must outlive it. */
bool softener_make(Softener *softener, const char *path, const CorpusSplit *split,
                   size_t vocabulary, Error *error);
void softener_free(Softener *softener);

/* Listens to one run after the other. */
ScoreListener softener_listener(Softener *softener);

/* Writes the file and says so on the screen. */
bool softener_write(const Softener *softener, Error *error);

#endif
