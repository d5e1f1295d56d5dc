/* The toy corpus, and why its entropy is known exactly.
 *
 * A text is a chain of sentences. Each sentence first draws its topic: that of the sentence
 * before with high probability, else one from fixed shares. Those shares are the stationary
 * distribution of that chain, since both branches keep them, and the first topic is drawn from
 * them too. Then the grammar derives the sentence. Once a person was introduced, and until the
 * topic changes, the sentences come from the root <sequel>, which may call the person "mr.
 * smith" or "he", and the person's company by its name, however many sentences later.
 *
 * The entropy rate wanted is that of the text: how much the next token surprises one who knows
 * the language. What a grammar gives by simple recursion is the entropy of its derivations: at
 * each node, that of the choice and of what follows it. The two agree if the text gives the
 * derivation away, and it does: of all that can follow the text so far, each sentence has one
 * derivation only, its topic included, and that says who is known when the next one begins.
 * (tests/test_toy.c searches the whole grammar for two derivations of one sentence.) Hence
 *
 *              H(next topic | topic) + E[entropy of a sentence's derivation]
 *      rate =  -------------------------------------------------------------   nats per token,
 *                           E[tokens of a sentence, <eos> included]
 *
 * in expectation over the stationary distribution of (topic, somebody is known). An echo of
 * what was introduced costs nothing, and has one token whoever it was, so the expectations need
 * not know who. "a" is written "an" before a vowel, which can be undone, and changes nothing.
 *
 * A text begins with nobody known and a topic that nothing announced. This start costs a few
 * nats once; over a hundred thousand tokens it is in the fifth digit. */
#include "data/corpora/toy.h"
#include "src/base/containers.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- the grammar ---
 *
 * One expansion serves everything: the numbers that describe a node (entropy, tokens, people)
 * are summed over the very choices that sampling draws from, when the node is made and all that
 * it leads to is there already. */

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

/* --- the chain of sentences --- */

/* Of WHOLE sentences, STAY keep the topic without drawing a new one. */
enum { WHOLE = 100, STAY = 85 };

static const uint32_t shares[TOY_TOPICS] = {26, 20, 17, 14, 12, 11}; /* of WHOLE */

static void topic_weights(uint32_t topic, uint32_t weights[TOY_TOPICS])
{
    for (uint32_t next = 0; next < TOY_TOPICS; next++)
        weights[next] = (WHOLE - STAY) * shares[next] + (next == topic ? STAY * WHOLE : 0);
}

void toy_story_begin(ToyStory *story, uint64_t seed)
{
    *story = (ToyStory){.seed = seed};
    toy_grammar_begin(&story->grammar, &toy_language);
    for (uint32_t t = 0; t < TOY_TOPICS; t++) {
        story->fresh[t] = toy_grammar_node(&story->grammar, "<fresh>", t);
        story->sequel[t] = toy_grammar_node(&story->grammar, "<sequel>", t);
    }
    size_t symbols = shlenu(story->grammar.symbols);
    story->memory = memory_new(symbols, sizeof *story->memory, "the toy corpus");
    for (size_t i = 0; i < symbols; i++)
        story->memory[i] = TOY_NONE;
}

void toy_story_free(ToyStory *story)
{
    toy_grammar_free(&story->grammar);
    free(story->memory);
    *story = (ToyStory){0};
}

static void draw_topic(ToyStory *story, ToyDerivation *derivation)
{
    uint32_t weights[TOY_TOPICS];
    if (story->sentences > 0)
        topic_weights(story->topic, weights);
    else
        memcpy(weights, shares, sizeof weights);
    uint32_t topic = toy_draw(derivation, weights, TOY_TOPICS);
    if (topic != story->topic)
        story->memory[story->grammar.person] = TOY_NONE;
    story->topic = topic;
}

static void print_line(const ToyGrammar *grammar, const uint32_t *words, FILE *stream)
{
    for (size_t i = 0; i < arrlenu(words); i++) {
        const char *word = grammar->words[words[i]].key;
        const char *next = i + 1 < arrlenu(words) ? grammar->words[words[i + 1]].key : "";
        if (strcmp(word, "a") == 0 && *next && strchr("aeiou", *next))
            word = "an";
        fputs(word, stream);
        putc(*next ? ' ' : '\n', stream);
    }
}

void toy_story_tell(ToyStory *story, FILE *stream)
{
    ToyDerivation derivation = {.key = random_key(story->seed, RANDOM_TOY, story->sentences),
                                .memory = story->memory};
    draw_topic(story, &derivation);
    bool known = story->memory[story->grammar.person] != TOY_NONE;
    toy_derive(&story->grammar,
               known ? story->sequel[story->topic] : story->fresh[story->topic], &derivation);
    print_line(&story->grammar, derivation.words, stream);
    story->sentences++;
    story->tokens += arrlenu(derivation.words) + 1; /* the line end is <eos> */
    story->surprise += derivation.surprise;
    arrfree(derivation.words);
}

char *toy_write(uint64_t seed, size_t tokens)
{
    ToyStory story;
    char *text;
    size_t size;
    FILE *stream = memory_text_open(&text, &size, "the toy corpus");
    toy_story_begin(&story, seed);
    while (story.tokens < tokens)
        toy_story_tell(&story, stream);
    toy_story_free(&story);
    memory_text_close(stream, "the toy corpus");
    return text;
}

double toy_entropy(void)
{
    ToyStory story;
    toy_story_begin(&story, 0);
    const ToyNode *nodes = story.grammar.nodes;
    double entropy = 0, tokens = 1; /* <eos> */
    for (uint32_t t = 0; t < TOY_TOPICS; t++) {
        const ToyNode *fresh = &nodes[story.fresh[t]], *sequel = &nodes[story.sequel[t]];
        uint32_t weights[TOY_TOPICS];
        topic_weights(t, weights);
        const double total = (double)WHOLE * WHOLE;
        double share = (double)shares[t] / WHOLE, stays = weights[t] / total, news = 0;
        for (size_t next = 0; next < TOY_TOPICS; next++)
            news -= weights[next] / total * log(weights[next] / total);
        /* Somebody is known if the topic stayed and somebody was known already or introduced
         * meanwhile: known = stays * (known + (share - known) * fresh->people), solved. A
         * sentence introduces one person at most, so the expected number is a probability. */
        double known = share * stays * fresh->people / (1 - stays * (1 - fresh->people));
        entropy += share * news + (share - known) * fresh->entropy + known * sequel->entropy;
        tokens += (share - known) * fresh->tokens + known * sequel->tokens;
    }
    toy_story_free(&story);
    return entropy / tokens;
}
