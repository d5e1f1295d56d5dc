/* Tests of safetensors files: what is written comes back, byte for byte the same each time, and
 * whatever a broken or hostile file holds is refused in one printable line. Bad files are made
 * here by hand, one for each way of being bad, because no writer should be able to. */
#include "models/safetensors.h"
#include "tests/tests.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static char folder[] = "/tmp/linnet-safetensors-XXXXXX";
static char *path;

static void folder_make(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    path = file_join(folder, "file.safetensors");
}

static size_t folder_visit(bool empty_it)
{
    DIR *entries = opendir(folder);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (empty_it)
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
    return count;
}

static void folder_empty(void)
{
    folder_visit(true);
}

static void folder_remove(void)
{
    folder_empty();
    rmdir(folder);
    free(path);
}

/* ---- Files made by hand ---- */

/* Thousands of files go through here. Cutting to the new length after writing, and not to zero
 * before, keeps file systems from flushing each of them to the disk. */
static void put_bytes(const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
    close(fd);
}

static void put_length(uint64_t length, const void *header, size_t header_size,
                       size_t data_size)
{
    size_t size = sizeof length + header_size + data_size;
    char *bytes = memory_take(size, 1, "a test");
    memcpy(bytes, &length, sizeof length);
    memcpy(bytes + sizeof length, header, header_size);
    put_bytes(bytes, size);
    free(bytes);
}

static void put(const char *header, size_t data_size)
{
    put_length(strlen(header), header, strlen(header), data_size);
}

static void check_message(const Error *error)
{
    for (const unsigned char *c = (const unsigned char *)error->text; *c; c++)
        ck_assert_msg(*c >= 0x20 && *c < 0x7f, "odd byte in: %s", error->text);
    ck_assert_msg(strncmp(error->text, path, strlen(path)) == 0, "no path in: %s", error->text);
}

static bool opens(Error *error)
{
    SafetensorsFile file;
    if (safetensors_open(&file, path, error)) {
        safetensors_close(&file);
        return true;
    }
    check_message(error);
    return false;
}

/* The file at path is refused, and the message says so. */
static void refused(const char *what, const char *reason)
{
    Error error;
    ck_assert_msg(!opens(&error), "accepted: %s", what);
    ck_assert_msg(strstr(error.text, reason) != NULL, "%s: expected \"%s\" in \"%s\"", what,
                  reason, error.text);
}

static void refused_header(const char *header, size_t data_size, const char *reason)
{
    put(header, data_size);
    refused(header, reason);
}

/* ---- There and back ---- */

static const real weights[] = {0, -1.5, (real)1e30, (real)0.1, -0.0, (real)1e-40};
static const unsigned char words[] = "a\nthe\n";
static const uint64_t wide[] = {UINT64_MAX, 0, 1};
static const double lone = -2.5;
static const uint16_t half[] = {1, 2, 65535};

static const TensorRecord samples[] = {
    {"vocab", TENSOR_U8, 1, {6}, words},
    {"h.0.weight", TENSOR_REAL, 2, {2, 3}, weights},
    {"lone", TENSOR_F64, 0, {0}, &lone},
    {"none", TENSOR_REAL, 2, {0, 7}, NULL},
    {"also none", TENSOR_U8, 1, {0}, NULL},
    {"wide", TENSOR_U64, 1, {3}, wide},
    {"half \"\\/ \xc3\xa9", TENSOR_U16, 3, {1, 3, 1}, half},
};
static const MetadataPair notes[] = {
    {"config", "dim = 64\nname = \"a \\ b\"\t\x01"},
    {"\xc3\xa9t\xc3\xa9", "\xe2\x82\xac \xf0\x9f\x90\xa6"},
    {"empty", ""},
};

static void write_samples(void)
{
    Error error;
    ck_assert_msg(safetensors_write(path, samples, COUNT(samples), notes, COUNT(notes), &error),
                  "%s", error.text);
}

