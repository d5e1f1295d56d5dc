#include "eval/show/columns.h"
#include "src/containers.h"
#include "src/team.h"
#include "src/text.h"

#include <string.h>

#define NARROWEST ((size_t)24)

/* The length of a colour sequence that begins here, or 0. */
static size_t colour_length(const char *text)
{
    if (text[0] != '\x1b' || text[1] != '[')
        return 0;
    size_t length = strcspn(text, "m");
    return text[length] ? length + 1 : 0;
}

/* The bytes and columns of the character or colour at a place. */
static size_t step(const char *text, size_t *columns)
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

static size_t width_of(const char *text)
{
    size_t width = 0, columns;
    for (const char *at = text; *at; width += columns)
        at += step(at, &columns);
    return width;
}

/* The bytes of a line that fit into the width: up to a blank or, without one, as many
 * characters as there are columns. */
static size_t fitting(const char *line, size_t size, size_t width)
{
    size_t used = 0, at = 0, blank = 0, columns;
    while (at < size) {
        size_t length = step(line + at, &columns);
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

char **columns_wrap(const char *text, size_t width)
{
    char **lines = NULL;
    while (*text) {
        size_t size = strcspn(text, "\n");
        wrap_line(&lines, text, size, width > 0 ? width : 1);
        text += size + (text[size] == '\n');
    }
    return lines;
}

void columns_free(char **lines)
{
    for (size_t i = 0; i < arrlenu(lines); i++)
        free(lines[i]);
    arrfree(lines);
}

/* --- side by side --- */

/* The texts of one band, already wrapped. */
static void print_band(FILE *stream, char ***wrapped, size_t count, size_t width, bool utf8)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows = arrlenu(wrapped[i]) > rows ? arrlenu(wrapped[i]) : rows;
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < count; i++) {
            const char *line = row < arrlenu(wrapped[i]) ? wrapped[i][row] : "";
            size_t gap = i + 1 < count ? width - width_of(line) : 0;
            fprintf(stream, "%s%*s", line, (int)gap, "");
            if (i + 1 < count)
                fputs(utf8 ? " │ " : " | ", stream);
        }
        fputc('\n', stream);
    }
}

static char **wrap_under_number(const char *text, size_t number, size_t width)
{
    char *headed = text_format("(%zu)\n%s", number, text);
    char **lines = columns_wrap(headed, width);
    free(headed);
    return lines;
}

void columns_print(FILE *stream, char *const *texts, size_t count, size_t first_number,
                   size_t width, bool utf8)
{
    enum { BETWEEN = 3 };
    size_t room = (width + BETWEEN) / (NARROWEST + BETWEEN);
    room = room < 1 ? 1 : room;
    size_t most = team_tiles(count, team_tiles(count, room)); /* bands of about equal size */
    size_t each = (width + BETWEEN) / most;
    each = each > BETWEEN + 1 ? each - BETWEEN : 1;
    char ***wrapped = memory_take(most, sizeof *wrapped, "the columns");
    for (size_t first = 0; first < count; first += most) {
        size_t band = team_extent(count, most, first / most);
        for (size_t i = 0; i < band; i++)
            wrapped[i] = wrap_under_number(texts[first + i], first_number + first + i, each);
        print_band(stream, wrapped, band, each, utf8);
        for (size_t i = 0; i < band; i++)
            columns_free(wrapped[i]);
        if (first + band < count)
            fputc('\n', stream);
    }
    free(wrapped);
}
