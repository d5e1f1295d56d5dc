/* One expansion serves everything: the numbers that describe a node (entropy, tokens, people)
 * are summed over the very choices that sampling draws from, when the node is made and all that
 * it leads to is there already. */
#include "data/corpora/toy_grammar.h"
#include "src/base/containers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static uint32_t expand(ToyGrammar *grammar, ToyNode node);

static uint32_t intern(ToyName **map, const char *text)
{
    ptrdiff_t at = shgeti(*map, text);
    if (at < 0) {
        shput(*map, text, 0);
        at = shgeti(*map, text);
    }
    return (uint32_t)at;
}

/* Splits "<noun.p>" into the symbol "<noun>" and its form; without one the form stays. */
static uint32_t read_symbol(ToyGrammar *grammar, const char *text, uint32_t *form)
{
    char name[64];
    size_t length = strcspn(text, ".>");
    assert(text[0] == '<' && text[length] && length + 2 <= sizeof name);
    if (text[length] == '.') {
        const char *letters = "spd", *letter = strchr(letters, text[length + 1]);
        assert(letter && *letter && text[length + 2] == '>');
        *form = (uint32_t)(letter - letters);
    }
    memcpy(name, text, length);
    memcpy(name + length, ">", 2);
    return intern(&grammar->symbols, name);
}

/* Copies the text up to one of the stops, and steps over it; false at the end. */
static bool next_piece(const char **text, const char *stops, char *piece, size_t size)
{
    if (!**text)
        return false;
    size_t length = strcspn(*text, stops);
    assert(length && length < size);
    memcpy(piece, *text, length);
    piece[length] = '\0';
    *text += length + ((*text)[length] != '\0');
    return true;
}

static ToyItem *read_expansion(ToyGrammar *grammar, const ToyNode *node, const ToyRule *rule)
{
    ToyItem *items = NULL;
    char piece[64];
    for (const char *text = rule->expansion; next_piece(&text, " ", piece, sizeof piece);) {
        ToyItem item = {.is_word = piece[0] != '<'};
        if (item.is_word) {
            item.id = intern(&grammar->words, piece);
        } else {
            ToyNode child = {.form = node->form, .topic = node->topic};
            child.depth = node->depth - rule->nests;
            child.symbol = read_symbol(grammar, piece, &child.form);
            item.id = expand(grammar, child);
        }
        arrput(items, item);
    }
    return items;
}

static void add_rules(ToyGrammar *grammar, ToyNode *node)
{
    for (size_t i = 0; i < grammar->tables->rule_count; i++) {
        const ToyRule *rule = &grammar->tables->rules[i];
        uint32_t form = node->form;
        if (read_symbol(grammar, rule->symbol, &form) != node->symbol || form != node->form ||
            node->depth < rule->nests)
            continue;
        ToyChoice choice = {.weight = rule->weight,
                            .items = read_expansion(grammar, node, rule)};
        arrput(node->choices, choice);
    }
}

/* Words follow Zipf's law: the second is half as frequent as the first. */
static void add_words(ToyGrammar *grammar, ToyNode *node)
{
    const uint32_t commonest = 5040; /* divides well */
    for (size_t i = 0; i < grammar->tables->word_count; i++) {
        const ToyWords *row = &grammar->tables->words[i];
        uint32_t form = TOY_SINGULAR;
        if (read_symbol(grammar, row->symbol, &form) != node->symbol)
            continue;
        assert(!node->choices && row->words[0]); /* rules or words, not both */
        if (row->echoes)
            node->echoes = read_symbol(grammar, row->echoes, &form);
        const char *list = row->words[1] ? row->words[node->topic] : row->words[0];
        char entry[96], word[64];
        for (uint32_t rank = 1; next_piece(&list, " ", entry, sizeof entry); rank++) {
            const char *forms = entry;
            /* Words without forms have one for all. */
            for (uint32_t f = 0; f <= node->form; f++)
                if (!next_piece(&forms, "/", word, sizeof word))
                    break;
            ToyChoice choice = {.weight = commonest / rank};
            ToyItem item = {.is_word = true, .id = intern(&grammar->words, word)};
            arrput(choice.items, item);
            arrput(node->choices, choice);
        }
    }
}

