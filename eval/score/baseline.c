#include "eval/score/baseline.h"
#include "eval/runs/sentences.h"
#include "eval/score/ways.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- the tables --- */

/* <s> is the word after the last of the vocabulary. */
static int32_t start_word(const KneserNey *model)
{
    return (int32_t)model->vocabulary;
}

static uint64_t key_of(ptrdiff_t before, int32_t word)
{
    return (uint64_t)before << 32 | (uint32_t)word;
}

static int32_t last_word(const Ngram *ngram)
{
    return (int32_t)(ngram->key & UINT32_MAX);
}

/* The n-gram of a length at a place. */
static Ngram *ngram_at(KneserNey *model, size_t length, ptrdiff_t place)
{
    return length == 0 ? &model->nothing : &model->tables[length][place];
}

/* The prefix that an n-gram of n words extends. */
static Ngram *parent_of(KneserNey *model, size_t length, const Ngram *ngram)
{
    return ngram_at(model, length - 1, (ptrdiff_t)(ngram->key >> 32));
}

/* --- counting --- */

/* The place of an n-gram, added if missing; *is_new says whether it was. */
static ptrdiff_t find_or_add(Ngram **table, uint64_t key, bool *is_new)
{
    ptrdiff_t place = hmgeti(*table, key);
    *is_new = place < 0;
    if (*is_new) {
        hmputs(*table, (Ngram){.key = key});
        place = hmlen(*table) - 1;
    }
    return place;
}

/* Counts the n-grams that end with a word; the sentence so far has `depth` words, <s> included.
 * at[n] becomes the place of the n-gram of n words. */
static void count_word(KneserNey *model, ptrdiff_t at[NGRAM_LONGEST + 1], int32_t word,
                       size_t depth)
{
    size_t longest = depth < model->order ? depth : model->order;
    ptrdiff_t before = 0; /* of the first n - 1 words */
    for (size_t n = 1; n <= longest; n++) {
        bool is_new;
        ptrdiff_t place = find_or_add(&model->tables[n], key_of(before, word), &is_new);
        if (n == model->order || n == depth)
            model->tables[n][place].count++;
        if (is_new && n > 1)
            model->tables[n - 1][at[n - 1]].count++;
        before = at[n];
        at[n] = place;
    }
}

static void count_text(KneserNey *model, Tokens ids, size_t count)
{
    ptrdiff_t at[NGRAM_LONGEST + 1] = {0};
    size_t depth = 0;
    TokenReader reader;
    token_reader_begin(&reader, ids, count);
    for (int32_t word; token_reader_next(&reader, &word);) {
        if (depth == 0)
            count_word(model, at, start_word(model), ++depth);
        count_word(model, at, word, ++depth);
        if (word == model->eos)
            depth = 0;
    }
}

/* --- discounts --- */

/* Discounts from the numbers of n-grams with counts 1 to 4; fixed ones if the text is too
 * small. */
static void set_discounts(KneserNey *model, size_t length)
{
    enum { COUNTS = 4 };
    double with[COUNTS + 2] = {0}, *discounts = model->discounts[length];
    for (ptrdiff_t i = 0; i < hmlen(model->tables[length]); i++) {
        const Ngram *ngram = &model->tables[length][i];
        if (last_word(ngram) != start_word(model) && ngram->count <= COUNTS)
            with[ngram->count]++;
    }
    double share = with[1] / (with[1] + 2 * with[2]);
    for (size_t c = 1; c <= NGRAM_DISCOUNTS; c++) {
        double whole = (double)c;
        double discount = whole - (whole + 1) * share * with[c + 1] / with[c];
        discounts[c - 1] = discount > 0 && discount <= whole ? discount : whole / 2;
    }
}

static size_t kind_of(uint32_t count)
{
    return (count < NGRAM_DISCOUNTS ? count : NGRAM_DISCOUNTS) - 1;
}

/* Sums the discounted mass of the n-grams with the same history. */
static void sum_up(KneserNey *model, size_t length)
{
    for (ptrdiff_t i = 0; i < hmlen(model->tables[length]); i++) {
        const Ngram *ngram = &model->tables[length][i];
        if (last_word(ngram) == start_word(model))
            continue;
        Ngram *parent = parent_of(model, length, ngram);
        parent->after += ngram->count;
        parent->kinds[kind_of(ngram->count)]++;
    }
}

void kneser_ney_make(KneserNey *model, size_t order, size_t vocabulary, int32_t eos, Tokens ids,
                     size_t count)
{
    *model = (KneserNey){.order = order, .vocabulary = vocabulary, .eos = eos};
    count_text(model, ids, count);
    for (size_t length = 1; length <= order; length++) {
        set_discounts(model, length);
        sum_up(model, length);
    }
}

void kneser_ney_free(KneserNey *model)
{
    for (size_t length = 1; length <= model->order; length++)
        hmfree(model->tables[length]);
}

/* --- probabilities --- */

NgramContext kneser_ney_begin(KneserNey *model)
{
    NgramContext context = {{0}};
    context.place[1] = hmgeti(model->tables[1], key_of(0, start_word(model)));
    for (size_t n = 2; n < model->order; n++)
        context.place[n] = -1;
    return context;
}

