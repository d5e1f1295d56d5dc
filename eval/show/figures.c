#include "eval/show/figures.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>

static double bits_per_character(double nats, const CorpusSplit *split)
{
    return nats / log(2) / (double)split->characters;
}

char *figures_text(double nats, const CorpusSplit *split)
{
    double loss = nats / (double)split_scored(split);
    if (split->labels.at)
        return text_format("loss %.4f nats per answer, perplexity %s", loss,
                           text_perplexity(exp(loss)).text);
    return text_format("loss %.4f nats per token, perplexity %s, %.4f bits per character, %.4f "
                       "bits per byte",
                       loss, text_perplexity(exp(loss)).text, bits_per_character(nats, split),
                       split_bits_per_byte(split, loss));
}

json_t *figures_json(double nats, const CorpusSplit *split)
{
    double loss = nats / (double)split_scored(split);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "loss", json_figure(loss),
                     "perplexity", json_figure(exp(loss)), "bits_per_character",
                     json_figure(bits_per_character(nats, split)), "bits_per_byte",
                     json_figure(split_bits_per_byte(split, loss)), "nats", json_figure(nats),
                     "tokens", json_count(split_scored(split)), "unknown",
                     json_count(split->unknown), "characters", json_count(split->characters),
                     "bytes", json_count(split->bytes));
}

void figures_print_size(const CorpusSplit *split, const char *protocol, double nats)
{
    printf("%zu tokens, %zu of them unknown; %zu characters, %zu bytes; %s; %.2f nats in all\n",
           split->count, split->unknown, split->characters, split->bytes, protocol, nats);
}
