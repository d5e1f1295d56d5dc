#include "src/math/random.h"

#include <math.h>

/* The finaliser of SplitMix64: every input bit affects every output bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    x ^= x >> 31;
    return x;
}

#define GOLDEN 0x9e3779b97f4a7c15u

RandomKey random_key(uint64_t seed, RandomPurpose purpose, uint64_t step)
{
    uint64_t bits = mix(seed + GOLDEN);
    bits = mix(bits ^ ((uint64_t)purpose + 1) * GOLDEN);
    return (RandomKey){mix(bits ^ (step + 1) * GOLDEN)};
}

RandomKey random_subkey(RandomKey key, uint64_t index)
{
    return (RandomKey){mix(key.bits ^ mix((index + 1) * GOLDEN))};
}

uint64_t random_bits(RandomKey key, uint64_t index)
{
    return mix(mix(key.bits + index * GOLDEN) ^ key.bits);
}

double random_uniform(RandomKey key, uint64_t index)
{
    return (double)(random_bits(key, index) >> 11) * 0x1p-53;
}

double random_normal(RandomKey key, uint64_t index)
{
    const double two_pi = 6.283185307179586;
    /* In (0, 1], so that the logarithm is finite. */
    double u = 1.0 - random_uniform(key, 2 * index);
    double v = random_uniform(key, 2 * index + 1);
    return sqrt(-2.0 * log(u)) * cos(two_pi * v);
}

uint64_t random_below(RandomKey key, uint64_t index, uint64_t below)
{
    return (uint64_t)(((unsigned __int128)random_bits(key, index) * below) >> 64);
}

void random_permutation(RandomKey key, uint32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) { /* Fisher-Yates, inside out */
        size_t j = (size_t)random_below(key, i, i + 1);
        order[i] = order[j];
        order[j] = (uint32_t)i;
    }
}