static void measure(const ToyGrammar *grammar, ToyNode *node)
{
    for (size_t i = 0; i < arrlenu(node->choices); i++)
        node->total += node->choices[i].weight;
    node->people = node->symbol == grammar->person;
    for (size_t i = 0; i < arrlenu(node->choices); i++) {
        const ToyChoice *choice = &node->choices[i];
        double p = (double)choice->weight / node->total;
        if (node->echoes == TOY_NONE) /* an echo is no news */
            node->entropy -= p * log(p);
        for (size_t j = 0; j < arrlenu(choice->items); j++) {
            const ToyItem *item = &choice->items[j];
            const ToyNode *child = item->is_word ? NULL : &grammar->nodes[item->id];
            node->entropy += child ? p * child->entropy : 0;
            node->tokens += child ? p * child->tokens : p;
            node->people += child ? p * child->people : 0;
        }
    }
}

/* Finds the node, or makes it after all that it leads to. */
static uint32_t expand(ToyGrammar *grammar, ToyNode node)
{
    for (uint32_t i = 0; i < arrlenu(grammar->nodes); i++) {
        const ToyNode *old = &grammar->nodes[i];
        if (old->symbol == node.symbol && old->form == node.form && old->depth == node.depth &&
            old->topic == node.topic)
            return i;
    }
    node.echoes = TOY_NONE;
    add_rules(grammar, &node);
    add_words(grammar, &node);
    assert(node.choices); /* else the symbol is misspelt */
    measure(grammar, &node);
    arrput(grammar->nodes, node);
    return (uint32_t)arrlenu(grammar->nodes) - 1;
}

void toy_grammar_begin(ToyGrammar *grammar, const ToyTables *tables)
{
    *grammar = (ToyGrammar){.tables = tables};
    sh_new_arena(grammar->symbols);
    sh_new_arena(grammar->words);
    uint32_t form;
    grammar->person = read_symbol(grammar, "<person>", &form);
}

void toy_grammar_free(ToyGrammar *grammar)
{
    for (size_t i = 0; i < arrlenu(grammar->nodes); i++) {
        for (size_t j = 0; j < arrlenu(grammar->nodes[i].choices); j++)
            arrfree(grammar->nodes[i].choices[j].items);
        arrfree(grammar->nodes[i].choices);
    }
    arrfree(grammar->nodes);
    shfree(grammar->symbols);
    shfree(grammar->words);
    *grammar = (ToyGrammar){0};
}

uint32_t toy_grammar_node(ToyGrammar *grammar, const char *symbol, size_t topic)
{
    assert(topic < TOY_TOPICS);
    ToyNode node = {.depth = TOY_DEPTH, .topic = (uint32_t)topic};
    node.symbol = read_symbol(grammar, symbol, &node.form);
    return expand(grammar, node);
}

uint32_t toy_draw(ToyDerivation *derivation, const uint32_t *weights, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += weights[i];
    uint64_t drawn = random_below(derivation->key, derivation->draws++, total);
    uint32_t chosen = 0;
    for (; drawn >= weights[chosen]; chosen++)
        drawn -= weights[chosen];
    derivation->surprise -= log((double)weights[chosen] / (double)total);
    return chosen;
}

static uint32_t choose(const ToyNode *node, ToyDerivation *derivation)
{
    if (node->echoes != TOY_NONE)
        return derivation->memory[node->echoes];
    uint32_t weights[64];
    size_t count = arrlenu(node->choices);
    assert(count <= sizeof weights / sizeof *weights);
    for (size_t i = 0; i < count; i++)
        weights[i] = node->choices[i].weight;
    return derivation->memory[node->symbol] = toy_draw(derivation, weights, count);
}

void toy_derive(const ToyGrammar *grammar, uint32_t id, ToyDerivation *derivation)
{
    const ToyNode *node = &grammar->nodes[id];
    uint32_t chosen = choose(node, derivation);
    assert(chosen < arrlenu(node->choices)); /* an echo needs something to repeat */
    const ToyItem *items = node->choices[chosen].items;
    for (size_t i = 0; i < arrlenu(items); i++)
        if (items[i].is_word)
            arrput(derivation->words, items[i].id);
        else
            toy_derive(grammar, items[i].id, derivation);
}
