/* Reading tensor files: loading requires the exact type and shape; truncated, damaged and
 * foreign files are rejected with one printable line. */
#include "tests/tensor_files.h"
#include "tests/tests.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

SUITE("safetensors: reading", TENSOR_FILE);

TEST(tensors_of_another_shape_or_type_are_not_loaded)
{
    tensor_put("{" TENSOR_ENTRY("ln", "F32", "[64]", 0,
                                256) "," TENSOR_ENTRY("f16", "F16", "[2]", 256, 260) "}",
               260);
    SafetensorsFile file;
    Error error;
    float back[128];
    ck_assert(safetensors_open(&file, tensor_path, &error));
    const struct {
        const char *name, *reason;
        TensorType type;
        size_t rank, shape[2];
    } asked[] = {
        {"ln", ": ln: shape [64], expected [128]", TENSOR_F32, 1, {128}},
        {"ln", ": ln: shape [64], expected [64, 1]", TENSOR_F32, 2, {64, 1}},
        {"ln", ": ln: shape [64], expected []", TENSOR_F32, 0, {0}},
        {"ln", ": ln: dtype F32, expected U8", TENSOR_U8, 1, {64}},
        {"f16", ": f16: dtype F16, expected F32", TENSOR_F32, 1, {2}},
        {"l", ": l: no such tensor", TENSOR_F32, 1, {64}},
        {"\x1b[2J\xff", ": \\x1b[2J\\xff: no such tensor", TENSOR_F32, 1, {64}},
    };
    for (size_t i = 0; i < COUNT(asked); i++) {
        ck_assert(!safetensors_load(&file, asked[i].name, asked[i].type, asked[i].rank,
                                    asked[i].shape, back, &error));
        tensor_check_message(&error);
        ck_assert_str_eq(error.text + strlen(tensor_path), asked[i].reason);
    }
    ck_assert(safetensors_load(&file, "ln", TENSOR_F32, 1, (size_t[]){64}, back, &error));
    safetensors_close(&file);
}

TEST(values_that_are_not_finite_are_not_loaded)
{
    const char *header = "{" TENSOR_ENTRY("w", "F32", "[3]", 0,
                                          12) "," TENSOR_ENTRY("d", "F64", "[1]", 12, 20) "}";
    char bytes[256];
    uint64_t length = strlen(header);
    double bad_doubles[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    float bad_floats[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(bad_floats); i++) {
        float back[3] = {0};
        double d;
        Error error;
        memcpy(bytes, &length, 8);
        memcpy(bytes + 8, header, length);
        memcpy(bytes + 8 + length, (float[]){1, 2, bad_floats[i]}, 12);
        memcpy(bytes + 8 + length + 12, &bad_doubles[i], 8);
        tensor_put_bytes(bytes, 8 + length + 20);
        SafetensorsFile file;
        ck_assert(safetensors_open(&file, tensor_path, &error));
        ck_assert(!safetensors_load(&file, "w", TENSOR_F32, 1, (size_t[]){3}, back, &error));
        ck_assert_ptr_nonnull(strstr(error.text, ": w: contains NaN or infinity"));
        ck_assert(!safetensors_load(&file, "d", TENSOR_F64, 1, (size_t[]){1}, &d, &error));
        safetensors_close(&file);
    }
}

TEST(a_file_that_shrinks_while_open_is_refused)
{
    tensor_write_samples();
    SafetensorsFile file;
    Error error;
    unsigned char back[6];
    ck_assert(safetensors_open(&file, tensor_path, &error));
    ck_assert_int_eq(truncate(tensor_path, (off_t)file.data_start + 3), 0);
    ck_assert(!safetensors_load(&file, "vocab", TENSOR_U8, 1, (size_t[]){6}, back, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "truncated while"));
    safetensors_close(&file);
}

/* --- foreign files --- */

TEST(files_of_other_kinds_are_refused)
{
    static const char zip[] = "PK\3\4\0\0\0\0\0\0\0\0", text[] = "The cat sat.\n";
    tensor_put_bytes(zip, sizeof zip - 1);
    tensor_refused("a zip archive", "not a safetensors file");
    tensor_put_bytes(text, sizeof text - 1);
    tensor_refused("a text", "not a safetensors file");
}

TEST(only_regular_files_are_read)
{
    char *file = tensor_path;
    tensor_path = scratch_path(".");
    tensor_refused("a folder", "not a regular file");
    tensor_path = (char[]){"/dev/zero"};
    tensor_refused("/dev/zero", "not a regular file");
    tensor_path = file;
    tensor_refused("a missing file", "No such file");
    ck_assert_int_eq(mkfifo(tensor_path, 0600), 0);
    tensor_refused("a pipe", "not a regular file");
    unlink(tensor_path);
    ck_assert_int_eq(symlink(tensor_path, tensor_path), 0);
    tensor_refused("a link to itself", strerror(ELOOP));
    unlink(tensor_path);
    tensor_put_bytes("{", 1);
    ck_assert_int_eq(truncate(tensor_path, (off_t)10 << 30), 0);
    tensor_refused("10 GiB of nothing", "more than the limit");
}

/* Root may read everything, so this switches to another user. */
TEST(an_unreadable_file_is_refused)
{
    enum { NOBODY = 65534 };
    bool root = geteuid() == 0;
    tensor_put_bytes(tensor_golden, TENSOR_GOLDEN);
    ck_assert_int_eq(chmod(tensor_path, 0), 0);
    if (root)
        ck_assert_int_eq(seteuid(NOBODY), 0);
    tensor_refused("a file that may not be read", "Permission denied");
    if (root)
        ck_assert_int_eq(seteuid(0), 0);
}

/* --- damage --- */

TEST(a_file_cut_anywhere_is_refused)
{
    Error error;
    tensor_put_bytes(tensor_golden, TENSOR_GOLDEN);
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
    for (size_t size = 0; size < TENSOR_GOLDEN; size++) {
        tensor_put_bytes(tensor_golden, size);
        ck_assert_msg(!tensor_opens(&error), "accepted when cut to %zu bytes", size);
    }
}

TEST(a_flipped_bit_is_noticed)
{
    char bytes[TENSOR_GOLDEN + 1];
    for (size_t bit = 0; bit < 8 * TENSOR_GOLDEN; bit++) {
        Error error;
        memcpy(bytes, tensor_golden, sizeof tensor_golden);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        tensor_put_bytes(bytes, TENSOR_GOLDEN);
        ck_assert_msg(!tensor_opens(&error), "accepted with bit %zu of byte %zu turned",
                      bit % 8, bit / 8);
    }
}

/* Without checksums a flipped bit may give another valid file, but never a crash. */
TEST(a_flipped_bit_without_checksums_does_no_harm)
{
    static const char header[] = "{" TENSOR_ENTRY("a", "U8", "[2]", 0, 2) "," TENSOR_ENTRY(
        "b", "F32", "[1,1]", 2, 6) "} ";
    char bytes[8 + sizeof header + 6] = {sizeof header - 1};
    size_t size = sizeof bytes - 1, accepted = 0;
    memcpy(bytes + 8, header, sizeof header - 1);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        Error error;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        tensor_put_bytes(bytes, size);
        accepted += tensor_opens(&error);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    /* The 48 bits of data, some letters of names, U8 changed to I8... */
    ck_assert_uint_ge(accepted, 48);
    ck_assert_uint_le(accepted, 72);
}
