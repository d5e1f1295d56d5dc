/* Malicious headers: each is rejected with its own error, before any allocation of the claimed
 * size. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/tensor_files.h"
#include "tests/tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

SUITE("safetensors: hostile headers", TENSOR_FILE);

TEST(invalid_json_is_refused)
{
    static const struct {
        const char *header, *reason;
    } bad[] = {
        {"", "byte 8: the header is not valid JSON"},
        {"{", "not valid JSON"},
        {"[]", "not a JSON object"},
        {"[{}]", "not a JSON object"},
        {"7", "not valid JSON"},
        {"{} {}", "not valid JSON"},
        {"{}x", "not valid JSON"},
        {"{\"\xff\":1}", "byte 10: the header is not valid JSON: unable to decode byte 0xff"},
        {"{\"a\xed\xa0\x80\":1}", "not valid JSON"},
        {"\xef\xbb\xbf{}", "not valid JSON"},
        {"{\"a\":\"\x1b[2J\"}", "not valid JSON"},
        {"{\"a\\u0000b\":1}", "not valid JSON"},
        {"{\"__metadata__\":{\"a\":\"b\\u0000c\"}}", "not valid JSON"},
        {"{\"__metadata__\":{\"a\\u0000\":\"b\"}}", "not valid JSON"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate object key"},
        {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"b\"}}", "duplicate object key"},
        {"{\"__metadata__\":[]}", "__metadata__ is not an object"},
        {"{\"__metadata__\":\"x\"}", "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", "__metadata__ a: not a string"},
        {"{\"__metadata__\":{\"a\":{}}}", "__metadata__ a: not a string"},
        {"{\"__metadata__\":{\"\\u001b\":\"\"}}", "\\x1b: control characters"},
        {"{\"__metadata__\":{\"crc32\":\"00000000\"}}", "checksums"},
        {"{\"__metadata__\":{\"header_crc32\":\"00000000\"}}", "checksums"},
        {"{\"__metadata__\":{\"crc32\":\"\",\"header_crc32\":\"\"}}", "header is damaged"},
        {"{\"__metadata__\":{\"header_crc32\":\"\",\"crc32\":\"\"}}", "header is damaged"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        tensor_refused_header(bad[i].header, 0, bad[i].reason);
    tensor_put_length(3, "{}\0", 3, 0);
    tensor_refused("a zero byte after the JSON", "not valid JSON");
}

TEST(invalid_entries_are_refused)
{
#define REST "\"shape\":[2],\"data_offsets\":[0,2]}}"
    static const struct {
        const char *header, *reason;
    } bad[] = {
        {"{\"a\":1}", "tensor a: not an object"},
        {"{\"a\":[]}", "tensor a: not an object"},
        {"{\"a\":{}}", "tensor a: no dtype"},
        {"{\"a\":{\"dtype\":8," REST, "tensor a: no dtype"},
        {"{\"a\":{\"dtype\":\"U9\"," REST, "tensor a: unknown dtype U9"},
        {"{\"a\":{\"dtype\":\"u8\"," REST, "tensor a: unknown dtype u8"},
        {"{\"a\":{\"dtype\":\"\\u001b[2J\"," REST, "unknown dtype \\x1b[2J"},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", "its shape is not"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", "its data_offsets are not"},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"," REST, "duplicate object key"},
        {"{\"a\":{\"dtype\":\"U8\"," REST "x", "not valid JSON"},
        {"{" TENSOR_ENTRY("a", "U8", "2", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "{}", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[\"2\"]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[2.0]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[1.5]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[2e0]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[-2]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[null]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[281474976710656]", 0, 2) "}", "its shape is not"},
        {"{" TENSOR_ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,2]", 0, 2) "}", "at most 8"},
        {"{" TENSOR_ENTRY("a", "U8", "[2]", 0, 2.0) "}", "its data_offsets are not"},
        {"{" TENSOR_ENTRY("a", "U8", "[2]", -2, 0) "}", "its data_offsets are not"},
        {"{" TENSOR_ENTRY("a", "U8", "[2]", 0, 1e3) "}", "its data_offsets are not"},
        {"{" TENSOR_ENTRY("a", "U8", "[2]", 0, 281474976710656) "}",
         "its data_offsets are not"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}", "its data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1,2]}}", "its data_off"},
        {"{" TENSOR_ENTRY("a", "U8", "[2]", 2, 0) "}", "before its start"},
        {"{" TENSOR_ENTRY("a", "U8", "[3]", 0, 2) "}", "[3] of U8 takes 3 bytes, but it has 2"},
        {"{" TENSOR_ENTRY("a", "F32", "[2]", 0, 2) "}", "takes 8 bytes, but it has 2"},
        {"{" TENSOR_ENTRY("a", "U8", "[0]", 0, 2) "}", "takes 0 bytes, but it has 2"},
        {"{" TENSOR_ENTRY("a", "F4", "[4]", 0, 2) "}", "unknown dtype F4"},
        {"{" TENSOR_ENTRY("a\\u001b", "U8", "[2]", 0, 2) "}",
         "tensor a\\x1b: control characters"},
        {"{" TENSOR_ENTRY("a\\n", "U8", "[2]", 0, 2) "}", "tensor a\\x0a: control characters"},
        {"{" TENSOR_ENTRY("a\\u007f", "U8", "[2]", 0, 2) "}", "control characters"},
        {"{" TENSOR_ENTRY("a\\u009b", "U8", "[2]", 0, 2) "}", "control characters"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        tensor_refused_header(bad[i].header, 2, bad[i].reason);
    tensor_put("{" TENSOR_ENTRY("caf\\u00e9 \\u00a0", "U8", "[2]", 0, 2) "}", 2);
    Error error;
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
    tensor_put("{\"a\":{\"more\":[{}],\"dtype\":\"U8\"," REST,
               2); /* unknown keys are ignored */
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
}

