/* Tokens as text: whole characters, up to a stop text, safe for terminals, with probabilities.
 */
#include "data/tokenizers/utf8.h"
#include "eval/show/writer.h"
#include "src/base/containers.h"
#include "src/math/random.h"
#include "src/base/text.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("writer");

/* --- writer --- */

static char *write_all(const Vocabulary *vocabulary, WriterStyle style, const char *text,
                       double probability)
{
    Writer writer;
    char *written = NULL;
    size_t size;
    int32_t *ids = NULL;
    FILE *stream = open_memstream(&written, &size);
    vocabulary->tokenizer->encode(vocabulary, text, strlen(text), &ids);
    writer_begin(&writer, vocabulary, style);
    writer_direct(&writer, stream);
    for (size_t i = 0; i < arrlenu(ids); i++)
        writer_token(&writer, ids[i], probability);
    writer_pause(&writer);
    fclose(stream);
    arrfree(ids);
    return written;
}

static void check_written(size_t tokenizer, WriterStyle style, const char *text,
                          const char *expected)
{
    Vocabulary vocabulary = vocabulary_of(tokenizer, text, 0, 1);
    char *written = write_all(&vocabulary, style, text, 0.25);
    ck_assert_str_eq(written, expected);
    free(written);
    vocabulary_free(&vocabulary);
}

#define LOST UTF8_REPLACEMENT

/* The writer gets these pieces as tokens of a vocabulary; they may be any bytes but zeros. */
typedef struct PieceRig {
    Vocabulary vocabulary;
    Stops stops;
    Writer writer;
    FILE *stream;
    char *written;
    size_t size;
} PieceRig;

static void begin_pieces(PieceRig *rig, WriterStyle style, const char *stops)
{
    Error error = {0};
    *rig = (PieceRig){.vocabulary = vocabulary_of(TOKENIZER_CHAR, "", 0, 1)};
    ck_assert_msg(stops_read(&rig->stops, stops, &error), "%s", error.text);
    rig->stream = open_memstream(&rig->written, &rig->size);
    writer_begin(&rig->writer, &rig->vocabulary, style);
    writer_direct(&rig->writer, rig->stream);
    writer_stop_at(&rig->writer, &rig->stops);
}

static void write_piece(PieceRig *rig, const char *piece, double probability)
{
    int32_t id = vocabulary_find(&rig->vocabulary, piece);
    if (id == TOKEN_NONE)
        id = vocabulary_add(&rig->vocabulary, piece);
    writer_token(&rig->writer, id, probability);
    fflush(rig->stream);
}

static void end_pieces(PieceRig *rig)
{
    writer_finish(&rig->writer);
    fclose(rig->stream);
    free(rig->written);
    stops_free(&rig->stops);
    vocabulary_free(&rig->vocabulary);
}

static void check_pieces(WriterStyle style, const char *stops, const char *const *pieces,
                         const char *expected)
{
    PieceRig rig;
    begin_pieces(&rig, style, stops);
    for (; *pieces; pieces++)
        write_piece(&rig, *pieces, 0.25);
    writer_finish(&rig.writer);
    fflush(rig.stream);
    ck_assert_str_eq(rig.written, expected);
    end_pieces(&rig);
}

TEST(text_is_written_as_it_was_read)
{
    const WriterStyle plain = {0}, safe = {.safe = true, .utf8 = true}, ascii = {.safe = true};
    const char *text = "one two\nthr\xc3\xa9\xc3\xa9 x\n";
    for (size_t tokenizer = 0; tokenizer_find(tokenizer); tokenizer++) {
        check_written(tokenizer, plain, text, text);
        check_written(tokenizer, safe, text, text);
        check_written(tokenizer, ascii, text, "one two\nthr\\xc3\\xa9\\xc3\\xa9 x\n");
        check_written(tokenizer, plain, "no end", "no end\n");
    }
    check_written(TOKENIZER_WORD, (WriterStyle){.detok = true}, "he did n't .\nno",
                  "he didn't.\nno\n");
}

