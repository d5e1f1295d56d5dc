/* Text on terminals: what is shown, and what is escaped. */
#include "eval/show/terminal.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

SUITE("terminal");

static void check_safe(const char *text, const char *expected)
{
    char *shown = NULL;
    size_t size;
    FILE *stream = open_memstream(&shown, &size);
    terminal_print_safe(stream, text);
    fclose(stream);
    ck_assert_str_eq(shown, expected);
    free(shown);
}

TEST(control_characters_are_printed_as_escapes)
{
    check_safe("", "");
    check_safe("plain\ntext ä € 😀", "plain\ntext ä € 😀");
    check_safe("\x1b[31mred\a\t\r\x7f", "\\x1b[31mred\\x07\\x09\\x0d\\x7f");
    check_safe("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0");
    check_safe("\u202a\u202e\u2066\u2069", "\\u202a\\u202e\\u2066\\u2069");
    check_safe("\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a");
    check_safe("\xff\x80z\xc3", "\\xff\\x80z\\xc3");
    check_safe("\xc0\xaf", "\\xc0\\xaf");                   /* overlong encoding */
    check_safe("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");          /* the same */
    check_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half a surrogate pair */
    check_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* above the last code point */
    check_safe("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
    check_safe("\xe2\x82", "\\xe2\\x82"); /* cut off */
}

static void check_name(const char *name, size_t columns, bool utf8, const char *expected)
{
    char *shown = terminal_safe_name(name, columns, utf8);
    ck_assert_str_eq(shown, expected);
    free(shown);
}

TEST(long_names_are_shortened_in_the_middle)
{
    check_name("linear", 6, false, "linear");
    check_name("a\nb", 80, true, "a\\x0ab");
    check_name("näh", 80, true, "näh");
    check_name("näh", 80, false, "n\\xc3\\xa4h");
    check_name("abcdefghij", 7, true, "abc…hij");
    check_name("abcdefghij", 6, false, "abc~ij");
    check_name("äöüäöüß", 4, true, "äö…ß");
    check_name("abc", 2, false, "a~");
    check_name("abc", 1, false, "~");
    check_name("abc", 0, false, "");
    check_name("", 0, false, "");
    char *shown = terminal_safe_bytes("a\0\xc3\xa4\n\xe2\x82", 7, true);
    ck_assert_str_eq(shown, "a\\x00\xc3\xa4\\x0a\\xe2\\x82");
    free(shown);
}

static void set_locale(const char *all, const char *ctype, const char *lang)
{
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", ctype, 1);
    setenv("LANG", lang, 1);
}

TEST(shortened_names_keep_what_differs)
{
    const char *const names[] = {"kda-lr1e-2-long", "kda-lr1e-3-long", "kda-lr1e-3-long"};
    ck_assert_uint_eq(terminal_distinct_columns(names, 3, 4), 13); /* kda-lr~2-long */
    ck_assert_uint_eq(terminal_distinct_columns(names + 1, 2, 4), 4);
    ck_assert_uint_eq(terminal_distinct_columns(NULL, 0, 4), 4);
}

TEST(the_size_of_the_terminal_has_defaults)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    setenv("COLUMNS", "123", 1);
    setenv("LINES", "45", 1);
    ck_assert_uint_eq(terminal_width(ends[1]), 123);
    ck_assert_uint_eq(terminal_height(ends[1]), 45);
    setenv("COLUMNS", "wide", 1);
    setenv("LINES", "0", 1);
    ck_assert_uint_eq(terminal_width(ends[1]), 80);
    ck_assert_uint_eq(terminal_height(ends[1]), 24);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    ck_assert(!terminal_is_interactive(ends[1]) && !terminal_has_colour(ends[1]));
    close(ends[0]);
    close(ends[1]);
    set_locale("", "", "en_GB.UTF-8");
    ck_assert(terminal_is_utf8());
    set_locale("", "C.utf8", "C");
    ck_assert(terminal_is_utf8());
    set_locale("C", "C.utf8", "C.utf8");
    ck_assert(!terminal_is_utf8());
    set_locale("", "", "");
    ck_assert(!terminal_is_utf8());
}

/* Only terminals get colours, so the test opens a pseudo-terminal. */
TEST(only_terminals_get_colours)
{
    int controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0)
        return; /* not without pseudo-terminals */
    int fd = open(ptsname(controller), O_RDWR | O_NOCTTY);
    const struct winsize window = {.ws_col = 99, .ws_row = 33};
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &window), 0);
    ck_assert_uint_eq(terminal_width(fd), 99);
    ck_assert_uint_eq(terminal_height(fd), 33);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "", 1);
    ck_assert(terminal_has_colour(fd));
    setenv("NO_COLOR", "1", 1);
    ck_assert(!terminal_has_colour(fd));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert(!terminal_has_colour(fd));
    close(fd);
    close(controller);
}
