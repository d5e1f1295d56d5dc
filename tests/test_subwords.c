/* Embeddings that share n-grams: which they are, their gradients and their step. */
#include "src/base/text.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"
#include "train/loop/subwords.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("subwords");

enum { WIDTH = 3 };

typedef struct Case {
    Vocabulary vocabulary;
    Subwords subwords;
    Arena arena;
    real *embeddings, *gradient; /* (tokens, WIDTH) */
} Case;

static bool find(Case *c, size_t tokenizer, const char *text)
{
    *c = (Case){.vocabulary = vocabulary_of(tokenizer, text, 0, 0)};
    return subwords_find(&c->subwords, &c->vocabulary, WIDTH);
}

static void end(Case *c)
{
    subwords_free(&c->subwords);
    vocabulary_free(&c->vocabulary);
    arena_free(&c->arena);
    free(c->embeddings);
    free(c->gradient);
}

/* With state and gradient, and embeddings that differ. */
static void begin(Case *c, const char *text)
{
    ck_assert(find(c, TOKENIZER_WORD, text));
    subwords_layout(&c->subwords, &c->arena);
    arena_allocate(&c->arena, "a test");
    subwords_layout(&c->subwords, &c->arena);
    const size_t count = c->vocabulary.count * WIDTH;
    c->embeddings = memory_new(count, sizeof *c->embeddings, "a test");
    c->gradient = memory_new(count, sizeof *c->gradient, "a test");
    for (size_t i = 0; i < count; i++) {
        c->embeddings[i] = (real)sin((double)i);
        c->gradient[i] = (real)cos(2.0 * (double)i);
    }
    subwords_start(&c->subwords, c->embeddings);
}

/* The n-grams of a word, "2 5 ". The caller frees. */
static char *ngrams_of(const Case *c, const char *word)
{
    const NumberLists *lists = &c->subwords.of_tokens;
    const size_t token = (size_t)vocabulary_find(&c->vocabulary, word);
    char *text = memory_copy_text("");
    for (size_t i = lists->first[token]; i < lists->first[token + 1]; i++)
        text_append(&text, "%u ", lists->numbers[i]);
    return text;
}

static void expect(const Case *c, const char *word, const char *expected)
{
    char *found = ngrams_of(c, word);
    ck_assert_str_eq(found, expected);
    free(found);
}

/* With ^ and $ for the ends, ab has ^ab, ab$, ^ab$, and abc has ^ab, abc, bc$ and longer ones,
 * of which xabc has abc, bc$ and abc$. */
TEST(tokens_share_ngrams)
{
    Case c;
    ck_assert(find(&c, TOKENIZER_WORD, "ab ab ab abc abc xabc q\n"));
    ck_assert_uint_eq(c.subwords.ngrams, 4);
    expect(&c, "ab", "0 ");
    expect(&c, "abc", "0 1 2 3 ");
    expect(&c, "xabc", "1 2 3 ");
    expect(&c, "q", "");
    expect(&c, "<eos>", "");
    for (size_t g = 0; g < 4; g++) /* back */
        ck_assert_uint_eq(c.subwords.of_ngrams.first[g + 1] - c.subwords.of_ngrams.first[g], 2);
    end(&c);
}

/* Of characters, not bytes; and once in a token that has it twice. */
TEST(ngrams_are_of_characters)
{
    Case c;
    ck_assert(!find(&c, TOKENIZER_WORD, "\xc3\xa4 \xc3\xa4\xc3\xb6\n"));
    end(&c);
    ck_assert(!find(&c, TOKENIZER_WORD, "aaaaaa bbbbbb\n"));
    end(&c);
    ck_assert(!find(&c, TOKENIZER_CHAR, "abc abd\n"));
    end(&c);
    ck_assert(find(&c, TOKENIZER_WORD, "\xc3\xa4\xc3\xb6 \xc3\xa4\xc3\xb6x\n"));
    ck_assert_uint_eq(c.subwords.ngrams, 1);
    end(&c);
}

static const char words[] = "walk walks walked talk talks talked talk a of\n";

/* The inner product of the embeddings with the gradient, after composing them. */
static double product(Case *c)
{
    double sum = 0;
    subwords_step(&c->subwords, c->embeddings, (AdamW){0.9, 0.9, 1}, 1, 0, 0, 0);
    for (size_t i = 0; i < c->vocabulary.count * WIDTH; i++)
        sum += (double)c->embeddings[i] * (double)c->gradient[i];
    return sum;
}

TEST(embeddings_start_as_without_ngrams)
{
    Case c;
    begin(&c, words);
    real *before = memory_new(c.vocabulary.count * WIDTH, sizeof *before, "a test");
    memcpy(before, c.embeddings, c.vocabulary.count * WIDTH * sizeof *before);
    subwords_gradients(&c.subwords, c.gradient);
    product(&c);
    ck_assert_mem_eq(before, c.embeddings, c.vocabulary.count * WIDTH * sizeof *before);
    free(before);
    end(&c);
}

/* The product is linear, so a difference is exact but for rounding. */
TEST(gradients_of_own_and_shared_match_differences)
{
    Case c;
    begin(&c, words);
    const size_t own = c.vocabulary.count * WIDTH, all = own + c.subwords.ngrams * WIDTH;
    const double squares = subwords_gradients(&c.subwords, c.gradient);
    double sum = 0, near = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5;
    for (size_t i = 0; i < all; i++) {
        const double derivative = (double)(i < own ? c.subwords.down[i]
                                                   : c.subwords.dshared[i - own]);
        const real kept = c.subwords.state[i];
        c.subwords.state[i] = kept + 1;
        double difference = product(&c);
        c.subwords.state[i] = kept - 1;
        difference = (difference - product(&c)) / 2;
        c.subwords.state[i] = kept;
        ck_assert_double_eq_tol(difference, derivative, near * (1 + fabs(derivative)));
        sum += derivative * derivative;
    }
    ck_assert_double_eq_tol(squares, sum, near * sum);
    end(&c);
}

/* One step of AdamW from zero moments moves each weight by the learning rate, against its
 * gradient, and shrinks it. */
TEST(a_step_moves_own_and_shared)
{
    const double rate = 0.01, decay = 0.5;
    Case c;
    begin(&c, words);
    const size_t own = c.vocabulary.count * WIDTH;
    subwords_gradients(&c.subwords, c.gradient);
    subwords_step(&c.subwords, c.embeddings, (AdamW){0.9, 0.99, 1e-12}, 1, rate, decay, 0.1);
    for (size_t i = 0; i < own; i++) {
        double before = sin((double)i) * (1 - rate * decay);
        ck_assert_double_eq_tol((double)c.subwords.state[i],
                                before - copysign(rate, (double)c.gradient[i]), 1e-5);
    }
    for (size_t i = 0; i < c.subwords.ngrams * WIDTH; i++)
        ck_assert_double_eq_tol((double)c.subwords.state[own + i],
                                -copysign(rate, (double)c.subwords.dshared[i]), 1e-5);
    end(&c);
}