TEST(huge_shapes_are_refused)
{
    static const struct {
        const char *shape, *reason;
    } bad[] = {
        {"[2,18446744073709551614]", "too big integer"},
        {"[2,9223372036854775807]", "its shape is not"},
        {"[4294967296,4294967296]", "no valid size"},
        {"[0,9223372036854775808]", "too big integer"},
        {"[0,9223372036854775807]", "its shape is not"},
        {"[0,281474976710655,65537]", "no valid size"},
        {"[281474976710655,65537,0]", "no valid size"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *header = text_format("{\"a\":{\"dtype\":\"U8\",\"shape\":%s,"
                                   "\"data_offsets\":[0,0]}}",
                                   bad[i].shape);
        tensor_refused_header(header, 0, bad[i].reason);
        free(header);
    }
}

TEST(tensors_outside_the_file_or_over_others_are_refused)
{
#define A TENSOR_ENTRY("a", "U8", "[2]", 0, 2)
    const char *two = "{" A "," TENSOR_ENTRY("b", "U8", "[2]", 2, 4) "}";
    tensor_refused_header("{" A "," A "}", 2, "duplicate object key");
    tensor_refused_header("{" A "," TENSOR_ENTRY("b", "U8", "[2]", 3, 5) "}", 5,
                          "tensor b: begins at byte 3");
    tensor_refused_header("{" A "," TENSOR_ENTRY("b", "U8", "[2]", 1, 3) "}", 3,
                          "tensor b: begins at byte 1");
    tensor_refused_header("{" A "," TENSOR_ENTRY("b", "U8", "[2]", 0, 2) "}", 2,
                          "an overlap with");
    tensor_refused_header("{" TENSOR_ENTRY("b", "U8", "[2]", 1, 3) "}", 3, "a hole after");
    tensor_refused_header("{" A "," TENSOR_ENTRY("b", "U8", "[0]", 1, 1) "}", 2,
                          "an overlap with");
    tensor_refused_header("{" A "," TENSOR_ENTRY("b", "U8", "[0]", 3, 3) "}", 3,
                          "a hole after");
    tensor_refused_header(two, 5, "take 4 bytes, but 5 follow the header: too many");
    tensor_refused_header(two, 3,
                          "take 4 bytes, but 3 follow the header: the file is truncated");
    tensor_refused_header("{" A "}", 0, "the file is truncated");
    tensor_refused_header("{}", 28, "too many"); /* where a second format could hide */
    tensor_put("{" TENSOR_ENTRY("b", "U8", "[2]", 2, 4) "," A "," TENSOR_ENTRY("c", "U8", "[0]",
                                                                               2, 2) "}",
               4);
    Error error;
    ck_assert_msg(tensor_opens(&error), "%s", error.text); /* any order of keys is valid */
}

TEST(impossible_header_lengths_are_refused)
{
    static const uint64_t lengths[] = {3, 100, 1 << 21};
    static const uint64_t none[] = {100000000, 1ull << 32, 1ull << 63, UINT64_MAX - 7,
                                    UINT64_MAX};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        tensor_put_length(lengths[i], "{}", 2, 0);
        tensor_refused("a length", "byte 0: a header of");
    }
    for (size_t i = 0; i < COUNT(none); i++) {
        tensor_put_length(none[i], "{}", 2, 0);
        tensor_refused("a length", "not a safetensors file");
    }
    tensor_put_length(100000000, "{", 1, 0);
    ck_assert_int_eq(truncate(tensor_path, 8 + 100000000), 0);
    tensor_refused("100 MB of header", "not a safetensors file");
    char *large = memory_new(1000000, 1, "a test");
    memset(large, '[', 1000000);
    tensor_put_length(1000000, large, 1000000, 0);
    tensor_refused("a million brackets", "byte 16: the header has too many brackets");
    for (size_t i = 0; i + 3 <= 1000000; i += 3)
        memcpy(large + i, i ? ",{}" : "[{}", 3);
    tensor_put_length(1000000, large, 1000000, 0);
    tensor_refused("a third of a million objects", "too many brackets");
    free(large);
    tensor_put_bytes("\0\0\0\0\0\0\0", 7);
    tensor_refused("seven bytes", "not a safetensors file");
    tensor_put_bytes("", 0);
    tensor_refused("an empty file", "not a safetensors file");
}

