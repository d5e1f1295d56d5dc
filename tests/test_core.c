/* Strings, errors, memory and the arena. */
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/processor.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SUITE("core", .folder = true);

/* --- texts --- */

TEST(text_append_formats_like_printf)
{
    char *text = NULL;
    text_append(&text, "%s", "");
    ck_assert_str_eq(text, "");
    for (int i = 0; i < 1000; i++)
        text_append(&text, "%d,", i % 10);
    ck_assert_uint_eq(strlen(text), 2000);
    ck_assert_str_eq(text + 1990, "5,6,7,8,9,");
    free(text);
    text = text_format("%zu-%s", (size_t)7, "x");
    ck_assert_str_eq(text, "7-x");
    free(text);
}

TEST(integers_are_parsed_strictly)
{
    size_t value = 0;
    ck_assert(text_to_size("0", &value) && value == 0);
    ck_assert(text_to_size("007", &value) && value == 7);
    ck_assert(text_to_size("18446744073709551615", &value) && value == SIZE_MAX);
    static const char *const wrong[] = {"",    " 1",  "1 ",   "+1",  "-1",
                                        "1.0", "1e3", "0x10", "one", "18446744073709551616",
                                        "1\n", "१"};
    value = 42;
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(!text_to_size(wrong[i], &value), "'%s' was read", wrong[i]);
    ck_assert_uint_eq(value, 42);
}

TEST(reals_are_parsed_strictly)
{
    static const struct {
        const char *text;
        double value;
    } right[] = {{"0", 0},      {"-0.5", -0.5}, {".5", 0.5},           {"5.", 5},
                 {"+1e3", 1e3}, {"1E-3", 1e-3}, {"4.9e-324", 4.9e-324}};
    double value = 0;
    for (size_t i = 0; i < COUNT(right); i++) {
        ck_assert_msg(text_to_double(right[i].text, &value), "%s", right[i].text);
        ck_assert(value == right[i].value);
    }
    static const char *const wrong[] = {"",      " 1",    "1 ",    "nan",    "NaN",    "inf",
                                        "-inf",  "+nan",  "1e999", "-1e999", "1e-400", "0x1p3",
                                        "1e-3x", "1,5",   ".",     "+",      "-",      "e5",
                                        "1e",    "1.2.3", "--1"};
    value = 42;
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(!text_to_double(wrong[i], &value), "'%s' was read", wrong[i]);
    ck_assert(value == 42);
}

TEST(edit_distance_counts_changed_letters)
{
    static const struct {
        const char *a, *b;
        size_t distance;
    } pairs[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"abc", "", 3},
                 {"layers", "layers", 0},
                 {"layer", "layers", 1},
                 {"kitten", "sitting", 3},
                 {"ab", "ba", 1},
                 {"hepl", "help", 1},
                 {"hepl", "html", 2}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        ck_assert_uint_eq(text_distance(pairs[i].a, pairs[i].b), pairs[i].distance);
        ck_assert_uint_eq(text_distance(pairs[i].b, pairs[i].a), pairs[i].distance);
    }
    char longest[1000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ck_assert_uint_gt(text_distance(longest, "x"), 50); /* very different words */
    ck_assert_uint_gt(text_distance("x", longest), 50);
    Nearest nearest = nearest_to(longest);
    nearest_consider(&nearest, "x");
    ck_assert_ptr_null(nearest.best);
}

TEST(control_characters_do_not_end_a_line)
{
    static const char *const pairs[][2] = {
        {"", ""},
        {"h\xc3\xa4nfling 3.txt", "h\xc3\xa4nfling 3.txt"},
        {"a\tb\nlayers = 9\r\x7f", "a\\x09b\\x0alayers = 9\\x0d\\x7f"},
        {"\x1b[2J\xc2\x85\xc2", "\\x1b[2J\\xc2\\x85\xc2"}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        char *line = text_one_line(pairs[i][0]);
        ck_assert_str_eq(line, pairs[i][1]);
        free(line);
    }
}

