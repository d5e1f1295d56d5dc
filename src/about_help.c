/* The answer to --help. */
#include "src/about.h"
#include "src/memory.h"
#include "src/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79, COLUMN = 26 };

/* Breaks the text at spaces so that it stands in a column of its own. */
static void print_wrapped(const char *text, int indent)
{
    size_t width = (size_t)(WIDTH - indent);
    while (strlen(text) > width) {
        size_t cut = width;
        while (cut && text[cut] != ' ')
            cut--;
        if (!cut)
            cut = strcspn(text, " ");
        printf("%.*s\n%*s", (int)cut, text, indent, "");
        text += cut + strspn(text + cut, " ");
    }
    printf("%s\n", text);
}

/* --- the options --- */

static char *help_text(const Option *option)
{
    char *text = memory_copy_text("");
    if (option->owners)
        for (size_t i = 0; option->owners->name(option, i); i++)
            text_append(&text, "%s%s", i ? ", " : "", option->owners->name(option, i));
    text_append(&text, "%s%s", option->owners ? ": " : "", option->help);
    if (option->choice) {
        text_append(&text, ":");
        for (size_t i = 0; option->choice(i); i++)
            text_append(&text, "%s%s", i ? " | " : " ", option->choice(i));
    }
    if (option->fallback && *option->fallback)
        text_append(&text, " (%s)", option->fallback);
    return text;
}

static void print_heading(const char *title)
{
    printf("\n%s:\n", title);
}

static void print_row(const Option *option)
{
    int used = printf("  --%s%s%s%s", option->type == OPTION_FLAG ? "[no-]" : "", option->name,
                      option->argument ? " " : "", option->argument ? option->argument : "");
    if (used < COLUMN)
        printf("%*s", COLUMN - used, "");
    else
        printf("\n%*s", COLUMN, "");
    char *text = help_text(option);
    print_wrapped(text, COLUMN);
    free(text);
}

/* --- what stands above them --- */

static void print_usage(const About *about)
{
    for (size_t i = 0; about->synopses[i]; i++)
        printf("%s %s %s\n", i ? "      " : "Usage:", program_name, about->synopses[i]);
    printf("\n%c%s.\n", toupper((unsigned char)about->purpose[0]), about->purpose + 1);
    for (size_t i = 0; about->paragraphs[i]; i++) {
        putchar('\n');
        print_wrapped(about->paragraphs[i], 0);
    }
    if (about->command)
        putchar('\n');
    for (size_t i = 0; about->command && about->command(i).name; i++)
        printf("  %-12s %s\n", about->command(i).name, about->command(i).text);
    if (about->examples[0])
        putchar('\n');
    for (size_t i = 0; about->examples[i]; i++)
        printf("  %s %s\n", program_name, about->examples[i]);
}

void about_print_help(const About *about, const OptionGroup *groups, size_t count)
{
    print_usage(about);
    options_visit(groups, count, print_heading, print_row);
}
