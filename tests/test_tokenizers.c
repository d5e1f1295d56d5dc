/* Tokenizers: tokens of a text, and texts that are refused. */
#include "data/tokenizers/unicode.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <string.h>

SUITE("tokenizers");

/* Encodes the text and writes each token in brackets. */
static void expect_pieces(size_t tokenizer, const char *learned, const char *text,
                          size_t unknown, const char *expected)
{
    Vocabulary vocabulary = vocabulary_of(tokenizer, learned, 0, 1);
    int32_t *ids = NULL;
    ck_assert_uint_eq(vocabulary.tokenizer->encode(&vocabulary, text, strlen(text), &ids),
                      unknown);
    char *pieces = memory_copy_text("");
    for (ptrdiff_t i = 0; i < arrlen(ids); i++) {
        const char *piece;
        size_t size = vocabulary_piece(&vocabulary, ids[i], &piece);
        ck_assert_uint_eq(size, strlen(piece));
        text_append(&pieces, "[%s]", piece);
    }
    ck_assert_str_eq(pieces, expected);
    free(pieces);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}

TEST(words_are_split_at_ascii_space)
{
    const char *learned = "a b\n";
    expect_pieces(TOKENIZER_WORD, learned, " \ta\v\fb \r\n\n b", 0, "[a][b][\n][\n][b]");
    expect_pieces(TOKENIZER_WORD, learned, "a c <eos>\n", 1, "[a][<unk>][\n][\n]");
    expect_pieces(TOKENIZER_WORD, learned, "<unk> a", 0, "[<unk>][a]");
    expect_pieces(TOKENIZER_WORD,
                  "\xEF\xBB\xBF"
                  "a b\n",
                  "\xEF\xBB\xBF"
                  "a",
                  0, "[a]");
    expect_pieces(TOKENIZER_WORD, learned,
                  "a\xC2\xA0"
                  "b",
                  1, "[<unk>]"); /* no-break space */
    expect_pieces(TOKENIZER_WORD, "\x1b[1m a\n", "\x1b[1m", 0, "[\x1b[1m]");
    expect_pieces(TOKENIZER_WORD, learned, "", 0, "");
}

/* Each token cut out of the text in brackets; line ends as <eos>. */
static void expect_cuts(const char *text, const char *expected)
{
    char *pieces = memory_copy_text("");
    const char *token;
    size_t at = 0, length;
    while ((length =
                tokenizer_find(TOKENIZER_WORDPUNCT)->cut(text, strlen(text), &at, &token)) > 0)
        text_append(&pieces, "[%.*s]", (int)length, token);
    ck_assert_str_eq(pieces, expected);
    free(pieces);
}

TEST(words_and_marks_are_told_apart)
{
    expect_cuts("(freedom), \"freedom.\"\n", "[(][freedom][)][,][\"][freedom][.][\"][<eos>]");
    expect_cuts("don't 'tis dogs' O\xE2\x80\x99Neil 90's", "[don't]['][tis][dogs][']"
                                                           "[O\xE2\x80\x99Neil][90's]");
    expect_cuts("the U.S.A. e.g. so...", "[the][U.S.A][.][e.g][.][so][.][.][.]");
    expect_cuts("1,234.5% at 12:30, a,b x:y", "[1,234.5][%][at][12:30][,][a][,][b][x][:][y]");
    expect_cuts("a.5 5.a v2 2nd", "[a][.][5][5][.][a][v2][2nd]");
    expect_cuts("well-known_x --", "[well][-][known][_][x][-][-]");
    expect_cuts("<unk>s <eos> <EOS> a<b>", "[<unk>][s][<eos>][<][EOS][>][a][<][b][>]");
    expect_cuts("\r\n \v\f\n", "[<eos>][<eos>]");
    expect_cuts("", "");
    expect_cuts(" ", "");
    expect_cuts("\xEF\xBB\xBFna\xC3\xAFve", "[na\xC3\xAFve]");
    /* No-break and ideographic spaces; ideographs, kana, full-width marks. */
    expect_cuts("a\xC2\xA0\x62\xE3\x80\x80\x63", "[a][b][c]");
    expect_cuts("\xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xE3\x81\x8B",
                "[\xE4\xBD\xA0][\xE5\xA5\xBD][\xEF\xBC\x8C][\xE3\x81\x8B]");
    /* Cyrillic; typographic quotes; an accent of its own; an emoji with its variation. */
    expect_cuts("\xE2\x80\x9C\xD0\x96\xD0\xB0\xE2\x80\x9D",
                "[\xE2\x80\x9C][\xD0\x96\xD0\xB0][\xE2\x80\x9D]");
    expect_cuts("ne\xCC\x81 \xE2\x98\xBA\xEF\xB8\x8F!",
                "[ne\xCC\x81][\xE2\x98\xBA\xEF\xB8\x8F][!]");
    expect_cuts("a\xff\xC3", "[a][\xff][\xC3]"); /* refused by tokenizer_check, yet harmless */
}

