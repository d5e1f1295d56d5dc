#include "eval/sample/columns.h"
#include "src/base/containers.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <stdlib.h>

#define NARROWEST ((size_t)24)

/* The texts of one band, already wrapped. */
static void print_band(FILE *stream, char ***wrapped, size_t count, size_t width, bool utf8)
{
    size_t height = 0;
    for (size_t i = 0; i < count; i++)
        height = arrlenu(wrapped[i]) > height ? arrlenu(wrapped[i]) : height;
    for (size_t row = 0; row < height; row++) {
        for (size_t i = 0; i < count; i++) {
            const char *line = row < arrlenu(wrapped[i]) ? wrapped[i][row] : "";
            size_t gap = i + 1 < count ? width - text_columns(line) : 0;
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
    char **lines = text_wrap(headed, width);
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
            text_lines_free(wrapped[i]);
        if (first + band < count)
            fputc('\n', stream);
    }
    free(wrapped);
}
