/* Manual pages in man(7) markup. */
#include "src/about.h"
#include "src/containers.h"
#include "src/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces --- */

/* Escapes text so that troff prints it unchanged. Dashes and quotes must stay ASCII, so that
 * readers can copy commands. */
static void put(const char *text)
{
    static const struct {
        char letter;
        const char *written;
    } escapes[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'`', "\\(ga"},
                   {'^', "\\(ha"}, {'~', "\\(ti"}, {'"', "\\(dq"}};
    for (; *text; text++) {
        const char *written = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            if (escapes[i].letter == *text)
                written = escapes[i].written;
        if (written)
            fputs(written, stdout);
        else
            putchar(*text);
    }
}

/* The \& keeps troff from reading a leading dot as a request. */
static void put_line(const char *text)
{
    fputs("\\&", stdout);
    put(text);
    putchar('\n');
}

static void put_bold(const char *text)
{
    fputs("\\fB", stdout);
    put(text);
    fputs("\\fR", stdout);
}

/* The phrase with a capital and a full stop; the caller frees. */
static char *sentence(const char *text)
{
    return text_format("%c%s.", toupper((unsigned char)text[0]), text + 1);
}

static void put_item(AboutItem item)
{
    char *text = sentence(item.text);
    puts(".TP");
    put_bold(item.name);
    putchar('\n');
    put_line(text);
    free(text);
}

static void put_section(const char *title)
{
    printf(".SH %s\n", title);
}

/* --- the options --- */

static void append_range(char **text, const Option *option)
{
    bool whole = option->type == OPTION_SIZE;
    if (option->high < OPTION_MOST)
        text_append(text, whole ? " From %.0f to %.0f." : " From %g to %g.", option->low,
                    option->high);
    else
        text_append(text, whole ? " At least %.0f." : " At least %g.", option->low);
}

/* The row's help as sentences; the caller frees. */
static char *option_sentences(const Option *option)
{
    char *text = sentence(option->help);
    option_append_choices(&text, option, " One of: ", ", ");
    if (option->choice)
        text_append(&text, option->type == OPTION_CHOICES ? "; or several, joined by +." : ".");
    if (option->type == OPTION_SIZE || option->type == OPTION_REAL)
        append_range(&text, option);
    if (option->fallback && *option->fallback)
        text_append(&text, " Default: %s.", option->fallback);
    option_append_owners(&text, option, " For: ");
    text_append(&text, option->owners ? "." : "");
    return text;
}

static void put_option(const Option *option)
{
    char *name = text_format("--%s", option->name), *text = option_sentences(option);
    puts(".TP");
    put_bold(name);
    if (option->type == OPTION_FLAG) {
        free(name);
        name = text_format("--no-%s", option->name);
        fputs(", ", stdout);
        put_bold(name);
    }
    if (option->argument) {
        fputs(" \\fI", stdout);
        put(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_line(text);
    free(name);
    free(text);
}

static void put_options(const OptionLine *lines)
{
    put_section("OPTIONS");
    for (size_t i = 0; i < arrlenu(lines); i++) {
        if (i == 0 || lines[i].heading != lines[i - 1].heading) {
            fputs(".SS ", stdout);
            put(lines[i].heading);
            putchar('\n');
        }
        put_option(lines[i].option);
    }
}

/* --- the page --- */

static void put_title(const About *about, const char *page)
{
    fputs(".TH ", stdout);
    for (const char *c = page; *c; c++)
        putchar(toupper((unsigned char)*c));
    puts(" 1 \"\" \"linnet " LINNET_VERSION "\" \"linnet\"");
    put_section("NAME");
    printf("%s \\- ", page);
    put(about->purpose);
    putchar('\n');
}

static void put_synopses(const About *about, const char *page)
{
    put_section("SYNOPSIS");
    for (size_t i = 0; about->synopses[i]; i++) {
        if (i)
            puts(".br");
        put_bold(page);
        putchar(' ');
        put(about->synopses[i]);
        putchar('\n');
    }
}

static void put_description(const About *about, const char *page)
{
    put_section("DESCRIPTION");
    put_bold(page);
    putchar(' ');
    put(about->purpose);
    puts(".");
    for (size_t i = 0; about->paragraphs[i]; i++) {
        puts(".PP");
        put_line(about->paragraphs[i]);
    }
    if (!about->command)
        return;
    put_section("COMMANDS");
    for (size_t i = 0; about->command(i).name; i++)
        put_item(about->command(i));
}

static void put_examples(const About *about, const char *page)
{
    if (!about->examples[0])
        return;
    put_section("EXAMPLES");
    puts(".nf");
    for (size_t i = 0; about->examples[i]; i++) {
        char *line = text_format("%s %s", page, about->examples[i]);
        put_line(line);
        free(line);
    }
    puts(".fi");
}

static void put_surroundings(const About *about)
{
    static const AboutItem usual[] = {
        {"0", "success"},
        {"1", "failure; a message on standard error says what is wrong, where, and what to do"},
        {"2", "invalid command line or settings file"}};
    if (about->files[0].name)
        put_section("FILES");
    for (size_t i = 0; about->files[i].name; i++)
        put_item(about->files[i]);
    put_section("EXIT STATUS");
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        put_item(usual[i]);
    for (size_t i = 0; about->statuses[i].name; i++)
        put_item(about->statuses[i]);
    if (about->environment[0])
        put_section("ENVIRONMENT");
    for (size_t i = 0; about->environment[i]; i++)
        put_item(*about->environment[i]);
}

static void put_others(const About *about, const char *const *others, size_t count)
{
    const char *separator = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(others[i], about->name) == 0)
            continue;
        if (!*separator)
            put_section("SEE ALSO");
        fputs(separator, stdout);
        fputs("\\fBlinnet\\-", stdout);
        put(others[i]);
        fputs("\\fR(1)", stdout);
        separator = ",\n";
    }
    if (*separator)
        putchar('\n');
}

void about_print_manual(const About *about, const OptionLine *lines, const char *const *others,
                        size_t other_count)
{
    char *page = text_format("linnet-%s", about->name);
    put_title(about, page);
    put_synopses(about, page);
    put_description(about, page);
    put_examples(about, page);
    put_options(lines);
    put_surroundings(about);
    put_others(about, others, other_count);
    free(page);
}