TEST(words_without_end_are_cut)
{
    char text[3 * TOKEN_LONGEST];
    const Tokenizer *tokenizer = tokenizer_find(TOKENIZER_WORDPUNCT);
    const char *token;
    Error error;
    memset(text, 'x', sizeof text);
    memcpy(text + TOKEN_LONGEST - 1, "\xD0\x96", 2); /* no character is cut in two */
    ck_assert(tokenizer_check(tokenizer, "t", text, sizeof text, &error));
    size_t at = 0;
    ck_assert_uint_eq(tokenizer->cut(text, sizeof text, &at, &token), TOKEN_LONGEST - 1);
    ck_assert_uint_eq(tokenizer->cut(text, sizeof text, &at, &token), TOKEN_LONGEST);
    ck_assert_uint_eq(tokenizer->cut(text, sizeof text, &at, &token), TOKEN_LONGEST);
    ck_assert_uint_eq(tokenizer->cut(text, sizeof text, &at, &token), 1);
    memset(text, '\'', sizeof text);
    for (size_t i = 0; i < sizeof text; i += 2)
        text[i] = 'x';
    at = 0;
    ck_assert_uint_eq(tokenizer->cut(text, sizeof text, &at, &token), TOKEN_LONGEST - 1);
    for (size_t i = 1; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xCC\x81", 2);
    text[0] = '!';
    at = 0;
    ck_assert_uint_le(tokenizer->cut(text, sizeof text - 1, &at, &token), TOKEN_LONGEST);
}

TEST(letters_are_lower_cased)
{
    char text[] = "AbZ [`{ \xC3\x80\xC3\x97\xC3\x9E \xC4\xB0\xC5\xB8\xC4\xB9\xC4\xBA "
                  "\xCE\xA3\xCE\x86 \xD0\x81\xD0\x96\xD0\xAF\xD3\x90 \xE1\xBA\x9E \xff";
    letters_lower(text);
    ck_assert_str_eq(text, "abz [`{ \xC3\xA0\xC3\x97\xC3\xBE \xC4\xB0\xC3\xBF\xC4\xBA\xC4\xBA "
                           "\xCF\x83\xCE\xAC \xD1\x91\xD0\xB6\xD1\x8F\xD3\x91 "
                           "\xE1\xBA\x9E \xff");
    for (uint32_t c = 0; c < 0x10000; c++) {
        uint32_t small = letters_small(c);
        ck_assert_uint_eq(letters_small(small), small);
        ck_assert((c < 0x80) == (small < 0x80) && (c < 0x800) == (small < 0x800));
    }
}

TEST(lower_cased_vocabularies_read_capitals)
{
    static const size_t kinds[] = {TOKENIZER_WORD, TOKENIZER_WORDPUNCT, TOKENIZER_CHAR};
    const VocabularyLimits limits = {.min_count = 1, .lowercase = true};
    const char *text = "The the THE\n";
    Error error;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        Vocabulary vocabulary, copy;
        int32_t *ids = NULL;
        ck_assert(vocabulary_learn(&vocabulary, tokenizer_find(kinds[i]), text, strlen(text),
                                   &limits, &error));
        vocabulary_copy(&copy, &vocabulary);
        vocabulary_free(&vocabulary);
        ck_assert_int_eq(vocabulary_find(&copy, "T"), TOKEN_NONE);
        ck_assert_uint_eq(copy.tokenizer->encode(&copy, "THE tHe", 7, &ids), 0);
        ck_assert_int_eq(ids[0], ids[arrlen(ids) / 2 + (kinds[i] == TOKENIZER_CHAR)]);
        arrfree(ids);
        vocabulary_free(&copy);
    }
    Vocabulary vocabulary;
    ck_assert(!vocabulary_learn(&vocabulary, tokenizer_find(TOKENIZER_BYTE), text, strlen(text),
                                &limits, &error));
    ck_says(error, "--lowercase is for");
}

TEST(characters_are_never_split)
{
    const char *learned = "ab \xC3\xA9\xF0\x9F\x90\xA6\n";
    expect_pieces(TOKENIZER_CHAR, learned, "a\xC3\xA9\xF0\x9F\x90\xA6", 0,
                  "[a][\xC3\xA9][\xF0\x9F\x90\xA6]");
    expect_pieces(TOKENIZER_CHAR, learned, "a b\r\n\n", 0, "[a][ ][b][\n][\n]");
    /* Known and unknown ones that come again; a lone byte is not the character of its number.
     */
    expect_pieces(TOKENIZER_CHAR, learned,
                  "\xC3\xA9"
                  "azz\xE9\xC3\xA9\xD0\x96\xD0\x96",
                  5,
                  "[\xC3\xA9][a][\xEF\xBF\xBD][\xEF\xBF\xBD][\xEF\xBF\xBD][\xC3\xA9]"
                  "[\xEF\xBF\xBD][\xEF\xBF\xBD]");
    expect_pieces(TOKENIZER_CHAR, learned,
                  "\xEF\xBB\xBF"
                  "aZ",
                  1, "[a][\xEF\xBF\xBD]");
    expect_pieces(TOKENIZER_CHAR, "a\xEF\xBF\xBD\n", "\xEF\xBF\xBD", 0, "[\xEF\xBF\xBD]");
    expect_pieces(TOKENIZER_CHAR, "a\rb\n", "\ra\r", 0, "[\r][a][\r]");
    vocabulary_expect_words(TOKENIZER_CHAR, "abba\n", 0, 1, "a b <eos> \xEF\xBF\xBD ");
    vocabulary_expect_words(TOKENIZER_CHAR,
                            "\xEF\xBF\xBD"
                            "a\n",
                            0, 1, "\xEF\xBF\xBD a <eos> ");
}

