/* sample: text from a trained model, written as it is made. */
#include "data/utf8.h"
#include "eval/generator.h"
#include "eval/loaded.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/gemm.h"
#include "src/team.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Settings {
    char *prompt;
    size_t length, count, seed, threads;
    SamplerOptions sampler;
    bool greedy, no_unk;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off: a table reads best in rows */
static const Option rows[] = {
    {"prompt", "TEXT", OPTION_TEXT, FIELD(prompt), 0, 0, NULL, NULL,
     "what the text begins with", false, false},
    {"length", "N", OPTION_SIZE, FIELD(length), 0, 1e12, "100", NULL, "tokens to make", false,
     false},
    {"count", "N", OPTION_SIZE, FIELD(count), 1, 1e6, "1", NULL,
     "texts to make; a line --- stands between them", false, false},
    {"temperature", "X", OPTION_REAL, FIELD(sampler.temperature), 0, 100, "0.8", NULL,
     "below 1 likely tokens are favoured, above 1 unlikely ones", false, false},
    {"top-k", "N", OPTION_SIZE, FIELD(sampler.top_k), 0, 1e9, "0", NULL,
     "choose among the N likeliest tokens; 0: all", false, false},
    {"top-p", "P", OPTION_REAL, FIELD(sampler.top_p), 0, 1, "1", NULL,
     "choose among the likeliest tokens that make up this probability", false, false},
    {"greedy", NULL, OPTION_FLAG, FIELD(greedy), 0, 0, "no", NULL, "always the likeliest token",
     false, false},
    {"no-unk", NULL, OPTION_FLAG, FIELD(no_unk), 0, 0, "no", NULL,
     "never the token for unknown words", false, false},
    {"seed", "N", OPTION_SIZE, FIELD(seed), 0, OPTION_MOST, "1", NULL,
     "another seed, another text", false, false},
    {"threads", "N", OPTION_SIZE, FIELD(threads), 0, 1024, "1", NULL,
     "threads; 0: one for each processor", false, false},
    {"help", NULL, OPTION_ACTION, 0, 0, 0, NULL, NULL, "this text", false, false},
    {"version", NULL, OPTION_ACTION, 0, 0, 0, NULL, NULL, "what this is", false, false},
};
/* clang-format on */

static void print_help(const OptionGroup *group)
{
    printf("Usage: %s [OPTIONS] RUN\n\n"
           "Writes text from a trained model. RUN is the folder of a run, of which the best\n"
           "checkpoint is taken, or a checkpoint file.\n\n"
           "  %s --prompt 'the company said' --length 50 runs/linear-ptb\n",
           program_name, program_name);
    options_print_help(group, 1);
}

/* --- writing --- */

/* Tokens on their way out: with separators, and where a terminal reads them, made safe. */
typedef struct Writer {
    const Vocabulary *vocabulary;
    bool safe, line_start;
    char pending[8]; /* bytes of a character that is not complete yet */
    size_t pending_size;
} Writer;

static void check_output(void)
{
    if (ferror(stdout)) {
        if (errno == EPIPE)
            exit(0); /* the reader has seen enough */
        die("cannot write the text: %s", strerror(errno));
    }
}

/* A terminal gets whole characters, so that a safe print can tell text from rubbish. */
static void write_safe(Writer *writer, const char *piece, size_t size)
{
    enum { LONGEST_CHARACTER = 4 };
    for (size_t i = 0; i < size; i++) {
        writer->pending[writer->pending_size++] = piece[i];
        writer->pending[writer->pending_size] = '\0';
        if (utf8_length(writer->pending, writer->pending_size) == 0 &&
            writer->pending_size < LONGEST_CHARACTER)
            continue;
        terminal_print_safe(stdout, writer->pending);
        writer->pending_size = 0;
    }
}

