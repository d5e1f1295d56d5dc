#include "models/loaded.h"

#include <stdlib.h>

bool loaded_open(LoadedModel *loaded, const char *run, Error *error)
{
    *loaded = (LoadedModel){0};
    char *path = checkpoint_path(run, error);
    bool good = path && checkpoint_open(&loaded->checkpoint, path, error);
    free(path);
    if (!good)
        return false;
    model_make(&loaded->model, &loaded->checkpoint.config);
    model_layout(&loaded->model, &loaded->arena);
    arena_allocate(&loaded->arena, "the model");
    model_layout(&loaded->model, &loaded->arena);
    if (checkpoint_load(&loaded->checkpoint, loaded->model.base, NULL, NULL, NULL, error))
        return true;
    loaded_close(loaded);
    return false;
}

void loaded_close(LoadedModel *loaded)
{
    model_free(&loaded->model);
    arena_free(&loaded->arena);
    checkpoint_close(&loaded->checkpoint);
}
