#include "data/noise.h"
#include "src/memory.h"

#include <stdlib.h>

enum { MOST_TOKENS = 1 << 22 };

static int compare_pairs(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* All pairs of neighbours, first << 32 | second, in order. */
static uint64_t *sorted_pairs(Tokens ids, size_t count)
{
    uint64_t *pairs = memory_take(count, sizeof *pairs, "the bigrams of the text");
    int32_t *read = memory_take(count + 1, sizeof *read, "the text");
    tokens_read(ids, 0, count + 1, read);
    for (size_t i = 0; i < count; i++)
        pairs[i] = (uint64_t)(uint32_t)read[i] << 32 | (uint32_t)read[i + 1];
    free(read);
    qsort(pairs, count, sizeof *pairs, compare_pairs);
    return pairs;
}

void noise_learn(Noise *noise, double share, Tokens ids, size_t count, size_t vocabulary)
{
    *noise = (Noise){.vocabulary = vocabulary};
    if (share == 0 || count < 2)
        return;
    noise->rate = memory_take(vocabulary, sizeof *noise->rate, "the rates of noise");
    noise->upto = memory_take(vocabulary, sizeof *noise->upto, "the words of noise");
    size_t bigrams = (count < MOST_TOKENS ? count : MOST_TOKENS) - 1, same = 0, followers = 0;
    uint64_t *pairs = sorted_pairs(ids, bigrams);
    for (size_t i = 0; i < bigrams; i++) {
        size_t first = pairs[i] >> 32, second = (uint32_t)pairs[i];
        same++;
        if (i + 1 == bigrams || pairs[i + 1] != pairs[i]) {
            followers++;
            noise->upto[second]++;
        }
        if (i + 1 == bigrams || pairs[i + 1] >> 32 != first) {
            noise->rate[first] = share * (double)followers / (double)same;
            same = followers = 0;
        }
    }
    for (size_t i = 1; i < vocabulary; i++)
        noise->upto[i] += noise->upto[i - 1];
    free(pairs);
}

void noise_free(Noise *noise)
{
    free(noise->rate);
    free(noise->upto);
    *noise = (Noise){0};
}

/* The first token whose sum exceeds the number. */
static int32_t token_at(const Noise *noise, uint64_t number)
{
    size_t low = 0, high = noise->vocabulary - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (noise->upto[middle] > number)
            high = middle;
        else
            low = middle + 1;
    }
    return (int32_t)low;
}

void noise_apply(const Noise *noise, RandomKey key, int32_t *inputs, int32_t *targets,
                 size_t count)
{
    enum { WHETHER, INPUT, TARGET, DRAWS };
    for (size_t i = 0; noise->rate && i < count; i++) {
        uint64_t all = noise->upto[noise->vocabulary - 1];
        if (random_uniform(key, i * DRAWS + WHETHER) >= noise->rate[inputs[i]])
            continue;
        inputs[i] = token_at(noise, random_below(key, i * DRAWS + INPUT, all));
        targets[i] = token_at(noise, random_below(key, i * DRAWS + TARGET, all));
    }
}
