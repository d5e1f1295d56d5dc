#include "train/loop/subwords.h"
#include "data/tokenizers/hash.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <math.h>
#include <string.h>

enum { SHORTEST = 3, LONGEST = 5 }; /* n-grams, in characters */

/* --- finding n-grams --- */

typedef struct Ngram {
    size_t at, size; /* its text, in that of all tokens */
    size_t token;    /* the first that has it */
    uint32_t number; /* among the shared ones; NOT_SHARED: no other token has it */
} Ngram;

#define NOT_SHARED UINT32_MAX

typedef struct Finder {
    char *text;         /* an stb_ds array: the tokens, between marks */
    size_t *characters; /* an stb_ds array: where those of the current token begin, and end */
    Ngram *ngrams;      /* an stb_ds array */
    HashTable table;    /* of ngrams, by their text */
    uint32_t *found;    /* an stb_ds array: the n-grams of all tokens */
    size_t *first;      /* [tokens + 1] */
} Finder;

/* Appends a token between marks, which no text has, to the text of all. */
static void append_token(Finder *finder, const char *piece, size_t size)
{
    const char begin = 1, end = 2;
    arrsetlen(finder->characters, 0);
    for (size_t i = 0; i < size + 2; i++) {
        char byte = i == 0 ? begin : i <= size ? piece[i - 1] : end;
        if (!utf8_is_inner(byte))
            arrput(finder->characters, arrlenu(finder->text));
        arrput(finder->text, byte);
    }
    arrput(finder->characters, arrlenu(finder->text));
}

static bool is_same(const void *context, uint32_t number, const void *key)
{
    const Finder *finder = context;
    const Ngram *a = &finder->ngrams[number], *b = key;
    return a->size == b->size &&
           memcmp(finder->text + a->at, finder->text + b->at, a->size) == 0;
}

static void add_ngram(Finder *finder, size_t token, size_t at, size_t size)
{
    const Ngram ngram = {.at = at, .size = size, .token = token, .number = NOT_SHARED};
    const uint32_t hash = hash_bytes(finder->text + at, size);
    uint32_t index = hash_find(&finder->table, hash, is_same, finder, &ngram);
    if (index == HASH_NONE) {
        index = (uint32_t)arrlenu(finder->ngrams);
        arrput(finder->ngrams, ngram);
        hash_add(&finder->table, hash, index);
    } else if (finder->ngrams[index].token != token) {
        finder->ngrams[index].number = 0; /* shared; numbered later */
    }
    arrput(finder->found, index);
}

static void find_in_token(Finder *finder, const Vocabulary *vocabulary, size_t token)
{
    const char *piece;
    const size_t size = vocabulary_piece(vocabulary, (int32_t)token, &piece);
    const bool is_word = (int32_t)token != vocabulary->eos && (int32_t)token != vocabulary->unk;
    finder->first[token] = arrlenu(finder->found);
    if (!is_word)
        return;
    append_token(finder, piece, size);
    const size_t characters = arrlenu(finder->characters) - 1;
    for (size_t n = SHORTEST; n <= LONGEST; n++)
        for (size_t i = 0; i + n <= characters; i++)
            add_ngram(finder, token, finder->characters[i],
                      finder->characters[i + n] - finder->characters[i]);
}

static NumberLists make_lists(size_t lists, size_t numbers)
{
    static const char what[] = "the n-grams of tokens";
    return (NumberLists){memory_new(lists + 1, sizeof(size_t), what),
                         memory_new(numbers + 1, sizeof(uint32_t), what)};
}

/* Numbers the shared n-grams and keeps these of each token. */
static void keep_shared(const Finder *finder, Subwords *subwords)
{
    NumberLists *lists = &subwords->of_tokens;
    size_t kept = 0;
    for (size_t i = 0; i < arrlenu(finder->ngrams); i++)
        if (finder->ngrams[i].number != NOT_SHARED)
            finder->ngrams[i].number = (uint32_t)subwords->ngrams++;
    for (size_t token = 0; token < subwords->tokens; token++) {
        lists->first[token] = kept;
        for (size_t i = finder->first[token]; i < finder->first[token + 1]; i++) {
            const uint32_t number = finder->ngrams[finder->found[i]].number;
            if (number != NOT_SHARED)
                lists->numbers[kept++] = number;
        }
    }
    lists->first[subwords->tokens] = kept;
}

/* The tokens of each n-gram, in order. */
static void invert(Subwords *subwords)
{
    const NumberLists *from = &subwords->of_tokens;
    const size_t all = from->first[subwords->tokens];
    NumberLists *to = &subwords->of_ngrams;
    *to = make_lists(subwords->ngrams, all);
    for (size_t i = 0; i < all; i++)
        to->first[from->numbers[i]]++;
    for (size_t g = 0, before = 0; g <= subwords->ngrams; g++) {
        before += to->first[g];
        to->first[g] = before; /* its end */
    }
    for (size_t token = subwords->tokens; token-- > 0;)
        for (size_t i = from->first[token + 1]; i-- > from->first[token];)
            to->numbers[--to->first[from->numbers[i]]] = (uint32_t)token;
}

