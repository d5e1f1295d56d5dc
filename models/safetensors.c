/* Shared by the reader and writer of safetensors files: types, sizes, checksums, labels for
 * messages. */
#include "models/safetensors.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and this code copies numbers as they are"
#endif

enum { BITS_PER_BYTE = 8 };

static const struct {
    const char *name;
    size_t bits;
} types[] = {
#define TENSOR_TYPE(name, bits) {#name, bits},
    TENSOR_TYPES(TENSOR_TYPE)
#undef TENSOR_TYPE
};

const char *tensor_type_name(TensorType type)
{
    assert(type < TENSOR_TYPE_COUNT);
    return types[type].name;
}

TensorType tensor_type_of(const char *name)
{
    TensorType type = 0;
    while (type < TENSOR_TYPE_COUNT && strcmp(types[type].name, name) != 0)
        type++;
    return type;
}

bool tensor_bytes(TensorType type, size_t rank, const size_t *shape, size_t *bytes)
{
    assert(type < TENSOR_TYPE_COUNT);
    size_t bits = types[type].bits;
    bool empty = false;
    for (size_t axis = 0; axis < rank; axis++) {
        if (shape[axis] == 0)
            empty = true;
        else if (__builtin_mul_overflow(bits, shape[axis], &bits))
            return false;
    }
    *bytes = empty ? 0 : bits / BITS_PER_BYTE;
    return empty || bits % BITS_PER_BYTE == 0;
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
