#include "eval/sample/session.h"
#include "eval/sample/line_reader.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Session {
    const Model *model;
    const Vocabulary *vocabulary;
    TextOptions *options;
    Options settings;
    Texts texts;
    bool has_texts, knows_legend, left;
    size_t number; /* of the next text */
} Session;

/* Set by Ctrl-C during generation. */
static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

/* --- settings --- */

const Option *session_find_option(const Options *settings, const char *name, Error *error)
{
    const Option *found = option_find(settings, name), *option;
    char *others = NULL;
    Nearest near = nearest_to(name);
    for (size_t i = 0; !found && (option = option_at(settings, i)); i++) {
        nearest_consider(&near, option->name);
        if (*name && strstr(option->name, name))
            text_append(&others, "%s/%s", others ? " or " : "", option->name);
    }
    if (others && !strstr(others, " or "))
        found = option_find(settings, others + 1);
    if (!found && others)
        error_set(error, "/%s may mean %s", name, others);
    else if (!found && *name && near.best)
        error_set(error, "there is no command /%s; did you mean /%s?", name, near.best);
    else if (!found)
        error_set(error, "there is no command /%s; /help lists the commands", name);
    free(others);
    return found;
}

static const char *flag_value(const Options *settings, const Option *option, const char *value)
{
    if (!*value)
        return *(bool *)option_field(settings, option) ? "no" : "yes";
    if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0)
        return value[1] == 'n' ? "yes" : "no";
    return value;
}

bool session_set(const Options *settings, const char *name, const char *value, Error *error)
{
    const Option *option = session_find_option(settings, name, error);
    if (!option)
        return false;
    if (option->type == OPTION_FLAG)
        value = flag_value(settings, option, value);
    char *where = text_format("/%s", option->name), *copy = memory_copy_text(value);
    size_t length = strlen(copy);
    bool quoted = option->type == OPTION_TEXT && length > 1 && copy[0] == '"' &&
                  copy[length - 1] == '"';
    if (quoted)
        copy[length - 1] = '\0';
    bool good = options_set(settings, option->name, copy + quoted, where, error);
    free(copy);
    free(where);
    return good;
}

/* A line for each stop text. */
static void print_setting(const Session *session, const Option *option)
{
    char *value = option_value(&session->settings, option), *rest = value;
    for (char *line; (line = strsep(&rest, "\n"));)
        printf("%-18s %s\n", option->name, line);
    free(value);
}

static void change_setting(Session *session, const char *name, const char *value)
{
    Error error;
    TextOptions *options = session->options, before = *options;
    const Option *option = session_find_option(&session->settings, name, &error);
    bool asks = option && option->type != OPTION_FLAG && !*value;
    options->stop = before.stop ? memory_copy_text(before.stop) : NULL;
    if (!option || (!asks && (!session_set(&session->settings, name, value, &error) ||
                              !text_options_check(options, session->vocabulary, &error)))) {
        free(options->stop);
        *options = before;
        print_warning("%s", error.text);
        return;
    }
    free(before.stop);
    if (!asks && strcmp(option->name, "seed") == 0)
        session->number = 0;
    print_setting(session, option);
}

/* --- commands --- */

typedef struct Command {
    const char *name, *help;
    void (*run)(Session *session);
} Command;

static void show_help(Session *session);

static void show_settings(Session *session)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(&session->settings, i)); i++)
        print_setting(session, option);
}

static void forget_texts(Session *session)
{
    if (session->has_texts)
        texts_free(&session->texts);
    session->has_texts = false;
}

static void leave(Session *session)
{
    session->left = true;
}

static const Command commands[] = {
    {"settings", "print all settings", show_settings},
    {"new", "forget the texts; an empty line then starts new ones without a prompt",
     forget_texts},
    {"help", "print this help", show_help},
    {"quit", "leave, like Ctrl-D", leave},
};

