#include "models/exchange/store.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

#define WEIGHTS "model.safetensors"
#define INDEX   "model.safetensors.index.json"

enum { MOST_SHARDS = 256 };

/* --- the files --- */

static json_t *parse(const char *path, const char *text, size_t size, Error *error)
{
    json_error_t where;
    json_t *root = json_parse(text, size, &where);
    if (!root)
        error_set(error, "%s:%d: not valid JSON: %s", path, where.line,
                  tensor_label(where.text).text);
    else if (!json_is_object(root))
        error_set(error, "%s: not a JSON object", path);
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

json_t *store_json(const char *folder, const char *name, size_t most, Error *error)
{
    char *path = file_join(folder, name), *text;
    size_t size;
    json_t *root = NULL;
    if (file_read(path, most, &text, &size, error)) {
        root = parse(path, text, size, error);
        free(text);
    }
    free(path);
    return root;
}

static bool add_file(TensorStore *store, const char *folder, const char *name, Error *error)
{
    char *path = file_join(folder, name);
    SafetensorsFile *file = memory_new(1, sizeof *file, "a tensor file");
    bool good = safetensors_open(file, path, error);
    if (good)
        arrput(store->files, file);
    else
        free(file);
    free(path);
    return good;
}

/* A name without a path: an index must not lead out of its directory. */
static bool is_plain_name(const char *name)
{
    static const char ending[] = ".safetensors";
    size_t length = strlen(name), tail = sizeof ending - 1;
    if (length <= tail || strcmp(name + length - tail, ending) != 0 || *name == '.')
        return false;
    for (const char *c = name; *c; c++)
        if (*c == '/' || *c == '\\' || (unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return true;
}

static bool add_shard(TensorStore *store, const char *folder, const char *shard, Error *error)
{
    for (size_t i = 0; i < arrlenu(store->files); i++)
        if (strcmp(file_base_name(store->files[i]->path), shard) == 0)
            return true;
    if (arrlenu(store->files) == MOST_SHARDS)
        return error_set(error, "%s/" INDEX ": more than %d files", folder, MOST_SHARDS);
    return add_file(store, folder, shard, error);
}

static bool add_shards(TensorStore *store, const char *folder, json_t *map, Error *error)
{
    const char *name;
    json_t *value;
    if (!json_is_object(map) || json_object_size(map) == 0)
        return error_set(error, "%s/" INDEX ": no \"weight_map\" that names the files", folder);
    json_object_foreach(map, name, value)
    {
        const char *shard = json_string_value(value);
        if (!shard || !is_plain_name(shard))
            return error_set(error,
                             "%s/" INDEX ": tensor %s: '%s' is no name of a .safetensors file "
                             "in this directory",
                             folder, tensor_label(name).text,
                             shard ? tensor_label(shard).text : "");
        if (!add_shard(store, folder, shard, error))
            return false;
    }
    return true;
}

/* Whether the weights exist in a form that is not read; the error says what to do. */
static bool refuse_other_forms(const char *folder, Error *error)
{
    static const char *const pickles[] = {"pytorch_model.bin", "pytorch_model.bin.index.json",
                                          "model.pt", "consolidated.00.pth"};
    for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++)
        if (file_is_in(folder, pickles[i]))
            return error_set(error,
                             "%s/%s: a pickle, which can run code when it is opened, so linnet "
                             "reads none; save the model as safetensors: in transformers, "
                             "save_pretrained(DIR, safe_serialization=True)",
                             folder, pickles[i]);
    return error_set(error,
                     "%s: no " WEIGHTS " in this directory; it should be a model as Hugging "
                     "Face transformers saves it, or one that linnet exported",
                     folder);
}

/* *index becomes the index, if there is one; the caller frees it. */
static bool open_files(TensorStore *store, const char *folder, json_t **index, Error *error)
{
    bool whole = file_is_in(folder, WEIGHTS), sharded = file_is_in(folder, INDEX);
    if (whole && sharded)
        return error_set(error,
                         "%s: has both " WEIGHTS " and " INDEX "; remove the one that is not "
                         "the model",
                         folder);
    if (whole)
        return add_file(store, folder, WEIGHTS, error);
    if (!sharded)
        return refuse_other_forms(folder, error);
    *index = store_json(folder, INDEX, STORE_SMALL, error);
    return *index && add_shards(store, folder, json_object_get(*index, "weight_map"), error);
}

/* --- the tensors --- */

static int compare_names(const void *left, const void *right)
{
    const StoredTensor *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static bool list_tensors(TensorStore *store, Error *error)
{
    for (size_t f = 0; f < arrlenu(store->files); f++) {
        const SafetensorsHeader *header = &store->files[f]->header;
        for (size_t i = 0; i < header->tensor_count; i++) {
            StoredTensor tensor = {header->tensors[i].name, store->files[f],
                                   &header->tensors[i], false};
            arrput(store->tensors, tensor);
        }
    }
    size_t count = arrlenu(store->tensors);
    if (count > 0)
        qsort(store->tensors, count, sizeof *store->tensors, compare_names);
    for (size_t i = 1; i < count; i++)
        if (compare_names(&store->tensors[i - 1], &store->tensors[i]) == 0)
            return error_set(error, "%s and %s: both have the tensor %s",
                             store->tensors[i - 1].file->path, store->tensors[i].file->path,
                             tensor_label(store->tensors[i].name).text);
    return true;
}

static StoredTensor *find(const TensorStore *store, const char *name)
{
    const StoredTensor key = {.name = name};
    size_t count = arrlenu(store->tensors);
    return count ? bsearch(&key, store->tensors, count, sizeof key, compare_names) : NULL;
}

/* Each tensor must be in the file that the index names. */
static bool check_index(const TensorStore *store, const char *folder, const json_t *index,
                        Error *error)
{
    json_t *map = json_object_get(index, "weight_map"), *shard;
    const char *name;
    json_object_foreach(map, name, shard)
    {
        const StoredTensor *tensor = find(store, name);
        if (!tensor ||
            strcmp(file_base_name(tensor->file->path), json_string_value(shard)) != 0)
            return error_set(error, "%s/%s: it has no tensor %s, although " INDEX " says so",
                             folder, json_string_value(shard), tensor_label(name).text);
    }
    return true;
}

bool store_open(TensorStore *store, const char *folder, Error *error)
{
    *store = (TensorStore){0};
    json_t *index = NULL;
    bool good = open_files(store, folder, &index, error) && list_tensors(store, error) &&
                check_index(store, folder, index, error);
    json_decref(index);
    if (!good)
        store_close(store);
    return good;
}

void store_close(TensorStore *store)
{
    for (size_t i = 0; i < arrlenu(store->files); i++) {
        safetensors_close(store->files[i]);
        free(store->files[i]);
    }
    arrfree(store->files);
    arrfree(store->tensors);
}

StoredTensor *store_find_tensor(const TensorStore *store, const FamilyForm *form,
                                const FamilyTensor *tensor)
{
    StoredTensor *found = find(store, tensor->name);
    if (found || !tensor->prefixed)
        return found;
    char *name = text_format("%s%s", form->prefix, tensor->name);
    found = find(store, name);
    free(name);
    return found;
}

const char *store_metadata(const TensorStore *store, const char *key)
{
    for (size_t i = 0; i < arrlenu(store->files); i++) {
        const char *value = safetensors_metadata(store->files[i], key);
        if (value)
            return value;
    }
    return NULL;
}
