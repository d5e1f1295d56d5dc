/* What the shells need to know to complete words: for every option what its value may be, and
 * what the operands are. How words are then completed stands in completion.bash and
 * completion.zsh, which are to follow what is printed here.
 *
 * What may be offered is said in the same words to both: "words A B" are these, "joined A B"
 * are these with + between, and "files", "folders", "runs" and "nothing" speak for themselves.
 */
#include "src/about.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* For what people see as "FILE" or the like; the caller frees. */
static char *offer_for(const char *argument)
{
    static const char *const offers[][2] = {
        {"FILE", "files"}, {"CORPUS", "files"}, {"DIR", "folders"}, {"RUN", "runs"}};
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (strcmp(argument, offers[i][0]) == 0)
            return memory_copy_text(offers[i][1]);
    return memory_copy_text("nothing");
}

static char *option_offer(const Option *option)
{
    if (!option->choice)
        return offer_for(option->argument);
    char *offer = memory_copy_text(option->type == OPTION_CHOICES ? "joined" : "words");
    for (size_t i = 0; option->choice(i); i++)
        text_append(&offer, " %s", option->choice(i));
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

/* The next operand of a synopsis, the caller's, and whether it may come again; NULL after the
 * last. Options that stand there themselves are passed over with their values. */
static char *next_operand(const char **at, bool *repeats)
{
    for (bool is_value = false;;) {
        *at += strspn(*at, " []");
        size_t length = strcspn(*at, " []"), letters = strspn(*at, CAPITALS);
        const char *word = *at;
        if (length == 0)
            return NULL;
        *at += length;
        *repeats = strncmp(word + letters, "...", 3) == 0;
        if (letters > 0 && !is_value && strncmp(word, "OPTIONS", length) != 0)
            return text_format("%.*s", (int)letters, word);
        is_value = word[0] == '-';
    }
}

/* --- bash --- */

static void print_bash_options(const OptionGroup *groups, size_t count)
{
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            char *offer = option_takes_value(option) ? option_offer(option) : NULL;
            printf("        [--%s]='%s'\n", option->name, offer ? offer : "");
            if (option->type == OPTION_FLAG)
                printf("        [--no-%s]=''\n", option->name);
            free(offer);
        }
}

static void print_bash_operands(const About *about)
{
    const char *at = about->synopses[0];
    char *last = memory_copy_text("nothing");
    bool repeats = false;
    fputs("    local -a linnet_operands=(", stdout);
    const char *separator = "";
    for (char *operand; (operand = next_operand(&at, &repeats)); separator = " ") {
        free(last);
        last = operand_offer(about, operand);
        printf("%s'%s'", separator, last);
        free(operand);
    }
    printf(")\n    local linnet_more='%s'\n", repeats ? last : "nothing");
    free(last);
}

void about_print_bash(const About *about, const OptionGroup *groups, size_t count)
{
    printf("# Completes linnet-%s in bash; made from its options by linnet " LINNET_VERSION
           ".\n\n_linnet_program_%s() {\n    local -A linnet_options=(\n",
           about->name, about->name);
    print_bash_options(groups, count);
    puts("    )");
    print_bash_operands(about);
    printf("    _linnet_complete\n}\ncomplete -F _linnet_program_%s linnet-%s\n\n", about->name,
           about->name);
}

/* --- zsh --- */

/* Inside quotes and brackets. */
static void print_zsh_help(const char *prefix, const char *text)
{
    printf("[%s", prefix);
    for (; *text; text++) {
        if (strchr("[]\\:", *text))
            putchar('\\');
        if (*text == '\'')
            fputs("'\\'", stdout);
        putchar(*text);
    }
    putchar(']');
}

static void print_zsh_flag(const Option *option, const char *prefix, const char *opposite)
{
    printf("    '(--%s%s)--%s%s", opposite, option->name, prefix, option->name);
    print_zsh_help(*prefix ? "not\\: " : "", option->help);
    puts("'");
}

static void print_zsh_option(const Option *option)
{
    if (option->type == OPTION_FLAG) {
        print_zsh_flag(option, "", "no-");
        print_zsh_flag(option, "no-", "");
        return;
    }
    char *offer = option_takes_value(option) ? option_offer(option) : NULL;
    printf("    '--%s%s", option->name, offer ? "=" : "");
    print_zsh_help("", option->help);
    if (offer)
        printf(":%s: _linnet_offer %s", option->argument, offer);
    puts("'");
    free(offer);
}

void about_print_zsh(const About *about, const OptionGroup *groups, size_t count)
{
    printf("#compdef linnet-%s\n# Completes it in zsh; made from its options by "
           "linnet " LINNET_VERSION ".\n\nlocal -a linnet_words=(\n",
           about->name);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            print_zsh_option(&groups[g].options[i]);
    const char *at = about->synopses[0];
    bool repeats;
    for (char *operand; (operand = next_operand(&at, &repeats));) {
        char *offer = operand_offer(about, operand);
        printf("    '%s:%s: _linnet_offer %s'\n", repeats ? "*" : "", operand, offer);
        free(offer);
        free(operand);
    }
    puts(")\n");
}
