/* Tensor files in the safetensors format.
 *
 * Eight bytes of length, a JSON header with the offset of each tensor, then the data. The
 * format suits untrusted files: it contains no code, and a reader can validate the whole
 * header before it trusts any size. This reader does, and is stricter than the format: no
 * duplicate keys, no control characters in names, no NaN.
 *
 * The format has no checksum, so linnet stores two in the metadata: "crc32" of the data, and
 * "header_crc32" of the header with its own digits set to zeros. Files of other programs have
 * neither and are accepted; a file with one must have both, and both must match. */
#ifndef LINNET_SAFETENSORS_H
#define LINNET_SAFETENSORS_H

#include "src/base/error.h"
#include "src/base/real.h"

enum {
    TENSOR_MOST_AXES = 8,
    /* Checkpoints of the deepest models, with moments and averages, have less of both. */
    SAFETENSORS_MOST_TENSORS = 1 << 15,
    SAFETENSORS_MOST_HEADER = 1 << 22, /* bytes of JSON */
    SAFETENSORS_LENGTH_BYTES = 8
};
/* Far larger than any model trained here, but small enough to reject huge sparse files. */
#define SAFETENSORS_MOST_FILE ((uint64_t)1 << 33)
#define SAFETENSORS_MOST_DATA \
    (SAFETENSORS_MOST_FILE - SAFETENSORS_MOST_HEADER - SAFETENSORS_LENGTH_BYTES)

/* The types of the format whose elements are whole bytes and no complex or 8-bit reals, in its
 * order, with their bytes. Tensors are stored by descending type, so that wide elements come
 * first and all are aligned. linnet writes only U8 and reals. */
/* clang-format off */
#define TENSOR_TYPES(T)                            \
    T(BOOL, 1) T(U8, 1) T(I8, 1)                   \
    T(I16, 2) T(U16, 2) T(F16, 2) T(BF16, 2)       \
    T(I32, 4) T(U32, 4) T(F32, 4)                  \
    T(F64, 8) T(I64, 8) T(U64, 8)
/* clang-format on */

typedef enum TensorType {
#define TENSOR_TYPE(name, bytes) TENSOR_##name,
    TENSOR_TYPES(TENSOR_TYPE) TENSOR_TYPE_COUNT
#undef TENSOR_TYPE
} TensorType;

#ifdef LINNET_DOUBLE
#define TENSOR_REAL TENSOR_F64
#else
#define TENSOR_REAL TENSOR_F32
#endif

/* ---- Writing ---- */

typedef struct TensorRecord {
    const char *name;
    TensorType type;
    size_t rank, shape[TENSOR_MOST_AXES]; /* rank 0 is a scalar */
    const void *data;                     /* row-major; may be NULL if empty */
} TensorRecord;

typedef struct MetadataPair {
    const char *key, *value;
} MetadataPair;

/* Atomically replaces the file at path. The bytes depend only on tensors (count) and metadata
 * (metadata_count), not on the order of the records. Fails on NaN or infinity and on anything
 * the reader would reject.
 */
bool safetensors_write(const char *path, const TensorRecord *records, size_t count,
                       const MetadataPair *metadata, size_t metadata_count, Error *error);

/* ---- Reading ---- */

typedef struct TensorEntry {
    const char *name; /* owned by the header */
    TensorType type;
    size_t rank, shape[TENSOR_MOST_AXES];
    size_t begin, size; /* in bytes, from the start of the data */
} TensorEntry;

struct json_t;

typedef struct SafetensorsHeader {
    struct json_t *tree;
    TensorEntry *tensors; /* (tensor_count) in file order */
    size_t tensor_count;
} SafetensorsHeader;

typedef struct SafetensorsFile {
    SafetensorsHeader header;
    char *path;
    int fd;
    size_t data_start; /* file offset of the data */
} SafetensorsFile;

/* Validates the header and both checksums and keeps the file open for loading. After a failure
 * there is nothing to close. */
bool safetensors_open(SafetensorsFile *file, const char *path, Error *error);
void safetensors_close(SafetensorsFile *file);

/* Whether a tensor has this shape (rank). */
bool tensor_has_shape(const TensorEntry *tensor, size_t rank, const size_t *shape);

/* Return NULL if not found. */
const TensorEntry *safetensors_find(const SafetensorsFile *file, const char *name);
const char *safetensors_metadata(const SafetensorsFile *file, const char *key);

/* Loads one tensor into the caller's buffer of exactly this type and shape (rank). Fails on any
 * other type or shape, and on NaN or infinity; the buffer is then undefined. */
bool safetensors_load(const SafetensorsFile *file, const char *name, TensorType type,
                      size_t rank, const size_t *shape, void *destination, Error *error);
/* The same for a tensor that may also be F32, F16 or BF16. */
bool safetensors_load_reals(const SafetensorsFile *file, const char *name, size_t rank,
                            const size_t *shape, real *destination, Error *error);

/* ---- Shared by reader and writer ---- */

/* Start of headers written by linnet; eight hexadecimal digits of checksum follow. */
#define SAFETENSORS_OPENING "{\"__metadata__\":{\"header_crc32\":\""

typedef struct ChecksumText {
    char digits[9]; /* eight hexadecimal digits and NUL */
} ChecksumText;

ChecksumText checksum_text(unsigned long crc);
/* Checksum of a header that starts with SAFETENSORS_OPENING; its own digits count as zeros. */
unsigned long safetensors_header_checksum(const char *json, size_t length);

/* Parses an untrusted JSON header into a table. Checks every entry against the others and
 * against the number of data bytes. Needs no file, so the writer can check its own header and
 * tests can fuzz it. Error texts do not include the path. */
bool safetensors_header_parse(SafetensorsHeader *header, const char *json, size_t length,
                              size_t data_size, Error *error);
void safetensors_header_free(SafetensorsHeader *header);
const char *safetensors_header_metadata(const SafetensorsHeader *header, const char *key);

const char *tensor_type_name(TensorType type);
/* Size in bytes. False if it overflows, even with an axis of length 0. */
bool tensor_bytes(TensorType type, size_t rank, const size_t *shape, size_t *bytes);
/* Checks F16, BF16, F32 and F64 for NaN and infinity; other types pass. */
bool tensor_is_finite(TensorType type, const void *data, size_t bytes);

/* Printable labels for messages: a tensor name from an untrusted file, truncated, with
 * unprintable bytes as \xNN; and a shape, such as "[2, 3]". */
typedef struct TensorLabel {
    char text[192];
} TensorLabel;

TensorLabel tensor_label(const char *name);
TensorLabel tensor_shape_label(size_t rank, const size_t *shape);

#endif
