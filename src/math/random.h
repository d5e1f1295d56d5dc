/* Counter-based random numbers: a pure function of (seed, purpose, step, index).
 *
 * There is no generator state to save or restore. Initialisation, data order, dropout and
 * sampling each use their own purpose, and any number can be recomputed on any thread.
 * Resuming needs no state, and the backward pass recomputes dropout masks. */
#ifndef LINNET_RANDOM_H
#define LINNET_RANDOM_H

#include "src/base/real.h"

typedef enum RandomPurpose {
    RANDOM_INIT,
    RANDOM_WINDOWS,
    RANDOM_DROPOUT,
    RANDOM_SAMPLE,
    RANDOM_TOY,
    RANDOM_TEST,
    RANDOM_TASK,
    RANDOM_BOOTSTRAP
} RandomPurpose;

/* Identifies one stream of numbers. */
typedef struct RandomKey {
    uint64_t bits;
} RandomKey;

RandomKey random_key(uint64_t seed, RandomPurpose purpose, uint64_t step);
/* A derived stream: one per layer, tensor or dropout site. */
RandomKey random_subkey(RandomKey key, uint64_t index);

uint64_t random_bits(RandomKey key, uint64_t index);
/* In [0, 1), with 53 random bits. */
double random_uniform(RandomKey key, uint64_t index);
/* Standard normal; uses random_uniform at 2 index and 2 index + 1. */
double random_normal(RandomKey key, uint64_t index);
/* In [0, below), with a negligible bias of below / 2^64. */
uint64_t random_below(RandomKey key, uint64_t index, uint64_t below);
/* Fills order, (count), with a permutation of 0..count-1. */
void random_permutation(RandomKey key, uint32_t *order, size_t count);

/* 32 random bits, in a form that vectorises: dropout needs one word per element. */
static inline uint32_t random_word(RandomKey key, uint32_t index)
{
    uint32_t x = index ^ (uint32_t)key.bits;
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x += (uint32_t)(key.bits >> 32);
    x *= 0x846ca68bu;
    x ^= x >> 16;
    x *= 0x9e3779b1u;
    x ^= x >> 15;
    return x;
}

#endif
