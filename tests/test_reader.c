/* Reading whole files, plain or gzip. Half of the inputs are broken: damaged text must give an
 * error, not slightly wrong numbers. */
#include "data/corpora/reader.h"
#include "src/base/memory.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SUITE("reader", .folder = true);

#define MOST_MB ((size_t)8)

static void expect_bytes(const char *path, size_t most_mb, const void *expected, size_t count)
{
    Error error = {0};
    char *bytes;
    size_t size;
    ck_assert_msg(reader_read(path, true, most_mb, "--more-mb", &bytes, &size, &error), "%s",
                  error.text);
    ck_assert_uint_eq(size, count);
    ck_assert_mem_eq(bytes, expected, count);
    ck_assert_int_eq(bytes[size], 0);
    free(bytes);
}

static void expect_refusal(const char *path, size_t most_mb, const char *part)
{
    Error error = {0};
    char *bytes;
    size_t size;
    ck_assert_msg(!reader_read(path, true, most_mb, "--more-mb", &bytes, &size, &error),
                  "%s was read", path);
    ck_assert_ptr_null(bytes);
    ck_says(error, part);
    ck_says(error, reader_name(path));
}

/* The same for a file of these bytes. */
static void expect_file(const char *name, const void *bytes, size_t size, size_t most_mb,
                        const void *expected, size_t count)
{
    char *path = scratch_put_bytes(name, bytes, size);
    expect_bytes(path, most_mb, expected, count);
}

static void expect_refused_file(const char *name, const void *bytes, size_t size,
                                size_t most_mb, const char *part)
{
    char *path = scratch_put_bytes(name, bytes, size);
    expect_refusal(path, most_mb, part);
}

TEST(reader_reads_plain_files)
{
    static const char *const texts[] = {"", "\x1f", "x", "two\nlines\n"};
    /* The name alone does not make it gzip. */
    for (size_t i = 0; i < COUNT(texts); i++)
        expect_file("plain.gz", texts[i], strlen(texts[i]), MOST_MB, texts[i],
                    strlen(texts[i]));
    expect_file("zeros", "a\0b\0", 4, MOST_MB, "a\0b\0", 4);
}

TEST(reader_unpacks_members_once)
{
    enum { LARGE = 300000 };
    char *large = memory_new(LARGE, 1, "a text"), *packed = NULL;
    size_t size = 0, first;
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * i >> 7);
    scratch_pack(&packed, &size, large, LARGE / 3);
    first = size;
    scratch_pack(&packed, &size, "", 0);
    scratch_pack(&packed, &size, large + LARGE / 3, LARGE - LARGE / 3);
    expect_file("corpus.txt", packed, size, MOST_MB, large, LARGE);

    char *nothing = NULL, *nested = NULL;
    size_t nothing_size = 0, nested_size = 0;
    scratch_pack(&nothing, &nothing_size, "", 0);
    expect_file("nothing.gz", nothing, nothing_size, MOST_MB, "", 0);
    free(nothing);
    scratch_pack(&nested, &nested_size, packed, first);
    expect_file("nested.gz", nested, nested_size, MOST_MB, packed, first);
    free(nested);
    free(packed);
    free(large);
}

TEST(reader_refuses_every_truncation)
{
    char *packed = NULL;
    size_t size = 0, first;
    scratch_pack(&packed, &size, "one line\n", 9);
    first = size;
    scratch_pack(&packed, &size, "and another\n", 12);
    for (size_t length = 2; length < size; length++) {
        if (length == first) /* a complete file here */
            expect_file("cut.gz", packed, length, MOST_MB, "one line\n", 9);
        else
            expect_refused_file("cut.gz", packed, length, MOST_MB,
                                length == first + 1 ? "not gzip" : "breaks off");
    }
    /* Zeros that exactly fill the output buffer when the input ends. */
    enum { ROOM = 1 << 16, TAIL = 16 };
    char *zeros = memory_new(ROOM, 1, "zeros");
    size = 0;
    scratch_pack(&packed, &size, zeros, ROOM);
    for (size_t missing = 1; missing <= TAIL; missing++)
        expect_refused_file("cut.gz", packed, size - missing, MOST_MB, "breaks off");
    free(zeros);
    free(packed);
}

