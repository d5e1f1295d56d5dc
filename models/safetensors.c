/* What the reader and the writer of safetensors files share: types, sizes, checksums, labels
 * for messages, and the parser of the JSON header, which makes a table of tensors or a one-line
 * error.
 *
 * A header is untrusted. Each size must follow from type and shape, without overflow. The
 * tensors, sorted by offset, must be contiguous, and the last must end at the end of the file.
 * So no byte lies outside the tensors (a second format could hide there), no byte is shared (a
 * small file could demand unlimited memory), and allocating a tensor never takes more than the
 * file size.
 *
 * jansson parses the JSON: it requires UTF-8, distinguishes integers from floats, and rejects
 * duplicate keys and NUL bytes. Brackets are counted first, since 1 MB of empty objects makes
 * a 100 MB tree. */
#include "models/safetensors.h"
#include "src/base/json.h"
#include "src/base/memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and this code copies numbers as they are"
#endif

/* --- types --- */

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
#define TENSOR_TYPE(name, bytes) {#name, bytes},
    TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
};

const char *tensor_type_name(TensorType type)
{
    assert(type < TENSOR_TYPE_COUNT);
    return types[type].name;
}

bool tensor_bytes(TensorType type, size_t rank, const size_t *shape, size_t *bytes)
{
    assert(type < TENSOR_TYPE_COUNT);
    size_t size = types[type].bytes;
    bool empty = false;
    for (size_t axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0)
            empty = true;
        else if (__builtin_mul_overflow(size, shape[axis], &size))
            return false;
    }
    *bytes = empty ? 0 : size;
    return true;
}

/* A number is NaN or infinite if all bits of its exponent are set. Testing the bits needs no
 * alignment and no branches. */
#define HAS_ODD(bits_type, exponent, data, bytes, odd)           \
    for (size_t i_ = 0; i_ < (bytes); i_ += sizeof(bits_type)) { \
        bits_type bits_;                                         \
        memcpy(&bits_, (data) + i_, sizeof bits_);               \
        (odd) |= (bits_ & (exponent)) == (exponent);             \
    }

bool tensor_is_finite(TensorType type, const void *data, size_t bytes)
{
    const uint16_t exponent_half = 0x7c00u, exponent_bfloat = 0x7f80u;
    const uint32_t exponent_32 = 0x7f800000u;
    const uint64_t exponent_64 = 0x7ff0000000000000u;
    const char *next = data;
    bool odd = false;
    if (type == TENSOR_F16)
        HAS_ODD(uint16_t, exponent_half, next, bytes, odd)
    else if (type == TENSOR_BF16)
        HAS_ODD(uint16_t, exponent_bfloat, next, bytes, odd)
    else if (type == TENSOR_F32)
        HAS_ODD(uint32_t, exponent_32, next, bytes, odd)
    else if (type == TENSOR_F64)
        HAS_ODD(uint64_t, exponent_64, next, bytes, odd)
    return !odd;
}

/* --- checksums and labels --- */

ChecksumText checksum_text(unsigned long crc)
{
    ChecksumText text;
    snprintf(text.digits, sizeof text.digits, "%08x", (unsigned)crc);
    return text;
}

unsigned long safetensors_header_checksum(const char *json, size_t length)
{
    const size_t opening = strlen(SAFETENSORS_OPENING);
    const ChecksumText zeros = checksum_text(0);
    const size_t rest = opening + strlen(zeros.digits);
    assert(length > rest);
    unsigned long crc = crc32_z(0, (const Bytef *)json, opening);
    crc = crc32_z(crc, (const Bytef *)zeros.digits, rest - opening);
    return crc32_z(crc, (const Bytef *)json + rest, length - rest);
}

TensorLabel tensor_label(const char *name)
{
    static const char tail[] = "...";
    enum { WIDEST = 4 /* \xNN */ };
    TensorLabel label;
    size_t used = 0;
    const unsigned char *c = (const unsigned char *)name;
    for (; *c && used + WIDEST + sizeof tail <= sizeof label.text; c++) {
        bool plain = *c >= 0x20 && *c < 0x7f;
        used += (size_t)snprintf(label.text + used, sizeof label.text - used,
                                 plain ? "%c" : "\\x%02x", *c);
    }
    snprintf(label.text + used, sizeof label.text - used, "%s", *c ? tail : "");
    return label;
}