static void write_token(Writer *writer, int32_t id)
{
    const char *piece;
    size_t size = vocabulary_piece(writer->vocabulary, id, &piece);
    bool ends_line = size == 1 && *piece == '\n';
    if (!writer->line_start && !ends_line)
        fputs(writer->vocabulary->tokenizer->separator, stdout);
    if (writer->safe)
        write_safe(writer, piece, size);
    else
        fwrite(piece, 1, size, stdout);
    writer->line_start = ends_line;
    fflush(stdout);
    check_output();
}

static void end_text(Writer *writer)
{
    if (!writer->line_start)
        putchar('\n');
    writer->line_start = true;
    writer->pending_size = 0;
}

/* --- making --- */

static int32_t *encode_prompt(const Vocabulary *vocabulary, const char *prompt)
{
    Error error;
    int32_t *ids = NULL;
    if (!prompt)
        return NULL;
    if (!tokenizer_check(vocabulary->tokenizer, "--prompt", prompt, strlen(prompt), &error))
        die_usage("%s", error.text);
    size_t unknown = vocabulary->tokenizer->encode(vocabulary, prompt, strlen(prompt), &ids);
    if (unknown)
        warn("the prompt has %zu unknown token%s; the model reads %s instead", unknown,
             unknown == 1 ? "" : "s", vocabulary->words[vocabulary->unk]);
    return ids;
}

static void make_text(Generator *generator, Writer *writer, const Settings *settings,
                      const int32_t *prompt, size_t number)
{
    RandomKey key = random_key(settings->seed, RANDOM_SAMPLE, number);
    int32_t banned = settings->no_unk ? writer->vocabulary->unk : TOKEN_NONE;
    generator_restart(generator);
    generator_read(generator, writer->vocabulary->eos); /* a text begins behind a line end */
    for (size_t i = 0; i < arrlenu(prompt); i++) {
        generator_read(generator, prompt[i]);
        write_token(writer, prompt[i]);
    }
    for (size_t i = 0; i < settings->length; i++) {
        int32_t id = generator_pick(generator, &settings->sampler, random_uniform(key, i),
                                    banned);
        write_token(writer, id);
        if (i + 1 < settings->length)
            generator_read(generator, id);
    }
    end_text(writer);
}

static void read_command_line(const OptionGroup *group, CommandLine *line, int argc,
                              char **argv)
{
    Error error;
    if (!options_scan(group, 1, argc, argv, line, &error))
        die_usage("%s", error.text);
    if (command_line_value(line, "help")) {
        print_help(group);
        exit(0);
    }
    if (command_line_value(line, "version")) {
        printf("%s (linnet) %s\n", program_name, LINNET_VERSION);
        exit(0);
    }
    options_set_defaults(group, 1);
    if (!options_apply(group, 1, line, &error))
        die_usage("%s", error.text);
    if (line->operand_count != 1)
        die_usage(line->operand_count ? "one run at a time" : "a run is missing");
}

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    program_name_set(argv[0]);
    signal(SIGPIPE, SIG_IGN);
    Settings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    read_command_line(&group, &line, argc, argv);
    if (settings.greedy)
        settings.sampler.temperature = 0;

    LoadedModel loaded;
    Generator generator;
    Error error;
    team_start(settings.threads ? settings.threads : team_processors());
    if (!loaded_open(&loaded, line.operands[0], &error))
        die("%s", error.text);
    const Vocabulary *vocabulary = &loaded.checkpoint.vocabulary;
    generator_make(&generator, &loaded.model);
    int32_t *prompt = encode_prompt(vocabulary, settings.prompt);
    Writer writer = {.vocabulary = vocabulary,
                     .safe = terminal_is_interactive(STDOUT_FILENO),
                     .line_start = true};
    for (size_t i = 0; i < settings.count; i++) {
        if (i > 0)
            puts("---");
        make_text(&generator, &writer, &settings, prompt, i);
    }
    fflush(stdout);
    check_output();
    arrfree(prompt);
    generator_free(&generator);
    loaded_close(&loaded);
    options_free_texts(&group, 1);
    command_line_free(&line);
    team_stop();
    return 0;
}
