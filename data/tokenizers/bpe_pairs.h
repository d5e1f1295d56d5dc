/* The pairs of neighbouring tokens while merges are learned (bpe_learn.c): how often each
 * occurs, and a queue of them, the most frequent first, with the places where they came up.
 *
 * Counts change with every merge. The queue is updated lazily: only when an entry comes to the
 * top is its count compared with the true one. */
#ifndef LINNET_BPE_PAIRS_H
#define LINNET_BPE_PAIRS_H

#include "data/tokenizers/bpe.h"

typedef struct Pair {
    uint32_t left, right;
    int64_t count;
    size_t fresh;    /* places found since the last queueing, */
    size_t end;      /* and during it the end of those that are still to be filled in */
    uint32_t queued; /* how many entries it has had */
    uint32_t rank;   /* of its last merge, or BPE_NONE */
} Pair;

/* A place where a pair has come up. */
typedef struct PairPlace {
    uint32_t pair, place;
} PairPlace;

typedef struct PairEntry {
    int64_t count;
    uint64_t key; /* the pair's ids, for comparisons */
    size_t first; /* its places: from here on */
    uint32_t size, pair;
} PairEntry;

typedef struct PairQueue {
    Pair *pairs;     /* an stb_ds array */
    uint32_t *table; /* hash table of pairs, BPE_NONE in empty slots */
    size_t table_size;
    PairPlace *found;  /* an stb_ds array, emptied by queueing */
    uint32_t *touched; /* the pairs in it, an stb_ds array */
    uint32_t *places;  /* of all entries, an stb_ds array */
    PairEntry *heap;   /* an stb_ds array */
} PairQueue;

/* So many occurrences of a pair are gone, or have come up at a place. */
void pairs_gone(PairQueue *queue, uint32_t left, uint32_t right, uint32_t count);
void pairs_found(PairQueue *queue, uint32_t left, uint32_t right, uint32_t count, size_t place);
/* Gives each pair that was found an entry with its places. */
void pairs_queue_found(PairQueue *queue);
/* Takes the entry of the most frequent pair; false if none occurs so often. */
bool pairs_next(PairQueue *queue, size_t min_count, PairEntry *entry);
void pairs_free(PairQueue *queue);

#endif
