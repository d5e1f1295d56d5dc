/* Hints that a text does not suit its tokenizer. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "train/advice.h"

#include <stdlib.h>
#include <string.h>

SUITE("hints", .folder = true);

/* The hint for a text that is training, validation and test text at once, unless another one is
 * given for the latter two. expected: a part of it; NULL: there must be none. */
static void expect_hint(size_t tokenizer, const char *text, const char *other,
                        size_t parameters, const char *expected)
{
    char *train = scratch_put("train", text), *rest = scratch_put("rest", other ? other : text);
    const CorpusOptions options = {
        .min_count = 1, .max_input_mb = 8, .tokenizer = tokenizer, .valid = rest, .test = rest};
    const ModelConfig config = {.dim = 10, .tied = true};
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(corpus_load(&corpus, train, &options, NULL, &error), "%s", error.text);
    char *hint = hint_about_tokens(&corpus, &config, parameters);
    ck_assert_msg(!hint == !expected, "hint: %s, not %s", hint ? hint : "none", expected);
    if (hint)
        ck_assert_msg(strstr(hint, expected) != NULL, "'%s' has no '%s'", hint, expected);
    free(hint);
    corpus_free(&corpus);
}

/* Words w0 to w(count - 1) in lines of ten, each with this after it. */
static char *words(int count, const char *after)
{
    char *text = memory_copy_text("");
    for (int i = 0; i < count; i++)
        text_append(&text, "w%d%s", i, i % 10 == 9 ? "\n" : after);
    return text;
}

enum { MILLION = 1000000 };

TEST(ordinary_texts_get_no_hint)
{
    char *text = words(1000, " ");
    expect_hint(TOKENIZER_WORD, text, NULL, MILLION, NULL);
    expect_hint(TOKENIZER_WORDPUNCT, text, NULL, MILLION, NULL);
    expect_hint(TOKENIZER_CHAR, text, NULL, MILLION, NULL);
    expect_hint(TOKENIZER_BYTE, text, NULL, 1, NULL);
    expect_hint(TOKENIZER_WORD, "a b\nc d\n", "e f\ng h\n", MILLION, NULL); /* tiny */
    free(text);
}

TEST(texts_without_blanks_are_noticed)
{
    const char *text =
        "thisisonelongwordofverymanyletters\nandanotheronewhichisofthesamekind\n";
    expect_hint(TOKENIZER_WORD, text, NULL, MILLION, "--tokens wordpunct or ");
    expect_hint(TOKENIZER_WORDPUNCT, text, NULL, MILLION, "without blanks");
    expect_hint(TOKENIZER_CHAR, text, NULL, MILLION, NULL);
    char *chinese = memory_copy_text("");
    for (int i = 0; i < 20; i++)
        text_append(&chinese, "\xE4\xBD\xA0\xE5\xA5\xBD");
    text_append(&chinese, "\n");
    expect_hint(TOKENIZER_WORD, chinese, NULL, MILLION, "20 characters on average");
    expect_hint(TOKENIZER_WORDPUNCT, chinese, NULL, MILLION, NULL);
    free(chinese);
}

TEST(marks_on_words_are_noticed)
{
    char *plain = words(1000, " "), *marked = words(900, ", "), *text;
    text = text_format("%s%s", plain, marked);
    expect_hint(TOKENIZER_WORD, text, NULL, MILLION, "punctuation mark, as 'w100,' does");
    expect_hint(TOKENIZER_WORDPUNCT, text, NULL, MILLION, NULL);
    free(text);
    free(marked);
    marked = words(60, ", "); /* few, as "mr." and "corp." in the Penn Treebank */
    text = text_format("%s%s", plain, marked);
    expect_hint(TOKENIZER_WORD, text, NULL, MILLION, NULL);
    free(text);
    free(marked);
    free(plain);
}

TEST(large_vocabularies_are_noticed)
{
    char *text = words(20000, " ");
    expect_hint(TOKENIZER_WORD, text, NULL, 300000,
                "vocabulary of 20002 makes training slow: 67 %");
    expect_hint(TOKENIZER_WORD, text, NULL, MILLION, NULL);
    free(text);
    text = words(70000, " ");
    expect_hint(TOKENIZER_WORDPUNCT, text, NULL, 100 * MILLION, "vocabulary of 70002");
    free(text);
}

TEST(unknown_words_are_noticed)
{
    char *text = words(1000, " "), *other = words(1080, " ");
    expect_hint(TOKENIZER_WORD, text, other, MILLION,
                "6.7 % of the validation tokens are unknown");
    free(other);
    other = words(1040, " ");
    expect_hint(TOKENIZER_WORD, text, other, MILLION, NULL);
    free(other);
    free(text);
}
