/* sample: generates text from a trained model; interactive at a terminal; or prints the
 * log-likelihood of a given text. */
#include "data/corpora/reader.h"
#include "data/tokenizers/utf8.h"
#include "models/checkpoint.h"
#include "eval/sample/prompts.h"
#include "eval/sample/sample_json.h"
#include "eval/sample/session.h"
#include "eval/show/figures.h"
#include "eval/show/terminal.h"
#include "eval/sample/token_score.h"
#include "src/base/containers.h"
#include "src/base/json.h"
#include "src/base/program.h"
#include "src/base/text.h"
#include "src/math/team.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Settings {
    char *score;
    size_t threads;
    bool interactive, json;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "score", OPTION_STRING("TEXT", FIELD(score), NULL),
     .help = "print the log-likelihood of each token of TEXT instead; -: standard input",
     .also = "loss logprob log-likelihood",
     .common = true},
    {.name = "interactive", OPTION_SWITCH(FIELD(interactive), NULL),
     .help = "ask for prompts and commands such as /help; default: on a terminal without "
             "a prompt",
     .also = "chat repl",
     .common = true},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print one JSON object, for programs: texts, token ids, settings",
     .common = true},
    {.name = "threads", OPTION_WHOLE(FIELD(threads), 0, 1024, "1"),
     .help = "CPU threads; 0: one per processor",
     .also = "num-threads"},
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
         "files and pipes; invalid UTF-8 is printed as U+FFFD. --score prints incomplete "
         "characters as escapes, such as \\xc3; the token that completes a character also "
         "shows it.",
         "The object of --json has the run, the prompt, the settings, and the texts without "
         "the prompt, each with the ids of all its tokens, their number, and a finish_reason: "
         "length or stop. With --show-probs it has log_probabilities, with --score the loss, "
         "probability and rank of each token. --lines prints an array of such objects."},
    .examples = {"runs/linear-ptb", "--prompt 'the company said' --length 50 runs/linear-ptb",
                 "--score 'the company said' runs/linear-ptb",
                 "--lines --json runs/linear-ptb <prompts.txt"},
    .files = {{"$XDG_STATE_HOME/linnet/history, ~/.local/state/linnet/history",
               "the prompts and commands typed"}},
    .environment = {&about_terminal_size, &about_colour, &about_locale},
};

/* --- scoring --- */

typedef struct Scoring {
    const Vocabulary *vocabulary;
    const int32_t *ids;
    bool utf8;
    json_t *scores; /* for --json: an array */
} Scoring;

static void print_token_score(void *listener, size_t at, TokenScore score)
{
    const Scoring *scoring = listener;
    const char *piece;
    size_t size = vocabulary_piece(scoring->vocabulary, scoring->ids[at], &piece);
    bool ends_line = size == 1 && *piece == '\n';
    char *name = ends_line ? memory_copy_text(TOKEN_EOS)
                           : terminal_safe_bytes(piece, size, scoring->utf8);
    char character[UTF8_LONGEST + 1];
    size_t length = vocabulary_completes(scoring->vocabulary, scoring->ids, at, character);
    char *completed = terminal_safe_bytes(character, length, scoring->utf8);
    printf("%8.4f %12.4g %8zu  %s", score.nats, exp(-score.nats), score.rank, name);
    printf(length > 0 ? " (%s)\n" : "%s\n", completed);
    free(completed);
    free(name);
}

static void note_token_score(void *listener, size_t at, TokenScore score)
{
    const Scoring *scoring = listener;
    const char *piece;
    size_t size = vocabulary_piece(scoring->vocabulary, scoring->ids[at], &piece);
    char character[UTF8_LONGEST + 1];
    json_t *token = json_pack("{s:o, s:i, s:o, s:o, s:o}", "token",
                              sample_json_string(piece, size), "id", (int)scoring->ids[at],
                              "loss", json_figure(score.nats), "probability",
                              json_figure(exp(-score.nats)), "rank", json_count(score.rank));
    if (vocabulary_completes(scoring->vocabulary, scoring->ids, at, character))
        json_object_set_new(token, "completes", json_string(character));
    json_array_append_new(scoring->scores, token);
}

/* As eval --json, and the scores of the tokens. */
static void print_score_json(const LoadedModel *loaded, const int32_t *ids,
                             const CorpusSplit *text)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    size_t window = loaded->model.config.context;
    Scoring scoring = {vocabulary, ids, true, json_array()};
    double nats = token_score_text(&loaded->model, ids, text->count,
                                   vocabulary_start(vocabulary), note_token_score, &scoring);
    json_t *object = figures_json(nats, text);
    json_object_set_new(object, "window", json_count(window));
    json_object_set_new(object, "stride", json_count(window));
    json_object_set_new(object, "scores", scoring.scores);
    json_print(stdout, object);
}

