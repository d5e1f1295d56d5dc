/* What a model's directory holds: its tensors, in model.safetensors or in the shards that
 * model.safetensors.index.json lists, and JSON files. Nothing in the directory is trusted. */
#ifndef LINNET_STORE_H
#define LINNET_STORE_H

#include "models/exchange/family.h"
#include "models/safetensors.h"
#include "src/base/json.h"

typedef struct StoredTensor {
    const char *name; /* owned by the file */
    const SafetensorsFile *file;
    const TensorEntry *entry;
    bool used; /* whether it became a part of the model */
} StoredTensor;

typedef struct TensorStore {
    SafetensorsFile **files; /* an stb_ds array */
    StoredTensor *tensors;   /* sorted by name, an stb_ds array */
} TensorStore;

/* On failure there is nothing to close. */
bool store_open(TensorStore *store, const char *folder, Error *error);
void store_close(TensorStore *store);

/* The tensor that has this part of a model, with or without the prefix of the form. */
StoredTensor *store_find_tensor(const TensorStore *store, const FamilyForm *form,
                                const FamilyTensor *tensor);
/* The metadata of the first file that has this key; NULL if none has. */
const char *store_metadata(const TensorStore *store, const char *key);

/* Reads a JSON object from a file of at most `most` bytes; NULL on failure. */
enum { STORE_SMALL = 1 << 20, STORE_LARGE = 1 << 26 };
json_t *store_json(const char *folder, const char *name, size_t most, Error *error);

#endif
