#define STB_DS_IMPLEMENTATION /* only here */
#include "src/base/text.h"
#include "src/base/containers.h"
#include "src/base/error.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append(char **text, const char *format, va_list args)
{
    va_list copy;
    va_copy(copy, args);
    int more = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    if (more < 0)
        return;
    size_t length = *text ? strlen(*text) : 0;
    *text = memory_resize(*text, length + (size_t)more + 1, 1, "a text");
    vsnprintf(*text + length, (size_t)more + 1, format, args);
}

char *text_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    append(&text, format, args);
    va_end(args);
    return text;
}

void text_append(char **text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(text, format, args);
    va_end(args);
}

void text_append_shell_word(char **text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=./,:@%";
    if (*word && !word[strspn(word, plain)]) {
        text_append(text, "%s", word);
        return;
    }
    text_append(text, "'");
    for (; *word; word++)
        text_append(text, *word == '\'' ? "'\\''" : "%c", *word);
    text_append(text, "'");
}

char *text_one_line(const char *text)
{
    char *line = memory_copy_text("");
    while (*text) {
        size_t escaped = control_length(text);
        if (!escaped)
            text_append(&line, "%c", *text++);
        for (; escaped > 0; escaped--)
            text_append(&line, "\\x%02x", (unsigned char)*text++);
    }
    return line;
}

bool text_to_size(const char *text, size_t *value)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || number > SIZE_MAX)
        return false;
    *value = (size_t)number;
    return true;
}

bool text_to_double(const char *text, double *value)
{
    if (!strchr("+-.0123456789", text[0]) || !text[0] || strpbrk(text, "xXnN"))
        return false; /* reject white space, hexadecimal, "nan" and "inf" */
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || (number == 0 && errno == ERANGE))
        return false;
    *value = number;
    return true;
}

char *text_trim(char *text)
{
    static const char blanks[] = " \t\r";
    text += strspn(text, blanks);
    size_t length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

bool text_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool text_is_among(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words;
}

bool text_is_listed(const char *word, const char *words)
{
    size_t length = strlen(word);
    for (const char *at = words; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        bool same = strcspn(at, " ") == length;
        for (size_t i = 0; same && i < length; i++)
            same = at[i] == (word[i] == '_' ? '-' : word[i]);
        if (same)
            return true;
    }
    return false;
}

size_t text_index(const char *word, const char *(*name)(size_t index))
{
    size_t index = 0;
    while (name(index) && strcmp(name(index), word) != 0)
        index++;
    return index;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t text_distance(const char *a, const char *b)
{
    enum { LONGEST = 63 };
    size_t rows[3][LONGEST + 1]; /* the last three rows of the dynamic program */
    size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST)
        return m + n;
    for (size_t i = 0; i <= m; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        for (size_t j = 0; j <= n; j++) {
            if (i == 0 || j == 0) {
                row[j] = i + j;
                continue;
            }
            row[j] = least(least(above[j], row[j - 1]) + 1,
                           above[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped)
                row[j] = least(row[j], twice[j - 2] + 1);
        }
    }
    return rows[m % 3][n];
}

Nearest nearest_to(const char *word)
{
    /* Do not suggest names that differ in more than half of the word. */
    return (Nearest){.word = word, .least = strlen(word) / 2 + 1};
}

void nearest_consider(Nearest *nearest, const char *name)
{
    size_t distance = text_distance(name, nearest->word);
    if (distance >= nearest->least)
        return;
    nearest->least = distance;
    nearest->best = name;
}

ShortText text_perplexity(double perplexity)
{
    ShortText figure;
    snprintf(figure.text, sizeof figure.text, perplexity < 1e6 ? "%.2f" : "%.2e", perplexity);
    return figure;
}

ShortText text_duration(double seconds)
{
    const unsigned long whole = seconds > 0 && seconds < 1e9 ? (unsigned long)(seconds + 0.5)
                                                             : 0;
    ShortText clock;
    snprintf(clock.text, sizeof clock.text, "%lu:%02lu:%02lu", whole / 3600, whole / 60 % 60,
             whole % 60);
    return clock;
}

const char *text_joint(size_t index, size_t count)
{
    return index == 0 ? "" : index + 1 < count ? ", " : " and ";
}

const char *text_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* --- lines of a terminal --- */

/* The length of a colour sequence that begins here, or 0. */
static size_t colour_length(const char *text)
{
    if (text[0] != '\x1b' || text[1] != '[')
        return 0;
    size_t length = strcspn(text, "m");
    return text[length] ? length + 1 : 0;
}

/* The bytes and columns of the character or colour at a place. */
static size_t next_column(const char *text, size_t *columns)
{
    size_t length = colour_length(text);
    *columns = length ? 0 : 1;
    if (length)
        return length;
    do
        length++;
    while (((unsigned char)text[length] & 0xc0) == 0x80);
    return length;
}

size_t text_columns(const char *text)
{
    size_t width = 0, columns;
    for (; *text; width += columns)
        text += next_column(text, &columns);
    return width;
}

/* The bytes of a line that fit into the width: up to a blank or, without one, as many
 * characters as there are columns. */
static size_t fitting(const char *line, size_t size, size_t width)
{
    size_t used = 0, at = 0, blank = 0, columns;
    while (at < size) {
        size_t length = next_column(line + at, &columns);
        if (line[at] == ' ' && at > 0)
            blank = at;
        if (used + columns > width)
            return blank ? blank : at;
        used += columns;
        at += length;
    }
    return size;
}

/* The last colour in the bytes; NULL: the terminal's default. */
static const char *last_colour(const char *text, size_t size, const char *before)
{
    static const char end[] = "\x1b[39m";
    for (size_t at = 0; at < size;) {
        size_t length = colour_length(text + at);
        if (length)
            before = strncmp(text + at, end, sizeof end - 1) == 0 ? NULL : text + at;
        at += length ? length : 1;
    }
    return before;
}

/* Wraps one line of the text. */
static void wrap_line(char ***lines, const char *line, size_t size, size_t width)
{
    const char *colour = NULL;
    do {
        size_t fits = fitting(line, size, width);
        const char *next = last_colour(line, fits, colour);
        arrput(*lines,
               text_format("%.*s%.*s%s", colour ? (int)colour_length(colour) : 0,
                           colour ? colour : "", (int)fits, line, next ? "\x1b[39m" : ""));
        colour = next;
        fits += fits < size && line[fits] == ' ';
        line += fits;
        size -= fits;
    } while (size > 0);
}

char **text_wrap(const char *text, size_t width)
{
    char **lines = NULL;
    while (*text) {
        size_t size = strcspn(text, "\n");
        wrap_line(&lines, text, size, width > 0 ? width : 1);
        text += size + (text[size] == '\n');
    }
    return lines;
}

void text_lines_free(char **lines)
{
    for (size_t i = 0; i < arrlenu(lines); i++)
        free(lines[i]);
    arrfree(lines);
}

void text_append_wrapped(char **text, const char *body, size_t room, size_t indent)
{
    char **lines = text_wrap(body, room);
    for (size_t i = 0; i < arrlenu(lines); i++)
        text_append(text, "%*s%s\n", i > 0 ? (int)indent : 0, "", lines[i]);
    text_lines_free(lines);
}