TEST(columns_count_characters)
{
    ck_assert_uint_eq(text_columns(""), 0);
    ck_assert_uint_eq(text_columns("linnet"), 6);
    ck_assert_uint_eq(text_columns("\x1b[38;5;28mab\x1b[39m c"), 4);
    ck_assert_uint_eq(text_columns("h\xc3\xa4nfling \xe2\x82\xac \xf0\x9f\x90\xa6"), 12);
}

static void check_wrapped(const char *text, size_t width, const char *expected)
{
    char **lines = text_wrap(text, width), *joined = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(lines); i++)
        text_append(&joined, "%s|", lines[i]);
    ck_assert_str_eq(joined, expected);
    free(joined);
    text_lines_free(lines);
}

TEST(lines_break_at_blanks)
{
    check_wrapped("", 5, "");
    check_wrapped("one two three", 20, "one two three|");
    check_wrapped("one two three", 7, "one two|three|");
    check_wrapped("one two three", 6, "one|two|three|");
    check_wrapped("one two three", 4, "one|two|thre|e|");
    check_wrapped("abcdefgh", 3, "abc|def|gh|");
    check_wrapped("a\n\nb\n", 3, "a||b|");
    check_wrapped("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 2, "\xc3\xa4\xc3\xb6|\xc3\xbc\xc3\x9f|");
    check_wrapped("ab", 0, "a|b|");
}

TEST(colours_continue_on_the_next_line)
{
    check_wrapped("\x1b[38;5;28mab\x1b[39m c", 4, "\x1b[38;5;28mab\x1b[39m c|");
    check_wrapped("\x1b[38;5;28mabcd\x1b[39m", 2,
                  "\x1b[38;5;28mab\x1b[39m|\x1b[38;5;28mcd\x1b[39m|");
}

TEST(durations_are_printed_as_a_clock)
{
    ck_assert_str_eq(text_duration(0).text, "0:00:00");
    ck_assert_str_eq(text_duration(59.6).text, "0:01:00");
    ck_assert_str_eq(text_duration(3723).text, "1:02:03");
    ck_assert_str_eq(text_duration(1e6).text, "277:46:40");
    ck_assert_str_eq(text_duration((double)NAN).text, "0:00:00");
}

/* --- errors --- */

TEST(error_set_truncates_long_text)
{
    Error error;
    ck_assert(!error_set(&error, "%s:%d: wrong", "file", 12));
    ck_assert_str_eq(error.text, "file:12: wrong");
    char *long_name = memory_new(5000, 1, "a test");
    memset(long_name, 'n', 4999);
    ck_assert(!error_set(&error, "%s", long_name));
    ck_assert_uint_eq(strlen(error.text), sizeof error.text - 1);
    free(long_name);
}

/* What warn prints on stderr; the caller frees it. */
static char *warned(const char *text)
{
    char *path = scratch_path("stderr"), *bytes;
    size_t size;
    Error error;
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen(path, "w", stderr));
    program_name_set("/usr/bin/train");
    print_warning("%s", text);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ck_assert_msg(file_read(path, 100000, &bytes, &size, &error), "%s", error.text);
    return bytes;
}

TEST(warnings_escape_control_characters)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain \xc3\xa9", "train: plain \xc3\xa9\n"},
        {"\x1b[31mred\x1b[0m", "train: \\x1b[31mred\\x1b[0m\n"},
        {"bell\a tab\t return\r", "train: bell\\x07 tab\\x09 return\\x0d\n"},
        {"delete\x7f", "train: delete\\x7f\n"},
        {"two\nlines", "train: two\\x0alines\n"},
        {"csi \xc2\x9b"
         "2J",
         "train: csi \\xc2\\x9b2J\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *shown = warned(cases[i].text);
        ck_assert_str_eq(shown, cases[i].shown);
        free(shown);
    }
}

TEST(a_program_whose_name_has_control_characters_keeps_its_own)
{
    const char *before = program_name;
    program_name_set("bin/\x1b[31m");
    ck_assert_ptr_eq(program_name, before);
}