void kneser_ney_read(KneserNey *model, NgramContext *context, int32_t word)
{
    for (size_t n = model->order - 1; n > 0; n--) {
        ptrdiff_t before = context->place[n - 1];
        context->place[n] = before < 0 ? -1 : hmgeti(model->tables[n], key_of(before, word));
    }
}

/* From short to long histories; if a short one is unknown, longer ones are too. */
double kneser_ney_probability(KneserNey *model, const NgramContext *context, int32_t word)
{
    double p = 1 / (double)model->vocabulary;
    for (size_t n = 1; n <= model->order && context->place[n - 1] >= 0; n++) {
        const Ngram *before = ngram_at(model, n - 1, context->place[n - 1]);
        const double *discounts = model->discounts[n];
        double backoff_mass = 0, left = 0;
        if (before->after == 0)
            break;
        for (size_t kind = 0; kind < NGRAM_DISCOUNTS; kind++)
            backoff_mass += discounts[kind] * before->kinds[kind];
        ptrdiff_t place = hmgeti(model->tables[n], key_of(context->place[n - 1], word));
        if (place >= 0) {
            uint32_t count = model->tables[n][place].count;
            left = count - discounts[kind_of(count)];
        }
        p = (left + backoff_mass * p) / before->after;
    }
    return p;
}

double kneser_ney_nats(KneserNey *model, Tokens ids, size_t count)
{
    double nats = 0;
    NgramContext context = kneser_ney_begin(model);
    TokenReader reader;
    token_reader_begin(&reader, ids, count);
    for (int32_t word; token_reader_next(&reader, &word);) {
        nats -= log(kneser_ney_probability(model, &context, word));
        kneser_ney_read(model, &context, word);
        if (word == model->eos)
            context = kneser_ney_begin(model);
    }
    return nats;
}

/* --- scores --- */

UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split)
{
    const CorpusSplit *train = &corpus->train;
    size_t *seen = memory_new(corpus->vocabulary.count, sizeof *seen, "the unigram");
    tokens_tally(train->ids, train->count, seen);
    UnigramScore score = {0};
    TokenReader reader;
    token_reader_begin(&reader, split->ids, split->count);
    for (int32_t id; token_reader_next(&reader, &id);) {
        size_t times = seen[id];
        if (times == 0)
            score.impossible++;
        else
            score.nats -= log((double)times / (double)train->count);
    }
    free(seen);
    return score;
}

static double ngram_nats(const Corpus *corpus, const CorpusSplit *split, size_t order)
{
    KneserNey model;
    kneser_ney_make(&model, order, corpus->vocabulary.count, corpus->vocabulary.eos,
                    corpus->train.ids, corpus->train.count);
    double nats = kneser_ney_nats(&model, split->ids, split->count);
    kneser_ney_free(&model);
    return nats;
}

/* --- for people --- */

static void print_figures(const char *name, double nats, const CorpusSplit *split)
{
    char *figures = figures_text(nats, split);
    sentences_print(text_format("%s: %s; %.2f nats in all", name, figures, nats));
    free(figures);
}

static void print_unigram(UnigramScore unigram, const CorpusSplit *split)
{
    if (unigram.impossible == 0) {
        print_figures("unigram", unigram.nats, split);
        return;
    }
    size_t others = split->count - unigram.impossible;
    char *line = text_format(
        "unigram: perplexity infinite, as %zu of %zu tokens do not occur in the training text",
        unigram.impossible, split->count);
    if (others > 0)
        text_append(&line, "; perplexity of the other tokens %.2f",
                    exp(unigram.nats / (double)others));
    sentences_print(line);
}

static void print_text(UnigramScore unigram, double nats, size_t order,
                       const CorpusSplit *split)
{
    char *name = text_format("%zu-gram, Kneser-Ney", order);
    sentences_print(text_format("%s: %zu tokens, %zu of them unknown; %zu characters, %zu "
                                "bytes",
                                split->name, split->count, split->unknown, split->characters,
                                split->bytes));
    print_unigram(unigram, split);
    print_figures(name, nats, split);
    free(name);
}

/* --- for programs --- */

static void print_json(UnigramScore unigram, double nats, size_t order,
                       const CorpusSplit *split)
{
    size_t others = split->count - unigram.impossible;
    json_t *words = figures_json(unigram.impossible ? INFINITY : unigram.nats, split);
    json_object_set_new(words, "method", json_string("unigram"));
    json_object_set_new(words, "impossible", json_count(unigram.impossible));
    json_object_set_new(words, "perplexity_of_others",
                        json_figure(exp(unigram.nats / (double)others)));
    json_t *ngrams = figures_json(nats, split);
    json_object_set_new(ngrams, "method", json_string("kneser_ney"));
    json_object_set_new(ngrams, "order", json_count(order));
    json_print(stdout,
               json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "split", split->name, "tokens",
                         json_count(split->count), "unknown", json_count(split->unknown),
                         "characters", json_count(split->characters), "bytes",
                         json_count(split->bytes), "unigram", words, "kneser_ney", ngrams));
}

void baseline_print(const Corpus *corpus, const CorpusSplit *split, size_t order, bool json)
{
    UnigramScore unigram = unigram_score(corpus, split);
    double nats = ngram_nats(corpus, split, order);
    Error error;
    if (!corpus_check(corpus, &error))
        die("%s", error.text);
    (json ? print_json : print_text)(unigram, nats, order, split);
}