TensorLabel tensor_shape_label(size_t rank, const size_t *shape)
{
    TensorLabel label = {"["};
    size_t used = 1;
    for (size_t axis = 0; axis < rank && axis < TENSOR_MOST_AXES; axis++)
        used += (size_t)snprintf(label.text + used, sizeof label.text - used, "%s%zu",
                                 axis ? ", " : "", shape[axis]);
    snprintf(label.text + used, sizeof label.text - used, "]");
    return label;
}

/* --- the header --- */

#define METADATA "__metadata__"

enum {
    MOST_DEPTH = 8,                               /* the format needs three */
    MOST_BRACKETS = 4 * SAFETENSORS_MOST_TENSORS, /* a tensor needs three pairs */
};
#define MOST_INTEGER (((json_int_t)1 << 48) - 1) /* the limit of the format's schema */

static bool check_brackets(const char *json, size_t length, Error *error)
{
    size_t depth = 0, brackets = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && json[i] == '\\') {
            i++;
        } else if (json[i] == '"') {
            quoted = !quoted;
        } else if (!quoted && (json[i] == '{' || json[i] == '[')) {
            depth++;
            brackets++;
        } else if (!quoted && (json[i] == '}' || json[i] == ']')) {
            depth -= depth > 0;
        }
        if (depth > MOST_DEPTH || brackets > MOST_BRACKETS)
            return error_set(error, "byte %zu: the header has too many brackets",
                             SAFETENSORS_LENGTH_BYTES + i);
    }
    return true;
}

/* Control characters in a name could move the cursor when printed. In UTF-8, C1 controls (0x80
 * to 0x9f) follow a byte 0xc2. */
static bool is_decent(const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0))
            return false;
    return true;
}

static bool read_sizes(const json_t *array, size_t most, size_t *sizes, size_t *count)
{
    if (!json_is_array(array) || json_array_size(array) > most)
        return false;
    *count = json_array_size(array);
    for (size_t i = 0; i < *count; i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t number = json_integer_value(item);
        if (!json_is_integer(item) || number < 0 || number > MOST_INTEGER)
            return false;
        sizes[i] = (size_t)number;
    }
    return true;
}

static bool parse_tensor(TensorEntry *tensor, const char *name, const json_t *entry,
                         Error *error)
{
    enum { ENDS = 2 };
    size_t ends[ENDS], count;
    tensor->name = name;
    if (!is_decent(name))
        return error_set(error, "control characters in a name");
    if (!json_is_object(entry))
        return error_set(error, "not an object");
    const char *type = json_string_value(json_object_get(entry, "dtype"));
    if (!type)
        return error_set(error, "no dtype");
    tensor->type = 0;
    while (tensor->type < TENSOR_TYPE_COUNT && strcmp(types[tensor->type].name, type) != 0)
        tensor->type++;
    if (tensor->type == TENSOR_TYPE_COUNT)
        return error_set(error, "unknown dtype %s", tensor_label(type).text);
    if (!read_sizes(json_object_get(entry, "shape"), TENSOR_MOST_AXES, tensor->shape,
                    &tensor->rank))
        return error_set(error, "its shape is not a list of at most %d non-negative integers",
                         TENSOR_MOST_AXES);
    if (!tensor_bytes(tensor->type, tensor->rank, tensor->shape, &tensor->size))
        return error_set(error, "shape %s of %s has no valid size in bytes",
                         tensor_shape_label(tensor->rank, tensor->shape).text, type);
    if (!read_sizes(json_object_get(entry, "data_offsets"), ENDS, ends, &count) ||
        count != ENDS)
        return error_set(error, "its data_offsets are not two non-negative integers");
    tensor->begin = ends[0];
    if (ends[1] < ends[0])
        return error_set(error, "it ends at byte %zu, before its start at %zu", ends[1],
                         ends[0]);
    if (ends[1] - ends[0] != tensor->size)
        return error_set(error, "shape %s of %s takes %zu bytes, but it has %zu",
                         tensor_shape_label(tensor->rank, tensor->shape).text,
                         tensor_type_name(tensor->type), tensor->size, ends[1] - ends[0]);
    return true;
}

