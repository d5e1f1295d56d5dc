/* Opening safetensors files and loading tensors.
 *
 * The file is read, not mapped: if another process truncates it, a read fails with an error, a
 * mapping with SIGBUS. It is read twice, first for the checksum, so that damage is found
 * before any tensor is used. */
#include "models/safetensors.h"
#include "src/base/file.h"
#include "src/base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK = 1 << 16 };

/* The errors of these functions lack the path; the callers add it. */

static bool read_at(int fd, size_t offset, void *bytes, size_t size, Error *error)
{
    char *next = bytes;
    while (size > 0) {
        ssize_t got = pread(fd, next, size < INT_MAX ? size : INT_MAX, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, "byte %zu: cannot read: %s", offset, strerror(errno));
        if (got == 0)
            return error_set(error, "byte %zu: the file was truncated while being read",
                             offset);
        next += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return true;
}

static bool is_text(unsigned char byte)
{
    const unsigned char last_of_utf8 = 0xf4;
    if (byte < ' ')
        return byte == '\t' || byte == '\n' || byte == '\r';
    return byte != 0x7f && byte <= last_of_utf8;
}

/* The format of a foreign file, by its first bytes; NULL if unknown. */
static const char *known_kind(const unsigned char *start, size_t size)
{
    static const struct {
        const char *magic, *kind;
    } kinds[] = {{"PK\3\4", "a zip archive"}, {"\x80\2", "a pickle"},
                 {"\x80\3", "a pickle"},      {"\x80\4", "a pickle"},
                 {"\x80\5", "a pickle"},      {"GGUF", "GGUF"},
                 {"\x1f\x8b", "gzip"},        {"\177ELF", "an ELF program"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].magic);
        if (size >= length && memcmp(start, kinds[i].magic, length) == 0)
            return kinds[i].kind;
    }
    for (size_t i = 0; i < size; i++)
        if (!is_text(start[i]))
            return NULL;
    return size > 0 ? "text" : NULL;
}

enum { START = SAFETENSORS_LENGTH_BYTES + 1 }; /* the length, and the first byte of JSON */

static bool check_start(const unsigned char *start, uint64_t length, size_t size, Error *error)
{
    /* The magic bytes of other formats can also be lengths, if JSON follows. */
    bool json = size >= START && memchr("{ \t\n\r", start[START - 1], 5);
    const char *kind = known_kind(start, size < START ? size : START);
    if (kind && (!json || length > SAFETENSORS_MOST_HEADER))
        return error_set(error, "not a safetensors file (looks like %s)", kind);
    if (size < SAFETENSORS_LENGTH_BYTES)
        return error_set(error, "not a safetensors file (%zu bytes hold no header)", size);
    if (length > SAFETENSORS_MOST_HEADER)
        return error_set(error, "byte 0: a header of %llu bytes is more than the limit of %d",
                         (unsigned long long)length, SAFETENSORS_MOST_HEADER);
    if (length > size - SAFETENSORS_LENGTH_BYTES)
        return error_set(error, "byte 0: a header of %llu bytes in a file of %zu: truncated",
                         (unsigned long long)length, size);
    return true;
}

static bool read_header(SafetensorsFile *file, size_t size, Error *error)
{
    unsigned char start[START] = {0};
    if (!read_at(file->fd, 0, start, size < START ? size : START, error))
        return false;
    uint64_t claimed;
    memcpy(&claimed, start, sizeof claimed);
    if (!check_start(start, claimed, size, error))
        return false;
    size_t length = (size_t)claimed;
    file->data_start = SAFETENSORS_LENGTH_BYTES + length;
    char *json = memory_take(length, 1, "a header");
    bool good = read_at(file->fd, SAFETENSORS_LENGTH_BYTES, json, length, error) &&
                safetensors_header_parse(&file->header, json, length, size - file->data_start,
                                         error);
    free(json);
    return good;
}

static bool check_numbers(const SafetensorsFile *file, size_t size, Error *error)
{
    const char *stored = safetensors_metadata(file, "crc32");
    if (!stored)
        return true;
    unsigned char chunk[CHUNK];
    unsigned long crc = 0;
    for (size_t offset = file->data_start, more; offset < size; offset += more) {
        more = size - offset < CHUNK ? size - offset : CHUNK;
        if (!read_at(file->fd, offset, chunk, more, error))
            return false;
        crc = crc32_z(crc, chunk, more);
    }
    if (strcmp(stored, checksum_text(crc).digits) != 0)
        return error_set(error, "the tensor data is damaged: checksum mismatch");
    return true;
}

bool safetensors_open(SafetensorsFile *file, const char *path, Error *error)
{
    *file = (SafetensorsFile){.path = memory_copy_text(path), .fd = -1};
    size_t size = 0;
    Error why;
    file->fd = file_open(path, SAFETENSORS_MOST_FILE, &size, error);
    if (file->fd >= 0 && read_header(file, size, &why) && check_numbers(file, size, &why))
        return true;
    if (file->fd >= 0)
        error_set(error, "%s: %s", path, why.text);
    safetensors_close(file);
    return false;
}

void safetensors_close(SafetensorsFile *file)
{
    if (file->path && file->fd >= 0) /* zeros are not open */
        close(file->fd);
    safetensors_header_free(&file->header);
    free(file->path);
    *file = (SafetensorsFile){.fd = -1};
}

const TensorEntry *safetensors_find(const SafetensorsFile *file, const char *name)
{
    for (size_t i = 0; i < file->header.tensor_count; i++)
        if (strcmp(file->header.tensors[i].name, name) == 0)
            return &file->header.tensors[i];
    return NULL;
}

const char *safetensors_metadata(const SafetensorsFile *file, const char *key)
{
    return safetensors_header_metadata(&file->header, key);
}

static bool check_asked(const TensorEntry *tensor, TensorType type, size_t rank,
                        const size_t *shape, Error *error)
{
    if (!tensor)
        return error_set(error, "no such tensor");
    if (tensor->type != type)
        return error_set(error, "dtype %s, expected %s", tensor_type_name(tensor->type),
                         tensor_type_name(type));
    bool same = tensor->rank == rank;
    for (size_t axis = 0; same && axis < rank; axis++)
        same = tensor->shape[axis] == shape[axis];
    if (!same)
        return error_set(error, "shape %s, expected %s",
                         tensor_shape_label(tensor->rank, tensor->shape).text,
                         tensor_shape_label(rank, shape).text);
    return true;
}

bool safetensors_load(const SafetensorsFile *file, const char *name, TensorType type,
                      size_t rank, const size_t *shape, void *destination, Error *error)
{
    const TensorEntry *tensor = safetensors_find(file, name);
    Error why;
    bool good = check_asked(tensor, type, rank, shape, &why) &&
                read_at(file->fd, file->data_start + tensor->begin, destination, tensor->size,
                        &why);
    if (good && !tensor_is_finite(type, destination, tensor->size))
        good = error_set(&why, "contains NaN or infinity");
    return good ||
           error_set(error, "%s: %s: %s", file->path, tensor_label(name).text, why.text);
}
