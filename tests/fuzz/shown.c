/* Hostile text where it is shown: on pages, in pictures, on terminals, in shell commands, and
 * detokenised. */
#include "data/tokenizers/utf8.h"
#include "eval/show/markup.h"
#include "eval/show/chart.h"
#include "eval/show/terminal.h"
#include "eval/show/detok.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* --- escaping: any text --- */

static bool is_utf8(const char *text)
{
    size_t size = strlen(text), length;
    for (size_t at = 0; at < size; at += length) {
        length = utf8_length(text + at, size - at);
        if (!length)
            return false;
    }
    return true;
}

/* One of these would end the document or leave the element. */
static void check_markup(const char *markup)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    fuzz_check_shown(markup, false);
    FUZZ_HOLDS(!strpbrk(markup, "<>\"'"));
    FUZZ_HOLDS(!strstr(markup, "\xef\xbf\xbe") && !strstr(markup, "\xef\xbf\xbf"));
    for (const char *c = markup; (c = strchr(c, '&')); c++) {
        bool known = false;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            known = known || strncmp(c, entities[i], strlen(entities[i])) == 0;
        FUZZ_HOLDS(known);
    }
}

static void try_markup(const char *text)
{
    char *markup = NULL;
    size_t size;
    FILE *stream = open_memstream(&markup, &size);
    FUZZ_HOLDS(stream);
    markup_print(stream, text);
    FUZZ_HOLDS(fclose(stream) == 0 && strlen(markup) == size);
    check_markup(markup);
    free(markup);
}

static void try_terminal(const char *text)
{
    static const size_t columns[] = {0, 1, 2, 7, SIZE_MAX};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        for (int utf8 = 0; utf8 < 2; utf8++) {
            char *name = terminal_safe_name(text, columns[i], utf8);
            fuzz_check_shown(name, false);
            FUZZ_HOLDS(text_columns(name) <= columns[i]);
            for (const char *c = name; *c && !utf8; c++)
                FUZZ_HOLDS((unsigned char)*c < 0x80);
            free(name);
        }
    char *safe = NULL;
    size_t size;
    FILE *stream = open_memstream(&safe, &size);
    FUZZ_HOLDS(stream);
    terminal_print_safe(stream, text);
    FUZZ_HOLDS(fclose(stream) == 0);
    fuzz_check_shown(safe, true);
    free(safe);
}

/* Parses a quoted word as a shell does. */
static void try_shell(const char *text)
{
    static const char special[] = " \t\n\\\"`$&|;<>()*?[]#~!{}";
    char *word = NULL, *read = memory_new(strlen(text) + 1, 1, "an input"), *out = read;
    text_append_shell_word(&word, text);
    bool quoted = false;
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            quoted = !quoted;
        else if (!quoted && c[0] == '\\' && c[1])
            *out++ = *++c;
        else if (quoted || !strchr(special, *c))
            *out++ = *c;
        else
            FUZZ_HOLDS(!"a shell would see more than a word");
    }
    FUZZ_HOLDS(!quoted && *word && strcmp(read, text) == 0);
    free(read);
    free(word);
}

void fuzz_escaping(const uint8_t *data, size_t size)
{
    char *text = fuzz_next_text(&data, &size);
    try_markup(text);
    try_terminal(text);
    try_shell(text);
    free(text);
}

/* --- pictures: the names of two curves, each followed by a zero, then their points --- */

enum { MOST_POINTS = 64 };

static char *draw(const Chart *chart, const char *title)
{
    char *picture = NULL;
    size_t size;
    FILE *stream = open_memstream(&picture, &size);
    FUZZ_HOLDS(stream);
    svg_print(stream, chart, title);
    FUZZ_HOLDS(fclose(stream) == 0 && strlen(picture) == size);
    return picture;
}

static size_t count(const char *text, char wanted)
{
    size_t times = 0;
    for (; (text = strchr(text, wanted)); text++)
        times++;
    return times;
}

/* Every coordinate is finite. */
static void check_places(const char *picture)
{
    static const char *const attributes[] = {" d=\"", " x=\"", " y=\"", " cx=\"", " cy=\""};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        for (const char *c = picture; (c = strstr(c, attributes[i]));) {
            c += strlen(attributes[i]);
            size_t length = strcspn(c, "\"");
            FUZZ_HOLDS(strspn(c, "MLHVZhv0123456789. -") == length);
            c += length;
        }
}

/* Names cannot add elements of their own, nor end an attribute. */
static void check_picture(const Chart *chart, const char *title)
{
    char *picture = draw(chart, title);
    fuzz_check_shown(picture, true);
    FUZZ_HOLDS(!strstr(picture, "\xef\xbf\xbe") && !strstr(picture, "\xef\xbf\xbf"));
    FUZZ_HOLDS(count(picture, '<') == count(picture, '>') && count(picture, '"') % 2 == 0);
    fuzz_check_tags(picture);
    free(picture);
}

static void check_on_terminal(Chart chart)
{
    for (int utf8 = 0; utf8 < 2; utf8++) {
        char *text = NULL;
        chart.columns = 40;
        chart.rows = 12;
        chart.utf8 = utf8;
        chart_append(&text, &chart);
        fuzz_check_shown(text, true);
        free(text);
    }
}

void fuzz_picture(const uint8_t *data, size_t size)
{
    char *names[] = {fuzz_next_text(&data, &size), fuzz_next_text(&data, &size)};
    ChartPoint points[MOST_POINTS] = {{0}};
    size_t points_size = size < sizeof points ? size : sizeof points;
    if (points_size)
        memcpy(points, data, points_size);
    size_t half = points_size / sizeof *points / 2;
    Chart chart = {.x_label = "x", .y_label = names[1]};
    Chart plain = {.x_label = "x", .y_label = "y"};
    for (size_t i = 0; i < 2; i++) {
        chart_add(&chart, names[i], points + i * half, half);
        chart_add(&plain, i ? "b" : "a", points + i * half, half);
    }
    char *picture = draw(&plain, "title");
    check_places(picture);
    free(picture);
    check_picture(&chart, names[0]);
    check_on_terminal(chart);
    chart_free(&chart);
    chart_free(&plain);
    free(names[0]);
    free(names[1]);
}

/* --- detokenised lines of words --- */

static void check_written(const char *word, const char *written)
{
    FUZZ_HOLDS(strlen(written) <= strlen(word) || strcmp(word, "\"") == 0);
    FUZZ_HOLDS(*written || strcmp(word, "") == 0);
    FUZZ_HOLDS(!is_utf8(word) || is_utf8(written));
    FUZZ_HOLDS(*word != '<' || strchr(word, '\\') || strcmp(word, written) == 0); /* <unk> */
}

void fuzz_detok(const uint8_t *data, size_t size)
{
    char *text = fuzz_next_text(&data, &size), *rest = text;
    Detok detok;
    detok_begin(&detok);
    for (char *line; (line = strsep(&rest, "\n")); detok_begin(&detok)) {
        bool first = true;
        for (char *word; (word = strsep(&line, " "));) {
            bool space = true;
            if (!*word)
                continue;
            char *written = detok_word(&detok, word, &space);
            check_written(word, written);
            FUZZ_HOLDS(!first || !space);
            first = false;
            free(written);
        }
    }
    free(text);
}
