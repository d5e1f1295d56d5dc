/* Prints two tables that the shells need to complete words, as arrays that bash and zsh both
 * read. completion.bash and completion.zsh, which the Makefile appends, do the rest.
 *
 *   linnet_options   for each option its name, its argument, its offer, and its help
 *   linnet_operands  for each operand its name, with "..." if it may come again, and its offer
 *
 * An offer says what may follow: "words A B" one of these words, "joined A B" several of them,
 * joined by +; "files", "folders", "runs" or "nothing". An option without a value has "flag" if
 * there is a --no-NAME too, otherwise "". */
#include "src/base/about.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    if (!about->command || strcmp(operand, "COMMAND") != 0)
        return offer_for(operand);
    char *offer = memory_copy_text("words");
    for (size_t i = 0; about->command(i).name; i++)
        text_append(&offer, " %s", about->command(i).name);
    return offer;
}

static void print_row(const char *const *words, size_t count)
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
        print_row((const char *[]){option->name, argument, offer, option->help}, 4);
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
        print_row((const char *[]){word, offer}, 2);
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
