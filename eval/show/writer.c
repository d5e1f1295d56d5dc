#include "eval/show/writer.h"
#include "eval/show/terminal.h"

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

/* --- tokens --- */

void writer_begin(Writer *writer, const Vocabulary *vocabulary, WriterStyle style)
{
    *writer = (Writer){.vocabulary = vocabulary,
                       .style = style,
                       .line_start = true,
                       .guesses = vocabulary->tokenizer == tokenizer_find(TOKENIZER_WORDPUNCT),
                       .pending_probability = 1};
    detok_begin(&writer->detok);
    spacing_begin(&writer->spacing);
}

void writer_direct(Writer *writer, FILE *stream)
{
    writer->stream = stream;
}

/* Prints whole characters with the probability of their tokens. */
static void write_characters(Writer *writer, const char *text)
{
    bool colour = writer->style.probabilities && writer->style.colour;
    if (colour)
        fprintf(writer->stream, "\x1b[38;5;%dm", writer_colour(writer->pending_probability));
    if (writer->style.safe) {
        char *safe = terminal_safe_name(text, SIZE_MAX, writer->style.utf8);
        fputs(safe, writer->stream);
        free(safe);
    } else {
        fputs(text, writer->stream);
    }
    if (colour)
        fputs(COLOUR_END, writer->stream);
    else if (writer->style.probabilities)
        fprintf(writer->stream, "[%.2g]", writer->pending_probability);
}

/* Prints the incomplete character as it is. */
static void write_pending(Writer *writer)
{
    writer->pending[writer->pending_size] = '\0';
    if (writer->pending_size > 0) /* a zero byte would end the text */
        write_characters(writer, writer->pending[0] ? writer->pending : "\\x00");
    writer->pending_size = 0;
    writer->pending_probability = 1;
}

static bool is_inside_character(const Writer *writer)
{
    return writer->pending_size < UTF8_LONGEST &&
           utf8_length(writer->pending, writer->pending_size) == 0 &&
           (unsigned char)writer->pending[0] >= 0xc0;
}

/* A byte token may be part of a character, which is printed when it is complete. */
static void write_byte(Writer *writer, char byte, double probability)
{
    bool continues = ((unsigned char)byte & 0xc0) == 0x80;
    if (!continues)
        write_pending(writer);
    writer->pending[writer->pending_size++] = byte;
    writer->pending_probability *= probability;
    if (!is_inside_character(writer))
        write_pending(writer);
}

static void write_piece(Writer *writer, const char *piece, size_t size, double probability)
{
    bool as_it_is = !writer->style.safe && !writer->style.probabilities;
    if (as_it_is) {
        fwrite(piece, 1, size, writer->stream);
    } else if (size == 1) {
        write_byte(writer, *piece, probability);
    } else {
        writer->pending_probability = probability;
        write_characters(writer, piece);
    }
}

static void write_word(Writer *writer, const char *word, double probability)
{
    bool space;
    char *written = detok_word(&writer->detok, word, &space);
    if (writer->guesses)
        space = spacing_before(&writer->spacing, word);
    if (space && !writer->line_start)
        fputc(' ', writer->stream);
    write_piece(writer, written, strlen(written), probability);
    free(written);
}

static void end_line(Writer *writer, double probability)
{
    write_pending(writer);
    if (writer->style.probabilities) {
        writer->pending_probability = probability;
        fputs(writer->line_start ? "" : " ", writer->stream);
        write_characters(writer, TOKEN_EOS);
        writer->pending_probability = 1;
    }
    fputc('\n', writer->stream);
    detok_begin(&writer->detok);
    spacing_end_line(&writer->spacing);
}

void writer_token(Writer *writer, int32_t id, double probability)
{
    const char *piece;
    size_t size = vocabulary_piece(writer->vocabulary, id, &piece);
    bool ends_line = size == 1 && *piece == '\n';
    if (ends_line) {
        end_line(writer, probability);
    } else if (writer->style.detok) {
        write_word(writer, piece, probability);
    } else {
        bool space = !writer->guesses || spacing_before(&writer->spacing, piece);
        if (space && !writer->line_start)
            fputs(writer->vocabulary->tokenizer->separator, writer->stream);
        write_piece(writer, piece, size, probability);
    }
    writer->line_start = ends_line;
}

void writer_pause(Writer *writer)
{
    write_pending(writer);
    if (!writer->line_start)
        fputc('\n', writer->stream);
    writer->line_start = true;
}
