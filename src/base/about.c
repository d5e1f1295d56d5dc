/* --help: one screen of common options; --help all: everything; --help WORD: a search. */
#include "src/base/program.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 79, COLUMN = 26, CHOICES_IN_BRIEF = 8 };

/* Prints a text at a column, behind its label or, if that is too long, below it. */
static void print_item(const char *label, const char *text, size_t column)
{
    bool fits = strlen(label) < column || column == 0;
    char *item = text_format("%-*s%s%*s", fits ? (int)column : 0, label, fits ? "" : "\n",
                             fits ? 0 : (int)column, "");
    text_append_wrapped(&item, text, WIDTH - column, column);
    fputs(item, stdout);
    free(item);
}

/* --- the options --- */

static size_t choice_count(const Option *option)
{
    size_t count = 0;
    while (option->choice && option->choice(count))
        count++;
    return count;
}

/* In brief, up to the first semicolon of the help. */
static char *help_text(const Option *option, bool brief)
{
    char *text = memory_copy_text("");
    option_append_owners(&text, option, "");
    text_append(&text, "%s%.*s", option->owner ? ": " : "",
                brief ? (int)strcspn(option->help, ";") : (int)strlen(option->help),
                option->help);
    if (choice_count(option) <= CHOICES_IN_BRIEF || !brief)
        option_append_choices(&text, option, ": ", ", ");
    const char *fallback = option->fallback ? option->fallback : "";
    bool off = option->type == OPTION_FLAG && strcmp(fallback, "no") == 0;
    bool unexplained = brief && strcmp(fallback, "0") == 0; /* the help says what 0 means */
    if (*fallback && !off && !unexplained)
        text_append(&text, " (default %s)", fallback);
    return text;
}

/* Whether the text has the word in it, in capitals or not. */
static bool mentions(const char *text, const char *word)
{
    return text && strcasestr(text, word);
}

static bool is_about(const Option *option, const char *word)
{
    return mentions(option->name, word) || mentions(option->also, word) ||
           mentions(option->help, word) ||
           (option->choice && option->choice(text_index(word, option->choice)));
}

static void print_row(const Option *option, bool brief)
{
    char *label = text_format("  --%s%s%s%s", option->type == OPTION_FLAG ? "[no-]" : "",
                              option->name, option->argument ? " " : "",
                              option->argument ? option->argument : "");
    char *text = help_text(option, brief);
    print_item(label, text, COLUMN);
    free(label);
    free(text);
}

/* Prints the rows that are about the word; with NULL all, or in brief the common ones. Returns
 * how many. */
static size_t print_rows(const OptionLine *lines, const char *word, bool brief)
{
    const char *heading = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < arrlenu(lines); i++) {
        const Option *option = lines[i].option;
        if (word ? !is_about(option, word) : brief && !option->common)
            continue;
        if (lines[i].heading != heading)
            printf("\n%s:\n", lines[i].heading);
        heading = lines[i].heading;
        print_row(option, brief);
        rows++;
    }
    return rows;
}

/* --- what stands above and below them --- */

static void print_usage(const About *about, bool brief)
{
    for (size_t i = 0; about->synopses[i]; i++)
        printf("%s %s %s\n", i ? "      " : "Usage:", program_name, about->synopses[i]);
    printf("\n%c%s.\n", toupper((unsigned char)about->purpose[0]), about->purpose + 1);
    for (size_t i = 0; (i == 0 || !brief) && about->paragraphs[i]; i++) {
        putchar('\n');
        print_item("", about->paragraphs[i], 0);
    }
    if (about->commands[0].name)
        putchar('\n');
    for (const AboutItem *command = about->commands; command->name; command++)
        printf("  %-12s %s\n", command->name, command->text);
    if (about->examples[0])
        putchar('\n');
    for (size_t i = 0; (i < 3 || !brief) && about->examples[i]; i++)
        printf("  %s %s\n", program_name, about->examples[i]);
}

static bool has_common(const OptionLine *lines)
{
    for (size_t i = 0; i < arrlenu(lines); i++)
        if (lines[i].option->common)
            return true;
    return false;
}

static void print_matches(const OptionLine *lines, const char *word)
{
    if (print_rows(lines, word, false) > 0)
        return;
    Nearest near = nearest_to(word);
    for (size_t i = 0; i < arrlenu(lines); i++)
        nearest_consider(&near, lines[i].option->name);
    if (near.best)
        die_usage("--help %s: no option mentions it; did you mean --help %s?", word, near.best);
    die_usage("--help %s: no option mentions it; --help all prints every option", word);
}