TEST(reader_refuses_damage)
{
    enum { CHECKSUM = 8, LENGTH = 4, METHOD = 2 };
    char *packed = NULL;
    size_t size = 0;
    scratch_pack(&packed, &size, "some text to be damaged\n", 24);
    const size_t places[] = {METHOD, size / 2, size - CHECKSUM, size - LENGTH};
    for (size_t i = 0; i < COUNT(places); i++) {
        packed[places[i]] ^= 0x55;
        expect_refused_file("bad.gz", packed, size, MOST_MB, "gzip data");
        packed[places[i]] ^= 0x55;
    }
    static const char *const tails[] = {"garbage", "\x1f", "\x1f\x8b", "\n"};
    for (size_t i = 0; i < COUNT(tails); i++) {
        char *whole = memory_new(size + strlen(tails[i]), 1, "a file");
        memcpy(whole, packed, size);
        memcpy(whole + size, tails[i], strlen(tails[i]));
        expect_refused_file("tail.gz", whole, size + strlen(tails[i]), MOST_MB,
                            i == 2 ? "breaks off" : "not gzip");
        free(whole);
    }
    char *zero = memory_new(size + 1, 1, "a file"); /* padding is garbage, too */
    memcpy(zero, packed, size);
    expect_refused_file("padded.gz", zero, size + 1, MOST_MB, "not gzip");
    free(zero);
    free(packed);
}

TEST(reader_stops_at_the_cap)
{
    enum { MB = 1000000 };
    char *zeros = memory_new(MB + 1, 1, "zeros"), *packed = NULL;
    size_t size = 0;
    expect_file("exact", zeros, MB, 1, zeros, MB);
    expect_refused_file("above", zeros, MB + 1, 1, "more than 1 MB; raise --more-mb");
    scratch_pack(&packed, &size, zeros, MB); /* a thousand bytes that unpack to very many */
    expect_file("exact.gz", packed, size, 1, zeros, MB);
    scratch_pack(&packed, &size, "x", 1);
    expect_refused_file("bomb.gz", packed, size, 1, "more than 1 MB");
    expect_refusal("/dev/zero", 1, "more than 1 MB; raise --more-mb");
    Error error = {0}; /* without an option that a user could raise */
    char *bytes;
    ck_assert(!reader_read("/dev/zero", true, 1, NULL, &bytes, &size, &error));
    ck_assert_str_eq(error.text, "/dev/zero: more than 1 MB; give a shorter text");
    free(packed);
    free(zeros);
}

TEST(reader_refuses_anything_but_files)
{
    expect_refusal(scratch_folder(), MOST_MB, "directory");
    char *path = scratch_path("nowhere");
    expect_refusal(path, MOST_MB, "No such file");
    path = scratch_put("secret", "x");
    ck_assert_int_eq(chmod(path, 0), 0);
    if (access(path, R_OK) != 0) /* root can read everything */
        expect_refusal(path, MOST_MB, "ermission");
}

/* A child process keeps appending to the file. */
static pid_t append_in_child(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        int to = open(path, O_WRONLY | O_APPEND);
        while (write(to, "more\n", 5) == 5)
            continue;
        _exit(1);
    }
    return child;
}

/* Reading a growing file would give a text it never had. Reading takes long enough for the
 * child to append; if not, the next attempt will. */
TEST(reader_refuses_a_file_that_grows)
{
    enum { SIZE = 1 << 25, ATTEMPTS = 500 };
    char *path = scratch_put("growing", ""), *bytes;
    Error error = {0};
    bool refused = false;
    pid_t child = append_in_child(path);
    for (int i = 0; !refused && i < ATTEMPTS; i++) {
        size_t size;
        ck_assert_int_eq(truncate(path, SIZE), 0);
        refused = !reader_read(path, true, 4000, NULL, &bytes, &size, &error);
        free(bytes);
    }
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert(refused);
    ck_says(error, "growing: changed while it was being read; try again");
    ck_assert_int_eq(unlink(path), 0);
}

/* A child process writes the text into fd, slowly enough to arrive in two pieces. */
static pid_t write_in_child(const char *path, int fd)
{
    pid_t child = fork();
    if (child == 0) {
        int to = path ? open(path, O_WRONLY) : fd;
        bool good = write(to, "first ", 6) == 6 && usleep(20000) == 0;
        _exit(good && write(to, "second\n", 7) == 7 ? 0 : 1);
    }
    return child;
}

/* --- texts --- */

static void expect_text(const void *bytes, size_t size, const char *expected)
{
    char *path = scratch_put_bytes("text", bytes, size), *text;
    size_t count;
    Error error = {0};
    ck_assert_msg(reader_read(path, false, MOST_MB, NULL, &text, &count, &error), "%s",
                  error.text);
    ck_assert_uint_eq(count, strlen(expected));
    ck_assert_str_eq(text, expected);
    free(text);
}

static void expect_no_text(const void *bytes, size_t size, const char *part)
{
    char *path = scratch_put_bytes("text", bytes, size), *text;
    size_t count;
    Error error = {0};
    ck_assert(!reader_read(path, false, MOST_MB, NULL, &text, &count, &error));
    ck_says(error, part);
}

