/* Helpers for several test files: a small model, and checks of errors and files. */
#ifndef LINNET_TEST_SUPPORT_H
#define LINNET_TEST_SUPPORT_H

#include "models/update.h"
#include "train/loop/options.h"

#include <check.h>

/* Whether two files are identical. */
bool support_same_files(const char *a, const char *b);

/* The error must be one line that names its subject and contains a phrase. */
void support_check_error(const Error *error, const char *about, const char *phrase);

/* Settings as train has them: the defaults, changed by lines "name = value". */
void support_settle(Settings *settings, const char *lines);

/* How many kinds of attention there are. */
int count_kinds(void);

/* One kind for all layers, and a position encoding that it supports. */
Choices one_kind(size_t kind);
size_t positions_for(size_t kind, size_t wanted);

/* config_check of a config built in code: options that it left at zero get their defaults. */
bool support_check_config(ModelConfig *config, Error *error);

/* A model with weights; a spread above 0 makes them differ enough to matter. */
typedef struct SmallModel {
    Model model;
} SmallModel;

void small_model_make(SmallModel *small, ModelConfig config, double spread);
void small_model_free(SmallModel *small);

/* An input of a loss: rows of columns, `stride` apart; and its gradient, in the same shape,
 * which was added to `base`. */
typedef struct Variable {
    const char *name;
    real *value;
    const real *gradient;
    real base;
    size_t rows, columns, stride;
} Variable;

/* The gradient must agree with central differences of the loss in a random direction, in which
 * every element counts, and for some single elements. Needs double reals. */
void check_slopes(const Variable *x, double (*loss)(void *of), void *of, const char *label);

/* The norm of the gradient of the mean loss over this many tokens. */
double gradient_norm(const Model *model, const real *gradient, size_t tokens);

#endif
