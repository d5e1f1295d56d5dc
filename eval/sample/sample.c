/* sample: generates text from a trained model; interactive at a terminal. */
#include "data/corpora/reader.h"
#include "models/checkpoint.h"
#include "eval/sample/session.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/program.h"
#include "src/base/text.h"
#include "src/math/team.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct PromptOptions {
    char *text, *file;
    bool lines; /* of the file or of standard input; each is a prompt */
} PromptOptions;

#define PROMPT(name) offsetof(PromptOptions, name)
/* clang-format off */
static const Option prompt_rows[] = {
    {.name = "prompt", OPTION_STRING("TEXT", PROMPT(text), NULL),
     .help = "text to continue, or - for standard input; without this option, standard input is "
             "read if it is a pipe or a file",
     .also = "start prompt-text input",
     .common = true},
    {.name = "prompt-file", OPTION_STRING("FILE", PROMPT(file), NULL),
     .help = "continue the text in this file, without its last line end",
     .also = "file input-file prompts",
     .common = true},
    {.name = "lines", OPTION_SWITCH(PROMPT(lines), "no"),
     .help = "each line of --prompt-file or of standard input is a prompt of its own",
     .also = "prompt-per-line batch",
     .common = true},
};
/* clang-format on */

typedef struct Settings {
    size_t threads;
    bool interactive, json;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "interactive", OPTION_SWITCH(FIELD(interactive), NULL),
     .help = "ask for prompts and commands such as /help; default: on a terminal without "
             "a prompt",
     .also = "chat repl",
     .common = true},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print one JSON object, for programs: texts, token ids, settings",
     .common = true},
    {OPTION_THREADS(FIELD(threads), "1")},
};
/* clang-format on */

static const About about = {
    .name = "sample",
    .purpose = "generates text with a trained model",
    .synopses = {"[OPTIONS] RUN"},
    .paragraphs =
        {"RUN is a run directory, whose best checkpoint is used, or a checkpoint file. On a "
         "terminal and without a prompt it asks for prompts. A pipe or a file on standard "
         "input is the prompt, without its last line end; </dev/null is none. With --lines, "
         "each line is a prompt and has the texts that it would have alone.",
         "Control characters in tokens are escaped on a terminal and written unchanged to "
         "files and pipes; invalid UTF-8 is printed as U+FFFD.",
         "The object of --json has the run, the prompt, the settings, and the texts without "
         "the prompt, each with the ids of all its tokens, their number, and a finish_reason: "
         "length or stop. With --show-probs it has log_probabilities. --lines prints an array "
         "of such objects."},
    .examples = {"runs/linear-ptb", "--prompt 'the company said' --length 50 runs/linear-ptb",
                 "--lines --json runs/linear-ptb <prompts.txt"},
    .files = {{"$XDG_STATE_HOME/linnet/history, ~/.local/state/linnet/history",
               "the prompts and commands typed"}},
    .environment = {ABOUT_TERMINAL_SIZE, ABOUT_COLOUR, ABOUT_LOCALE},
};

/* --- prompts: an option, a file or standard input --- */

static bool is_piped(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) == 0 &&
           (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode) || S_ISREG(input.st_mode));
}

/* The file to read, READER_STANDARD_INPUT, or NULL: none. Standard input is read unasked if it
 * is a pipe, a socket or a file and no session reads it. A terminal and /dev/null hold no
 * prompt, nor does an input that is closed. */
static const char *prompts_source(const PromptOptions *options, bool session)
{
    if (options->file)
        return options->file;
    bool reads = options->text ? strcmp(options->text, READER_STANDARD_INPUT) == 0
                               : options->lines || (!session && is_piped());
    return reads ? READER_STANDARD_INPUT : NULL;
}

/* Says so when nothing comes: an inherited pipe may stay open for ever. */
static void await_input(void)
{
    enum { PATIENCE = 2000 }; /* milliseconds */
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, PATIENCE) == 0)
        print_warning("waiting for a prompt on standard input; --prompt '' or </dev/null "
                      "generate text without one");
}

typedef struct Prompts {
    Prompt *list; /* an stb_ds array; one without a text if there is no prompt */
    char *bytes;  /* (size + 1) read from the source */
} Prompts;

/* Cuts what was read into prompts. */
static void cut(Prompts *prompts, size_t size, bool lines)
{
    char *end = prompts->bytes + size;
    for (char *at = prompts->bytes, *stop; at < end; at = stop + 1) {
        stop = lines ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!stop)
            stop = end[-1] == '\n' ? end - 1 : end;
        *stop = '\0';
        arrput(prompts->list, ((Prompt){at, (size_t)(stop - at)}));
    }
}

/* Reads the source, if there is one. The last line end of a prompt does not belong to it. */
static bool prompts_read(Prompts *prompts, const PromptOptions *options, const char *source,
                         const Vocabulary *vocabulary, Error *error)
{
    size_t size = options->text ? strlen(options->text) : 0;
    *prompts = (Prompts){0};
    if (!source) {
        arrput(prompts->list, ((Prompt){options->text, size}));
        return true;
    }
    if (strcmp(source, READER_STANDARD_INPUT) == 0)
        await_input();
    if (!reader_read(source, vocabulary->tokenizer->raw, READER_USUAL_MB, NULL, &prompts->bytes,
                     &size, error) ||
        !tokenizer_check(vocabulary->tokenizer, reader_name(source), prompts->bytes, size,
                         error))
        return false;
    cut(prompts, size, options->lines);
    if (!options->lines && size == 0)
        arrput(prompts->list, ((Prompt){NULL, 0}));
    return true;
}