bool subwords_find(Subwords *subwords, const Vocabulary *vocabulary, size_t width)
{
    const size_t tokens = vocabulary->count;
    Finder finder = {
        .first = memory_new(tokens + 1, sizeof *finder.first, "the n-grams of tokens")};
    for (size_t token = 0; token < tokens; token++)
        find_in_token(&finder, vocabulary, token);
    finder.first[tokens] = arrlenu(finder.found);
    *subwords = (Subwords){.tokens = tokens,
                           .width = width,
                           .of_tokens = make_lists(tokens, arrlenu(finder.found))};
    keep_shared(&finder, subwords);
    invert(subwords);
    arrfree(finder.text);
    arrfree(finder.characters);
    arrfree(finder.ngrams);
    arrfree(finder.found);
    hash_free(&finder.table);
    free(finder.first);
    return subwords->ngrams > 0;
}

void subwords_free(Subwords *subwords)
{
    free(subwords->of_tokens.first);
    free(subwords->of_tokens.numbers);
    free(subwords->of_ngrams.first);
    free(subwords->of_ngrams.numbers);
    *subwords = (Subwords){0};
}

size_t subwords_lists_bytes(const Subwords *subwords)
{
    const size_t tokens = subwords->tokens;
    return subwords->ngrams == 0 ? 0
                                 : (tokens + subwords->ngrams) * sizeof(size_t) +
                                       2 * subwords->of_tokens.first[tokens] * sizeof(uint32_t);
}

/* --- memory --- */

static size_t weights(const Subwords *subwords)
{
    return (subwords->tokens + subwords->ngrams) * subwords->width;
}

size_t subwords_state_reals(const Subwords *subwords)
{
    return 3 * weights(subwords);
}

/* The rows of both gradients are cut into tiles, those of own first. */
static size_t tiles_of_own(const Subwords *subwords)
{
    return team_tiles(subwords->tokens, TEAM_ROWS);
}

static size_t tiles(const Subwords *subwords)
{
    return tiles_of_own(subwords) + team_tiles(subwords->ngrams, TEAM_ROWS);
}

void subwords_layout(Subwords *subwords, Arena *arena)
{
    subwords->state = arena_reals(arena, subwords_state_reals(subwords));
    subwords->dshared = arena_reals(arena, subwords->ngrams * subwords->width);
    subwords->sums = arena_bytes(arena, tiles(subwords), sizeof *subwords->sums);
}

void subwords_start(Subwords *subwords, const real *embeddings)
{
    const size_t own = subwords->tokens * subwords->width;
    memcpy(subwords->state, embeddings, own * sizeof *embeddings);
    vector_zero(subwords->state + own, subwords_state_reals(subwords) - own);
}

void subwords_restart(Subwords *subwords)
{
    vector_zero(subwords->state + weights(subwords), 2 * weights(subwords));
}

/* --- gradients --- */

/* 1 / sqrt(n) of a token with n n-grams; 0 of one without. */
static real share_of(const Subwords *subwords, size_t token)
{
    const size_t *first = subwords->of_tokens.first + token, n = first[1] - first[0];
    return n ? (real)(1 / sqrt((double)n)) : 0;
}

static void set_dshared(const Subwords *subwords, size_t ngram)
{
    const NumberLists *lists = &subwords->of_ngrams;
    const size_t width = subwords->width;
    real *row = subwords->dshared + ngram * width;
    vector_zero(row, width);
    for (size_t i = lists->first[ngram]; i < lists->first[ngram + 1]; i++)
        vector_add_scaled(row, subwords->down + lists->numbers[i] * width,
                          share_of(subwords, lists->numbers[i]), width);
}

static void gradient_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Subwords *subwords = context;
    const size_t own = tiles_of_own(subwords), width = subwords->width;
    const bool is_own = tile < own;
    const size_t of_part = is_own ? tile : tile - own, first = of_part * TEAM_ROWS;
    const size_t rows = team_extent(is_own ? subwords->tokens : subwords->ngrams, TEAM_ROWS,
                                    of_part);
    for (size_t i = 0; !is_own && i < rows; i++)
        set_dshared(subwords, first + i);
    subwords->sums[tile] = gradient_square_sum(
        (is_own ? subwords->down : subwords->dshared) + first * width, rows * width);
}

double subwords_gradients(Subwords *subwords, const real *gradient)
{
    double sum = 0;
    subwords->down = gradient;
    team_run(tiles(subwords), gradient_tile, subwords);
    for (size_t tile = 0; tile < tiles(subwords); tile++)
        sum += subwords->sums[tile];
    return sum;
}

/* --- the step --- */

typedef struct Composition {
    const Subwords *subwords;
    real *embeddings; /* (tokens, width) */
} Composition;

static void compose(const void *context, size_t token)
{
    const Composition *composition = context;
    const Subwords *subwords = composition->subwords;
    const NumberLists *lists = &subwords->of_tokens;
    const size_t width = subwords->width;
    const real *own = subwords->state, *shared = own + subwords->tokens * width;
    const real share = share_of(subwords, token);
    real *embedding = composition->embeddings + token * width;
    memcpy(embedding, own + token * width, width * sizeof *own);
    for (size_t i = lists->first[token]; i < lists->first[token + 1]; i++)
        vector_add_scaled(embedding, shared + lists->numbers[i] * width, share, width);
}

void subwords_step(Subwords *subwords, real *embeddings, AdamW adam, uint64_t t,
                   double learning_rate, double decay, double scale)
{
    const size_t all = weights(subwords), own = subwords->tokens * subwords->width;
    real *w = subwords->state, *m = w + all, *v = m + all;
    const Composition composition = {subwords, embeddings};
    adamw_step(w, m, v, subwords->down, own, adam, t, learning_rate, decay, scale);
    adamw_step(w + own, m + own, v + own, subwords->dshared, all - own, adam, t, learning_rate,
               decay, scale);
    team_run_rows(subwords->tokens, TEAM_ROWS, compose, &composition);
}
