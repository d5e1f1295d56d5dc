/* A trained model, opened for use: settings, vocabulary and weights. */
#ifndef LINNET_LOADED_H
#define LINNET_LOADED_H

#include "models/checkpoint.h"

typedef struct LoadedModel {
    Checkpoint checkpoint;
    Model model;
    Arena arena; /* of the weights */
} LoadedModel;

/* Opens a run directory (its best checkpoint) or a checkpoint file. */
bool loaded_open(LoadedModel *loaded, const char *run, Error *error);
void loaded_close(LoadedModel *loaded);

#endif
