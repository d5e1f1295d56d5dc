/* Looks for a text with two derivations in a grammar.
 *
 * Two derivations run in parallel, word by word. Each is a stack of nodes still to be derived.
 * A pair of stacks leads to every pair that the same next word allows, and is marked once the
 * two have chosen differently. If a marked pair can end together, or has two equal stacks, some
 * text has two derivations; if the search finds no new pairs, no text has. The depth is
 * bounded, so there are finitely many stacks and the answer is a proof. Stacks share their
 * tails like lists, so each is a single index. */
#include "tests/toy_ambiguity.h"
#include "src/base/containers.h"

#define END UINT32_MAX /* the terminal after the last word */

typedef struct Cell {
    uint32_t item, rest; /* a ToyItem as 2 * id + is_word; the index of a cell, 0: nothing */
} Cell;

typedef struct CellEntry {
    uint64_t key; /* both numbers of the cell */
    uint32_t value;
} CellEntry;

typedef struct Pair {
    uint64_t key; /* both stacks; the lowest bit: whether they have chosen differently */
} Pair;

typedef struct Search {
    const ToyGrammar *grammar;
    Cell *cells;
    CellEntry *cell_map;
    Pair *pairs; /* an stb_ds set, which keeps the order of insertion */
    bool ambiguous;
} Search;

static uint32_t push_cell(Search *search, ToyItem item, uint32_t rest)
{
    Cell cell = {2 * item.id + item.is_word, rest};
    CellEntry entry = {(uint64_t)cell.item << 32 | rest, (uint32_t)arrlenu(search->cells)};
    ptrdiff_t at = hmgeti(search->cell_map, entry.key);
    if (at >= 0)
        return search->cell_map[at].value;
    arrput(search->cells, cell);
    hmputs(search->cell_map, entry);
    return entry.value;
}

static void add_pair(Search *search, uint32_t a, uint32_t b, bool diverged)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    Pair pair = {(uint64_t)high << 32 | (uint64_t)low << 1 | diverged};
    search->ambiguous |= diverged && a == b;
    if (hmgeti(search->pairs, pair.key) < 0)
        hmputs(search->pairs, pair);
}

/* Nodes that derive exactly one word are compared as sets of words. */
static bool is_lexical(const ToyNode *node)
{
    for (size_t i = 0; i < arrlenu(node->choices); i++)
        if (arrlenu(node->choices[i].items) != 1 || !node->choices[i].items[0].is_word)
            return false;
    return true;
}

/* The next words that a stack can derive, each with the remaining stack. */
static void advance(Search *search, uint32_t stack, Cell **moves)
{
    Cell top = stack ? search->cells[stack] : (Cell){END, 0};
    const ToyNode *node = top.item & 1 ? NULL : &search->grammar->nodes[top.item / 2];
    if (!node || is_lexical(node)) {
        arrput(*moves, top);
        return;
    }
    for (size_t i = 0; i < arrlenu(node->choices); i++) {
        const ToyItem *items = node->choices[i].items;
        uint32_t rest = top.rest;
        for (size_t j = arrlenu(items); j-- > 0;)
            rest = push_cell(search, items[j], rest);
        advance(search, rest, moves);
    }
}

static bool writes(const ToyGrammar *grammar, uint32_t item, uint32_t word)
{
    if (item & 1)
        return item / 2 == word;
    const ToyNode *node = &grammar->nodes[item / 2];
    for (size_t i = 0; i < arrlenu(node->choices); i++)
        if (node->choices[i].items[0].id == word)
            return true;
    return false;
}

static bool overlap(const ToyGrammar *grammar, uint32_t a, uint32_t b)
{
    if (a == b || a == END || b == END)
        return a == b;
    if (a & 1)
        return writes(grammar, b, a / 2);
    const ToyNode *node = &grammar->nodes[a / 2];
    for (size_t i = 0; i < arrlenu(node->choices); i++)
        if (writes(grammar, b, node->choices[i].items[0].id))
            return true;
    return false;
}

static void search_pair(Search *search, Pair pair)
{
    Cell *a = NULL, *b = NULL;
    bool same = !(pair.key & 1);
    advance(search, (uint32_t)(pair.key >> 32), &a);
    advance(search, (uint32_t)pair.key >> 1, &b);
    for (size_t i = 0; i < arrlenu(a); i++)
        for (size_t j = same ? i : 0; j < arrlenu(b); j++)
            if (a[i].item == END || b[j].item == END)
                search->ambiguous |= a[i].item == b[j].item && !(same && i == j);
            else if (overlap(search->grammar, a[i].item, b[j].item))
                add_pair(search, a[i].rest, b[j].rest, !(same && i == j));
    arrfree(a);
    arrfree(b);
}

/* No list may name a word twice: the search assumes that different choices give different
 * words. */
static bool has_doubles(const ToyGrammar *grammar)
{
    for (size_t n = 0; n < arrlenu(grammar->nodes); n++) {
        const ToyNode *node = &grammar->nodes[n];
        for (size_t i = 0; is_lexical(node) && i < arrlenu(node->choices); i++)
            for (size_t j = 0; j < i; j++)
                if (node->choices[i].items[0].id == node->choices[j].items[0].id)
                    return true;
    }
    return false;
}

bool toy_is_ambiguous(const ToyGrammar *grammar, const uint32_t (*roots)[2], size_t count)
{
    if (has_doubles(grammar))
        return true;
    Search search = {.grammar = grammar};
    arrput(search.cells, (Cell){0}); /* the empty stack */
    for (size_t i = 0; i < count; i++) {
        ToyItem a = {.id = roots[i][0]}, b = {.id = roots[i][1]};
        add_pair(&search, push_cell(&search, a, 0), push_cell(&search, b, 0), a.id != b.id);
    }
    for (size_t i = 0; i < hmlenu(search.pairs) && !search.ambiguous; i++)
        search_pair(&search, search.pairs[i]);
    bool ambiguous = search.ambiguous;
    arrfree(search.cells);
    hmfree(search.cell_map);
    hmfree(search.pairs);
    return ambiguous;
}

typedef struct Rest {
    ToyItem item;
    const struct Rest *next;
} Rest;

static size_t count_rest(const ToyGrammar *grammar, const Rest *rest, const uint32_t *words,
                         size_t count)
{
    if (!rest)
        return count == 0;
    if (rest->item.is_word)
        return count && words[0] == rest->item.id
                   ? count_rest(grammar, rest->next, words + 1, count - 1)
                   : 0;
    const ToyNode *node = &grammar->nodes[rest->item.id];
    size_t derivations = 0;
    for (size_t i = 0; i < arrlenu(node->choices); i++) {
        const ToyItem *items = node->choices[i].items;
        Rest *cells = memory_new(arrlenu(items) + 1, sizeof *cells, "a parse");
        const Rest *next = rest->next;
        for (size_t j = arrlenu(items); j-- > 0; next = &cells[j])
            cells[j] = (Rest){items[j], next};
        derivations += count_rest(grammar, next, words, count);
        free(cells);
    }
    return derivations;
}

size_t toy_count_derivations(const ToyGrammar *grammar, uint32_t root, const uint32_t *words,
                             size_t count)
{
    Rest rest = {.item = {.id = root}};
    return count_rest(grammar, &rest, words, count);
}