#define EXPECT_TEXT(bytes, expected) expect_text(bytes, sizeof(bytes) - 1, expected)
#define EXPECT_NO_TEXT(bytes, part)  expect_no_text(bytes, sizeof(bytes) - 1, part)

TEST(texts_become_utf8_with_plain_line_ends)
{
    EXPECT_TEXT("", "");
    EXPECT_TEXT("a\r\nb\rc\r", "a\nb\rc\r");
    EXPECT_TEXT("\r\n", "\n");
    EXPECT_TEXT("\xEF\xBB\xBF", "");
    EXPECT_TEXT("\xEF\xBB\xBFx\xEF\xBB\xBF", "x\xEF\xBB\xBF"); /* only at the start */
    EXPECT_TEXT("\xff\xfe", "");
    EXPECT_TEXT("\xff\xfe"
                "a\0\r\0\n\0\xe9\0\r\0",
                "a\n\xC3\xA9\r");
    EXPECT_TEXT("\xfe\xff"
                "\0a\0\r\0\n\x4e\x2d\xd8\x3d\xdc\x26",
                "a\n\xE4\xB8\xAD\xF0\x9F\x90\xA6");
}

TEST(what_is_no_text_is_refused_with_its_place)
{
    EXPECT_NO_TEXT("a\r\nb\r\ncaf\xe9\n",
                   "text:3: invalid UTF-8 at byte 9; convert the text to "
                   "UTF-8 (if it is Latin-1: iconv -f LATIN1 -t UTF-8)");
    EXPECT_NO_TEXT("a\xE4\xB8", "text:1: invalid UTF-8 at byte 1");
    EXPECT_NO_TEXT("\xEF\xBB\xBF"
                   "\xff",
                   "text:1: invalid UTF-8 at byte 3");
    EXPECT_NO_TEXT("a\0\n\0b\0", "text:1: binary data at byte 1; ");
    EXPECT_NO_TEXT("\xff\xfe"
                   "a\0\n\0\0\0",
                   "text:2: binary data at byte 6; a text has no zero characters, but");
    EXPECT_NO_TEXT("\xff\xfe"
                   "a\0\n",
                   "text:1: invalid UTF-16 at byte 4");
    EXPECT_NO_TEXT("\xff\xfe"
                   "\x3d\xd8"
                   "a\0",
                   "text:1: invalid UTF-16 at byte 2");
    EXPECT_NO_TEXT("\xff\xfe"
                   "\x3d\xd8",
                   "text:1: invalid UTF-16 at byte 2");
    EXPECT_NO_TEXT("\xff\xfe"
                   "\x26\xdc"
                   "a\0",
                   "text:1: invalid UTF-16 at byte 2");
}

/* Characters and line ends lie across every place where the reader's buffers may end. */
TEST(texts_are_decoded_across_buffers)
{
    enum { PATTERNS = 50000, SHIFTS = 8 };
    static const char narrow[] = "a\xE4\xB8\xAD\r\n", wide[] = "a\0\x2d\x4e\r\0\n\0";
    char *text = memory_new(PATTERNS, 8, "a test"),
         *expected = memory_new(PATTERNS, 8, "a test");
    for (size_t shift = 0; shift < SHIFTS; shift++) {
        char *to = text, *as = expected;
        memset(to, 'x', shift);
        memset(as, 'x', shift);
        for (size_t i = 0; i < PATTERNS - SHIFTS; i++) {
            memcpy(to + shift + i * 6, narrow, 6);
            memcpy(as + shift + i * 5, "a\xE4\xB8\xAD\n", 6);
        }
        expect_text(text, shift + (PATTERNS - SHIFTS) * 6, expected);
    }
    memcpy(text, "\xff\xfe", 2);
    for (size_t i = 0; i < PATTERNS - SHIFTS; i++) {
        memcpy(text + 2 + i * 8, wide, 8);
        memcpy(expected + i * 5, "a\xE4\xB8\xAD\n", 6);
    }
    expect_text(text, 2 + (PATTERNS - SHIFTS) * 8, expected);
    free(text);
    free(expected);
}

TEST(reader_reads_pipes)
{
    int status, ends[2], before = dup(STDIN_FILENO);
    char *path = scratch_path("fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pid_t child = write_in_child(path, -1);
    expect_bytes(path, MOST_MB, "first second\n", 13);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);

    ck_assert_int_eq(pipe(ends), 0);
    child = write_in_child(NULL, ends[1]);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    expect_bytes("-", MOST_MB, "first second\n", 13);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
}