static void print_score(const LoadedModel *loaded, const int32_t *ids, const CorpusSplit *text)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    size_t window = loaded->model.config.context;
    Scoring scoring = {vocabulary, ids,
                       !terminal_is_interactive(STDOUT_FILENO) || terminal_is_utf8(), NULL};
    printf("    loss  probability     rank  token\n");
    double nats = token_score_text(&loaded->model, ids, text->count,
                                   vocabulary_start(vocabulary), print_token_score, &scoring);
    char *figures = figures_text(nats, text);
    char *protocol = text_format(
        "window %zu, stride %zu%s", window, window,
        loaded->model.config.carry_state ? ", state carried through 1 stream" : "");
    printf("%s\n", figures);
    figures_print_size(text, protocol, nats);
    free(protocol);
    free(figures);
}

/* The ids of a text, which must be valid and not empty, and the number of unknown ones. */
static int32_t *encode_text(const Vocabulary *vocabulary, const char *text, size_t size,
                            const char *name, size_t *unknown)
{
    Error error;
    int32_t *ids = NULL;
    if (!vocabulary_encode(vocabulary, name, text, size, &ids, unknown, &error))
        die("%s", error.text);
    if (arrlenu(ids) == 0)
        die("%s: there is nothing to score in it", name);
    return ids;
}

static void score_bytes(const LoadedModel *loaded, const char *text, size_t size,
                        const char *name, bool json)
{
    CorpusSplit scored = {.characters = utf8_count(text, size), .bytes = size};
    int32_t *ids = encode_text(&loaded->checkpoint.vocabulary, text, size, name,
                               &scored.unknown);
    scored.count = arrlenu(ids);
    if (json)
        print_score_json(loaded, ids, &scored);
    else
        print_score(loaded, ids, &scored);
    arrfree(ids);
}

static void score_given(const LoadedModel *loaded, const char *given, bool json)
{
    if (strcmp(given, READER_STANDARD_INPUT) != 0) {
        score_bytes(loaded, given, strlen(given), "--score", json);
        return;
    }
    Error error;
    char *text;
    size_t size;
    const Tokenizer *tokenizer = loaded->checkpoint.vocabulary.tokenizer;
    if (!reader_read(READER_STANDARD_INPUT, tokenizer->raw, READER_USUAL_MB, NULL, &text, &size,
                     &error))
        die("%s", error.text);
    score_bytes(loaded, text, size, reader_name(READER_STANDARD_INPUT), json);
    free(text);
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
    OptionGroup group = text_option_group(options);
    if (options->json)
        sample_json_begin(stdout, run, prompt.text, prompt.size, &group);
    texts_begin(&texts, options, beginning, 0);
    if (options->json)
        sample_json_end(stdout);
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
    prompts_free(&prompts);
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

/* The groups are those of the texts and their prompts. */
static void check_usage(const Settings *settings, const PromptOptions *prompt,
                        const TextOptions *options, const OptionGroup *of_text, size_t groups,
                        const CommandLine *line)
{
    const char *source = prompts_source(prompt, settings->interactive);
    bool asks = settings->interactive;
    bool reads = source && strcmp(source, READER_STANDARD_INPUT) == 0;
    const struct {
        bool both;
        const char *names;
    } pairs[] = {{settings->score && asks, "--score and --interactive"},
                 {settings->json && asks, "--json and --interactive"},
                 {settings->json && options->columns, "--json and --columns"},
                 {prompt->text && prompt->file, "--prompt and --prompt-file"},
                 {prompt->lines && asks, "--lines and --interactive"},
                 {reads && asks, "--interactive and --prompt -, which read standard input"}};
    if (line->operand_count != 1)
        die_usage(line->operand_count ? "one run at a time" : "a run is missing");
    for (size_t i = 0; settings->score && i < line->given_count; i++)
        if (option_find(of_text, groups, line->given[i].option->name, NULL))
            die_usage("--score generates no text; leave --%s out", line->given[i].option->name);
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
    const OptionGroup groups[] = {prompt_option_group(&prompt), text_option_group(&options),
                                  OPTION_GROUP("Use", rows, &settings)};
    enum { GROUPS = sizeof groups / sizeof *groups };
    CommandLine line;
    program_read_command_line(&about, groups, GROUPS, argc, argv, &line);
    check_usage(&settings, &prompt, &options, groups, GROUPS - 1, &line);
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
    if (settings.score)
        score_given(&loaded, settings.score, settings.json);
    else
        generate(&loaded, &options, &prompt, is_session(&settings, &prompt, &line),
                 line.operands[0]);
    loaded_close(&loaded);
    options_free_texts(groups, GROUPS);
    command_line_free(&line);
    team_stop();
    program_finish_output();
    return 0;
}
