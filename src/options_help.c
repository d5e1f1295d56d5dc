/* The help text that option rows make. */
#include "src/memory.h"
#include "src/options.h"
#include "src/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *help_text(const Option *option)
{
    char *text = memory_copy_text(option->help);
    if (option->type == OPTION_CHOICE || option->type == OPTION_CHOICES) {
        text_append(&text, ":");
        for (size_t i = 0; option->choice(i); i++)
            text_append(&text, "%s%s", i ? " | " : " ", option->choice(i));
    }
    if (option->type == OPTION_FLAG)
        text_append(&text, " (%s)", option->fallback);
    else if (option->fallback && *option->fallback)
        text_append(&text, " (%s)", option->fallback);
    return text;
}

/* Breaks the text at spaces so that it stands in a column of its own. */
static void print_wrapped(const char *text, int indent, size_t width)
{
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

void options_print_help(const OptionGroup *groups, size_t count)
{
    enum { COLUMN = 26, WIDTH = 53 };
    for (size_t g = 0; g < count; g++) {
        printf("\n%s:\n", groups[g].title);
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            int used = printf("  --%s%s%s%s", option->type == OPTION_FLAG ? "[no-]" : "",
                              option->name, option->argument ? " " : "",
                              option->argument ? option->argument : "");
            printf("%*s", used < COLUMN - 1 ? COLUMN - used : 1, "");
            if (used >= COLUMN)
                printf("\n%*s", COLUMN, "");
            char *text = help_text(option);
            print_wrapped(text, COLUMN, WIDTH);
            free(text);
        }
    }
}
