#include "models/sampler.h"
#include "src/math/vector.h"

#include <float.h>
#include <stdlib.h>

/* Weights are summed in blocks of this size, in order. */
enum { BLOCK = 256 };

/* A smaller weight underflows a float and counts as zero. */
#define LEAST_EXPONENT (-87)

static size_t block_extent(size_t count, size_t start)
{
    return count - start < BLOCK ? count - start : BLOCK;
}

/* logits (count): anything that is not >= is smaller, or NaN. */
static int32_t first_with(const real *logits, size_t count, real most)
{
    for (size_t i = 0; i < count; i++)
        if (logits[i] >= most)
            return (int32_t)i;
    return 0;
}

/* Writes the weights (count), of which the largest is 1, and returns their sum. The temperature
 * may be so small that its inverse is infinite, and 0 times that is NaN. */
static double weights_at_temperature(real *restrict weights, const real *restrict logits,
                                     size_t count, real most, double temperature)
{
    double inverse = 1 / temperature, total = 0;
    real scale = inverse < FLT_MAX ? (real)inverse : FLT_MAX;
    for (size_t i = 0; i < count; i++) {
        real exponent = (logits[i] - most) * scale;
        weights[i] = exponent >= LEAST_EXPONENT ? vector_exp(exponent) : 0;
    }
    for (size_t start = 0; start < count; start += BLOCK)
        total += (double)vector_sum(weights + start, block_extent(count, start));
    return total;
}

/* The token at which the running sum of weights (count) passes `left`. By rounding, a block's
 * sum may reach it although its single weights do not: then it is the last of them. */
static int32_t pick_by_blocks(const real *weights, size_t count, double left, int32_t best)
{
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t end = start + block_extent(count, start);
        double sum = (double)vector_sum(weights + start, end - start);
        if (left >= sum) {
            left -= sum;
            continue;
        }
        for (size_t i = start; i < end; i++) {
            if (weights[i] > 0)
                best = (int32_t)i;
            left -= (double)weights[i];
            if (left < 0)
                break;
        }
        return best;
    }
    return best; /* rounding used up the last of it */
}

/* --- only the likeliest --- */

/* Decreasing weight, then increasing id: a total order, since qsort is not stable. */
static int by_weight(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Quickselect: moves the first `wanted` in that order to the front, unsorted. */
static void bring_forward(Candidate *candidates, size_t count, size_t wanted)
{
    size_t low = 0, high = count; /* the border lies between them */
    while (high - low > 1 && wanted > low && wanted < high) {
        Candidate pivot = candidates[low + (high - low) / 2];
        size_t i = low, j = high - 1;
        for (;;) {
            while (by_weight(&candidates[i], &pivot) < 0)
                i++;
            while (by_weight(&candidates[j], &pivot) > 0)
                j--;
            if (i >= j)
                break;
            Candidate other = candidates[i];
            candidates[i++] = candidates[j];
            candidates[j--] = other;
        }
        /* Everything before i precedes the rest; the pivot is where both met. */
        if (wanted <= i)
            high = i;
        else
            low = i == j ? i + 1 : i;
    }
}

/* Sorts the likeliest candidates to the front, at least as many as the options keep, and
 * returns how many; usually few. */
static size_t order_likeliest(Candidate *candidates, size_t count, size_t most, double share)
{
    size_t ordered = 64 < most ? 64 : most;
    for (;;) {
        double sum = 0;
        bring_forward(candidates, count, ordered);
        for (size_t i = 0; i < ordered; i++)
            sum += (double)candidates[i].weight;
        if (ordered == most || sum >= share)
            break;
        ordered = 8 * ordered < most ? 8 * ordered : most;
    }
    qsort(candidates, ordered, sizeof *candidates, by_weight);
    return ordered;
}

static int32_t pick_likeliest(SamplerMemory memory, size_t count, double all,
                              const SamplerOptions *options, double uniform)
{
    Candidate *candidates = memory.candidates;
    size_t possible = 0, kept = 1;
    for (size_t i = 0; i < count; i++)
        if (memory.weights[i] > 0)
            candidates[possible++] = (Candidate){memory.weights[i], (int32_t)i};
    size_t most = options->top_k && options->top_k < possible ? options->top_k : possible;
    double share = options->top_p < 1 ? options->top_p * all : INFINITY;
    most = order_likeliest(candidates, possible, most, share);
    double total = (double)candidates[0].weight;
    while (kept < most && total < share)
        total += (double)candidates[kept++].weight;
    double left = uniform * total;
    for (size_t i = 0; i < kept; i++) {
        left -= (double)candidates[i].weight;
        if (left < 0)
            return candidates[i].id;
    }
    return candidates[0].id; /* rounding used up the last of it */
}

void sampler_penalise(real *logits, size_t count, const bool *seen, double penalty)
{
    real factor = (real)penalty;
    for (size_t i = 0; i < count; i++)
        if (seen[i])
            logits[i] = logits[i] > 0 ? logits[i] / factor : logits[i] * factor;
}

/* --- any of them --- */

int32_t sampler_pick(const real *logits, size_t count, const SamplerOptions *options,
                     double uniform, SamplerMemory memory)
{
    real most = vector_max(logits, count);
    if (options->temperature <= 0)
        return first_with(logits, count, most);
    double total = weights_at_temperature(memory.weights, logits, count, most,
                                          options->temperature);
    if (!(total > 0)) /* the logits are NaN */
        return first_with(logits, count, most);
    if ((options->top_k > 0 && options->top_k < count) || options->top_p < 1)
        return pick_likeliest(memory, count, total, options, uniform);
    return pick_by_blocks(memory.weights, count, uniform * total,
                          first_with(logits, count, most));
}

double sampler_loss(const real *logits, size_t count, int32_t id)
{
    real most = vector_max(logits, count);
    double total = 0;
    for (size_t start = 0; start < count; start += BLOCK) {
        real sum = 0;
        size_t extent = block_extent(count, start);
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < extent; i++)
            sum += vector_exp(logits[start + i] - most);
        total += (double)sum;
    }
    return log(total) + (double)most - (double)logits[id];
}

size_t sampler_rank(const real *logits, size_t count, int32_t id)
{
    size_t rank = 1;
    for (size_t i = 0; i < count; i++)
        rank += logits[i] > logits[id] || (i < (size_t)id && logits[i] == logits[id]);
    return rank;
}
