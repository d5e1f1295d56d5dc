/* Vocabularies: which tokens they keep, in which order, and how they are read from a hostile
 * checkpoint. */
#include "src/base/containers.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

SUITE("vocabulary");

TEST(words_are_ordered_by_frequency_then_occurrence)
{
    const size_t word = TOKENIZER_WORD;
    vocabulary_expect_words(word, "b a a\nc b a\n", 0, 1, "a b <eos> c <unk> ");
    vocabulary_expect_words(word, "z y x\n", 0, 1, "z y x <eos> <unk> ");
    vocabulary_expect_words(word, "\nz\n", 0, 1, "<eos> z <unk> ");
    vocabulary_expect_words(word, "", 0, 1, "<eos> <unk> ");
    vocabulary_expect_words(word, "a a", 0, 0, "a <eos> <unk> ");
    /* Special words in the text become the special tokens. */
    vocabulary_expect_words(word, "a <unk> <unk> b\n", 0, 1, "<unk> a b <eos> ");
    vocabulary_expect_words(word, "a <eos> b\n", 0, 1, "<eos> a b <unk> ");
}

TEST(limits_keep_the_special_tokens)
{
    const size_t word = TOKENIZER_WORD;
    const char *text = "a a a b b c c d\n";
    vocabulary_expect_words(word, text, 0, 2, "a b c <eos> <unk> ");
    vocabulary_expect_words(word, text, 0, 3, "a <eos> <unk> ");
    vocabulary_expect_words(word, text, 0, 100, "<eos> <unk> ");
    vocabulary_expect_words(word, text, 6, 1, "a b c d <eos> <unk> ");
    vocabulary_expect_words(word, text, 5, 1, "a b c <eos> <unk> ");
    vocabulary_expect_words(word, text, 4, 1,
                            "a b <eos> <unk> "); /* b and c tie: b came first */
    vocabulary_expect_words(word, text, 2, 1, "<eos> <unk> ");
    vocabulary_expect_words(word, text, 4, 3, "a <eos> <unk> ");
    vocabulary_expect_words(word, "a a b <unk>\n", 3, 1, "a <unk> <eos> ");
    vocabulary_expect_words(TOKENIZER_CHAR, "aab\n", 3, 1, "a <eos> \xEF\xBF\xBD ");

    Vocabulary vocabulary;
    VocabularyLimits one = {.size = 1, .min_count = 1}, two = {.min_count = 2};
    Error error;
    ck_assert(!vocabulary_learn(&vocabulary, tokenizer_find(word), "a\n", 2, &one, &error));
    ck_says(error, "--vocab-size 1");
    const Tokenizer *bytes = tokenizer_find(TOKENIZER_BYTE);
    ck_assert(!vocabulary_learn(&vocabulary, bytes, "a\n", 2, &one, &error));
    ck_assert(!vocabulary_learn(&vocabulary, bytes, "a\n", 2, &two, &error));
    ck_says(error, "256");
}

TEST(stored_vocabularies_are_read_back)
{
    char text[TOKEN_LONGEST + 512] = "\\ \\n \\x1b \x1b[0m \x01\x7f <eos> caf\xC3\xA9 ";
    strcat(text, "x\xEF\xBB\xBF \xEF\xBB\xBFy \xC2\x85 \\\\ \r\r\n \"quoted\" ");
    memset(text + strlen(text), '\x02', TOKEN_LONGEST);
    for (size_t kind = 0; tokenizer_find(kind); kind++) {
        Vocabulary vocabulary = vocabulary_of(kind, text, 0, 1);
        vocabulary_expect_round_trip(&vocabulary);
        vocabulary_free(&vocabulary);
    }
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_CHAR, "a\tb\rc\\ \xEF\xBB\xBF\n", 0, 1);
    size_t size;
    char *written = vocabulary_write(&vocabulary, &size);
    const char *expected =
        "a\n\\x09\nb\n\\x0d\nc\n\\\\\n \n\xEF\xBB\xBF\n<eos>\n\xEF\xBF\xBD\n";
    ck_assert_str_eq(written, expected);
    ck_assert_uint_eq(size, strlen(expected));
    free(written);
    vocabulary_free(&vocabulary);
}