static bool check_metadata(json_t *metadata, Error *error)
{
    if (metadata && !json_is_object(metadata))
        return error_set(error, METADATA " is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value)
    {
        if (!is_decent(key))
            return error_set(error, METADATA " %s: control characters in a name",
                             tensor_label(key).text);
        if (!json_is_string(value))
            return error_set(error, METADATA " %s: not a string", tensor_label(key).text);
    }
    return true;
}

/* Requires both checksums or neither, so that a damaged key does not pass for a file without
 * checksums. The data checksum is verified when the data is read. */
static bool check_checksum(const SafetensorsHeader *header, const char *json, size_t length,
                           Error *error)
{
    const char *stored = safetensors_header_metadata(header, "header_crc32");
    const char *of_data = safetensors_header_metadata(header, "crc32");
    if (!stored && !of_data)
        return true;
    if (!stored || !of_data)
        return error_set(error, "one of the checksums crc32 and header_crc32 is missing");
    if (strncmp(json, SAFETENSORS_OPENING, strlen(SAFETENSORS_OPENING)) != 0 ||
        strcmp(stored, checksum_text(safetensors_header_checksum(json, length)).digits) != 0)
        return error_set(error, "the header is damaged: checksum mismatch");
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const TensorEntry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size); /* empty tensors first */
}

static bool check_places(const SafetensorsHeader *header, size_t data_size, Error *error)
{
    size_t end = 0;
    for (size_t i = 0; i < header->tensor_count; i++) {
        const TensorEntry *tensor = &header->tensors[i];
        if (tensor->begin != end)
            return error_set(error,
                             "tensor %s: begins at byte %zu of the data, with %s "
                             "the previous tensor, which ends at %zu",
                             tensor_label(tensor->name).text, tensor->begin,
                             tensor->begin > end ? "a hole after" : "an overlap with", end);
        end += tensor->size;
    }
    if (end != data_size)
        return error_set(error, "its tensors take %zu bytes, but %zu follow the header: %s",
                         end, data_size,
                         end > data_size ? "the file is truncated" : "too many");
    return true;
}

static bool parse_tree(SafetensorsHeader *header, size_t data_size, Error *error)
{
    json_t *metadata = json_object_get(header->tree, METADATA);
    size_t entries = json_object_size(header->tree) - (metadata != NULL);
    if (!json_is_object(header->tree))
        return error_set(error, "the header is not a JSON object");
    if (entries > SAFETENSORS_MOST_TENSORS)
        return error_set(error, "%zu tensors are more than the limit of %d", entries,
                         SAFETENSORS_MOST_TENSORS);
    header->tensors = memory_new(entries, sizeof *header->tensors, "a table of tensors");
    const char *name;
    json_t *entry;
    json_object_foreach(header->tree, name, entry)
    {
        Error why;
        if (strcmp(name, METADATA) == 0)
            continue;
        if (!parse_tensor(&header->tensors[header->tensor_count++], name, entry, &why))
            return error_set(error, "tensor %s: %s", tensor_label(name).text, why.text);
    }
    qsort(header->tensors, header->tensor_count, sizeof *header->tensors, compare_places);
    return check_metadata(metadata, error) && check_places(header, data_size, error);
}

bool safetensors_header_parse(SafetensorsHeader *header, const char *json, size_t length,
                              size_t data_size, Error *error)
{
    *header = (SafetensorsHeader){0};
    if (length > SAFETENSORS_MOST_HEADER)
        return error_set(error, "a header of %zu bytes is more than the limit of %d", length,
                         SAFETENSORS_MOST_HEADER);
    if (!check_brackets(json, length, error))
        return false;
    json_error_t where;
    header->tree = json_parse(json, length, &where);
    if (!header->tree)
        return error_set(error, "byte %d: the header is not valid JSON: %s",
                         SAFETENSORS_LENGTH_BYTES + where.position,
                         tensor_label(where.text).text);
    if (parse_tree(header, data_size, error) && check_checksum(header, json, length, error))
        return true;
    safetensors_header_free(header);
    return false;
}

void safetensors_header_free(SafetensorsHeader *header)
{
    json_decref(header->tree);
    free(header->tensors);
    *header = (SafetensorsHeader){0};
}

const char *safetensors_header_metadata(const SafetensorsHeader *header, const char *key)
{
    return json_string_value(json_object_get(json_object_get(header->tree, METADATA), key));
}
