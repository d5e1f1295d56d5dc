#include "models/exchange/gguf_file.h"
#include "src/base/containers.h"
#include "src/base/file.h"

#include <assert.h>
#include <string.h>

#define VERSION   ((uint32_t)3)
#define ALIGNMENT ((size_t)32) /* of the data of each tensor */
#define F32       ((uint32_t)0)

/* Numbers are little-endian, as those of all processors that linnet is built for. */
typedef enum ValueType {
    VALUE_UINT32 = 4,
    VALUE_INT32 = 5,
    VALUE_FLOAT32 = 6,
    VALUE_BOOL = 7,
    VALUE_STRING = 8,
    VALUE_ARRAY = 9
} ValueType;

/* --- bytes --- */

static void append(char **bytes, const void *from, size_t size)
{
    if (size > 0)
        memcpy(arraddnptr(*bytes, size), from, size);
}

static void append_32(char **bytes, uint32_t value)
{
    append(bytes, &value, sizeof value);
}

static void append_64(char **bytes, uint64_t value)
{
    append(bytes, &value, sizeof value);
}

static void append_string(char **bytes, const char *text)
{
    append_64(bytes, strlen(text));
    append(bytes, text, strlen(text));
}

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- keys and values --- */

static void begin_pair(Gguf *gguf, const char *key, ValueType type)
{
    append_string(&gguf->pairs, key);
    append_32(&gguf->pairs, type);
    gguf->pair_count++;
}

static void begin_array(Gguf *gguf, const char *key, ValueType type, size_t count)
{
    begin_pair(gguf, key, VALUE_ARRAY);
    append_32(&gguf->pairs, type);
    append_64(&gguf->pairs, count);
}

void gguf_add_text(Gguf *gguf, const char *key, const char *value)
{
    begin_pair(gguf, key, VALUE_STRING);
    append_string(&gguf->pairs, value);
}

void gguf_add_count(Gguf *gguf, const char *key, size_t value)
{
    assert(value <= UINT32_MAX);
    begin_pair(gguf, key, VALUE_UINT32);
    append_32(&gguf->pairs, (uint32_t)value);
}

void gguf_add_number(Gguf *gguf, const char *key, double value)
{
    float number = (float)value;
    begin_pair(gguf, key, VALUE_FLOAT32);
    append(&gguf->pairs, &number, sizeof number);
}

void gguf_add_flag(Gguf *gguf, const char *key, bool value)
{
    char byte = value;
    begin_pair(gguf, key, VALUE_BOOL);
    append(&gguf->pairs, &byte, sizeof byte);
}

void gguf_add_texts(Gguf *gguf, const char *key, char *const *values, size_t count)
{
    begin_array(gguf, key, VALUE_STRING, count);
    for (size_t i = 0; i < count; i++)
        append_string(&gguf->pairs, values[i]);
}

void gguf_add_numbers(Gguf *gguf, const char *key, const int32_t *values, size_t count)
{
    begin_array(gguf, key, VALUE_INT32, count);
    append(&gguf->pairs, values, count * sizeof *values);
}

/* --- tensors --- */

void gguf_add_tensor(Gguf *gguf, const GgufTensor *tensor)
{
    arrput(gguf->tensors, *tensor);
}

static size_t tensor_rows(const GgufTensor *tensor)
{
    return tensor->rows ? tensor->rows : 1;
}

static size_t tensor_bytes(const GgufTensor *tensor)
{
    return memory_product(tensor_rows(tensor), tensor->columns * sizeof(float), tensor->name);
}

/* The file's dimensions begin with the number of columns. */
static void append_tensor(char **bytes, const GgufTensor *tensor, size_t offset)
{
    append_string(bytes, tensor->name);
    append_32(bytes, tensor->rows ? 2 : 1);
    append_64(bytes, tensor->columns);
    if (tensor->rows)
        append_64(bytes, tensor->rows);
    append_32(bytes, F32);
    append_64(bytes, offset);
}

/* All that precedes the data. */
static char *header_of(const Gguf *gguf)
{
    char *bytes = NULL;
    append(&bytes, "GGUF", 4);
    append_32(&bytes, VERSION);
    append_64(&bytes, arrlenu(gguf->tensors));
    append_64(&bytes, gguf->pair_count);
    append(&bytes, gguf->pairs, arrlenu(gguf->pairs));
    for (size_t i = 0, offset = 0; i < arrlenu(gguf->tensors); i++) {
        append_tensor(&bytes, &gguf->tensors[i], offset);
        offset += aligned(tensor_bytes(&gguf->tensors[i]));
    }
    while (arrlenu(bytes) % ALIGNMENT != 0)
        arrput(bytes, 0);
    return bytes;
}

static size_t source_of(const GgufTensor *tensor, size_t place)
{
    return tensor->order ? tensor->order[place] : place;
}

static void read_row(float *to, const GgufTensor *tensor, size_t row)
{
    const real *from = tensor->at;
    if (from && tensor->rows)
        from += source_of(tensor, row) * tensor->row_step;
    for (size_t i = 0; i < tensor->columns; i++) {
        size_t place = tensor->rows ? i : source_of(tensor, i);
        to[i] = from ? (float)from[place * tensor->column_step] : 0;
    }
}

static bool write_tensor(FileReplacement *file, const GgufTensor *tensor, Error *error)
{
    static const char zeros[ALIGNMENT];
    size_t bytes = tensor->columns * sizeof(float), all = tensor_bytes(tensor);
    float *row = memory_take(tensor->columns, sizeof *row, "a tensor");
    bool good = true;
    for (size_t r = 0; good && r < tensor_rows(tensor); r++) {
        read_row(row, tensor, r);
        good = file_replace_write(file, row, bytes, error);
    }
    free(row);
    return good && file_replace_write(file, zeros, aligned(all) - all, error);
}

bool gguf_write(const Gguf *gguf, const char *path, size_t *size, Error *error)
{
    char *header = header_of(gguf);
    *size = arrlenu(header);
    for (size_t i = 0; i < arrlenu(gguf->tensors); i++)
        *size += aligned(tensor_bytes(&gguf->tensors[i]));
    FileReplacement file;
    bool good = file_replace_begin(&file, path, error) &&
                file_replace_reserve(&file, *size, error) &&
                file_replace_write(&file, header, arrlenu(header), error);
    for (size_t i = 0; good && i < arrlenu(gguf->tensors); i++)
        good = write_tensor(&file, &gguf->tensors[i], error);
    arrfree(header);
    return good && file_replace_commit(&file, error);
}

void gguf_free(Gguf *gguf)
{
    arrfree(gguf->pairs);
    arrfree(gguf->tensors);
    *gguf = (Gguf){0};
}