START_TEST(test_round_trip)
{
    write_samples();
    SafetensorsFile file;
    Error error;
    ck_assert_msg(safetensors_open(&file, path, &error), "%s", error.text);
    ck_assert_uint_eq(file.header.tensor_count, COUNT(samples));
    for (size_t i = 0; i < COUNT(samples); i++) {
        const TensorRecord *sample = &samples[i];
        const TensorEntry *tensor = safetensors_find(&file, sample->name);
        ck_assert_ptr_nonnull(tensor);
        unsigned char back[64];
        ck_assert_uint_le(tensor->size, sizeof back);
        ck_assert_msg(safetensors_load(&file, sample->name, sample->type, sample->rank,
                                       sample->shape, back, &error),
                      "%s", error.text);
        ck_assert(tensor->size == 0 || memcmp(back, sample->data, tensor->size) == 0);
    }
    for (size_t i = 0; i < COUNT(notes); i++)
        ck_assert_str_eq(safetensors_metadata(&file, notes[i].key), notes[i].value);
    ck_assert_str_eq(safetensors_metadata(&file, "format"), "pt");
    ck_assert_ptr_null(safetensors_metadata(&file, "vocab"));
    ck_assert_ptr_null(safetensors_find(&file, "__metadata__"));
    safetensors_close(&file);
}
END_TEST

START_TEST(test_no_tensors)
{
    Error error;
    ck_assert(safetensors_write(path, NULL, 0, NULL, 0, &error));
    ck_assert_msg(opens(&error), "%s", error.text);
    put("{}", 0);
    ck_assert_msg(opens(&error), "%s", error.text);
    put(" \n{ } \r\n\t", 0); /* blanks around the JSON are fine */
    ck_assert_msg(opens(&error), "%s", error.text);
}
END_TEST

START_TEST(test_same_bytes)
{
    char *first, *second;
    size_t first_size, second_size;
    Error error;
    write_samples();
    ck_assert(file_read(path, SIZE_MAX, &first, &first_size, &error));
    TensorRecord turned[COUNT(samples)];
    for (size_t i = 0; i < COUNT(samples); i++)
        turned[i] = samples[COUNT(samples) - 1 - i];
    ck_assert(safetensors_write(path, turned, COUNT(turned), notes, COUNT(notes), &error));
    ck_assert(file_read(path, SIZE_MAX, &second, &second_size, &error));
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_mem_eq(first, second, first_size);
    uint64_t length;
    memcpy(&length, first, sizeof length);
    ck_assert_uint_eq(length % 8, 0);
    ck_assert_uint_eq(first_size - sizeof length - length, 8 + 24 + sizeof weights + 6 + 6);
    ck_assert_int_eq(first[8], '{');
    free(first);
    free(second);
}
END_TEST

#define GOLDEN_START "\xc8\0\0\0\0\0\0\0"
#define GOLDEN_HEADER                                                          \
    "{\"__metadata__\":{\"header_crc32\":\"671f99d4\",\"crc32\":\"18b8705c\"," \
    "\"format\":\"pt\",\"step\":\"7\"},"                                       \
    "\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"        \
    "\"v\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]}}    "
#define GOLDEN_DATA            \
    "\0\0\x80\x3f\0\0\x20\xc0" \
    "ab\n"
static const char golden[] = GOLDEN_START GOLDEN_HEADER GOLDEN_DATA;

START_TEST(test_golden_bytes)
{
    static const float pair[] = {1, -2.5f};
    const TensorRecord records[] = {{"v", TENSOR_U8, 1, {3}, "ab\n"},
                                    {"w", TENSOR_F32, 2, {1, 2}, pair}};
    char *bytes;
    size_t size;
    Error error;
    ck_assert(safetensors_write(path, records, 2, &(MetadataPair){"step", "7"}, 1, &error));
    ck_assert(file_read(path, SIZE_MAX, &bytes, &size, &error));
    ck_assert_uint_eq(size, sizeof golden - 1);
    ck_assert_mem_eq(bytes, golden, size);
    free(bytes);
}
END_TEST

/* ---- Loading asks for exactly what is there ---- */

#define ENTRY(name, type, shape, begin, end)                                             \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #begin \
    "," #end "]}"

START_TEST(test_load_mismatch)
{
    put("{" ENTRY("ln", "F32", "[64]", 0, 256) "," ENTRY("f16", "F16", "[2]", 256, 260) "}",
        260);
    SafetensorsFile file;
    Error error;
    float back[128];
    ck_assert(safetensors_open(&file, path, &error));
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
        check_message(&error);
        ck_assert_str_eq(error.text + strlen(path), asked[i].reason);
    }
    ck_assert(safetensors_load(&file, "ln", TENSOR_F32, 1, (size_t[]){64}, back, &error));
    safetensors_close(&file);
}
END_TEST

