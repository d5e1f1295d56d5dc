/* TensorBoard event files, byte for byte, and readable while they are being written. */
#include "train/observers/events.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

SUITE("events", .folder = true);

#define THEN 1700000000.0

/* Compares the array with hexadecimal digits, and frees it. */
static void check_bytes(unsigned char *bytes, const char *wanted)
{
    char *found = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(bytes); i++)
        text_append(&found, "%02x", bytes[i]);
    ck_assert_str_eq(found, wanted);
    free(found);
    arrfree(bytes);
}

TEST(the_checksum_is_crc32c)
{
    ck_assert_uint_eq(events_checksum("123456789", 9), 0xe3069283);
    ck_assert_uint_eq(events_checksum("", 0), 0);
    const unsigned char zeros[32] = {0}; /* from RFC 3720 */
    ck_assert_uint_eq(events_checksum(zeros, 32), 0x8a9136aa);
}

TEST(an_event_file_begins_with_its_version)
{
    unsigned char *bytes = NULL;
    events_append_version(&bytes, THEN);
    check_bytes(bytes, "1800000000000000a37f4b220900000040fc54d9411a0d"
                       "627261696e2e4576656e743a32eced8f9d");
}

TEST(a_scalar_is_a_record)
{
    unsigned char *bytes = NULL;
    const EventScalar scalar = {"train/loss", 2.5};
    events_append_scalars(&bytes, THEN, 1, &scalar, 1);
    check_bytes(bytes, "200000000000000029eda9500900000040fc54d94110012a130a110a0a"
                       "747261696e2f6c6f737315000020402fffcccc");
}

/* A record has 12 bytes before the event and 4 after it. */
static unsigned char *without_frame(unsigned char *bytes)
{
    size_t size = arrlenu(bytes);
    ck_assert_uint_gt(size, 16);
    ck_assert_uint_eq(bytes[0] + 256u * bytes[1], size - 16);
    arrdeln(bytes, 0, 12);
    arrsetlen(bytes, size - 16);
    return bytes;
}

TEST(steps_are_encoded_as_varints)
{
    unsigned char *bytes = NULL;
    const EventScalar scalars[] = {{"a", 0}, {"b", -1}};
    events_append_scalars(&bytes, THEN, 300, scalars, 2);
    check_bytes(without_frame(bytes), "0900000040fc54d941"
                                      "10ac02"
                                      "2a14"
                                      "0a080a01611500000000"
                                      "0a080a0162"
                                      "15000080bf");
}

TEST(a_text_is_a_tensor_of_one_string)
{
    unsigned char *bytes = NULL;
    events_append_text(&bytes, THEN, 2, "t", "hi");
    check_bytes(without_frame(bytes), "0900000040fc54d941"
                                      "1002"
                                      "2a1b"
                                      "0a19"
                                      "0a0174"
                                      "4208"
                                      "0807"
                                      "1200"
                                      "42026869"
                                      "4a0a"
                                      "0a060a0474657874"
                                      "2002");
}

/* As TensorBoard's own classes write it. */
TEST(settings_are_numbers_and_strings_of_a_group)
{
    unsigned char *bytes = NULL;
    events_append_settings(&bytes, THEN, "# a note\na = b\nc = 2\n");
    check_bytes(without_frame(bytes),
                "0900000040fc54d941"
                "2a5f0a5d"
                "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f"
                "4206080712004200"
                "4a350a310a0768706172616d73"
                "12261a24"
                "0a080a016112031a0162"
                "0a0e0a01631209110000000000000040"
                "22086334353766356238"
                "2002");
}

TEST(runs_that_differ_in_the_seed_are_one_group)
{
    unsigned char *one = NULL, *two = NULL, *other = NULL;
    events_append_settings(&one, THEN, "c = 2\nseed = 1\n");
    events_append_settings(&two, THEN, "c = 2\nseed = 2\n");
    events_append_settings(&other, THEN, "c = 3\nseed = 1\n");
    enum { BEHIND = 4 + 2, NAME = 8 }; /* the checksum and the class stand behind the name */
    size_t at = arrlenu(one) - BEHIND - NAME;
    ck_assert_uint_eq(arrlenu(one), arrlenu(two));
    ck_assert_mem_eq(one + at, two + at, NAME);
    ck_assert_mem_ne(one + at, other + at, NAME);
    arrfree(one);
    arrfree(two);
    arrfree(other);
}

TEST(a_restart_purges_later_steps)
{
    unsigned char *bytes = NULL;
    events_append_restart(&bytes, THEN, 21);
    check_bytes(without_frame(bytes), "0900000040fc54d941"
                                      "1015"
                                      "3a020801");
}

/* --- files --- */

static EventFile begin_file(void)
{
    EventFile file;
    Error error;
    ck_assert_msg(events_create(&file, scratch_folder(), &error), "%s", error.text);
    return file;
}

static void write_scalar(EventFile *file, size_t step)
{
    unsigned char *bytes = NULL;
    Error error;
    const EventScalar scalar = {"train/loss", 2.5};
    events_append_scalars(&bytes, events_now(), step, &scalar, 1);
    ck_assert_msg(events_write(file, &bytes, &error), "%s", error.text);
    ck_assert_ptr_null(bytes);
}

static long long size_of(const char *path)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_size;
}

/* Sessions within one second, or after the clock was set back. */
TEST(later_event_files_have_later_names)
{
    char *ahead = scratch_put("events.out.tfevents.4000000000.elsewhere.1", "");
    char *last = memory_copy_text(strrchr(ahead, '/') + 1);
    for (int i = 0; i < 3; i++) {
        Error error;
        EventFile file = begin_file();
        const char *name = strrchr(file.path, '/') + 1;
        ck_assert_msg(strcmp(name, last) > 0, "%s comes before %s", name, last);
        ck_assert_ptr_nonnull(strstr(name, "tfevents"));
        free(last);
        last = memory_copy_text(name);
        ck_assert(events_close(&file, &error));
    }
    ck_assert_uint_eq(scratch_count(), 4);
    free(last);
}

TEST(written_events_are_on_disk_at_once)
{
    EventFile file = begin_file();
    Error error;
    ck_assert_int_eq(size_of(file.path), 40);
    write_scalar(&file, 1);
    ck_assert_int_eq(size_of(file.path), 88);
    write_scalar(&file, 2);
    ck_assert_int_eq(size_of(file.path), 136);
    ck_assert(events_close(&file, &error));
    ck_assert(events_close(&file, &error)); /* already closed */
}

TEST(a_full_disk_leaves_whole_records)
{
    EventFile file = begin_file();
    Error error;
    signal(SIGXFSZ, SIG_IGN);
    write_scalar(&file, 1);
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit low = {100, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &low), 0);
    unsigned char *bytes = NULL;
    const EventScalar scalar = {"train/loss", 2.5};
    events_append_scalars(&bytes, THEN, 2, &scalar, 1);
    ck_assert(!events_write(&file, &bytes, &error));
    ck_says(error, "cannot write");
    ck_assert_int_eq(size_of(file.path), 88);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_scalar(&file, 2);
    ck_assert_int_eq(size_of(file.path), 136);
    ck_assert(events_close(&file, &error));
}

TEST(a_missing_directory_is_an_error)
{
    EventFile file;
    Error error, second;
    ck_assert(!events_create(&file, "/nowhere/at/all", &error));
    ck_says(error, "/nowhere/at/all/events.out.tfevents.");
    ck_assert(events_close(&file, &second));
}
