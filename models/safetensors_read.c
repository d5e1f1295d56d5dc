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
#include <math.h>
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

static bool read_header(SafetensorsFile *file, size_t size, Error *error)
{
    uint64_t length = UINT64_MAX;
    if (size >= sizeof length && !read_at(file->fd, 0, &length, sizeof length, error))
        return false;
    if (length > SAFETENSORS_MOST_HEADER)
        return error_set(error,
                         "not a safetensors file: it does not begin with the length of a "
                         "header");
    if (length > size - sizeof length)
        return error_set(error, "byte 0: a header of %llu bytes in a file of %zu: truncated",
                         (unsigned long long)length, size);
    file->data_start = sizeof length + (size_t)length;
    char *json = memory_new((size_t)length, 1, "a header");
    bool good = read_at(file->fd, sizeof length, json, (size_t)length, error) &&
                safetensors_header_parse(&file->header, json, (size_t)length,
                                         size - file->data_start, error);
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

bool tensor_has_shape(const TensorEntry *tensor, size_t rank, const size_t *shape)
{
    bool same = tensor->rank == rank;
    for (size_t axis = 0; same && axis < rank; axis++)
        same = tensor->shape[axis] == shape[axis];
    return same;
}

bool safetensors_load(const SafetensorsFile *file, const char *name, TensorType type,
                      size_t rank, const size_t *shape, void *destination, Error *error)
{
    const TensorEntry *tensor = safetensors_find(file, name);
    Error why;
    if (!tensor)
        error_set(&why, "no such tensor");
    else if (tensor->type != type)
        error_set(&why, "dtype %s, expected %s", tensor_type_name(tensor->type),
                  tensor_type_name(type));
    else if (!tensor_has_shape(tensor, rank, shape))
        error_set(&why, "shape %s, expected %s",
                  tensor_shape_label(tensor->rank, tensor->shape).text,
                  tensor_shape_label(rank, shape).text);
    else if (read_at(file->fd, file->data_start + tensor->begin, destination, tensor->size,
                     &why)) {
        if (tensor_is_finite(type, destination, tensor->size))
            return true;
        error_set(&why, "contains NaN or infinity");
    }
    return error_set(error, "%s: %s: %s", file->path, tensor_label(name).text, why.text);
}

/* --- numbers of any floating-point type, as reals: nothing is rounded --- */

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* One bit of sign, 5 of exponent, 10 of fraction. */
static float float_of_half(uint16_t half)
{
    enum { FRACTION = 10, FLOAT_FRACTION = 23, BIAS = 127 - 15, MOST = 31, LEAST = -24 };
    uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> FRACTION & MOST,
             fraction = half & ((1u << FRACTION) - 1);
    if (exponent == 0) { /* zero or denormal: fraction 2^-24 */
        float value = ldexpf((float)fraction, LEAST);
        return sign ? -value : value;
    }
    exponent = exponent == MOST ? 0xff : exponent + BIAS;
    return float_of_bits(sign | exponent << FLOAT_FRACTION |
                         fraction << (FLOAT_FRACTION - FRACTION));
}

static real number_at(TensorType type, const unsigned char *bytes, size_t i)
{
    uint16_t half;
    float single;
    if (type == TENSOR_F32) {
        memcpy(&single, bytes + i * sizeof single, sizeof single);
        return single;
    }
    memcpy(&half, bytes + i * sizeof half, sizeof half);
    return type == TENSOR_F16 ? float_of_half(half) : float_of_bits((uint32_t)half << 16);
}

bool safetensors_load_reals(const SafetensorsFile *file, const char *name, size_t rank,
                            const size_t *shape, real *destination, Error *error)
{
    const TensorEntry *tensor = safetensors_find(file, name);
    TensorType type = tensor ? tensor->type : TENSOR_REAL;
    if (type == TENSOR_REAL)
        return safetensors_load(file, name, type, rank, shape, destination, error);
    if (type != TENSOR_F32 && type != TENSOR_F16 && type != TENSOR_BF16)
        return error_set(error,
                         "%s: %s: dtype %s; linnet reads F32, F16 and BF16, so store the "
                         "weights as one of these",
                         file->path, tensor_label(name).text, tensor_type_name(type));
    size_t bytes;
    bool possible = tensor_bytes(type, rank, shape, &bytes);
    unsigned char *stored = memory_new(possible ? tensor->size : 0, 1, "a tensor");
    bool good = possible && safetensors_load(file, name, type, rank, shape, stored, error);
    size_t count = good ? bytes / (type == TENSOR_F32 ? sizeof(float) : sizeof(uint16_t)) : 0;
    for (size_t i = 0; i < count; i++)
        destination[i] = number_at(type, stored, i);
    free(stored);
    return good;
}
