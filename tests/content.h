/* All that a checkpoint holds: a small model, its words, moments, and a file for it. */
#ifndef LINNET_TEST_CONTENT_H
#define LINNET_TEST_CONTENT_H

#include "models/checkpoint.h"
#include "tests/support.h"

extern const ModelConfig content_config;
extern const CorpusOptions content_corpus;

typedef struct Content {
    SmallModel small;
    Vocabulary vocabulary;
    real *m, *v;
    char *path; /* in the scratch folder */
} Content;

/* The config's vocabulary must be content_config's. */
void content_make(Content *content, ModelConfig config);
void content_free(Content *content);

/* With "step" and "note" beside it. */
void content_save(const Content *content, const char *path, bool with_moments);

/* Opens and loads, as a program would; the error is the first one. */
bool content_use(const char *path, Error *error);

#endif