TEST(too_many_tensors_are_refused)
{
    const size_t widest = 96;
    char *header = memory_new(SAFETENSORS_MOST_TENSORS + 1, widest, "a test");
    char *end = header, *last = header;
    for (size_t i = 0; i <= SAFETENSORS_MOST_TENSORS; i++) {
        const char *entry = "%s\"%zx\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
        last = end;
        end += snprintf(end, widest, entry, i ? "," : "{\"__metadata__\":{},", i);
    }
    strcpy(end, "}");
    tensor_refused_header(header, 0, "32769 tensors are more than the limit of 32768");
    strcpy(last, "}");
    tensor_put(header, 0);
    Error error;
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
    free(header);
}

/* --- cost of rejection --- */

static double seconds_now(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static double peak_megabytes(void)
{
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)usage.ru_maxrss / 1000;
}

/* A header of about this size: a numbered piece repeated. */
static char *repeat(const char *start, const char *piece, const char *end, size_t bytes)
{
    enum { NUMBER = 8 };
    char *header = memory_new(bytes + strlen(start) + strlen(end) + strlen(piece) + NUMBER, 1,
                              "a test"),
         *next = header + sprintf(header, "%s", start);
    for (unsigned i = 0; (size_t)(next - header) < bytes; i++)
        next += sprintf(next, piece, i); /* NOLINT: the pieces stand below */
    sprintf(next, "%s", end);
    return header;
}

TEST(refusals_are_cheap)
{
    static const struct {
        const char *start, *piece, *end, *reason;
    } bad[] = {
        {"{", "\"%x\":{},", "}", "too many brackets"},
        {"{\"a\":", "[", "", "too many brackets"},
        {"{", "\"%x\":0,", "\"\":0}", "more than the limit of 32768"},
        {"{\"__metadata__\":{", "\"%x\":\"\",", "\"\":0}}", "not a string"},
        {"{\"__metadata__\":{", "\"a\":\"%x\",", "}}", "duplicate object key"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1", ",%u", "]}}", "its shape is not"},
        {"{\"a\":{\"dtype\":\"", "%x", "\"}}", "unknown dtype"},
    };
    /* A slow processor under sanitizers takes 1 second; a quadratic reader takes minutes. */
    const double most_seconds = 10;
#ifdef __SANITIZE_ADDRESS__
    const double most_megabytes = 256; /* red zones around 400,000 small blocks */
#else
    const double most_megabytes = 64;
#endif
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *header = repeat(bad[i].start, bad[i].piece, bad[i].end,
                              SAFETENSORS_MOST_HEADER - 64);
        double start = seconds_now(), before = peak_megabytes();
        tensor_put(header, 0);
        tensor_refused(bad[i].piece, bad[i].reason);
        ck_assert_double_lt(seconds_now() - start, most_seconds);
        ck_assert_double_lt(peak_megabytes() - before, most_megabytes);
        free(header);
    }
}

/* Many overlapping tensors would amplify a small file. */
TEST(many_tensors_in_one_place_are_refused)
{
    char *header = repeat("{",
                          "\"%x\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},",
                          TENSOR_ENTRY("last", "U8", "[2]", 0, 2) "}", 800000);
    tensor_put(header, 2);
    tensor_refused("many tensors in one place", "an overlap with");
    free(header);
}

/* Names are never used as paths; messages show a truncated name. */
TEST(names_of_any_kind_are_only_names)
{
    static const char *const names[] = {"../../etc/passwd", "/etc/passwd", "..", "a/b", "%s%n",
                                        "h.0.weight ",      "\xc2\xa0"};
    char *long_name = repeat("", "%08x", "", 900000);
    for (size_t i = 0; i <= COUNT(names); i++) {
        const char *name = i < COUNT(names) ? names[i] : long_name;
        char *header = text_format("{\"%s\":{\"dtype\":\"U8\",\"shape\":[2],"
                                   "\"data_offsets\":[0,2]}}",
                                   name);
        tensor_put(header, 2);
        SafetensorsFile file;
        Error error;
        unsigned char back[] = {7, 7};
        ck_assert_msg(safetensors_open(&file, tensor_path, &error), "%s", error.text);
        ck_assert(safetensors_load(&file, name, TENSOR_U8, 1, (size_t[]){2}, back, &error));
        ck_assert_int_eq(back[0] + back[1], 0);
        ck_assert(!safetensors_load(&file, name, TENSOR_I8, 1, (size_t[]){2}, back, &error));
        tensor_check_message(&error);
        ck_assert_ptr_nonnull(strstr(error.text, "dtype U8, expected I8"));
        safetensors_close(&file);
        ck_assert_uint_eq(scratch_count(), 1);
        free(header);
    }
    free(long_name);
}
