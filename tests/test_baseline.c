/* The baselines, against a slow Kneser-Ney implementation that counts by walking through the
 * text. */
#include "eval/score/baseline.h"
#include "src/math/random.h"
#include "tests/tests.h"

#include <math.h>
#include <string.h>

enum { WORDS = 4, EOS = 1, START = WORDS, TEXT = 150, PADDED = 2 * TEXT };

static int32_t ids[TEXT], heard[TEXT];

/* Sentences with rare words and frequent pairs. */
static void set_texts(void)
{
    for (size_t i = 0; i < TEXT; i++) {
        RandomKey key = random_key(7, RANDOM_TEST, 0);
        int32_t word = (int32_t)random_below(key, 2 * i, WORDS);
        ids[i] = i > 0 && word == 3 ? (ids[i - 1] + 2) % WORDS : word;
        heard[i] = (int32_t)random_below(key, 2 * i + 1, WORDS);
    }
}

SUITE("baseline", .set_up = set_texts);

/* --- slow implementation --- */

typedef struct Slow {
    int32_t words[PADDED]; /* the text with <s> before each sentence */
    size_t count, order;
    double discounts[NGRAM_LONGEST + 1][NGRAM_DISCOUNTS];
} Slow;

/* The count of an n-gram. None spans two sentences: <s> is at its beginning or nowhere. */
static size_t times(const Slow *slow, const int32_t *ngram, size_t length)
{
    size_t sum = 0;
    for (size_t i = 0; i + length <= slow->count; i++)
        sum += memcmp(slow->words + i, ngram, length * sizeof *ngram) == 0;
    for (size_t i = 1; i < length; i++)
        if (ngram[i] == START)
            return 0;
    return sum;
}

static size_t slow_count(const Slow *slow, const int32_t *ngram, size_t length)
{
    int32_t longer[NGRAM_LONGEST + 1];
    if (length == slow->order || ngram[0] == START)
        return times(slow, ngram, length);
    size_t different = 0;
    memcpy(longer + 1, ngram, length * sizeof *ngram);
    for (longer[0] = 0; longer[0] <= START; longer[0]++)
        different += times(slow, longer, length + 1) > 0;
    return different;
}

/* The n-gram with this number: its digits to the base of the vocabulary size. */
static bool ngram_of(size_t number, int32_t *ngram, size_t length)
{
    for (size_t i = 0; i < length; i++, number /= START + 1)
        ngram[i] = (int32_t)(number % (START + 1));
    return number == 0;
}

static void slow_discounts(Slow *slow, size_t length)
{
    double with[5] = {0};
    int32_t ngram[NGRAM_LONGEST];
    for (size_t number = 0; ngram_of(number, ngram, length); number++) {
        size_t count = length == 1 && ngram[0] == START ? 0 : slow_count(slow, ngram, length);
        if (count > 0 && count <= 4)
            with[count]++;
    }
    double y = with[1] / (with[1] + 2 * with[2]);
    double three[NGRAM_DISCOUNTS] = {1 - 2 * y * with[2] / with[1],
                                     2 - 3 * y * with[3] / with[2],
                                     3 - 4 * y * with[4] / with[3]};
    for (size_t i = 0; i < NGRAM_DISCOUNTS; i++) {
        bool usable = three[i] > 0 && three[i] <= (double)(i + 1);
        slow->discounts[length][i] = usable ? three[i] : (double)(i + 1) / 2;
    }
}

static void slow_make(Slow *slow, size_t order, const int32_t *text, size_t count)
{
    *slow = (Slow){.order = order};
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || text[i - 1] == EOS)
            slow->words[slow->count++] = START;
        slow->words[slow->count++] = text[i];
    }
    for (size_t length = 1; length <= order; length++)
        slow_discounts(slow, length);
}