START_TEST(test_not_finite)
{
    const char *header = "{" ENTRY("w", "F32", "[3]", 0, 12) "," ENTRY("d", "F64", "[1]", 12,
                                                                       20) "}";
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
        put_bytes(bytes, 8 + length + 20);
        SafetensorsFile file;
        ck_assert(safetensors_open(&file, path, &error));
        ck_assert(!safetensors_load(&file, "w", TENSOR_F32, 1, (size_t[]){3}, back, &error));
        ck_assert_ptr_nonnull(strstr(error.text, ": w: holds a value that is not finite"));
        ck_assert(!safetensors_load(&file, "d", TENSOR_F64, 1, (size_t[]){1}, &d, &error));
        safetensors_close(&file);
    }
}
END_TEST

START_TEST(test_shrinks_while_open)
{
    write_samples();
    SafetensorsFile file;
    Error error;
    unsigned char back[6];
    ck_assert(safetensors_open(&file, path, &error));
    ck_assert_int_eq(truncate(path, (off_t)file.data_start + 3), 0);
    ck_assert(!safetensors_load(&file, "vocab", TENSOR_U8, 1, (size_t[]){6}, back, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "became shorter"));
    safetensors_close(&file);
}
END_TEST

/* ---- Writing fails without a trace ---- */

static void not_saved(const TensorRecord *records, size_t count, const MetadataPair *pair,
                      const char *reason)
{
    Error error;
    ck_assert(!safetensors_write(path, records, count, pair, pair ? 1 : 0, &error));
    check_message(&error);
    ck_assert_msg(strstr(error.text, reason) != NULL, "%s", error.text);
    ck_assert_uint_eq(folder_visit(false), 0);
}

START_TEST(test_write_refused)
{
    const real odd[] = {1, (real)NAN};
    const TensorRecord nan = {"h.0.w", TENSOR_REAL, 1, {2}, odd};
    const TensorRecord twins[] = {samples[0], samples[0]};
    const TensorRecord escape = {"a\x1b[2J", TENSOR_U8, 0, {0}, words};
    const TensorRecord broken = {"a\xff", TENSOR_U8, 0, {0}, words};
    not_saved(&nan, 1, NULL, ": h.0.w holds a value that is not finite; not saved");
    not_saved(twins, 2, NULL, "duplicate object key");
    not_saved(&escape, 1, NULL, "control characters in a name");
    not_saved(&broken, 1, NULL, "unable to decode byte 0xff");
    not_saved(samples, 1, &(MetadataPair){"format", "tf"}, "duplicate object key");
    not_saved(samples, 1, &(MetadataPair){"path", "\xff"}, "unable to decode byte 0xff");
    size_t long_size = SAFETENSORS_MOST_HEADER;
    char *long_text = memory_take(long_size + 1, 1, "a test");
    memset(long_text, 'x', long_size);
    not_saved(samples, 1, &(MetadataPair){"vocab", long_text}, "more than the limit");
    free(long_text);
}
END_TEST

