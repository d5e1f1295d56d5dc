/* Tensor files: the header alone, and whole files. */
#include "models/safetensors.h"
#include "src/base/containers.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <string.h>

/* --- header: two bytes for the size of the data, then JSON --- */

static void check_table(const SafetensorsHeader *header, size_t data_size)
{
    size_t end = 0;
    for (size_t i = 0; i < header->tensor_count; i++) {
        const TensorEntry *tensor = &header->tensors[i];
        size_t bytes;
        FUZZ_HOLDS(tensor->rank <= TENSOR_MOST_AXES);
        FUZZ_HOLDS(tensor_bytes(tensor->type, tensor->rank, tensor->shape, &bytes));
        FUZZ_HOLDS(tensor->begin == end && tensor->size == bytes);
        FUZZ_HOLDS(tensor->size <= data_size - end);
        for (size_t other = 0; other < i; other++)
            FUZZ_HOLDS(strcmp(header->tensors[other].name, tensor->name) != 0);
        for (const unsigned char *c = (const unsigned char *)tensor->name; *c; c++)
            FUZZ_HOLDS(*c >= 0x20 && *c != 0x7f);
        fuzz_check_shown(tensor_label(tensor->name).text, false);
        end += bytes;
    }
    FUZZ_HOLDS(end == data_size);
}

void fuzz_header(const uint8_t *data, size_t size)
{
    enum { SIZE_BYTES = 2 };
    if (size < SIZE_BYTES)
        return;
    size_t data_size = (size_t)(data[0] | data[1] << 8);
    SafetensorsHeader header;
    Error error = {0};
    if (safetensors_header_parse(&header, (const char *)data + SIZE_BYTES, size - SIZE_BYTES,
                                 data_size, &error)) {
        check_table(&header, data_size);
        safetensors_header_free(&header);
    } else {
        fuzz_check_reason(&error);
        fuzz_check_shown(error.text, false);
    }
}

/* --- whole files --- */

/* The tensors with their values; NULL if some are not finite. */
static TensorRecord *load_all(const SafetensorsFile *file)
{
    TensorRecord *records = NULL;
    bool finite = true;
    for (size_t i = 0; i < file->header.tensor_count; i++) {
        const TensorEntry *tensor = &file->header.tensors[i];
        TensorRecord record = {.name = tensor->name,
                               .type = tensor->type,
                               .rank = tensor->rank,
                               .data = memory_new(tensor->size, 1, "an input")};
        Error error = {0};
        memcpy(record.shape, tensor->shape, sizeof record.shape);
        bool loaded = safetensors_load(file, tensor->name, tensor->type, tensor->rank,
                                       tensor->shape, (void *)record.data, &error);
        FUZZ_HOLDS(loaded || strstr(error.text, "NaN or infinity"));
        FUZZ_HOLDS(safetensors_find(file, tensor->name) == tensor);
        finite = finite && loaded;
        arrput(records, record);
    }
    for (size_t i = 0; !finite && i < arrlenu(records); i++)
        free((void *)records[i].data);
    if (!finite)
        arrfree(records);
    return records;
}

/* Whether the writer sets this key itself. */
static bool is_writers(const char *key)
{
    return strcmp(key, "crc32") == 0 || strcmp(key, "header_crc32") == 0 ||
           strcmp(key, "format") == 0;
}

/* All other metadata. */
static MetadataPair *load_metadata(const SafetensorsFile *file)
{
    MetadataPair *pairs = NULL;
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(file->header.tree, "__metadata__"), key, value)
    {
        MetadataPair pair = {key, safetensors_metadata(file, key)};
        FUZZ_HOLDS(pair.value);
        if (!is_writers(key))
            arrput(pairs, pair);
    }
    return pairs;
}

static void check_same(const SafetensorsFile *back, const TensorRecord *records,
                       const MetadataPair *pairs)
{
    FUZZ_HOLDS(back->header.tensor_count == arrlenu(records));
    for (size_t i = 0; i < arrlenu(records); i++) {
        const TensorEntry *tensor = safetensors_find(back, records[i].name);
        Error error = {0};
        FUZZ_HOLDS(tensor);
        void *bytes = memory_new(tensor->size, 1, "an input");
        FUZZ_HOLDS(safetensors_load(back, records[i].name, records[i].type, records[i].rank,
                                    records[i].shape, bytes, &error));
        FUZZ_HOLDS(memcmp(bytes, records[i].data, tensor->size) == 0);
        free(bytes);
    }
    for (size_t i = 0; i < arrlenu(pairs); i++) {
        const char *value = safetensors_metadata(back, pairs[i].key);
        FUZZ_HOLDS(value && strcmp(value, pairs[i].value) == 0);
    }
}

static void write_again(const SafetensorsFile *file)
{
    TensorRecord *records = load_all(file);
    MetadataPair *pairs = load_metadata(file);
    char *path = fuzz_scratch("again.safetensors");
    SafetensorsFile back;
    Error error = {0};
    if (records || !file->header.tensor_count) {
        FUZZ_HOLDS(
            safetensors_write(path, records, arrlenu(records), pairs, arrlenu(pairs), &error));
        FUZZ_HOLDS(safetensors_open(&back, path, &error));
        check_same(&back, records, pairs);
        safetensors_close(&back);
    }
    for (size_t i = 0; i < arrlenu(records); i++)
        free((void *)records[i].data);
    arrfree(records);
    arrfree(pairs);
    free(path);
}

void fuzz_safetensors(const uint8_t *data, size_t size)
{
    SafetensorsFile file;
    Error error = {0};
    if (safetensors_open(&file, fuzz_file(data, size), &error)) {
        check_table(&file.header, size - file.data_start);
        write_again(&file);
        safetensors_close(&file);
    } else {
        fuzz_check_reason(&error);
        fuzz_check_shown(error.text, false);
    }
}