/* Texts whose blanks are found again from the tokens. */
TEST(blanks_between_words_and_marks_are_guessed)
{
    static const char *const texts[] = {
        "Yes, no; so: it (see [p. 5]) is {a}! Why? 5%...\n",
        "He said, \"yes\" and \"no\".\n\"One\nline\" more\n",
        "a \"forgotten quote\n\nthe \"next\" one\n\"at the start\" of a line\n",
        "the 'new' banks' debts and O'Neil's don't\n",
        "so _many_ well-known **bold words** and/or $3.50, 1,234.5\n",
        "- an item\n# Title\n## Title\nnumber #5\n",
        "\xe2\x80\x9cTypographic\xe2\x80\x9d \xc2\xabquotes\xc2\xbb, so\xe2\x80\x94there\n",
        "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c\xe4\xbd\xa0\xe3\x80\x82 Latin \xe4\xbd\xa0\n",
        "a <unk> b\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++)
        check_written(TOKENIZER_WORDPUNCT, (WriterStyle){0}, texts[i], texts[i]);
    check_written(TOKENIZER_WORDPUNCT, (WriterStyle){.detok = true}, "mr. x , \"so\" .",
                  "mr. x, \"so\".\n");
    check_written(TOKENIZER_WORDPUNCT, (WriterStyle){.probabilities = true}, "a, b",
                  "a[0.25],[0.25] b[0.25]\n");
}

TEST(terminal_control_characters_are_not_written)
{
    const WriterStyle safe = {.safe = true, .utf8 = true};
    check_written(TOKENIZER_WORD, safe, "a\x1b[31mb \x7f \xc2\x9b",
                  "a\\x1b[31mb \\x7f \\u009b\n");
    check_written(TOKENIZER_WORD, (WriterStyle){.safe = true, .detok = true}, "\x1b ,\x07",
                  "\\x1b ,\\x07\n");
    check_written(TOKENIZER_CHAR, safe, "\x1b[2J", "\\x1b[2J\n");
    check_written(TOKENIZER_BYTE, safe, "\x1b[2J\xc3(\xe2\x82\n\xff\xf0\x9f\x98",
                  "\\x1b[2J" LOST "(" LOST "\n" LOST LOST "\n");
    check_written(TOKENIZER_BYTE, (WriterStyle){.safe = true}, "\x1b\xc3(\xff\xe2\x82",
                  "\\x1b\\xc3(\\xff\\xe2\\x82\n");
    check_pieces(safe, "", (const char *const[]){"\xe2\x80", "\xae\x1b[3", "1m\n\x07", NULL},
                 "\\u202e\\x1b[31m\n\\x07");
}

TEST(probabilities_are_written_beside_the_tokens)
{
    const WriterStyle numbers = {.probabilities = true, .utf8 = true},
                      colours = {.probabilities = true, .utf8 = true, .colour = true};
    check_written(TOKENIZER_WORD, numbers, "a b\nc", "a[0.25] b[0.25] <eos>[0.25]\nc[0.25]\n");
    check_written(TOKENIZER_CHAR, numbers, "\xc3\xa4z", "\xc3\xa4[0.25]z[0.25]\n");
    /* The probability of a character of two tokens is their product. */
    check_written(TOKENIZER_BYTE, numbers, "\xc3\xa4z", "\xc3\xa4[0.062]z[0.25]\n");
    check_written(TOKENIZER_WORD, colours, "a b",
                  "\x1b[38;5;28ma\x1b[39m \x1b[38;5;28mb\x1b[39m\n");
    check_written(TOKENIZER_WORD, (WriterStyle){.probabilities = true, .detok = true}, "ca n't",
                  "ca[0.25]n't[0.25]\n");
}

TEST(probabilities_of_parts_of_characters_are_multiplied)
{
    const WriterStyle numbers = {.probabilities = true, .utf8 = true};
#define PIECES(...) ((const char *const[]){__VA_ARGS__, NULL})
    check_pieces(numbers, "", PIECES("a", " b\n\n", "\n\n", "c"),
                 "a[0.25] b[0.25]\n\n<eos>[0.25]\n\nc[0.25]");
    check_pieces(numbers, "", PIECES("a \xc3", "\xa4z", "b"), "a \xc3\xa4z[0.062]b[0.25]");
    check_pieces(numbers, "", PIECES("\xf0\x9f", "\x90", "\xa6", "!"),
                 "\xf0\x9f\x90\xa6[0.016]![0.25]");
    check_pieces(numbers, "", PIECES("\xc3", "(", "\xe2\x82"),
                 LOST "[0.25]([0.25]" LOST "[0.25]");
    /* Half of a token comes before the stop text. */
    check_pieces(numbers, "cd", PIECES("a", "bc", "de", "f"), "a[0.25]b[0.25]");
    check_pieces(numbers, "cd", PIECES("a", "c", "b"), "a[0.25]c[0.25]b[0.25]");
    check_pieces(numbers, "cd", PIECES("\xc3", "cd"), LOST "[0.25]");
    check_pieces(numbers, "\\n", PIECES("a", "\n", "b"), "a[0.25]");
    check_written(TOKENIZER_WORD, numbers, "a\n\nb",
                  "a[0.25] <eos>[0.25]\n<eos>[0.25]\nb[0.25]\n");
}

/* --- held back --- */

/* The bytes of the alphabet make characters of every length, and many that are none. */
static char *random_text(size_t number, const char *alphabet, size_t size)
{
    RandomKey key = random_key(11, RANDOM_TEST, number);
    char *text = memory_new(size + 1, 1, "a test");
    for (size_t i = 0; i < size; i++)
        text[i] = alphabet[random_below(key, i, strlen(alphabet))];
    return text;
}

/* How many of the first bytes end neither within a character nor, unless the text ends there,
 * within a stop text; by trying all of them. */
static size_t decided(const char *text, size_t size, const char *const *stops)
{
    size_t sure = size, at = 0;
    for (; *stops; stops++)
        for (size_t n = strlen(*stops) - 1; n > 0; n--)
            if (n <= size && memcmp(text + size - n, *stops, n) == 0) {
                sure = size - n < sure ? size - n : sure;
                break;
            }
    for (bool valid; at < sure;) {
        size_t length = utf8_cut(text + at, sure - at, &valid);
        if (!length)
            break;
        at += length;
    }
    return at;
}

/* Where the first complete stop text begins, and *end where it ends; *end = size: nowhere. */
static size_t first_stop(const char *text, size_t size, const char *const *stops, size_t *end)
{
    for (*end = 1; *end <= size; ++*end) {
        size_t longest = 0;
        for (const char *const *stop = stops; *stop; stop++) {
            size_t n = strlen(*stop);
            if (n <= *end && n > longest && memcmp(text + *end - n, *stop, n) == 0)
                longest = n;
        }
        if (longest)
            return *end - longest;
    }
    return size;
}

static void check_so_far(const PieceRig *rig, const char *text, size_t size)
{
    size_t mended;
    char *expected = utf8_mend(text, size, &mended);
    ck_assert_uint_eq(rig->size, mended);
    ck_assert_mem_eq(rig->written, expected, mended);
    free(expected);
}

/* Writes the text in pieces of up to `longest` bytes; after each the right part is there. */
static void check_split(const char *text, size_t longest, const char *lines,
                        const char *const *stops)
{
    PieceRig rig;
    size_t size = strlen(text), end, begin = first_stop(text, size, stops, &end);
    RandomKey key = random_key(12, RANDOM_TEST, longest);
    begin_pieces(&rig, (WriterStyle){.utf8 = true}, lines);
    for (size_t at = 0; at < size;) {
        size_t length = 1 + random_below(key, at, longest);
        char *piece = text_format("%.*s", (int)length, text + at);
        at += strlen(piece);
        write_piece(&rig, piece, 1);
        free(piece);
        ck_assert(rig.writer.stopped == (at >= end));
        if (at >= end)
            check_so_far(&rig, text, begin);
        else
            check_so_far(&rig, text, decided(text, at, stops));
    }
    writer_finish(&rig.writer);
    fflush(rig.stream);
    check_so_far(&rig, text, begin);
    end_pieces(&rig);
}

TEST(only_whole_characters_are_written)
{
    static const char bytes[] = "a\n\x80\xa6\x9f\x90\xbf\xc3\xc3\xe2\xe0\xed\xf0\xf0\xf4\xff";
    static const char *const none[] = {NULL};
    static const char birds[] = "d\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\xa6 \xd0\xb6\xe9\xb3\xa5";
    const WriterStyle plain = {0};
    for (size_t longest = 1; longest <= 7; longest++) {
        check_split(birds, longest, NULL, none);
        for (size_t number = 0; number < 40; number++) {
            char *text = random_text(number, bytes, 200);
            check_split(text, longest, NULL, none);
            free(text);
        }
    }
    check_pieces(plain, "", PIECES("\xf0\x9f\x90"), LOST);
    check_pieces(plain, "", PIECES("\xf0\x9f", "\xc3\xa4"), LOST "\xc3\xa4");
    check_pieces(plain, "", PIECES("\xed\xa0\x80", "\xf5"), LOST LOST LOST LOST);
    check_written(TOKENIZER_BYTE, plain, "\xc3", LOST "\n");
}

TEST(a_character_that_a_pause_interrupts_is_written_after_it)
{
    static const char *const birds[] = {"a\xf0\x9f", "\x90\xa6\xc3", "\xa4z\xc3", "(", NULL};
    for (size_t shows = 0; shows < 2; shows++) {
        PieceRig rig;
        begin_pieces(&rig, (WriterStyle){.probabilities = shows, .utf8 = true}, "\xa4z(");
        for (size_t i = 0; birds[i]; i++) {
            write_piece(&rig, birds[i], 0.5);
            writer_pause(&rig.writer);
        }
        writer_pause(&rig.writer);
        fflush(rig.stream);
        ck_assert_str_eq(rig.written, shows ? "a" LOST "[0.5]\n\xf0\x9f\x90\xa6" LOST "[0.5]\n"
                                              "\xc3\xa4z" LOST "[0.5]\n" LOST "([0.5]\n"
                                            : "a" LOST "\n\xf0\x9f\x90\xa6" LOST
                                              "\n\xc3\xa4z" LOST "\n" LOST "(\n");
        end_pieces(&rig);
    }
}

TEST(a_text_ends_before_its_stop_text)
{
    static const char *const stops[][4] = {
        {"ab"},          {"aabaaab"}, {"ba", "aba"},      {"aaa", "ba", "bb"},
        {"b\n", "\n\n"}, {"c"},       {"\xa4\xc3", "a\n"}};
    static const char *const lines[] = {
        "ab", "aabaaab", "ba\naba", "aaa\n\nba\nbb\n", "b\\n\n\\n\\n", "c", "\xa4\xc3\na\\n"};
    for (size_t i = 0; i < COUNT(stops); i++)
        for (size_t number = 0; number < 60; number++) {
            char *text = random_text(number, number % 2 ? "aab" : "aabb\n\xc3\xa4", 40);
            check_split(text, 1 + number % 5, lines[i], stops[i]);
            free(text);
        }
}

TEST(a_stop_text_is_found_in_what_is_written)
{
    const WriterStyle plain = {0}, safe = {.safe = true};
    check_pieces(plain, "\\t\\\\n", PIECES("a\t", "\\", "nb"), "a");
    check_pieces(safe, "\x1b", PIECES("a", "\x1b[31m"), "a");
    check_pieces(safe, "\\\\x1b", PIECES("a", "\x1b", "b"), "a\\x1bb"); /* not in the escapes */
    check_pieces(plain, " ", PIECES(" ", "a"), "");

    PieceRig rig; /* the beginning is no part of the text that is searched */
    begin_pieces(&rig, plain, "ab");
    writer_stop_at(&rig.writer, NULL);
    write_piece(&rig, "xab a", 1);
    writer_stop_at(&rig.writer, &rig.stops);
    write_piece(&rig, "b a", 1);
    ck_assert_str_eq(rig.written, "xab ab ");
    /* A pause prints what waits; its other half still completes the stop text. */
    writer_pause(&rig.writer);
    write_piece(&rig, "bc", 1);
    ck_assert(rig.writer.stopped);
    fflush(rig.stream);
    ck_assert_str_eq(rig.written, "xab ab a\n");
    end_pieces(&rig);
}

TEST(invalid_stop_texts_are_refused)
{
    Stops stops;
    Error error;
    ck_assert(!stops_read(&stops, "a\\", &error));
    support_check_error(&error, "'a\\'", "backslash");
    ck_assert(!stops_read(&stops, "a\nb\\x", &error));
    support_check_error(&error, "'b\\x'", "backslash");
    ck_assert(!stops_read(&stops, "1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n1\n2\n3\n4\n5\n6\n7", &error));
    support_check_error(&error, "more than 16", "stop texts");
    ck_assert(stops_read(&stops, "\n\n", &error));
    ck_assert_uint_eq(stops.count, 0);
}

/* --- colours --- */

static double light(int level)
{
    double x = (level ? 55 + 40 * level : 0) / 255.0;
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

/* The perceived brightness of a colour of the palette's cube, from 0 to 1. */
static double luminance(int colour)
{
    ck_assert(colour >= 16 && colour < 232);
    int red = (colour - 16) / 36, green = (colour - 16) / 6 % 6, blue = (colour - 16) % 6;
    return 0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
}

TEST(colours_are_readable_on_black_and_white)
{
    static const double probabilities[] = {0, 0.0005, 0.005, 0.05, 0.3, 0.7, 1};
    for (size_t i = 0; i < COUNT(probabilities); i++) {
        double bright = luminance(writer_colour(probabilities[i]));
        ck_assert_double_ge((bright + 0.05) / 0.05, 3.5);
        ck_assert_double_ge(1.05 / (bright + 0.05), 3.5);
    }
    ck_assert_int_eq(writer_colour(0), writer_colour(0.0009));
    ck_assert_int_eq(writer_colour(0.5), writer_colour(1));
    for (size_t i = 2; i < 6; i++)
        ck_assert_int_ne(writer_colour(probabilities[i]), writer_colour(probabilities[i - 1]));
}
