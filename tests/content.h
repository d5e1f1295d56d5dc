/* The contents of a checkpoint: a small model, its vocabulary and moments, and a file for them.
 */
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
    char *path; /* in the scratch directory */
} Content;

/* The vocabulary size of the config must be that of content_config. */
void content_make(Content *content, ModelConfig config);
void content_free(Content *content);

/* With the metadata "step" and "note". */
void content_save(const Content *content, const char *path, bool with_moments);

/* Opens and loads the file, as a program would; returns the first error. */
bool content_use(const char *path, Error *error);

#endif