void about_print_help(const About *about, const OptionLine *lines, const char *word)
{
    bool all = strcmp(word, "all") == 0, brief = !all && has_common(lines);
    if (*word && !all) {
        print_matches(lines, word);
        return;
    }
    print_usage(about, brief);
    print_rows(lines, NULL, brief);
    if (!brief)
        return;
    printf("\n%s --help all prints every option, --help WORD those that mention a word.\n",
           program_name);
    if (about->more)
        print_item("", about->more, 0);
}

/* --- completions ---
 *
 * Two tables that the shells need to complete words, as arrays that bash and zsh both
 * read. completion.bash and completion.zsh, which the Makefile appends, do the rest.
 *
 *   linnet_options   for each option its name, its argument, its offer, and its help
 *   linnet_operands  for each operand its name, with "..." if it may come again, and its offer
 *
 * An offer says what may follow: "words A B" one of these words, "joined A B" several of them,
 * joined by +; "files", "folders", "runs" or "nothing". An option without a value has "flag" if
 * there is a --no-NAME too, otherwise "". */

/* For what people see as "FILE" or the like; the caller frees. */
static char *offer_for(const char *argument)
{
    static const char *const offers[][2] = {{"FILE", "files"},
                                            {"PATH", "files"},
                                            {"CORPUS", "files"},
                                            {"DIR", "folders"},
                                            {"RUN", "runs"}};
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (strcmp(argument, offers[i][0]) == 0)
            return memory_copy_text(offers[i][1]);
    return memory_copy_text("nothing");
}

static char *option_offer(const Option *option)
{
    if (option->type == OPTION_FLAG || option->type == OPTION_ACTION)
        return memory_copy_text(option->type == OPTION_FLAG ? "flag" : "");
    if (!option->choice)
        return offer_for(option->argument);
    char *offer = NULL;
    option_append_choices(&offer, option, option->type == OPTION_CHOICES ? "joined " : "words ",
                          " ");
    return offer;
}

static char *operand_offer(const About *about, const char *operand)
{
    if (strcmp(operand, "COMMAND") != 0)
        return offer_for(operand);
    char *offer = memory_copy_text("words");
    for (const AboutItem *command = about->commands; command->name; command++)
        text_append(&offer, " %s", command->name);
    return offer;
}

static void print_words(const char *const *words, size_t count)
{
    char *row = memory_copy_text("   ");
    for (size_t i = 0; i < count; i++) {
        text_append(&row, " ");
        text_append_shell_word(&row, words[i]);
    }
    puts(row);
    free(row);
}

static void print_options(const OptionLine *lines)
{
    puts("local -a linnet_options=(");
    for (size_t i = 0; i < arrlenu(lines); i++) {
        const Option *option = lines[i].option;
        char *offer = option_offer(option);
        const char *argument = option->argument ? option->argument : "";
        print_words((const char *[]){option->name, argument, offer, option->help}, 4);
        free(offer);
    }
    puts(")");
}

/* The words in capitals of the first synopsis, unless they are the value of an option there. */
static void print_operands(const About *about)
{
    char *synopsis = memory_copy_text(about->synopses[0]), *rest = synopsis;
    bool is_value = false;
    puts("local -a linnet_operands=(");
    for (char *word; (word = strtok_r(rest, " []", &rest)); is_value = word[0] == '-') {
        if (!isupper((unsigned char)word[0]) || is_value || strcmp(word, "OPTIONS") == 0)
            continue;
        char *name = text_format("%.*s", (int)strcspn(word, "."), word);
        char *offer = operand_offer(about, name);
        print_words((const char *[]){word, offer}, 2);
        free(offer);
        free(name);
    }
    puts(")");
    free(synopsis);
}

void about_print_completion(const About *about, const OptionLine *lines, bool zsh)
{
    if (zsh)
        printf("#compdef linnet-%s\n", about->name);
    printf("# Completes linnet-%s; made from its options by linnet " LINNET_VERSION ".\n\n",
           about->name);
    if (!zsh)
        printf("complete -F _linnet_program_%s linnet-%s\n"
               "_linnet_program_%s() {\n",
               about->name, about->name, about->name);
    print_options(lines);
    print_operands(about);
    puts(zsh ? "" : "_linnet_complete\n}\n");
}
