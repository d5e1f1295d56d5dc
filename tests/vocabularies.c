#include "tests/vocabularies.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

Vocabulary vocabulary_of(size_t tokenizer, const char *text, size_t size, size_t min_count)
{
    Vocabulary vocabulary;
    Error error = {0};
    VocabularyLimits limits = {.size = size, .min_count = min_count};
    ck_assert_msg(vocabulary_learn(&vocabulary, tokenizer_find(tokenizer), text, strlen(text),
                                   &limits, &error),
                  "%s", error.text);
    return vocabulary;
}

/* The tokens in order, each followed by a space. */
static char *list(const Vocabulary *vocabulary)
{
    char *text = memory_copy_text("");
    for (size_t i = 0; i < vocabulary->count; i++)
        text_append(&text, "%s ", vocabulary->words[i]);
    return text;
}

void vocabulary_expect_words(size_t tokenizer, const char *text, size_t size, size_t min_count,
                             const char *expected)
{
    Vocabulary vocabulary = vocabulary_of(tokenizer, text, size, min_count);
    char *words = list(&vocabulary);
    ck_assert_str_eq(words, expected);
    ck_assert_int_eq(vocabulary.eos, vocabulary_find(&vocabulary, "<eos>"));
    ck_assert_int_eq(vocabulary.unk,
                     vocabulary_find(&vocabulary, tokenizer_find(tokenizer)->unknown));
    ck_assert_int_ne(vocabulary.unk, TOKEN_NONE);
    for (size_t i = 0; i < vocabulary.count; i++)
        ck_assert_int_eq(vocabulary_find(&vocabulary, vocabulary.words[i]), (int)i);
    free(words);
    vocabulary_free(&vocabulary);
}

void vocabulary_expect_round_trip(const Vocabulary *vocabulary)
{
    size_t size;
    char *text = vocabulary_write(vocabulary, &size);
    Vocabulary back, copy;
    Error error = {0};
    for (size_t i = 0; i < size; i++)
        ck_assert(text[i] == '\n' || (unsigned char)text[i] >= ' ');
    ck_assert_msg(vocabulary_read(&back, vocabulary->tokenizer, text, size, &error), "%s",
                  error.text);
    vocabulary_copy(&copy, vocabulary);
    ck_assert_uint_eq(back.count, vocabulary->count);
    ck_assert_uint_eq(copy.count, vocabulary->count);
    ck_assert(back.eos == vocabulary->eos && copy.eos == vocabulary->eos);
    ck_assert(back.unk == vocabulary->unk && copy.unk == vocabulary->unk);
    for (size_t i = 0; i < back.count; i++) {
        const char *piece, *same;
        size_t length = vocabulary_piece(vocabulary, (int32_t)i, &piece);
        ck_assert_uint_eq(vocabulary_piece(&back, (int32_t)i, &same), length);
        ck_assert_mem_eq(same, piece, length);
        ck_assert_uint_eq(vocabulary_piece(&copy, (int32_t)i, &same), length);
        ck_assert_mem_eq(same, piece, length);
    }
    free(text);
    vocabulary_free(&copy);
    vocabulary_free(&back);
}