START_TEST(test_write_fails)
{
    char *there = path;
    Error error;
    path = file_join(folder, "no/such.safetensors");
    ck_assert(!safetensors_write(path, samples, COUNT(samples), NULL, 0, &error));
    check_message(&error);
    free(path);
    path = there;
    ck_assert_uint_eq(folder_visit(false), 0);

    /* A file that may not grow is as good as a full disk. */
    struct rlimit before, tight;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    write_samples();
    tight = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    bool written = safetensors_write(path, samples, 1, NULL, 0, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert(!written);
    check_message(&error);
    ck_assert_uint_eq(folder_visit(false), 1);
    SafetensorsFile file;
    ck_assert(safetensors_open(&file, path, &error));
    ck_assert_uint_eq(file.header.tensor_count, COUNT(samples));
    safetensors_close(&file);
}
END_TEST

/* ---- Headers that lie ---- */

START_TEST(test_bad_json)
{
    static const struct {
        const char *header, *reason;
    } bad[] = {
        {"", "byte 8: the header is not good JSON"},
        {"{", "not good JSON"},
        {"[]", "not a JSON object"},
        {"[{}]", "not a JSON object"},
        {"7", "not good JSON"},
        {"{} {}", "not good JSON"},
        {"{}x", "not good JSON"},
        {"{\"\xff\":1}", "byte 10: the header is not good JSON: unable to decode byte 0xff"},
        {"{\"a\xed\xa0\x80\":1}", "not good JSON"},
        {"\xef\xbb\xbf{}", "not good JSON"},
        {"{\"a\":\"\x1b[2J\"}", "not good JSON"},
        {"{\"a\\u0000b\":1}", "not good JSON"},
        {"{\"__metadata__\":{\"a\":\"b\\u0000c\"}}", "not good JSON"},
        {"{\"__metadata__\":{\"a\\u0000\":\"b\"}}", "not good JSON"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate object key"},
        {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"b\"}}", "duplicate object key"},
        {"{\"__metadata__\":[]}", "__metadata__ is not an object"},
        {"{\"__metadata__\":\"x\"}", "__metadata__ is not an object"},
        {"{\"__metadata__\":{\"a\":1}}", "__metadata__ a: not a text"},
        {"{\"__metadata__\":{\"a\":{}}}", "__metadata__ a: not a text"},
        {"{\"__metadata__\":{\"\\u001b\":\"\"}}", "\\x1b: control characters"},
        {"{\"__metadata__\":{\"crc32\":\"00000000\"}}", "checksums"},
        {"{\"__metadata__\":{\"header_crc32\":\"00000000\"}}", "checksums"},
        {"{\"__metadata__\":{\"crc32\":\"\",\"header_crc32\":\"\"}}", "header is damaged"},
        {"{\"__metadata__\":{\"header_crc32\":\"\",\"crc32\":\"\"}}", "header is damaged"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        refused_header(bad[i].header, 0, bad[i].reason);
    put_length(3, "{}\0", 3, 0);
    refused("a zero byte after the JSON", "not good JSON");
}
END_TEST

START_TEST(test_bad_entries)
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
        {"{\"a\":{\"dtype\":\"U8\"," REST "x", "not good JSON"},
        {"{" ENTRY("a", "U8", "2", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "{}", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[\"2\"]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[2.0]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[1.5]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[2e0]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[-2]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[null]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[281474976710656]", 0, 2) "}", "its shape is not"},
        {"{" ENTRY("a", "U8", "[1,1,1,1,1,1,1,1,2]", 0, 2) "}", "at most 8"},
        {"{" ENTRY("a", "U8", "[2]", 0, 2.0) "}", "its data_offsets are not"},
        {"{" ENTRY("a", "U8", "[2]", -2, 0) "}", "its data_offsets are not"},
        {"{" ENTRY("a", "U8", "[2]", 0, 1e3) "}", "its data_offsets are not"},
        {"{" ENTRY("a", "U8", "[2]", 0, 281474976710656) "}", "its data_offsets are not"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0]}}", "its data_offsets"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1,2]}}", "its data_off"},
        {"{" ENTRY("a", "U8", "[2]", 2, 0) "}", "before it begins"},
        {"{" ENTRY("a", "U8", "[3]", 0, 2) "}", "[3] of U8 takes 3 bytes, but it has 2"},
        {"{" ENTRY("a", "F32", "[2]", 0, 2) "}", "takes 8 bytes, but it has 2"},
        {"{" ENTRY("a", "U8", "[0]", 0, 2) "}", "takes 0 bytes, but it has 2"},
        {"{" ENTRY("a", "F4", "[3]", 0, 2) "}", "no memory holds the shape [3] of F4"},
        {"{" ENTRY("a\\u001b", "U8", "[2]", 0, 2) "}", "tensor a\\x1b: control characters"},
        {"{" ENTRY("a\\n", "U8", "[2]", 0, 2) "}", "tensor a\\x0a: control characters"},
        {"{" ENTRY("a\\u007f", "U8", "[2]", 0, 2) "}", "control characters"},
        {"{" ENTRY("a\\u009b", "U8", "[2]", 0, 2) "}", "control characters"},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        refused_header(bad[i].header, 2, bad[i].reason);
    put("{" ENTRY("caf\\u00e9 \\u00a0", "F4", "[4]", 0, 2) "}", 2);
    Error error;
    ck_assert_msg(opens(&error), "%s", error.text);
    put("{\"a\":{\"more\":[{}],\"dtype\":\"U8\"," REST, 2); /* unknown keys are let be */
    ck_assert_msg(opens(&error), "%s", error.text);
}
END_TEST

START_TEST(test_huge_shapes)
{
    static const struct {
        const char *shape, *reason;
    } bad[] = {
        {"[2,18446744073709551614]", "too big integer"},
        {"[2,9223372036854775807]", "its shape is not"},
        {"[4294967296,4294967296]", "no memory holds"},
        {"[0,9223372036854775808]", "too big integer"},
        {"[0,9223372036854775807]", "its shape is not"},
        {"[0,281474976710655,65536]", "no memory holds"},
        {"[281474976710655,65536,0]", "no memory holds"},
        {"[281474976710655,8193]", "no memory holds"}, /* in bits it overflows */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char *header = text_format("{\"a\":{\"dtype\":\"U8\",\"shape\":%s,"
                                   "\"data_offsets\":[0,0]}}",
                                   bad[i].shape);
        refused_header(header, 0, bad[i].reason);
        free(header);
    }
}
END_TEST

START_TEST(test_bad_places)
{
#define A ENTRY("a", "U8", "[2]", 0, 2)
    const char *two = "{" A "," ENTRY("b", "U8", "[2]", 2, 4) "}";
    refused_header("{" A "," A "}", 2, "duplicate object key");
    refused_header("{" A "," ENTRY("b", "U8", "[2]", 3, 5) "}", 5,
                   "tensor b: begins at byte 3");
    refused_header("{" A "," ENTRY("b", "U8", "[2]", 1, 3) "}", 3,
                   "tensor b: begins at byte 1");
    refused_header("{" A "," ENTRY("b", "U8", "[2]", 0, 2) "}", 2, "an overlap with");
    refused_header("{" ENTRY("b", "U8", "[2]", 1, 3) "}", 3, "a hole after");
    refused_header("{" A "," ENTRY("b", "U8", "[0]", 1, 1) "}", 2, "an overlap with");
    refused_header("{" A "," ENTRY("b", "U8", "[0]", 3, 3) "}", 3, "a hole after");
    refused_header(two, 5, "take 4 bytes, but 5 follow the header: too many");
    refused_header(two, 3, "take 4 bytes, but 3 follow the header: the file was cut");
    refused_header("{" A "}", 0, "the file was cut");
    refused_header("{}", 28, "too many"); /* where a second format could hide */
    put("{" ENTRY("b", "U8", "[2]", 2, 4) "," A "," ENTRY("c", "U8", "[0]", 2, 2) "}", 4);
    Error error;
    ck_assert_msg(opens(&error), "%s", error.text); /* any order in the JSON will do */
}
END_TEST

/* ---- Files that are not what they should be ---- */

START_TEST(test_bad_lengths)
{
    static const uint64_t lengths[] = {3,          100,        1 << 21,        100000000,
                                       1ull << 32, 1ull << 63, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        put_length(lengths[i], "{}", 2, 0);
        refused("a length", "byte 0: a header of");
    }
    put_length(100000000, "{", 1, 0);
    ck_assert_int_eq(truncate(path, 8 + 100000000), 0);
    refused("100 MB of header", "byte 0: a header of 100000000 bytes is more than the limit");
    char *large = memory_take(1000000, 1, "a test");
    memset(large, '[', 1000000);
    put_length(1000000, large, 1000000, 0);
    refused("a million brackets", "byte 16: the header has too many brackets");
    for (size_t i = 0; i + 3 <= 1000000; i += 3)
        memcpy(large + i, i ? ",{}" : "[{}", 3);
    put_length(1000000, large, 1000000, 0);
    refused("a third of a million objects", "too many brackets");
    free(large);
    put_bytes("\0\0\0\0\0\0\0", 7);
    refused("seven bytes", "7 bytes hold no header");
    put_bytes("", 0);
    refused("an empty file", "0 bytes hold no header");
}
END_TEST

START_TEST(test_too_many_tensors)
{
    const size_t widest = 96;
    char *header = memory_take(SAFETENSORS_MOST_TENSORS + 1, widest, "a test");
    char *end = header, *last = header;
    for (size_t i = 0; i <= SAFETENSORS_MOST_TENSORS; i++) {
        const char *entry = "%s\"%zx\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
        last = end;
        end += snprintf(end, widest, entry, i ? "," : "{\"__metadata__\":{},", i);
    }
    strcpy(end, "}");
    refused_header(header, 0, "16385 tensors are more than the limit of 16384");
    strcpy(last, "}");
    put(header, 0);
    Error error;
    ck_assert_msg(opens(&error), "%s", error.text);
    free(header);
}
END_TEST

START_TEST(test_other_kinds)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *kind;
    } others[] = {
        {"PK\3\4\0\0\0\0\0\0\0\0", 12, "a zip archive"},
        {"\x80\2}q\0X\4\0\0\0step", 14, "a pickle"},
        {"\x80\4\x95\x10\0\0\0\0\0\0\0}", 12, "a pickle"},
        {"GGUF\3\0\0\0\0\0\0\0", 12, "GGUF"},
        {"\x1f\x8b\x08\0\0\0\0\0\0\3abc", 13, "gzip"},
        {"\x1f\x8b", 2, "gzip"},
        {"\177ELF\2\1\1\0\0\0\0\0", 12, "an ELF program"},
        {"The cat sat.\n", 13, "text"},
        {"{\"a\":1}", 7, "text"},
        {"dim = 64\n", 9, "text"},
    };
    for (size_t i = 0; i < COUNT(others); i++) {
        char *expected = text_format("not a safetensors file (looks like %s)", others[i].kind);
        put_bytes(others[i].bytes, others[i].size);
        refused(others[i].kind, expected);
        free(expected);
    }
    put_length(0x480, "{}", 2, 0); /* begins like a pickle, but JSON follows */
    refused("a length of 1152", "it was cut");
}
END_TEST

