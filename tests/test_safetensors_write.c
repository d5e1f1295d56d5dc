/* Writing tensor files: round trips, deterministic bytes, and failures that leave no file
 * behind. */
#include "src/base/file.h"
#include "src/base/memory.h"
#include "tests/tensor_files.h"
#include "tests/tests.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

SUITE("safetensors: writing", TENSOR_FILE);

TEST(tensors_are_read_back_exactly)
{
    tensor_write_samples();
    SafetensorsFile file;
    Error error;
    ck_assert_msg(safetensors_open(&file, tensor_path, &error), "%s", error.text);
    ck_assert_uint_eq(file.header.tensor_count, TENSOR_SAMPLES);
    for (size_t i = 0; i < TENSOR_SAMPLES; i++) {
        const TensorRecord *sample = &tensor_samples[i];
        const TensorEntry *tensor = safetensors_find(&file, sample->name);
        ck_assert_ptr_nonnull(tensor);
        unsigned char back[64];
        ck_assert_uint_le(tensor->size, sizeof back);
        ck_assert_msg(safetensors_load(&file, sample->name, sample->type, sample->rank,
                                       sample->shape, back, &error),
                      "%s", error.text);
        ck_assert(tensor->size == 0 || memcmp(back, sample->data, tensor->size) == 0);
    }
    for (size_t i = 0; i < TENSOR_NOTES; i++)
        ck_assert_str_eq(safetensors_metadata(&file, tensor_notes[i].key),
                         tensor_notes[i].value);
    ck_assert_str_eq(safetensors_metadata(&file, "format"), "pt");
    ck_assert_ptr_null(safetensors_metadata(&file, "vocab"));
    ck_assert_ptr_null(safetensors_find(&file, "__metadata__"));
    safetensors_close(&file);
}

TEST(a_file_may_have_no_tensors)
{
    Error error;
    ck_assert(safetensors_write(tensor_path, NULL, 0, NULL, 0, &error));
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
    tensor_put("{}", 0);
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
    tensor_put(" \n{ } \r\n\t", 0); /* white space around the JSON is valid */
    ck_assert_msg(tensor_opens(&error), "%s", error.text);
}

TEST(the_order_of_tensors_changes_no_byte)
{
    char *first, *second;
    size_t first_size, second_size;
    Error error;
    tensor_write_samples();
    ck_assert(file_read(tensor_path, SIZE_MAX, &first, &first_size, &error));
    TensorRecord turned[TENSOR_SAMPLES];
    for (size_t i = 0; i < TENSOR_SAMPLES; i++)
        turned[i] = tensor_samples[TENSOR_SAMPLES - 1 - i];
    ck_assert(safetensors_write(tensor_path, turned, COUNT(turned), tensor_notes, TENSOR_NOTES,
                                &error));
    ck_assert(file_read(tensor_path, SIZE_MAX, &second, &second_size, &error));
    ck_assert_uint_eq(first_size, second_size);
    ck_assert_mem_eq(first, second, first_size);
    uint64_t length;
    memcpy(&length, first, sizeof length);
    ck_assert_uint_eq(length % 8, 0);
    ck_assert_uint_eq(first_size - sizeof length - length, 8 + 24 + 6 * sizeof(real) + 6 + 6);
    ck_assert_int_eq(first[8], '{');
    free(first);
    free(second);
}

TEST(a_file_has_the_expected_bytes)
{
    static const float pair[] = {1, -2.5f};
    const TensorRecord records[] = {{"v", TENSOR_U8, 1, {3}, "ab\n"},
                                    {"w", TENSOR_F32, 2, {1, 2}, pair}};
    char *bytes;
    size_t size;
    Error error;
    ck_assert(
        safetensors_write(tensor_path, records, 2, &(MetadataPair){"step", "7"}, 1, &error));
    ck_assert(file_read(tensor_path, SIZE_MAX, &bytes, &size, &error));
    ck_assert_uint_eq(size, TENSOR_GOLDEN);
    ck_assert_mem_eq(bytes, tensor_golden, size);
    free(bytes);
}

/* --- failures --- */

static void not_saved(const TensorRecord *records, size_t count, const MetadataPair *pair,
                      const char *reason)
{
    Error error;
    ck_assert(!safetensors_write(tensor_path, records, count, pair, pair ? 1 : 0, &error));
    tensor_check_message(&error);
    ck_assert_msg(strstr(error.text, reason) != NULL, "%s", error.text);
    ck_assert_uint_eq(scratch_count(), 0);
}

TEST(invalid_tensors_are_not_saved)
{
    const real odd[] = {1, (real)NAN};
    const TensorRecord nan = {"h.0.w", TENSOR_REAL, 1, {2}, odd};
    const TensorRecord twins[] = {tensor_samples[0], tensor_samples[0]};
    const TensorRecord escape = {"a\x1b[2J", TENSOR_U8, 0, {0}, "a"};
    const TensorRecord broken = {"a\xff", TENSOR_U8, 0, {0}, "a"};
    not_saved(&nan, 1, NULL, ": h.0.w contains NaN or infinity; not saved");
    not_saved(twins, 2, NULL, "duplicate object key");
    not_saved(&escape, 1, NULL, "control characters in a name");
    not_saved(&broken, 1, NULL, "unable to decode byte 0xff");
    not_saved(tensor_samples, 1, &(MetadataPair){"format", "tf"}, "duplicate object key");
    not_saved(tensor_samples, 1, &(MetadataPair){"path", "\xff"}, "unable to decode byte 0xff");
    size_t long_size = SAFETENSORS_MOST_HEADER;
    char *long_text = memory_new(long_size + 1, 1, "a test");
    memset(long_text, 'x', long_size);
    not_saved(tensor_samples, 1, &(MetadataPair){"vocab", long_text}, "more than the limit");
    free(long_text);
}

TEST(a_failed_write_leaves_no_file)
{
    char *there = tensor_path;
    Error error;
    tensor_path = scratch_path("no/such.safetensors");
    ck_assert(!safetensors_write(tensor_path, tensor_samples, TENSOR_SAMPLES, NULL, 0, &error));
    tensor_check_message(&error);
    tensor_path = there;
    ck_assert_uint_eq(scratch_count(), 0);

    /* A file-size limit simulates a full disk. */
    struct rlimit before, tight;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    tensor_write_samples();
    tight = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &tight);
    bool written = safetensors_write(tensor_path, tensor_samples, 1, NULL, 0, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    ck_assert(!written);
    tensor_check_message(&error);
    ck_assert_uint_eq(scratch_count(), 1);
    SafetensorsFile file;
    ck_assert(safetensors_open(&file, tensor_path, &error));
    ck_assert_uint_eq(file.header.tensor_count, TENSOR_SAMPLES);
    safetensors_close(&file);
}