/* The probability of the last word of an n-gram after the others. */
static double slow_probability(const Slow *slow, const int32_t *ngram, size_t length)
{
    if (length == 0)
        return 1.0 / WORDS;
    double lower = slow_probability(slow, ngram + 1, length - 1), sum = 0, held = 0;
    int32_t other[NGRAM_LONGEST];
    memcpy(other, ngram, length * sizeof *ngram);
    for (int32_t word = 0; word < WORDS; word++) {
        other[length - 1] = word;
        size_t count = slow_count(slow, other, length);
        sum += (double)count;
        held += count > 0 ? slow->discounts[length][count < 3 ? count - 1 : 2] : 0;
    }
    size_t count = slow_count(slow, ngram, length);
    double own = count > 0 ? (double)count - slow->discounts[length][count < 3 ? count - 1 : 2]
                           : 0;
    return sum > 0 ? (own + held * lower) / sum : lower;
}

/* --- tests --- */

/* Every word of a sentence, with its context up to the order. */
static void check_sentences(KneserNey *model, const Slow *slow, const Slow *text)
{
    double nats = 0, read = 0;
    int32_t plain[PADDED];
    size_t count = 0;
    NgramContext context = kneser_ney_begin(model);
    for (size_t i = 0, depth = 0; i < text->count; i++) {
        depth = text->words[i] == START ? 1 : depth + 1;
        if (text->words[i] == START) {
            context = kneser_ney_begin(model);
            continue;
        }
        size_t length = depth < model->order ? depth : model->order;
        double expected = slow_probability(slow, text->words + i + 1 - length, length);
        double p = kneser_ney_probability(model, &context, text->words[i]), sum = 0;
        ck_assert_msg(fabs(p - expected) < 1e-12, "order %zu, at %zu: %.9g, should be %.9g",
                      model->order, i, p, expected);
        for (int32_t word = 0; word < WORDS; word++)
            sum += kneser_ney_probability(model, &context, word);
        ck_assert_double_eq_tol(sum, 1, 1e-12);
        nats -= log(expected);
        plain[count++] = text->words[i];
        kneser_ney_read(model, &context, text->words[i]);
    }
    read = kneser_ney_nats(model, tokens_plain(plain), count);
    ck_assert_double_eq_tol(read, nats, 1e-9);
}

TEST(ngrams_agree_with_the_kneser_ney_definition)
{
    static const size_t counts[] = {1, 2, 7, 30, TEXT};
    for (size_t order = 2; order <= 4; order++)
        for (size_t i = 0; i < COUNT(counts); i++) {
            Slow slow, text;
            KneserNey model;
            slow_make(&slow, order, ids, counts[i]);
            slow_make(&text, order, heard, 40);
            kneser_ney_make(&model, order, WORDS, EOS, tokens_plain(ids), counts[i]);
            for (size_t length = 1; length <= order; length++)
                for (size_t d = 0; d < NGRAM_DISCOUNTS; d++)
                    ck_assert_double_eq_tol(model.discounts[length][d],
                                            slow.discounts[length][d], 1e-12);
            check_sentences(&model, &slow, &text);
            check_sentences(&model, &slow, &slow);
            kneser_ney_free(&model);
        }
}

TEST(a_unigram_model_reports_unseen_words)
{
    int32_t read[] = {0, 0, 2, EOS}, asked[] = {0, 2, EOS, 3, 3};
    Corpus corpus = {.train = {.ids = tokens_plain(read), .count = 4},
                     .vocabulary.count = WORDS};
    CorpusSplit split = {.ids = tokens_plain(asked), .count = 3};
    UnigramScore score = unigram_score(&corpus, &split);
    ck_assert_uint_eq(score.impossible, 0);
    ck_assert_double_eq_tol(score.nats, log(2) + log(4) + log(4), 1e-12);
    split.count = 5;
    score = unigram_score(&corpus, &split);
    ck_assert_uint_eq(score.impossible, 2);
    ck_assert_double_eq_tol(score.nats, log(2) + log(4) + log(4), 1e-12);
}
