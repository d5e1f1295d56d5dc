/* sample: text from a trained model, written as it is made. */
#include "data/utf8.h"
#include "eval/generator.h"
#include "eval/loaded.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/gemm.h"
#include "src/program.h"
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
    bool greedy, unk;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "prompt", .argument = "TEXT", .type = OPTION_TEXT,
     .offset = FIELD(prompt),
     .help = "what the text begins with"},
    {.name = "length", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(length), .low = 0, .high = 1e12, .fallback = "100",
     .help = "tokens to make"},
    {.name = "count", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(count), .low = 1, .high = 1e6, .fallback = "1",
     .help = "texts to make; a line --- stands between them"},
    {.name = "temperature", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(sampler.temperature), .low = 0, .high = 100, .fallback = "0.8",
     .help = "below 1 likely tokens are favoured, above 1 unlikely ones"},
    {.name = "top-k", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(sampler.top_k), .low = 0, .high = 1e9, .fallback = "0",
     .help = "choose among the N likeliest tokens; 0: all"},
    {.name = "top-p", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(sampler.top_p), .low = 0, .high = 1, .fallback = "1",
     .help = "choose among the likeliest tokens that make up this probability"},
    {.name = "greedy", .type = OPTION_FLAG,
     .offset = FIELD(greedy), .fallback = "no",
     .help = "always the likeliest token"},
    {.name = "unk", .type = OPTION_FLAG,
     .offset = FIELD(unk), .fallback = "yes",
     .help = "the token for unknown words may come as well"},
    {.name = "seed", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(seed), .low = 0, .high = OPTION_MOST, .fallback = "1",
     .help = "another seed, another text"},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(threads), .low = 0, .high = 1024, .fallback = "1",
     .help = "threads; 0: one for each processor"},
};
/* clang-format on */

static void print_usage(void)
{
    printf("Usage: %s [OPTIONS] RUN\n\n"
           "Writes text from a trained model. RUN is the folder of a run, of which the best\n"
           "checkpoint is taken, or a checkpoint file.\n\n"
           "  %s --prompt 'the company said' --length 50 runs/linear-ptb\n",
           program_name, program_name);
}

/* --- writing --- */

/* Tokens on their way out: with separators, and where a terminal reads them, made safe. */
typedef struct Writer {
    const Vocabulary *vocabulary;
    bool safe, line_start;
    char pending[8]; /* bytes of a character that is not complete yet */
    size_t pending_size;
} Writer;

static void flush(void)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno == EPIPE)
        exit(EXIT_SUCCESS); /* the reader has seen enough */
    program_finish_output();
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
    flush();
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
    int32_t banned = settings->unk ? TOKEN_NONE : writer->vocabulary->unk;
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

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    Settings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    program_read_command_line(&group, 1, print_usage, argc, argv, &line);
    if (line.operand_count != 1)
        die_usage(line.operand_count ? "one run at a time" : "a run is missing");
    if (settings.greedy)
        settings.sampler.temperature = 0;
    signal(SIGPIPE, SIG_IGN);

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
    flush();
    arrfree(prompt);
    generator_free(&generator);
    loaded_close(&loaded);
    options_free_texts(&group, 1);
    command_line_free(&line);
    team_stop();
    return 0;
}