/* --- writing --- */

static void write_texts(const LoadedModel *loaded, TextOptions *options, const char *run,
                        Prompt prompt)
{
    Error error;
    Texts texts;
    int32_t *beginning = NULL;
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    if (!texts_encode(vocabulary, prompt, &beginning, &error))
        die_usage("%s", error.text);
    texts_make(&texts, &loaded->model, vocabulary, options,
               arrlenu(beginning) + options->length);
    const Options group = text_options(options);
    if (options->json)
        texts_json_begin(run, prompt, &group);
    texts_begin(&texts, options, beginning, 0);
    if (options->json)
        texts_json_end();
    texts_free(&texts);
    arrfree(beginning);
}

/* The texts of all prompts; in JSON, those of lines make an array. */
static void write_all(const LoadedModel *loaded, TextOptions *options, const char *run,
                      const Prompts *prompts, bool lines)
{
    bool array = options->json && lines;
    if (options->show_probs && !options->json)
        writer_print_legend(stdout, terminal_has_colour(STDOUT_FILENO));
    fputs(array ? "[" : "", stdout);
    for (size_t i = 0; i < arrlenu(prompts->list); i++) {
        if (array)
            fputs(i ? ",\n" : "\n", stdout);
        else if (i > 0)
            texts_print_between(options);
        write_texts(loaded, options, run, prompts->list[i]);
    }
    fputs(array ? "\n]\n" : options->json ? "\n" : "", stdout);
}

/* Whether to ask for prompts: if requested, or by default at a terminal. */
static bool is_session(const Settings *settings, const PromptOptions *prompt,
                       const CommandLine *line)
{
    if (command_line_value(line, "interactive"))
        return settings->interactive;
    return !prompt->text && !settings->json && !prompts_source(prompt, false) &&
           terminal_is_interactive(STDIN_FILENO) && terminal_is_interactive(STDOUT_FILENO);
}

static void generate(const LoadedModel *loaded, TextOptions *options,
                     const PromptOptions *prompt, bool session, const char *run)
{
    Error error;
    Prompts prompts;
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    if (!prompts_read(&prompts, prompt, prompts_source(prompt, session), vocabulary, &error))
        die("%s", error.text);
    if (session)
        session_run(&loaded->model, vocabulary, options, prompts.list[0]);
    else
        write_all(loaded, options, run, &prompts, prompt->lines);
    arrfree(prompts.list);
    free(prompts.bytes);
}

/* The option keeps its last value; here all count. */
static void join_stops(TextOptions *options, const CommandLine *line)
{
    char *joined = NULL;
    for (size_t i = 0; i < line->given_count; i++)
        if (strcmp(line->given[i].option->name, "stop") == 0)
            text_append(&joined, "%s%s", joined ? "\n" : "", line->given[i].value);
    free(options->stop);
    options->stop = joined;
}

static void check_usage(const Settings *settings, const PromptOptions *prompt,
                        const TextOptions *options, const CommandLine *line)
{
    const char *source = prompts_source(prompt, settings->interactive);
    bool asks = settings->interactive;
    bool reads = source && strcmp(source, READER_STANDARD_INPUT) == 0;
    const struct {
        bool both;
        const char *names;
    } pairs[] = {{settings->json && asks, "--json and --interactive"},
                 {settings->json && options->columns, "--json and --columns"},
                 {prompt->text && prompt->file, "--prompt and --prompt-file"},
                 {prompt->lines && asks, "--lines and --interactive"},
                 {reads && asks, "--interactive and --prompt -, which read standard input"}};
    if (line->operand_count != 1)
        die_usage(line->operand_count ? "one run at a time" : "a run is missing");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].both)
            die_usage("%s: give only one of them", pairs[i].names);
    if (prompt->lines && !source)
        die_usage("--lines splits standard input or --prompt-file; leave --prompt out");
}

int main(int argc, char **argv)
{
    Settings settings = {0};
    PromptOptions prompt = {0};
    TextOptions options = {0};
    const Options groups = {{OPTION_GROUP("Prompt", prompt_rows, &prompt),
                             text_options(&options).groups[0],
                             OPTION_GROUP("Use", rows, &settings)}};
    CommandLine line;
    program_read_command_line(&about, &groups, argc, argv, &line);
    check_usage(&settings, &prompt, &options, &line);
    join_stops(&options, &line);
    options.json = settings.json;
    signal(SIGPIPE, SIG_IGN);

    LoadedModel loaded;
    Error error;
    team_start(settings.threads);
    if (!loaded_open(&loaded, line.operands[0], &error))
        die("%s", error.text);
    const Vocabulary *vocabulary = &loaded.checkpoint.vocabulary;
    if (!text_options_check(&options, vocabulary, &error))
        die_usage("%s", error.text);
    generate(&loaded, &options, &prompt, is_session(&settings, &prompt, &line),
             line.operands[0]);
    loaded_close(&loaded);
    team_stop();
    program_end(&groups, &line);
    return 0;
}
