/* The weights of an imported model. */
#ifndef LINNET_IMPORT_TENSORS_H
#define LINNET_IMPORT_TENSORS_H

#include "models/exchange/plan.h"

/* Checks that the files have all tensors of the model, in the right shapes, and no others: so
 * what the model takes is bounded by the size of the files. */
bool tensors_check(TensorStore *store, const ImportPlan *plan, const ParamTable *table,
                   Error *error);
/* Loads what was checked. Tensors that the files need not have become zero. */
bool tensors_load(const TensorStore *store, const ImportPlan *plan, Model *model, Error *error);

#endif