TEST(hostile_vocabularies_are_refused)
{
    static const struct {
        size_t kind;
        const char *text, *says;
    } cases[] = {
        {TOKENIZER_WORD, "", "missing"},
        {TOKENIZER_WORD, "a\n<eos>\n", "missing"},
        {TOKENIZER_WORD, "a\n<unk>\n", "missing"},
        {TOKENIZER_WORD, "<eos>\n<unk>\na", ":3: no line end"},
        {TOKENIZER_WORD, "<eos>\n<unk>\n\n", ":3: an empty"},
        {TOKENIZER_WORD, "<eos>\n<unk>\n<eos>\n", ":3: a token that came before"},
        {TOKENIZER_WORD, "a\nb\na\n<eos>\n<unk>\n", ":3: a token that came before"},
        {TOKENIZER_WORD, "a b\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, " a\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "a \n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "\\x09\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "a\x1b\n<eos>\n<unk>\n", ":1: a control"},
        {TOKENIZER_WORD, "a\r\n<eos>\n<unk>\n", ":1: a control"},
        {TOKENIZER_WORD, "a\\\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x1\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x1G\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x1B\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x41\n",
         ":1: an invalid escape"}, /* would be a second spelling of A */
        {TOKENIZER_WORD, "\\x00\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\x0a\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\\xff\n", ":1: an invalid escape"},
        {TOKENIZER_WORD, "\xC3\n", ":1: invalid UTF-8"},
        {TOKENIZER_WORDPUNCT, "a,\n", ":1: not one token"},
        {TOKENIZER_WORDPUNCT, "don'\n", ":1: not one token"},
        {TOKENIZER_WORDPUNCT, "don't\n,\n<unk>\n", "missing"},
        {TOKENIZER_CHAR, "ab\n", ":1: not one token"},
        {TOKENIZER_CHAR, "<unk>\n", ":1: not one token"},
        {TOKENIZER_CHAR, "a\n<eos>\n", "missing"},
        {TOKENIZER_BYTE, "a\n", "byte tokenizer needs none"},
    };
    Vocabulary vocabulary;
    Error error;
    for (size_t i = 0; i < COUNT(cases); i++) {
        ck_assert_msg(!vocabulary_read(&vocabulary, tokenizer_find(cases[i].kind),
                                       cases[i].text, strlen(cases[i].text), &error),
                      "case %zu", i);
        ck_says(error, cases[i].says);
    }
    const Tokenizer *word = tokenizer_find(TOKENIZER_WORD);
    ck_assert(!vocabulary_read(&vocabulary, word, "a\0b\n<eos>\n<unk>\n", 16, &error));
    ck_says(error, ":1: a control");
    char endless[TOKEN_LONGEST + 2];
    memset(endless, 'x', sizeof endless);
    endless[TOKEN_LONGEST + 1] = '\n';
    ck_assert(!vocabulary_read(&vocabulary, word, endless, sizeof endless, &error));
    ck_says(error, ":1: a token is too long");
}

/* --- words with colliding hashes --- */

enum { WORDS = 20000, WORD = 14, HALF = WORD / 2 };

/* A text of words, each with a space after it. The hash of stb_ds rotates by nine bits per
 * letter: after seven letters, one bit less than a full turn. Two more in a letter of the first
 * half and one less at the same place in the second half thus give the same hash. */
static char *make_words(bool colliding)
{
    enum { CHOICES = 13 };
    char *text = memory_new(WORDS * (WORD + 1) + 1, 1, "a text"), *word = text;
    for (size_t i = 0; i < WORDS; i++, word += WORD + 1) {
        size_t rest = i;
        for (size_t at = 0; at < HALF; at++, rest /= CHOICES) {
            word[at] = (char)('b' + 2 * (rest % CHOICES));
            word[at + HALF] = (char)('z' - (colliding ? rest % CHOICES : 0));
        }
        word[WORD] = ' ';
    }
    return text;
}

static size_t string_hash(const char *word)
{
    char copy[WORD + 1] = "";
    memcpy(copy, word, WORD);
    return stbds_hash_string(copy, 0);
}

/* The processor time to learn the vocabulary, the least of a few runs. */
static double seconds_to_learn(const char *text)
{
    double least = 0;
    for (int i = 0; i < 3; i++) {
        clock_t start = clock();
        Vocabulary vocabulary = vocabulary_of(TOKENIZER_WORD, text, 0, 1);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        ck_assert_uint_eq(vocabulary.count, WORDS + 2);
        vocabulary_free(&vocabulary);
        least = i == 0 || seconds < least ? seconds : least;
    }
    return least;
}

TEST(colliding_words_take_no_longer)
{
    const double patience = 10; /* the weak hash took a thousand times as long */
    char *ordinary = make_words(false), *hostile = make_words(true);
    for (size_t i = 1; i < WORDS; i++)
        ck_assert_uint_eq(string_hash(hostile + i * (WORD + 1)), string_hash(hostile));
    ck_assert_uint_ne(string_hash(ordinary), string_hash(ordinary + WORD + 1));
    double seconds = seconds_to_learn(ordinary), hostile_seconds = seconds_to_learn(hostile);
    ck_assert_msg(hostile_seconds < patience * seconds, "%g seconds, otherwise %g",
                  hostile_seconds, seconds);
    free(ordinary);
    free(hostile);
}

/* As bytes, and where a token has parts of two characters. */
TEST(the_last_part_completes_its_character)
{
    static const struct {
        const char *bytes, *character; /* that the last byte completes */
    } cases[] = {{"a\303\274", "\303\274"},
                 {"\344\270\226", "\344\270\226"},
                 {"\360\237\231\202", "\360\237\231\202"},
                 {"\303", ""}, /* begun */
                 {"\274", ""}, /* without a beginning */
                 {"a\274", ""},
                 {"\303 \274", ""},
                 {"\344\270", ""},     /* not whole */
                 {"\303\274\274", ""}, /* one too many */
                 {"\300\200", ""},     /* overlong */
                 {"\360\237\231\202\202", ""},
                 {"\202\202\202\202\202", ""},
                 {"ab", ""}};
    Vocabulary bytes = {.tokenizer = tokenizer_find(TOKENIZER_BYTE)};
    vocabulary_add_bytes(&bytes);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int32_t ids[8];
        char character[UTF8_LONGEST + 1] = "";
        size_t count = strlen(cases[i].bytes);
        for (size_t at = 0; at < count; at++)
            ids[at] = (unsigned char)cases[i].bytes[at];
        size_t length = vocabulary_completes(&bytes, ids, count - 1, character);
        ck_assert_uint_eq(length, strlen(cases[i].character));
        ck_assert_str_eq(character, cases[i].character);
    }
    vocabulary_free(&bytes);
}
