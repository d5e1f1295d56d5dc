/* Writing safetensors files.
 *
 * The header is made first, which takes one pass over the data for the checksum, and is
 * checked by the reader's own parser, so that no checkpoint is ever written that cannot be
 * read. */
#include "models/safetensors.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ALIGNMENT = 8 }; /* of the data, and so of every tensor */

typedef struct Plan {
    const TensorRecord **records; /* in file order */
    size_t count;
    size_t data_size;
    unsigned long data_crc;
    char *header;
} Plan;

static int compare_records(const void *left, const void *right)
{
    const TensorRecord *a = *(const TensorRecord *const *)left;
    const TensorRecord *b = *(const TensorRecord *const *)right;
    if (a->type != b->type)
        return a->type > b->type ? -1 : 1;
    return strcmp(a->name, b->name);
}

static size_t record_bytes(const TensorRecord *record)
{
    size_t bytes = 0;
    bool possible = tensor_bytes(record->type, record->rank, record->shape, &bytes);
    assert(possible && record->rank <= TENSOR_MOST_AXES); /* the tensor exists in memory */
    return possible ? bytes : 0;
}

static bool plan_numbers(Plan *plan, Error *error)
{
    for (size_t i = 0; i < plan->count; i++) {
        const TensorRecord *record = plan->records[i];
        size_t bytes = record_bytes(record);
        if (!tensor_is_finite(record->type, record->data, bytes))
            return error_set(error, "%s contains NaN or infinity; not saved",
                             tensor_label(record->name).text);
        if (bytes > 0) /* crc32_z(crc, NULL, 0) would reset the checksum */
            plan->data_crc = crc32_z(plan->data_crc, record->data, bytes);
        plan->data_size += bytes;
    }
    return true;
}

/* Appends a quoted string. */
static void append_string(char **text, const char *value)
{
    /* The longest escape takes six bytes. */
    char *quoted = memory_new(strlen(value) * 6 + 3, 1, "a text"), *out = quoted;
    *out++ = '"';
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\') {
            *out++ = '\\';
            *out++ = (char)*c;
        } else if (*c < 0x20 || *c == 0x7f) {
            out += sprintf(out, "\\u%04x", *c);
        } else {
            *out++ = (char)*c;
        }
    }
    *out = '"';
    text_append(text, "%s", quoted);
    free(quoted);
}

static void append_pair(char **text, const char *key, const char *value)
{
    text_append(text, ",");
    append_string(text, key);
    text_append(text, ":");
    append_string(text, value);
}

static void append_tensor(char **text, const TensorRecord *record, size_t begin)
{
    text_append(text, ",");
    append_string(text, record->name);
    text_append(text, ":{\"dtype\":\"%s\",\"shape\":[", tensor_type_name(record->type));
    for (size_t axis = 0; axis < record->rank; axis++)
        text_append(text, "%s%zu", axis ? "," : "", record->shape[axis]);
    text_append(text, "],\"data_offsets\":[%zu,%zu]}", begin, begin + record_bytes(record));
}

static void plan_header(Plan *plan, const MetadataPair *metadata, size_t count)
{
    char **text = &plan->header;
    text_append(text, SAFETENSORS_OPENING "%s\"", checksum_text(0).digits);
    append_pair(text, "crc32", checksum_text(plan->data_crc).digits);
    append_pair(text, "format", "pt"); /* some readers require it */
    for (size_t i = 0; i < count; i++)
        append_pair(text, metadata[i].key, metadata[i].value);
    text_append(text, "}");
    for (size_t i = 0, begin = 0; i < plan->count; i++) {
        append_tensor(text, plan->records[i], begin);
        begin += record_bytes(plan->records[i]);
    }
    text_append(text, "}");
    while (strlen(*text) % ALIGNMENT != 0)
        text_append(text, " ");
    ChecksumText crc = checksum_text(safetensors_header_checksum(*text, strlen(*text)));
    memcpy(*text + strlen(SAFETENSORS_OPENING), crc.digits, strlen(crc.digits));
}

static bool check_plan(const Plan *plan, Error *error)
{
    SafetensorsHeader header;
    Error why;
    if (plan->data_size > SAFETENSORS_MOST_DATA)
        return error_set(error, "%zu bytes of data exceed the limit of a file; not saved",
                         plan->data_size);
    if (!safetensors_header_parse(&header, plan->header, strlen(plan->header), plan->data_size,
                                  &why))
        return error_set(error, "%s; not saved", why.text);
    safetensors_header_free(&header);
    return true;
}

/* Reads the file back, so that it replaces the previous one only if the disk stored it
 * correctly. */
static bool verify(FileReplacement *file, const Plan *plan, Error *error)
{
    SafetensorsFile written;
    Error why;
    if (safetensors_open(&written, file->temporary, &why)) {
        const char *stored = safetensors_metadata(&written, "crc32");
        bool good = stored && strcmp(stored, checksum_text(plan->data_crc).digits) == 0;
        safetensors_close(&written);
        if (good)
            return true;
    }
    error_set(
        error,
        "%s: verification failed: the file does not read back as written; the disk may be "
        "failing. The previous file is unchanged",
        file->path);
    file_replace_abort(file);
    return false;
}

static bool write_file(const Plan *plan, const char *path, Error *error)
{
    FileReplacement file;
    uint64_t length = strlen(plan->header);
    if (!file_replace_begin(&file, path, error) ||
        !file_replace_reserve(&file, sizeof length + length + plan->data_size, error) ||
        !file_replace_write(&file, &length, sizeof length, error) ||
        !file_replace_write(&file, plan->header, length, error))
        return false;
    for (size_t i = 0; i < plan->count; i++)
        if (!file_replace_write(&file, plan->records[i]->data, record_bytes(plan->records[i]),
                                error))
            return false;
    return file_replace_seal(&file, error) && verify(&file, plan, error) &&
           file_replace_commit(&file, error);
}

bool safetensors_write(const char *path, const TensorRecord *records, size_t count,
                       const MetadataPair *metadata, size_t metadata_count, Error *error)
{
    Plan plan = {.records = memory_new(count, sizeof *plan.records, "a table of tensors"),
                 .count = count};
    Error why;
    for (size_t i = 0; i < count; i++)
        plan.records[i] = &records[i];
    qsort(plan.records, count, sizeof *plan.records, compare_records);
    bool good = plan_numbers(&plan, &why);
    if (good) {
        plan_header(&plan, metadata, metadata_count);
        good = check_plan(&plan, &why);
    }
    if (!good)
        error_set(error, "%s: %s", path, why.text);
    else
        good = write_file(&plan, path, error);
    free(plan.records);
    free(plan.header);
    return good;
}