/* --- memory --- */

TEST(size_products_without_overflow_are_exact)
{
    ck_assert_uint_eq(memory_product(0, SIZE_MAX, "a test"), 0);
    ck_assert_uint_eq(memory_product(SIZE_MAX, 1, "a test"), SIZE_MAX);
    ck_assert_uint_eq(memory_product(123456, 654321, "a test"), 80779853376u);
}

TEST(memory_is_zeroed_and_grows)
{
    unsigned char *bytes = memory_new(1000, 3, "a test");
    for (size_t i = 0; i < 3000; i++)
        ck_assert_uint_eq(bytes[i], 0);
    memset(bytes, 7, 3000);
    bytes = memory_resize(bytes, 5000, 3, "a test");
    ck_assert(bytes[0] == 7 && bytes[2999] == 7);
    free(bytes);
    free(memory_new(0, 0, "a test"));
    char *copy = memory_copy_text("linnet");
    ck_assert_str_eq(copy, "linnet");
    free(copy);
}

TEST(an_arena_hands_out_what_it_measured)
{
    static const size_t counts[] = {1, 0, 17, 64, 63, 1000, 2};
    Arena arena = {0};
    for (size_t i = 0; i < COUNT(counts); i++)
        ck_assert_ptr_null(i % 2 ? arena_bytes(&arena, counts[i], 3)
                                 : (void *)arena_reals(&arena, counts[i]));
    size_t measured = arena.used;
    arena_allocate(&arena, "a test");
    ck_assert_uint_eq(arena.size, measured);
    ck_assert_uint_eq(arena.used, 0);
    unsigned char *end = arena.base;
    for (size_t i = 0; i < COUNT(counts); i++) {
        size_t size = i % 2 ? 3 : sizeof(real);
        unsigned char *at = arena_bytes(&arena, counts[i], size);
        ck_assert_uint_eq((uintptr_t)at % 64, 0);
        ck_assert(at >= end); /* no overlap */
        for (size_t b = 0; b < counts[i] * size; b++)
            ck_assert_uint_eq(at[b], 0);
        memset(at, 0xff, counts[i] * size);
        end = at + counts[i] * size;
    }
    ck_assert_uint_eq(arena.used, measured);
    arena_free(&arena);
    ck_assert_ptr_null(arena.base);
}

TEST(missing_cpu_extensions_are_named)
{
    char names[64];
    uint32_t wanted = PROCESSOR_AVX2 | PROCESSOR_FMA | PROCESSOR_AVX512F;
    ck_assert_uint_eq(processor_missing(wanted, wanted | PROCESSOR_BMI, names, sizeof names),
                      0);
    ck_assert_str_eq(names, "");
    ck_assert_uint_eq(processor_missing(wanted, PROCESSOR_FMA, names, sizeof names), 2);
    ck_assert_str_eq(names, "AVX2, AVX-512F");
    ck_assert_uint_eq(processor_missing(UINT32_MAX, 0, names, 16), 27);
    ck_assert_uint_eq(strlen(names), 15); /* truncated */
#ifdef __AVX__
    ck_assert(PROCESSOR_BUILT_FOR & PROCESSOR_AVX);
#endif
}

/* --- errors that end the program --- */

/* Keeps the error messages of exiting programs out of the test output. */
static void be_quiet(void)
{
    ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr));
}

CASE("ends", .set_up = be_quiet);

EXIT_TEST(size_overflow_ends_the_program, 1)
{
    memory_product(SIZE_MAX / 2 + 1, 2, "a test");
}

EXIT_TEST(failed_allocation_ends_the_program, 1)
{
    void *memory = memory_new(SIZE_MAX / 2, 4, "a test");
    free(memory);
}

EXIT_TEST(arena_overflow_ends_the_program, 1)
{
    Arena arena = {0};
    arena_bytes(&arena, SIZE_MAX - 100, 1);
    arena_bytes(&arena, 100, 1);
    arena_bytes(&arena, 100, 1);
}
