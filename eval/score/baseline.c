#include "eval/score/baseline.h"
#include "eval/score/kneser_ney.h"
#include "eval/score/ways.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split)
{
    const CorpusSplit *train = &corpus->train;
    size_t *seen = memory_take(corpus->vocabulary.count, sizeof *seen, "the unigram");
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
    printf("%s: %s; %.2f nats in all\n", name, figures, nats);
    free(figures);
}

static void print_unigram(UnigramScore unigram, const CorpusSplit *split)
{
    if (unigram.impossible == 0) {
        print_figures("unigram", unigram.nats, split);
        return;
    }
    size_t others = split->count - unigram.impossible;
    printf(
        "unigram: perplexity infinite, as %zu of %zu tokens do not occur in the training text",
        unigram.impossible, split->count);
    if (others > 0)
        printf("; perplexity of the other tokens %.2f", exp(unigram.nats / (double)others));
    printf("\n");
}

static void print_text(UnigramScore unigram, double nats, size_t order,
                       const CorpusSplit *split)
{
    char *name = text_format("%zu-gram, Kneser-Ney", order);
    printf("%s: %zu tokens, %zu of them unknown; %zu characters, %zu bytes\n", split->name,
           split->count, split->unknown, split->characters, split->bytes);
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
