/* Tokenizers: tokens of a text, and texts that are refused. */
#include "src/containers.h"
#include "src/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <string.h>

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

START_TEST(words_are_split_at_ascii_space)
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
END_TEST

START_TEST(characters_are_never_split)
{
    const char *learned = "ab \xC3\xA9\xF0\x9F\x90\xA6\n";
    expect_pieces(TOKENIZER_CHAR, learned, "a\xC3\xA9\xF0\x9F\x90\xA6", 0,
                  "[a][\xC3\xA9][\xF0\x9F\x90\xA6]");
    expect_pieces(TOKENIZER_CHAR, learned, "a b\r\n\n", 0, "[a][ ][b][\n][\n]");
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
END_TEST

START_TEST(every_byte_is_a_token)
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
END_TEST

START_TEST(invalid_text_is_refused_with_its_position)
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
END_TEST

START_TEST(endless_words_are_refused)
{
    char text[TOKEN_LONGEST + 4] = "a\n";
    const Tokenizer *word = tokenizer_find(TOKENIZER_WORD);
    Error error;
    memset(text + 2, 'x', TOKEN_LONGEST + 1);
    ck_assert(tokenizer_check(word, "t", text, TOKEN_LONGEST + 2, &error));
    ck_assert(!tokenizer_check(word, "t", text, TOKEN_LONGEST + 3, &error));
    ck_says(error, "t:2: a word is longer than the limit of 1000 bytes");
    ck_assert(tokenizer_check(tokenizer_find(1), "t", text, TOKEN_LONGEST + 3, &error));
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
END_TEST

Suite *tokenizers_suite(void)
{
    Suite *suite = suite_create("tokenizers");
    TCase *tests = tcase_create("tokenizers");
    tcase_add_test(tests, words_are_split_at_ascii_space);
    tcase_add_test(tests, characters_are_never_split);
    tcase_add_test(tests, every_byte_is_a_token);
    tcase_add_test(tests, invalid_text_is_refused_with_its_position);
    tcase_add_test(tests, endless_words_are_refused);
    suite_add_tcase(suite, tests);
    return suite;
}
