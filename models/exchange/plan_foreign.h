/* The part of plan.h that reads the config.json of other programs. */
#ifndef LINNET_IMPORT_PLAN_FOREIGN_H
#define LINNET_IMPORT_PLAN_FOREIGN_H

#include "models/exchange/plan.h"

/* The value as one would type it for an option; NULL if it is none. The caller frees. */
char *plan_typed(const json_t *value);

/* The value in a message. */
TensorLabel plan_shown(const json_t *value);

/* Whether two values mean the same: 1 and 1.0, true and the word yes. */
bool plan_means(const json_t *a, const json_t *b);

/* Which biases the files have. */
bool plan_read_biases(ImportPlan *plan, const json_t *root, Error *error);

/* All settings, for the family of the plan. */
bool plan_read_foreign(ImportPlan *plan, const json_t *root, Error *error);

#endif
