#include "eval/show/writer.h"
#include "data/tokenizers/tokenizers.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define COLOUR_END "\x1b[39m" /* the terminal's default colour */

typedef struct Shade {
    double below; /* the probability where the next colour begins */
    int colour;
    const char *name;
} Shade;

static const Shade shades[] = {{0.001, 160, "< 0.001"},
                               {0.01, 166, "< 0.01"},
                               {0.1, 100, "< 0.1"},
                               {0.5, 28, "< 0.5"},
                               {2, 31, "to 1"}};
enum { SHADES = sizeof shades / sizeof *shades };

int writer_colour(double probability)
{
    size_t i = 0;
    while (i + 1 < SHADES && !(probability < shades[i].below))
        i++;
    return shades[i].colour;
}

void writer_print_legend(FILE *stream, bool colour)
{
    if (!colour) {
        fputs("[in brackets: the model's probability, at temperature 1, of the token]\n",
              stream);
        return;
    }
    fputs("The model's probability at temperature 1: ", stream);
    for (size_t i = 0; i < SHADES; i++)
        fprintf(stream, "%s\x1b[38;5;%dm%s" COLOUR_END, i ? ", " : "", shades[i].colour,
                shades[i].name);
    fputs("\n", stream);
}

/* --- printing --- */

/* A terminal without UTF-8 gets escapes for all that is not ASCII. */
static void print_text(const Writer *writer, const char *text, size_t size)
{
    if (writer->style.safe && !writer->style.utf8) {
        terminal_print_bytes(writer->stream, text, size, false);
        return;
    }
    char *mended = utf8_mend(text, size, &size);
    if (writer->style.safe)
        terminal_print_bytes(writer->stream, mended, size, true);
    else
        fwrite(mended, 1, size, writer->stream);
    free(mended);
}

/* Prints whole characters with the probability of their tokens, if it is not negative. Line
 * ends at the end come after it. */
static void print_tokens(Writer *writer, const char *text, size_t size, double probability)
{
    bool shown = !(probability < 0), colour = shown && writer->style.colour;
    size_t body = size;
    if (size == 0)
        return;
    while (shown && body > 0 && text[body - 1] == '\n')
        body--;
    if (body == 0 && !writer->at_margin)
        fputc(' ', writer->stream);
    if (colour)
        fprintf(writer->stream, "\x1b[38;5;%dm", writer_colour(probability));
    if (body > 0)
        print_text(writer, text, body);
    else
        fputs(TOKEN_EOS, writer->stream);
    if (colour)
        fputs(COLOUR_END, writer->stream);
    else if (shown)
        fprintf(writer->stream, "[%.2g]", probability);
    fwrite(text + body, 1, size - body, writer->stream);
    writer->at_margin = text[size - 1] == '\n';
}

/* --- bytes that wait --- */

/* The length of the character held at `at`, or of bytes that make none; 0 if more bytes may
 * complete it, unless the text ends at `limit`. */
static size_t cut(const Writer *writer, size_t at, size_t limit, bool ends)
{
    bool valid;
    size_t length = utf8_cut(writer->pending + at, limit - at, &valid);
    return length || !ends ? length : limit - at;
}

/* Prints the first bytes, whole characters; returns how many. */
static size_t print_characters(Writer *writer, size_t limit, bool ends)
{
    size_t at = 0, length;
    while (at < limit && (length = cut(writer, at, limit, ends)) > 0)
        at += length;
    print_tokens(writer, writer->pending, at, -1);
    return at;
}

/* The same for whole tokens. Those that share a character are printed together, with the
 * product of their probabilities. */
static size_t print_whole_tokens(Writer *writer, size_t limit, bool ends)
{
    size_t first = 0, at = 0, count = arrlenu(writer->tokens), printed = 0, length = 1;
    double product = 1;
    for (size_t i = 0; i < count && length > 0 && (ends || writer->tokens[i].end <= limit);
         i++) {
        PendingToken token = writer->tokens[i];
        size_t end = token.end < limit ? token.end : limit;
        product *= token.probability;
        while (at < end && (length = cut(writer, at, limit, ends)) > 0)
            at += length;
        if (at != end)
            continue;
        print_tokens(writer, writer->pending + first, at - first, product);
        first = at;
        product = 1;
        printed = i + 1;
    }
    if (printed > 0)
        arrdeln(writer->tokens, 0, printed);
    for (size_t i = 0; i < arrlenu(writer->tokens); i++)
        writer->tokens[i].end -= first;
    return first;
}

/* Prints what is sure of the first `limit` bytes; all of them if the text ends there. */
static void release(Writer *writer, size_t limit, bool ends)
{
    size_t printed = writer->style.probabilities ? print_whole_tokens(writer, limit, ends)
                                                 : print_characters(writer, limit, ends);
    if (printed > 0)
        arrdeln(writer->pending, 0, printed);
}

static void forget(Writer *writer)
{
    arrfree(writer->pending);
    arrfree(writer->tokens);
}

/* Ends the text before the stop text that is complete. Of what has been printed before a
 * pause, nothing can be taken back. */
static void stop(Writer *writer, size_t stop_size)
{
    size_t pending = arrlenu(writer->pending);
    writer->stopped = true;
    release(writer, stop_size < pending ? pending - stop_size : 0, true);
    forget(writer);
}