static void print_help_line(const char *name, const char *argument, const char *help)
{
    enum { INDENT = 25 };
    size_t width = terminal_width(STDOUT_FILENO);
    char **lines = text_wrap(help, width > 2 * INDENT ? width - INDENT - 1 : INDENT);
    int used = printf("  /%s %s", name, argument);
    for (size_t i = 0; i < arrlenu(lines); i++) {
        printf("%*s%s\n", used < INDENT ? INDENT - used : 1, "", lines[i]);
        used = 0;
    }
    text_lines_free(lines);
}

static void show_help(Session *session)
{
    puts("A line is a prompt; an empty line continues the text. Ctrl-C stops it.");
    const Option *option;
    for (size_t i = 0; (option = option_at(&session->settings, i)); i++)
        print_help_line(option->name, option->type == OPTION_FLAG ? "on|off" : option->argument,
                        option->help);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        print_help_line(commands[i].name, "", commands[i].help);
    puts("Names may be shortened: /temp 1, /probs on. Without a value, a setting is printed\n"
         "and a switch is toggled. Quotes keep blanks: /stop \". \"; /stop \"\" removes it.");
}

static void obey(Session *session, char *line)
{
    char *name = text_trim(line), *value = name + strcspn(name, " \t=");
    if (*value)
        *value++ = '\0';
    value = text_trim(value);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0) {
            commands[i].run(session);
            return;
        }
    change_setting(session, name, value);
}

/* --- texts --- */

static void show_legend(Session *session)
{
    if (session->options->show_probs && !session->knows_legend)
        writer_print_legend(stdout, terminal_has_colour(STDOUT_FILENO));
    session->knows_legend = session->options->show_probs;
}

static void begin_texts(Session *session, Prompt prompt)
{
    Error error;
    int32_t *beginning = NULL;
    if (!texts_encode(session->vocabulary, prompt, &beginning, &error)) {
        print_warning("%s", error.text);
        arrfree(beginning);
        return;
    }
    forget_texts(session);
    size_t positions = arrlenu(beginning) + session->options->length;
    texts_make(&session->texts, session->model, session->vocabulary, session->options,
               positions);
    session->texts.stop = &stopped;
    session->has_texts = true;
    show_legend(session);
    texts_begin(&session->texts, session->options, beginning, session->number);
    session->number += session->options->count;
    arrfree(beginning);
}

static void answer(Session *session, char *line)
{
    char *copy = memory_copy_text(line);
    bool empty = !*text_trim(copy);
    free(copy);
    stopped = 0;
    if (line[0] == '/') {
        obey(session, line + 1);
    } else if (!empty) {
        begin_texts(session, (Prompt){line, strlen(line)});
    } else if (!session->has_texts) {
        begin_texts(session, (Prompt){NULL, 0});
    } else {
        show_legend(session);
        texts_go_on(&session->texts, session->options);
    }
}

/* At a terminal, Ctrl-C stops the text, not the program. An interrupted write is resumed. */
static void catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    if (terminal_is_interactive(STDIN_FILENO))
        sigaction(SIGINT, &action, NULL);
}

void session_run(const Model *model, const Vocabulary *vocabulary, TextOptions *options,
                 Prompt prompt)
{
    Session session = {.model = model,
                       .vocabulary = vocabulary,
                       .options = options,
                       .settings = text_options(options)};
    LineReader reader;
    line_reader_open(&reader, "> ");
    catch_interrupts();
    if (terminal_is_interactive(STDIN_FILENO))
        puts("Type a prompt, or /help; Ctrl-D leaves.");
    if (prompt.text)
        begin_texts(&session, prompt);
    char *line;
    while (!session.left && (fflush(stdout), line = line_reader_next(&reader))) {
        answer(&session, line);
        free(line);
    }
    if (!session.left && terminal_is_interactive(STDIN_FILENO))
        putchar('\n');
    forget_texts(&session);
    line_reader_close(&reader);
}
