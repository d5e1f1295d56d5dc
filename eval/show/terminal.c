#include "eval/show/terminal.h"
#include "data/tokenizers/utf8.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static size_t size_from_environment(const char *name, size_t otherwise)
{
    const char *value = getenv(name);
    size_t size;
    return value && text_to_size(value, &size) && size > 0 ? size : otherwise;
}

/* The size that the terminal tells, or zeros. */
static struct winsize window_of(int fd)
{
    struct winsize window = {0};
    return ioctl(fd, TIOCGWINSZ, &window) == 0 ? window : (struct winsize){0};
}

size_t terminal_width(int fd)
{
    enum { USUAL_WIDTH = 80 };
    size_t width = window_of(fd).ws_col;
    return width ? width : size_from_environment("COLUMNS", USUAL_WIDTH);
}

size_t terminal_height(int fd)
{
    enum { USUAL_HEIGHT = 24 };
    size_t height = window_of(fd).ws_row;
    return height ? height : size_from_environment("LINES", USUAL_HEIGHT);
}

bool terminal_is_interactive(int fd)
{
    return isatty(fd) == 1;
}

bool terminal_can_redraw(int fd)
{
    const char *term = getenv("TERM");
    return terminal_is_interactive(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool terminal_has_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR");
    return terminal_can_redraw(fd) && !(no_colour && *no_colour);
}

bool terminal_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) /* the first variable that is set decides */
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* --- untrusted text --- */

static bool is_obeyed(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

enum { SHOWN = 8 }; /* room for \u202e and its end, and for four bytes of UTF-8 */

/* How to show the character at c; returns its length in bytes. */
static size_t show(const char *c, size_t size, bool utf8, char shown[SHOWN])
{
    size_t length = utf8_length(c, size);
    uint32_t code = utf8_decode(c, length);
    if (length == 0 || (length > 1 && !utf8)) {
        snprintf(shown, SHOWN, "\\x%02x", (unsigned char)c[0]);
        return 1;
    }
    if (is_obeyed(code)) {
        snprintf(shown, SHOWN, length == 1 ? "\\x%02x" : "\\u%04x", code & 0xffff);
        return length;
    }
    memcpy(shown, c, length);
    shown[length] = '\0';
    return length;
}

void terminal_print_bytes(FILE *stream, const char *bytes, size_t size, bool utf8)
{
    char shown[SHOWN];
    for (size_t at = 0, length; at < size; at += length) {
        length = show(bytes + at, size - at, utf8, shown);
        fputs(bytes[at] == '\n' ? "\n" : shown, stream);
    }
}

void terminal_print_safe(FILE *stream, const char *text)
{
    terminal_print_bytes(stream, text, strlen(text), true);
}

/* The byte at which the character after `characters` others begins. */
static size_t skip_characters(const char *text, size_t characters)
{
    size_t at = 0;
    for (; characters > 0 && text[at]; characters--)
        do
            at++;
        while (((unsigned char)text[at] & 0xc0) == 0x80);
    return at;
}

char *terminal_safe_bytes(const char *bytes, size_t size, bool utf8)
{
    /* A byte takes at most four characters, as \x1b. */
    char *text = memory_new(memory_product(size, 4, "a name") + SHOWN, 1, "a name"),
         *out = text;
    for (size_t at = 0; at < size; out += strlen(out))
        at += show(bytes + at, size - at, utf8, out);
    return text;
}

char *terminal_safe_name(const char *name, size_t columns, bool utf8)
{
    char *text = terminal_safe_bytes(name, strlen(name), utf8);
    size_t width = text_columns(text);
    if (width <= columns)
        return text;
    size_t head = columns / 2, tail = columns > 0 ? columns - head - 1 : 0;
    char *shorter = text_format("%.*s%s%s", (int)skip_characters(text, head), text,
                                columns == 0 ? ""
                                : utf8       ? "…"
                                             : "~",
                                text + skip_characters(text, width - tail));
    free(text);
    return shorter;
}

size_t terminal_distinct_columns(const char *const *names, size_t count, size_t least)
{
    size_t columns = least;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < a; b++) {
            bool same = strcmp(names[a], names[b]) != 0;
            for (; same; columns += same) {
                char *of_a = terminal_safe_name(names[a], columns, true),
                     *of_b = terminal_safe_name(names[b], columns, true);
                same = strcmp(of_a, of_b) == 0 && columns < strlen(names[a]) + strlen(names[b]);
                free(of_a);
                free(of_b);
            }
        }
    return columns;
}

void terminal_notice(const char *what)
{
    static bool told;
    bool redraws = terminal_can_redraw(STDERR_FILENO);
    char *safe = what ? terminal_safe_name(
                            what, redraws ? terminal_width(STDERR_FILENO) - 1 : SIZE_MAX,
                            terminal_is_utf8())
                      : NULL;
    if (redraws)
        fprintf(stderr, "\r%s\033[K", safe ? safe : "");
    else if (safe && !told)
        fprintf(stderr, "%s\n", safe);
    told |= safe != NULL;
    free(safe);
}