TEST(every_byte_is_a_token)
{
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_BYTE, "x", 0, 1);
    char all[TOKENS_OF_BYTE];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    int32_t *ids = NULL;
    const char *piece;
    ck_assert_uint_eq(vocabulary.tokenizer->encode(&vocabulary, all, sizeof all, &ids), 0);
    ck_assert_int_eq(arrlen(ids), TOKENS_OF_BYTE);
    ck_assert_uint_eq(vocabulary.count, TOKENS_OF_BYTE);
    for (int i = 0; i < TOKENS_OF_BYTE; i++) {
        ck_assert_int_eq(ids[i], i);
        ck_assert_uint_eq(vocabulary_piece(&vocabulary, i, &piece), 1);
        ck_assert_int_eq((unsigned char)*piece, i);
    }
    ck_assert_int_eq(vocabulary.eos, '\n');
    ck_assert_int_eq(vocabulary.unk, TOKEN_NONE);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\xff"), 255);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "ab"), TOKEN_NONE);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}

TEST(invalid_text_is_refused_with_its_position)
{
    static const struct {
        const char *text;
        size_t size;
        const char *says; /* NULL: it is valid */
    } cases[] = {
        {"ok\n\xC3\xA9\n", 6, NULL},
        {"ok\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", 12, NULL},
        {"ab\nc\xff", 5, "t:2: invalid UTF-8 at byte 4"},
        {"\x80", 1, "t:1: invalid UTF-8 at byte 0"},
        {"a\xC3", 2, "byte 1"}, /* cut off */
        {"a\xE2\x82", 3, "byte 1"},
        {"a\xF0\x9F\x90", 4, "byte 1"},
        {"a\xC3z", 3, "byte 1"},
        {"ab\xC0\x80", 4, "byte 2"}, /* overlong */
        {"ab\xC1\xBF", 4, "byte 2"},
        {"ab\xE0\x9F\xBF", 5, "byte 2"},
        {"ab\xF0\x8F\xBF\xBF", 6, "byte 2"},
        {"ab\xED\xA0\x80", 5, "byte 2"},     /* a surrogate */
        {"ab\xF4\x90\x80\x80", 6, "byte 2"}, /* beyond U+10FFFF */
        {"ab\xF5\x80\x80\x80", 6, "byte 2"},
        {"a\n\nb\0c", 6, "t:3: binary data at byte 4"},
        {"\xff\xfe"
         "a\0",
         4, "byte 0"}, /* UTF-16 */
    };
    Error error;
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t kind = TOKENIZER_WORD; kind <= TOKENIZER_CHAR; kind++) {
            bool good = tokenizer_check(tokenizer_find(kind), "t", cases[i].text, cases[i].size,
                                        &error);
            ck_assert_msg(good == !cases[i].says, "case %zu", i);
            if (!good)
                ck_says(error, cases[i].says);
        }
    ck_assert(tokenizer_check(tokenizer_find(TOKENIZER_BYTE), "t", "\xff\0", 2, &error));
}

TEST(endless_words_are_refused)
{
    char text[TOKEN_LONGEST + 4] = "a\n";
    const Tokenizer *word = tokenizer_find(TOKENIZER_WORD);
    Error error;
    memset(text + 2, 'x', TOKEN_LONGEST + 1);
    ck_assert(tokenizer_check(word, "t", text, TOKEN_LONGEST + 2, &error));
    ck_assert(!tokenizer_check(word, "t", text, TOKEN_LONGEST + 3, &error));
    ck_says(error, "t:2: a word is longer than the limit of 1000 bytes");
    ck_assert(
        tokenizer_check(tokenizer_find(TOKENIZER_CHAR), "t", text, TOKEN_LONGEST + 3, &error));
    text[TOKEN_LONGEST] = '\xC3'; /* the limit is in bytes, not characters */
    text[TOKEN_LONGEST + 1] = '\xA9';
    ck_assert(tokenizer_check(word, "t", text, TOKEN_LONGEST + 2, &error));
    ck_assert(!tokenizer_check(word, "t", text, TOKEN_LONGEST + 3, &error));

    /* Encoding such a text anyway, or one with zeros, is harmless. */
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_WORD, "a\n", 0, 1);
    int32_t *ids = NULL;
    ck_assert_uint_eq(word->encode(&vocabulary, text, TOKEN_LONGEST + 3, &ids), 1);
    ck_assert_uint_eq(word->encode(&vocabulary, "a\0 a", 4, &ids), 1);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}
