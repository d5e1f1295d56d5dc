#include "eval/score/baseline.h"
#include "eval/score/kneser_ney.h"
#include "src/memory.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

UnigramScore unigram_score(const Corpus *corpus, const CorpusSplit *split)
{
    const CorpusSplit *train = &corpus->train;
    size_t *seen = memory_take(corpus->vocabulary.count, sizeof *seen, "the unigram");
    for (size_t i = 0; i < train->count; i++)
        seen[train->ids[i]]++;
    UnigramScore score = {0};
    for (size_t i = 0; i < split->count; i++) {
        size_t times = seen[split->ids[i]];
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
    double loss = nats / (double)split->count;
    printf("%s: loss %.4f nats per token, perplexity %s, %.4f bits per character; "
           "%.2f nats in all\n",
           name, loss, text_perplexity(exp(loss)).text,
           nats / log(2) / (double)split->characters, nats);
}

static void print_unigram(UnigramScore unigram, const CorpusSplit *split)
{
    if (unigram.impossible == 0) {
        print_figures("unigram", unigram.nats, split);
        return;
    }
    size_t others = split->count - unigram.impossible;
    printf(
        "unigram: perplexity infinite, as %zu of %zu tokens do not come in the training text",
        unigram.impossible, split->count);
    if (others > 0)
        printf("; that of the others %.2f", exp(unigram.nats / (double)others));
    printf("\n");
}

static void print_text(UnigramScore unigram, double nats, size_t order,
                       const CorpusSplit *split)
{
    char *name = text_format("%zu-gram, Kneser-Ney", order);
    printf("%s: %zu tokens, %zu of them unknown; %zu characters\n", split->name, split->count,
           split->unknown, split->characters);
    print_unigram(unigram, split);
    print_figures(name, nats, split);
    free(name);
}

/* --- for programs --- */

static void append_figures(char **json, const char *name, double nats, const CorpusSplit *split)
{
    double loss = nats / (double)split->count;
    text_append_json_key(json, name);
    text_append(json, "{\"method\": \"%s\"", name);
    text_append_json_figure(json, "loss", loss);
    text_append_json_figure(json, "perplexity", exp(loss));
    text_append_json_figure(json, "bits_per_character",
                            nats / log(2) / (double)split->characters);
    text_append_json_figure(json, "nats", nats);
}

static void print_json(UnigramScore unigram, double nats, size_t order,
                       const CorpusSplit *split)
{
    size_t others = split->count - unigram.impossible;
    char *json = text_format("{\"split\": \"%s\"", split->name);
    text_append_json_count(&json, "tokens", split->count);
    text_append_json_count(&json, "unknown", split->unknown);
    text_append_json_count(&json, "characters", split->characters);
    append_figures(&json, "unigram", unigram.impossible ? INFINITY : unigram.nats, split);
    text_append_json_count(&json, "impossible", unigram.impossible);
    text_append_json_figure(&json, "perplexity_of_others", exp(unigram.nats / (double)others));
    text_append(&json, "}");
    append_figures(&json, "kneser_ney", nats, split);
    text_append_json_count(&json, "order", order);
    printf("%s}}\n", json);
    free(json);
}

void baseline_print(const Corpus *corpus, const CorpusSplit *split, size_t order, bool json)
{
    UnigramScore unigram = unigram_score(corpus, split);
    double nats = ngram_nats(corpus, split, order);
    (json ? print_json : print_text)(unigram, nats, order, split);
}