static void append(Writer *writer, const char *text, size_t size, double probability)
{
    size_t complete = stop_append(&writer->match, writer->stops, text, size, &writer->pending);
    if (writer->style.probabilities) {
        PendingToken token = {arrlenu(writer->pending), probability};
        arrput(writer->tokens, token);
    }
    if (complete)
        stop(writer, complete);
}

/* --- pauses --- */

static void keep_part(Writer *writer)
{
    size_t pending = arrlenu(writer->pending), at = 0, length;
    while (at < pending && (length = cut(writer, at, pending, false)) > 0)
        at += length;
    writer->part_size = pending - at;
    memcpy(writer->part, writer->pending + at, pending - at);
}

static void restore_part(Writer *writer)
{
    for (size_t i = 0; i < writer->part_size; i++)
        arrput(writer->pending, writer->part[i]);
    writer->part_size = 0;
}

/* --- tokens --- */

void writer_begin(Writer *writer, const Vocabulary *vocabulary, WriterStyle style)
{
    *writer = (Writer){.vocabulary = vocabulary,
                       .style = style,
                       .line_start = true,
                       .at_margin = true,
                       .guesses = vocabulary->tokenizer == tokenizer_find(TOKENIZER_WORDPUNCT)};
    detok_begin(&writer->detok);
    spacing_begin(&writer->spacing);
}

void writer_direct(Writer *writer, FILE *stream)
{
    writer->stream = stream;
}

void writer_stop_at(Writer *writer, const Stops *stops)
{
    writer->stops = stops;
    writer->match = (StopMatch){{0}};
    writer->stopped = false;
}

/* A separator, and the text of a token unless the separator completes a stop text. */
static void append_both(Writer *writer, const char *separator, const char *text, size_t size,
                        double probability)
{
    if (*separator)
        append(writer, separator, strlen(separator), -1);
    if (!writer->stopped)
        append(writer, text, size, probability);
}

static void append_word(Writer *writer, const char *word, double probability)
{
    bool space;
    char *written = detok_word(&writer->detok, word, &space);
    if (writer->guesses)
        space = spacing_before(&writer->spacing, word);
    append_both(writer, space && !writer->line_start ? " " : "", written, strlen(written),
                probability);
    free(written);
}

void writer_token(Writer *writer, int32_t id, double probability)
{
    const char *piece, *separator = writer->vocabulary->tokenizer->separator;
    size_t size = vocabulary_piece(writer->vocabulary, id, &piece);
    bool is_line_end = size == 1 && *piece == '\n';
    if (writer->stopped)
        return;
    restore_part(writer);
    if (is_line_end) {
        detok_begin(&writer->detok);
        spacing_end_line(&writer->spacing);
    }
    if (writer->style.detok && !is_line_end)
        append_word(writer, piece, probability);
    else if (is_line_end || (writer->guesses && !spacing_before(&writer->spacing, piece)))
        append_both(writer, "", piece, size, probability);
    else
        append_both(writer, writer->line_start ? "" : separator, piece, size, probability);
    writer->line_start = size > 0 && piece[size - 1] == '\n';
    if (!writer->stopped) {
        size_t pending = arrlenu(writer->pending), undecided = 0;
        if (writer->stops)
            undecided = stop_undecided(&writer->match, writer->stops);
        release(writer, undecided < pending ? pending - undecided : 0, false);
    }
}

void writer_finish(Writer *writer)
{
    release(writer, arrlenu(writer->pending), true);
    forget(writer);
}

void writer_pause(Writer *writer)
{
    if (writer->pending)
        keep_part(writer);
    writer_finish(writer);
    if (!writer->at_margin)
        fputc('\n', writer->stream);
    writer->line_start = writer->at_margin = true;
}

/* --- a sample --- */

typedef struct Excerpt {
    Generator *generator;
    const Vocabulary *vocabulary;
    size_t tokens;
    RandomKey key;
    Writer writer;
} Excerpt;

static bool write_tokens(void *context, Error *error)
{
    (void)error;
    Excerpt *e = context;
    const SamplerOptions sampler = {.temperature = 0.8, .top_p = 1};
    int32_t id = vocabulary_start(e->vocabulary), unk = e->vocabulary->unk;
    generator_restart(e->generator);
    for (size_t i = 0; i < e->tokens; i++) {
        generator_read(e->generator, &id);
        id = generator_pick(e->generator, 0, &sampler, random_uniform(e->key, i), unk);
        writer_token(&e->writer, id, 1);
    }
    return true;
}

char *excerpt_make(Generator *generator, const Vocabulary *vocabulary, size_t tokens,
                   RandomKey key)
{
    char *text;
    size_t size;
    Error why;
    FILE *stream = memory_text_open(&text, &size, "a sample");
    Excerpt excerpt = {generator, vocabulary, tokens, key, {0}};
    writer_begin(&excerpt.writer, vocabulary, (WriterStyle){.safe = true, .utf8 = true});
    writer_direct(&excerpt.writer, stream);
    bool good = error_catch(write_tokens, &excerpt, &why);
    writer_pause(&excerpt.writer);
    if (!good)
        fprintf(stream, "[%s]\n", why.text);
    memory_text_close(stream, "a sample");
    return text;
}
