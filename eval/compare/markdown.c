#include "eval/compare/markdown.h"
#include "eval/compare/cells.h"
#include "src/containers.h"
#include "src/text.h"

#include <stdint.h>
#include <string.h>

/* Whether Markdown gives the character a meaning. Points and colons make addresses, which
 * become links, but not in numbers. */
static bool is_mark(const char *text, size_t at)
{
    bool after_digit = at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
    return strchr("\\`*_[]~|$", text[at]) || (strchr(".:", text[at]) && !after_digit);
}

static void append_escaped(char **line, const char *text)
{
    for (size_t at = 0; text[at]; at++)
        if (text[at] == '<')
            text_append(line, "&lt;");
        else if (text[at] == '>')
            text_append(line, "&gt;");
        else if (text[at] == '&')
            text_append(line, "&amp;");
        else
            text_append(line, "%s%c", is_mark(text, at) ? "\\" : "", text[at]);
}

static void append_cell(char **line, const char *text)
{
    text_append(line, " ");
    append_escaped(line, text);
    text_append(line, " |");
}

/* The row of a group, or of the titles where that is SIZE_MAX. */
static void print_row(FILE *stream, const char *name, const CellColumn *columns, size_t group)
{
    char *line = memory_copy_text("|");
    append_cell(&line, name);
    for (size_t i = 0; i < arrlenu(columns); i++)
        append_cell(&line, group == SIZE_MAX ? columns[i].title : columns[i].cells[group]);
    fprintf(stream, "%s\n", line);
    free(line);
}

void compare_print_markdown_heading(FILE *stream, const char *heading)
{
    char *line = NULL;
    append_escaped(&line, heading);
    fprintf(stream, "### %s\n\n", line);
    free(line);
}

void compare_print_markdown(FILE *stream, const RunGroup *groups, char *const *names)
{
    CellColumn *columns = cells_for_report(groups);
    print_row(stream, "run", columns, SIZE_MAX);
    fputs("|---|", stream);
    for (size_t i = 0; i < arrlenu(columns); i++)
        fputs(columns[i].left ? "---|" : "---:|", stream);
    fputs("\n", stream);
    bool certain = false;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        print_row(stream, names[g], columns, g);
        certain |= groups[g].best.count > 1;
    }
    if (certain)
        fputs("\n± and brackets: 95 % confidence intervals of the mean over seeds and of the "
              "difference.\n",
              stream);
    cells_free(columns, arrlenu(groups));
}
