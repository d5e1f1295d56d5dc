/* --help: one screen of common options; --help all: everything; --help WORD: a search. */
#include "src/about.h"
#include "src/memory.h"
#include "src/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 79, COLUMN = 26 };

/* Wraps text at blanks; lines after the first are indented. */
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

enum { CHOICES_IN_BRIEF = 8 };

typedef struct Help {
    const char *word; /* rows that mention it; NULL: all */
    bool brief;       /* common rows alone, each up to its first semicolon */
    const char *title;
    size_t rows; /* printed so far */
    Nearest near;
} Help;

static size_t choice_count(const Option *option)
{
    size_t count = 0;
    while (option->choice && option->choice(count))
        count++;
    return count;
}

static char *help_text(const Option *option, bool brief)
{
    char *text = memory_copy_text("");
    if (option->owners)
        for (size_t i = 0; option->owners->name(option, i); i++)
            text_append(&text, "%s%s", i ? ", " : "", option->owners->name(option, i));
    text_append(&text, "%s%.*s", option->owners ? ": " : "",
                brief ? (int)strcspn(option->help, ";") : (int)strlen(option->help),
                option->help);
    if (choice_count(option) <= CHOICES_IN_BRIEF || !brief)
        for (size_t i = 0; option->choice && option->choice(i); i++)
            text_append(&text, "%s%s", i ? ", " : ": ", option->choice(i));
    const char *fallback = option->fallback ? option->fallback : "";
    bool off = option->type == OPTION_FLAG && strcmp(fallback, "no") == 0;
    bool unexplained = brief && strcmp(fallback, "0") == 0; /* the help says what 0 means */
    if (*fallback && !off && !unexplained)
        text_append(&text, " (default %s)", fallback);
    return text;
}

static void heading(void *self, const char *title)
{
    Help *help = self;
    help->title = title; /* printed with the first row below it */
}

/* Whether the text has the word in it, in capitals or not. */
static bool mentions(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

static bool wants(const Help *help, const Option *option)
{
    if (!help->word)
        return !help->brief || option->common;
    bool found = mentions(option->name, help->word) || mentions(option->also, help->word) ||
                 mentions(option->help, help->word);
    for (size_t i = 0; !found && option->choice && option->choice(i); i++)
        found = strcmp(option->choice(i), help->word) == 0;
    return found;
}

static void row(void *self, const Option *option)
{
    Help *help = self;
    if (help->word)
        nearest_consider(&help->near, option->name);
    if (!wants(help, option))
        return;
    if (help->title)
        printf("\n%s:\n", help->title);
    help->title = NULL;
    help->rows++;
    int used = printf("  --%s%s%s%s", option->type == OPTION_FLAG ? "[no-]" : "", option->name,
                      option->argument ? " " : "", option->argument ? option->argument : "");
    if (used < COLUMN)
        printf("%*s", COLUMN - used, "");
    else
        printf("\n%*s", COLUMN, "");
    char *text = help_text(option, help->brief);
    print_wrapped(text, COLUMN);
    free(text);
}

static void print_rows(Help *help, const OptionGroup *groups, size_t count)
{
    options_visit(groups, count, &(OptionVisitor){heading, row, help});
}

/* --- what stands above and below them --- */

static void print_usage(const About *about, bool brief)
{
    for (size_t i = 0; about->synopses[i]; i++)
        printf("%s %s %s\n", i ? "      " : "Usage:", program_name, about->synopses[i]);
    printf("\n%c%s.\n", toupper((unsigned char)about->purpose[0]), about->purpose + 1);
    for (size_t i = 0; (i == 0 || !brief) && about->paragraphs[i]; i++) {
        putchar('\n');
        print_wrapped(about->paragraphs[i], 0);
    }
    if (about->command)
        putchar('\n');
    for (size_t i = 0; about->command && about->command(i).name; i++)
        printf("  %-12s %s\n", about->command(i).name, about->command(i).text);
    if (about->examples[0])
        putchar('\n');
    for (size_t i = 0; (i < 3 || !brief) && about->examples[i]; i++)
        printf("  %s %s\n", program_name, about->examples[i]);
}

static bool has_common(const OptionGroup *groups, size_t count)
{
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (groups[g].options[i].common)
                return true;
    return false;
}

static void print_matches(const OptionGroup *groups, size_t count, const char *word)
{
    Help help = {.word = word, .near = nearest_to(word)};
    print_rows(&help, groups, count);
    if (help.rows > 0)
        return;
    if (help.near.best)
        die("--help %s: no option mentions it; did you mean --help %s?", word, help.near.best);
    die("--help %s: no option mentions it; --help all prints every option", word);
}

void about_print_help(const About *about, const OptionGroup *groups, size_t count,
                      const char *word)
{
    bool all = strcmp(word, "all") == 0;
    if (*word && !all) {
        print_matches(groups, count, word);
        return;
    }
    Help help = {.brief = !all && has_common(groups, count)};
    print_usage(about, help.brief);
    print_rows(&help, groups, count);
    if (!help.brief)
        return;
    printf("\n%s --help all prints every option, --help WORD those that mention a word.\n",
           program_name);
    if (about->more)
        print_wrapped(about->more, 0);
}