START_TEST(test_odd_paths)
{
    char *file = path;
    path = folder;
    refused("a folder", "not a regular file");
    path = (char[]){"/dev/zero"};
    refused("/dev/zero", "not a regular file");
    path = file;
    refused("a missing file", "No such file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    refused("a pipe", "not a regular file");
    unlink(path);
    ck_assert_int_eq(symlink(path, path), 0);
    refused("a link to itself", "symbolic links");
    unlink(path);
    put_bytes("{", 1);
    ck_assert_int_eq(truncate(path, (off_t)10 << 30), 0);
    refused("10 GiB of nothing", "more than the limit");
}
END_TEST

/* ---- Damage ---- */

START_TEST(test_cut_anywhere)
{
    Error error;
    put_bytes(golden, sizeof golden - 1);
    ck_assert_msg(opens(&error), "%s", error.text);
    for (size_t size = 0; size < sizeof golden - 1; size++) {
        put_bytes(golden, size);
        ck_assert_msg(!opens(&error), "accepted when cut to %zu bytes", size);
    }
}
END_TEST

START_TEST(test_flip_any_bit)
{
    char bytes[sizeof golden];
    for (size_t bit = 0; bit < 8 * (sizeof golden - 1); bit++) {
        Error error;
        memcpy(bytes, golden, sizeof golden);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        put_bytes(bytes, sizeof golden - 1);
        ck_assert_msg(!opens(&error), "accepted with bit %zu of byte %zu turned", bit % 8,
                      bit / 8);
    }
}
END_TEST

/* Without checksums a turned bit may make another good file, but never a crash. */
START_TEST(test_flip_any_bit_unchecked)
{
    static const char header[] = "{" A "," ENTRY("b", "F32", "[1,1]", 2, 6) "} ";
    char bytes[8 + sizeof header + 6] = {sizeof header - 1};
    size_t size = sizeof bytes - 1, accepted = 0;
    memcpy(bytes + 8, header, sizeof header - 1);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        Error error;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        put_bytes(bytes, size);
        accepted += opens(&error);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    /* The numbers' 48 bits, a few letters of the names, U8 that turns to I8... */
    ck_assert_uint_ge(accepted, 48);
    ck_assert_uint_le(accepted, 72);
}
END_TEST

Suite *safetensors_suite(void)
{
    Suite *suite = suite_create("safetensors");
    TCase *tests = tcase_create("safetensors");
    tcase_set_timeout(tests, 30); /* a busy disk is no failure */
    tcase_add_unchecked_fixture(tests, folder_make, folder_remove);
    tcase_add_checked_fixture(tests, folder_empty, NULL);
    tcase_add_test(tests, test_round_trip);
    tcase_add_test(tests, test_no_tensors);
    tcase_add_test(tests, test_same_bytes);
    tcase_add_test(tests, test_golden_bytes);
    tcase_add_test(tests, test_load_mismatch);
    tcase_add_test(tests, test_not_finite);
    tcase_add_test(tests, test_shrinks_while_open);
    tcase_add_test(tests, test_write_refused);
    tcase_add_test(tests, test_write_fails);
    tcase_add_test(tests, test_bad_json);
    tcase_add_test(tests, test_bad_entries);
    tcase_add_test(tests, test_huge_shapes);
    tcase_add_test(tests, test_bad_places);
    tcase_add_test(tests, test_bad_lengths);
    tcase_add_test(tests, test_too_many_tensors);
    tcase_add_test(tests, test_other_kinds);
    tcase_add_test(tests, test_odd_paths);
    tcase_add_test(tests, test_cut_anywhere);
    tcase_add_test(tests, test_flip_any_bit);
    tcase_add_test(tests, test_flip_any_bit_unchecked);
    suite_add_tcase(suite, tests);
    return suite;
}
