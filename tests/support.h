/* What several test files need besides tests/scratch.h: a small model, and sharp looks at
 * errors and files. */
#ifndef LINNET_TEST_SUPPORT_H
#define LINNET_TEST_SUPPORT_H

#include "models/update.h"

#include <check.h>

/* Whether two files hold the same bytes. */
bool support_same_files(const char *a, const char *b);

/* An error has to be one line for people that names what it is about and holds a phrase. */
void support_check_error(const Error *error, const char *about, const char *phrase);

/* One kind for all layers, and positions that it can do with. */
Choices one_kind(size_t kind);
size_t positions_for(size_t kind, size_t wanted);

/* A model with weights; spread above 0 moves them far enough apart to matter. */
typedef struct SmallModel {
    Model model;
    Arena arena;
} SmallModel;

void small_model_make(SmallModel *small, ModelConfig config, double spread);
void small_model_free(SmallModel *small);

/* The length of the gradient of the mean over so many tokens. */
double gradient_norm(const Model *model, const real *gradient, size_t tokens);

#endif
