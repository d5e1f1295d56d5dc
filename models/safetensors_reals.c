/* Loading tensors of any floating-point type as reals. Every value of F16, BF16 and F32 is a
 * float, so nothing is rounded. */
#include "models/safetensors.h"
#include "src/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    unsigned char *stored = memory_take(possible ? tensor->size : 0, 1, "a tensor");
    bool good = possible && safetensors_load(file, name, type, rank, shape, stored, error);
    size_t count = good ? bytes / (type == TENSOR_F32 ? sizeof(float) : sizeof(uint16_t)) : 0;
    for (size_t i = 0; i < count; i++)
        destination[i] = number_at(type, stored, i);
    free(stored);
    return good;
}
