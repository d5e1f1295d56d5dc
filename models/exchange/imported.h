/* A model of a directory in another program's form, or in a form that linnet exported. */
#ifndef LINNET_IMPORTED_H
#define LINNET_IMPORTED_H

#include "models/exchange/plan.h"

typedef struct ImportedModel {
    ImportPlan plan;
    Vocabulary vocabulary;
    Model model;
} ImportedModel;

/* Reads and checks everything in the directory before the weights are allocated. On failure
 * there is nothing to close. */
bool imported_open(ImportedModel *imported, const char *folder, Error *error);
void imported_close(ImportedModel *imported);

/* Makes a run directory: best.safetensors and settings.conf. It appears whole or not at all. */
bool imported_save(const ImportedModel *imported, const char *source, const char *run,
                   Error *error);

#endif
