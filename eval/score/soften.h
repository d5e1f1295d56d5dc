/* Writes soft targets (data/corpora/soft_targets.h): the mean of what several runs predict for
 * each token of a text. Runs read the text one after the other, and each is averaged into the
 * records of those before it, which are in the file. */
#ifndef LINNET_SOFTEN_H
#define LINNET_SOFTEN_H

#include "data/corpora/soft_targets.h"
#include "models/score.h"

typedef struct Softener {
    SoftWriter writer;
    const char *path;
    const CorpusSplit *split;
    size_t vocabulary, listed;
    real *unigram;     /* (vocabulary) */
    real *logits;      /* (SOFTEN_ROWS, vocabulary), then probabilities */
    uint16_t *records; /* (SOFTEN_ROWS, 2 listed) of the same tokens */
    double units;      /* of probability in the records that the last run has put */
    size_t runs;       /* that have read the whole text */
    size_t next;       /* the next token */
} Softener;

/* Fails if the file cannot be written or the vocabulary is too large. Texts only. The split and
 * the path must outlive it. */
bool softener_make(Softener *softener, const char *path, const CorpusSplit *split,
                   size_t vocabulary, Error *error);
void softener_free(Softener *softener);

/* Listens to one run after the other; ends the program if the disk is full. */
ScoreListener softener_listener(Softener *softener);

/* Completes the file and says so on the screen. */
bool softener_write(Softener *softener, Error *error);

#endif
