/* Files of named tensors, in the safetensors format that other programs read too.
 *
 * Eight bytes of length, a JSON header that says where each tensor lies, then the numbers. The
 * format is a good choice for files that strangers send: it holds no code, and a reader can
 * know that all of it makes sense before it believes any size. This reader does, and is
 * stricter than the format asks: no duplicate keys, no control characters in names, no NaN.
 *
 * What the format lacks is a checksum, so two are kept in its metadata: "crc32" of the numbers
 * and "header_crc32" of the header with its own digits as zeros. Files by other programs have
 * neither, and are taken as they are; a file that has one must have both, and both right. */
#ifndef LINNET_SAFETENSORS_H
#define LINNET_SAFETENSORS_H

#include "src/error.h"
#include "src/real.h"

enum {
    TENSOR_MOST_AXES = 8,
    SAFETENSORS_MOST_TENSORS = 1 << 14,
    SAFETENSORS_MOST_HEADER = 1 << 20, /* bytes of JSON */
    SAFETENSORS_LENGTH_BYTES = 8
};
/* Far above any model that this program trains, and low enough to refuse a sparse monster. */
#define SAFETENSORS_MOST_FILE ((uint64_t)1 << 33)

/* Every type that the format knows, in its own order. Tensors lie in a file by falling type,
 * so that wide numbers come first and all are aligned. linnet itself writes U8 and reals. */
typedef enum TensorType {
    TENSOR_BOOL,
    TENSOR_F4,
    TENSOR_F6_E2M3,
    TENSOR_F6_E3M2,
    TENSOR_U8,
    TENSOR_I8,
    TENSOR_F8_E5M2,
    TENSOR_F8_E4M3,
    TENSOR_F8_E8M0,
    TENSOR_F8_E4M3FNUZ,
    TENSOR_F8_E5M2FNUZ,
    TENSOR_I16,
    TENSOR_U16,
    TENSOR_F16,
    TENSOR_BF16,
    TENSOR_I32,
    TENSOR_U32,
    TENSOR_F32,
    TENSOR_C64,
    TENSOR_F64,
    TENSOR_I64,
    TENSOR_U64,
    TENSOR_TYPE_COUNT
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
    size_t rank, shape[TENSOR_MOST_AXES]; /* rank 0 is one number */
    const void *data;                     /* row after row; may be NULL if it is empty */
} TensorRecord;

typedef struct MetadataPair {
    const char *key, *value;
} MetadataPair;

/* Replaces the file at path, whole or not at all. The bytes depend on the tensors and the
 * metadata alone, not on the order of the records. Refuses floats that are not finite, and
 * whatever the reader below would refuse. */
bool safetensors_write(const char *path, const TensorRecord *records, size_t count,
                       const MetadataPair *metadata, size_t metadata_count, Error *error);

/* ---- Reading ---- */

typedef struct TensorEntry {
    const char *name; /* lives as long as the header */
    TensorType type;
    size_t rank, shape[TENSOR_MOST_AXES];
    size_t begin, size; /* in bytes, from the start of the numbers */
} TensorEntry;

struct json_t;

typedef struct SafetensorsHeader {
    struct json_t *tree;
    TensorEntry *tensors; /* in the order of the file */
    size_t tensor_count;
} SafetensorsHeader;

typedef struct SafetensorsFile {
    SafetensorsHeader header;
    char *path;
    int fd;
    size_t data_start; /* where in the file the numbers begin */
} SafetensorsFile;

/* Checks the header and both checksums, and keeps the file open for loading. After a failure
 * there is nothing to close. */
bool safetensors_open(SafetensorsFile *file, const char *path, Error *error);
void safetensors_close(SafetensorsFile *file);

/* NULL if there is none. */
const TensorEntry *safetensors_find(const SafetensorsFile *file, const char *name);
const char *safetensors_metadata(const SafetensorsFile *file, const char *key);

/* Copies one tensor to a place that the caller made for exactly this type and shape. Any other
 * type or shape in the file is an error, and so are floats that are not finite; the place then
 * holds nothing of use. */
bool safetensors_load(const SafetensorsFile *file, const char *name, TensorType type,
                      size_t rank, const size_t *shape, void *destination, Error *error);

/* ---- What reader and writer share ---- */

/* How linnet's own headers begin; eight digits of checksum follow. */
#define SAFETENSORS_OPENING "{\"__metadata__\":{\"header_crc32\":\""

typedef struct ChecksumText {
    char digits[9]; /* eight hexadecimal digits, then the end */
} ChecksumText;

ChecksumText checksum_text(unsigned long crc);
/* Of a header that begins with the opening; its own digits count as zeros. */
unsigned long safetensors_header_checksum(const char *json, size_t length);

/* Makes a table of a header's JSON, believing nothing: every entry is checked against the
 * others and against the number of bytes that follow. Needs no file, so that the writer can
 * check its own header and tests can throw anything at it. Error texts lack the path. */
bool safetensors_header_parse(SafetensorsHeader *header, const char *json, size_t length,
                              size_t data_size, Error *error);
void safetensors_header_free(SafetensorsHeader *header);
const char *safetensors_header_metadata(const SafetensorsHeader *header, const char *key);

/* The format's name of a type, and the type of a name, TENSOR_TYPE_COUNT if there is none. */
const char *tensor_type_name(TensorType type);
TensorType tensor_type_of(const char *name);
/* False if the size overflows, also behind an axis of length 0, or ends inside a byte. */
bool tensor_bytes(TensorType type, size_t rank, const size_t *shape, size_t *bytes);
/* Floats of 32 and 64 bits are looked at, other types are not. */
bool tensor_is_finite(TensorType type, const void *data, size_t bytes);

/* Short printable texts for messages: a name out of a file, which may hold anything, with its
 * odd bytes as \xNN and a long tail cut off; and a shape, such as "[2, 3]". */
typedef struct TensorLabel {
    char text[192];
} TensorLabel;

TensorLabel tensor_label(const char *name);
TensorLabel tensor_shape_label(size_t rank, const size_t *shape);

#endif
