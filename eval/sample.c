/* sample: text from a trained model, written as it is made; of several, which are made
 * together, the first. */
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
}

static void begin_text(size_t number)
{
    if (number > 0)
        puts("---");
}

static void end_text(Writer *writer)
{
    if (!writer->line_start)
        putchar('\n');
    writer->line_start = true;
    writer->pending_size = 0;
}

/* --- making --- */

/* What every text begins with: the line end in front of it, which is read and not written, and
 * the prompt. */
static int32_t *encode_beginning(const Vocabulary *vocabulary, const char *prompt)
{
    Error error;
    int32_t *ids = NULL;
    arrput(ids, vocabulary->eos);
    if (!prompt)
        return ids;
    if (!tokenizer_check(vocabulary->tokenizer, "--prompt", prompt, strlen(prompt), &error))
        die_usage("%s", error.text);
    size_t unknown = vocabulary->tokenizer->encode(vocabulary, prompt, strlen(prompt), &ids);
    if (unknown)
        warn("the prompt has %zu unknown token%s; the model reads %s instead", unknown,
             unknown == 1 ? "" : "s", vocabulary->words[vocabulary->unk]);
    return ids;
}

/* More texts would hardly gain speed, and their states, which may grow with the context, must
 * not fill the machine. */
#define BATCH_TEXTS ((size_t)64)
#define BATCH_BYTES ((size_t)256 << 20)

/* Texts that are made in step. The first is written as it is made, the others are kept until
 * it is complete. */
typedef struct Batch {
    Generator generator;
    size_t texts;
    size_t rows;     /* of tokens: all positions; one where a text is alone, as none is kept */
    int32_t *tokens; /* (rows, texts) */
} Batch;

static void batch_make(Batch *batch, const Model *model, size_t count, size_t positions)
{
    size_t each = generator_bytes(model) + positions * sizeof *batch->tokens;
    size_t most = BATCH_BYTES / each;
    most = most < 1 ? 1 : most > BATCH_TEXTS ? BATCH_TEXTS : most;
    /* About equal batches: the last makes texts that nobody wants, but few. */
    batch->texts = team_tiles(count, team_tiles(count, most));
    batch->rows = batch->texts > 1 ? positions : 1;
    batch->tokens = memory_take(memory_product(batch->rows, batch->texts, "the texts"),
                                sizeof *batch->tokens, "the texts");
    generator_make(&batch->generator, model, batch->texts);
}

static void batch_free(Batch *batch)
{
    generator_free(&batch->generator);
    free(batch->tokens);
}

/* Text `number` is the first of the batch. */
static void make_texts(Batch *batch, Writer *writer, const Settings *settings,
                       const int32_t *beginning, size_t number)
{
    int32_t banned = settings->unk ? TOKEN_NONE : writer->vocabulary->unk;
    size_t given = arrlenu(beginning), end = given + settings->length;
    begin_text(number);
    generator_restart(&batch->generator);
    for (size_t i = 0; i < end; i++) {
        int32_t *row = batch->tokens + i % batch->rows * batch->texts;
        for (size_t text = 0; text < batch->texts; text++) {
            RandomKey key = random_key(settings->seed, RANDOM_SAMPLE, number + text);
            row[text] = i < given ? beginning[i]
                                  : generator_pick(&batch->generator, text, &settings->sampler,
                                                   random_uniform(key, i - given), banned);
        }
        if (i > 0) {
            write_token(writer, row[0]);
            flush();
        }
        if (i + 1 < end)
            generator_read(&batch->generator, row);
    }
    end_text(writer);
}

static void write_kept_text(const Batch *batch, Writer *writer, size_t text, size_t number)
{
    begin_text(number);
    for (size_t i = 1; i < batch->rows; i++)
        write_token(writer, batch->tokens[i * batch->texts + text]);
    end_text(writer);
    flush();
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
    Batch batch;
    Error error;
    team_start(settings.threads ? settings.threads : team_processors());
    if (!loaded_open(&loaded, line.operands[0], &error))
        die("%s", error.text);
    const Vocabulary *vocabulary = &loaded.checkpoint.vocabulary;
    int32_t *beginning = encode_beginning(vocabulary, settings.prompt);
    batch_make(&batch, &loaded.model, settings.count, arrlenu(beginning) + settings.length);
    Writer writer = {.vocabulary = vocabulary,
                     .safe = terminal_is_interactive(STDOUT_FILENO),
                     .line_start = true};
    for (size_t first = 0; first < settings.count; first += batch.texts) {
        make_texts(&batch, &writer, &settings, beginning, first);
        for (size_t i = 1; i < batch.texts && first + i < settings.count; i++)
            write_kept_text(&batch, &writer, i, first + i);
    }
    flush();
    arrfree(beginning);
    batch_free(&batch);
    loaded_close(&loaded);
    options_free_texts(&group, 1);
    command_line_free(&line);
    team_stop();
    return 0;
}
