#include "tests/tensor_files.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

char *tensor_path;

void tensor_set_path(void)
{
    tensor_path = scratch_path("file.safetensors");
}

/* --- by hand --- */

void tensor_put_bytes(const void *bytes, size_t size)
{
    scratch_write(tensor_path, bytes, size);
}

void tensor_put_length(uint64_t length, const void *header, size_t header_size,
                       size_t data_size)
{
    size_t size = sizeof length + header_size + data_size;
    char *bytes = memory_new(size, 1, "a test");
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + sizeof length, header, header_size);
    tensor_put_bytes(bytes, size);
    free(bytes);
}

void tensor_put(const char *header, size_t data_size)
{
    tensor_put_length(strlen(header), header, strlen(header), data_size);
}

/* --- by the writer --- */

static const real weights[] = {0, -1.5, (real)1e30, (real)0.1, -0.0, (real)1e-40};
static const unsigned char words[] = "a\nthe\n";
static const uint64_t wide[] = {UINT64_MAX, 0, 1};
static const double lone = -2.5;
static const uint16_t half[] = {1, 2, 65535};

const TensorRecord tensor_samples[TENSOR_SAMPLES] = {
    {"vocab", TENSOR_U8, 1, {6}, words},
    {"h.0.weight", TENSOR_REAL, 2, {2, 3}, weights},
    {"lone", TENSOR_F64, 0, {0}, &lone},
    {"none", TENSOR_REAL, 2, {0, 7}, NULL},
    {"also none", TENSOR_U8, 1, {0}, NULL},
    {"wide", TENSOR_U64, 1, {3}, wide},
    {"half \"\\/ \xc3\xa9", TENSOR_U16, 3, {1, 3, 1}, half},
};
const MetadataPair tensor_notes[TENSOR_NOTES] = {
    {"config", "dim = 64\nname = \"a \\ b\"\t\x01\x7f"},
    {"\xc3\xa9t\xc3\xa9", "\xe2\x82\xac \xf0\x9f\x90\xa6"},
    {"empty", ""},
};

void tensor_write_samples(void)
{
    Error error;
    ck_assert_msg(safetensors_write(tensor_path, tensor_samples, TENSOR_SAMPLES, tensor_notes,
                                    TENSOR_NOTES, &error),
                  "%s", error.text);
}

#define GOLDEN_START "\xc8\0\0\0\0\0\0\0"
#define GOLDEN_HEADER                                                          \
    "{\"__metadata__\":{\"header_crc32\":\"671f99d4\",\"crc32\":\"18b8705c\"," \
    "\"format\":\"pt\",\"step\":\"7\"},"                                       \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"        \
    "\"v\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]}}    "
#define GOLDEN_DATA            \
    "\0\0\x80\x3f\0\0\x20\xc0" \
    "ab\n"
const char tensor_golden[TENSOR_GOLDEN + 1] = GOLDEN_START GOLDEN_HEADER GOLDEN_DATA;

/* --- checks --- */

void tensor_check_message(const Error *error)
{
    for (const unsigned char *c = (const unsigned char *)error->text; *c; c++)
        ck_assert_msg(*c >= 0x20 && *c < 0x7f, "odd byte in: %s", error->text);
    ck_assert_msg(strncmp(error->text, tensor_path, strlen(tensor_path)) == 0,
                  "no tensor_path in: %s", error->text);
}

bool tensor_opens(Error *error)
{
    SafetensorsFile file;
    if (safetensors_open(&file, tensor_path, error)) {
        safetensors_close(&file);
        return true;
    }
    tensor_check_message(error);
    return false;
}

/* The file at tensor_path is refused with this message. */
void tensor_refused(const char *what, const char *reason)
{
    Error error;
    ck_assert_msg(!tensor_opens(&error), "accepted: %s", what);
    ck_assert_msg(strstr(error.text, reason) != NULL, "%s: expected \"%s\" in \"%s\"", what,
                  reason, error.text);
}

void tensor_refused_header(const char *header, size_t data_size, const char *reason)
{
    tensor_put(header, data_size);
    tensor_refused(header, reason);
}
