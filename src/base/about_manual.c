/* Manual pages in man(7) markup. */
#include "src/base/program.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces --- */

/* Escapes text so that troff prints it unchanged. Dashes and quotes must stay ASCII, so that
 * readers can copy commands. */
static void put_text(const char *text)
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

/* Prints markup, with a text for each %. A \& before a text at the beginning of a line keeps
 * troff from reading a leading dot as a request. */
static void put(const char *markup, ...)
{
    va_list texts;
    va_start(texts, markup);
    for (; *markup; markup++)
        if (*markup == '%')
            put_text(va_arg(texts, const char *));
        else
            putchar(*markup);
    va_end(texts);
}

/* The phrase with a capital and a full stop; the caller frees. */
static char *sentence(const char *text)
{
    return text_format("%c%s.", toupper((unsigned char)text[0]), text + 1);
}

static void put_item(AboutItem item)
{
    char *text = sentence(item.text);
    put(".TP\n\\fB%\\fR\n\\&%\n", item.name, text);
    free(text);
}

static void put_items(const char *heading, const AboutItem *items)
{
    fputs(items->name ? heading : "", stdout);
    for (; items->name; items++)
        put_item(*items);
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
    text_append(&text, option->owner ? "." : "");
    return text;
}

static void put_option(const Option *option)
{
    char *text = option_sentences(option);
    put(".TP\n\\fB\\-\\-%\\fR", option->name);
    if (option->type == OPTION_FLAG)
        put(", \\fB\\-\\-no\\-%\\fR", option->name);
    if (option->argument)
        put(" \\fI%\\fR", option->argument);
    put("\n\\&%\n", text);
    free(text);
}

static void put_options(const OptionLine *lines)
{
    put(".SH OPTIONS\n");
    for (size_t i = 0; i < arrlenu(lines); i++) {
        if (i == 0 || lines[i].heading != lines[i - 1].heading)
            put(".SS %\n", lines[i].heading);
        put_option(lines[i].option);
    }
}

/* --- the page --- */

static void put_synopses(const About *about)
{
    put(".SH SYNOPSIS\n");
    for (size_t i = 0; about->synopses[i]; i++)
        put(i ? ".br\n\\fBlinnet\\-%\\fR %\n" : "\\fBlinnet\\-%\\fR %\n", about->name,
            about->synopses[i]);
}

static void put_description(const About *about)
{
    put(".SH DESCRIPTION\n\\fBlinnet\\-%\\fR %.\n", about->name, about->purpose);
    for (size_t i = 0; about->paragraphs[i]; i++)
        put(".PP\n\\&%\n", about->paragraphs[i]);
    put_items(".SH COMMANDS\n", about->commands);
}

static void put_examples(const About *about)
{
    if (!about->examples[0])
        return;
    put(".SH EXAMPLES\n.nf\n");
    for (size_t i = 0; about->examples[i]; i++)
        put("\\&linnet\\-% %\n", about->name, about->examples[i]);
    put(".fi\n");
}

static void put_surroundings(const About *about)
{
    static const AboutItem usual[] = {
        {"0", "success"},
        {"1", "failure; a message on standard error says what is wrong, where, and what to do"},
        {"2", "invalid command line or settings file"},
        {NULL, NULL}};
    put_items(".SH FILES\n", about->files);
    put_items(".SH EXIT STATUS\n", usual);
    put_items("", about->statuses);
    put_items(".SH ENVIRONMENT\n", about->environment);
}

static void put_others(const About *about, const char *const *others, size_t count)
{
    const char *separator = ".SH SEE ALSO\n";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(others[i], about->name) == 0)
            continue;
        fputs(separator, stdout);
        put("\\fBlinnet\\-%\\fR(1)", others[i]);
        separator = ",\n";
    }
    put(*separator == ',' ? "\n" : "");
}

void about_print_manual(const About *about, const OptionLine *lines, const char *const *others,
                        size_t other_count)
{
    char *name = text_format("LINNET-%s", about->name);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    printf(".TH %s 1 \"\" \"linnet " LINNET_VERSION "\" \"linnet\"\n", name);
    free(name);
    printf(".SH NAME\nlinnet-%s \\- ", about->name);
    put("%\n", about->purpose);
    put_synopses(about);
    put_description(about);
    put_examples(about);
    put_options(lines);
    put_surroundings(about);
    put_others(about, others, other_count);
}
