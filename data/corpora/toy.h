/* The toy corpus: English-looking news sentences from a seeded probabilistic grammar, with
 * structure at every range (agreement between subject and verb across nested clauses, a topic
 * that persists over a paragraph) and an entropy per token that is known exactly, so that a
 * loss curve can be held against the floor it cannot break. */
#ifndef LINNET_TOY_H
#define LINNET_TOY_H

#include "src/math/random.h"

#include <stdio.h>

/* --- the grammar: from tables of templates to a plain weighted grammar ---
 *
 * The tables are for people. A symbol stands in angle brackets and has a form, singular or
 * plural, which the symbols of its expansion inherit: "<det> <people> <aside>" needs no rule
 * per number. "<verb.p>" fixes a form. Every symbol also has a depth. A rule that nests uses up
 * one level; without levels left it is dropped, and the other rules share its probability. The
 * topic is inherited too, and chooses among word lists.
 *
 * The grammar is for machines: one node per (symbol, form, depth, topic), each with weighted
 * choices, each choice a row of words and nodes. Weights and draws are integers, so that a seed
 * gives the same text everywhere. */

enum { TOY_TOPICS = 6, TOY_DEPTH = 3 };
#define TOY_NONE UINT32_MAX

typedef enum ToyForm { TOY_SINGULAR, TOY_PLURAL, TOY_PAST } ToyForm;

typedef struct ToyRule {
    const char *symbol; /* "<det>", or "<det.s>" for a rule of the singular only */
    uint32_t weight;
    bool nests;
    const char *expansion; /* words and symbols between single spaces; may be empty */
} ToyRule;

typedef struct ToyWords {
    const char *symbol;
    const char *echoes; /* NULL, or the symbol whose latest choice this one repeats */
    /* Commonest first, the forms as in "sells/sell/sold". A lone list serves all topics. */
    const char *words[TOY_TOPICS];
} ToyWords;

typedef struct ToyTables {
    const ToyRule *rules;
    size_t rule_count;
    const ToyWords *words;
    size_t word_count;
} ToyTables;

/* The news that `toy` writes; its roots are <fresh> and <sequel>. */
extern const ToyTables toy_language;

typedef struct ToyItem {
    bool is_word;
    uint32_t id; /* of a word, or of a node */
} ToyItem;

typedef struct ToyChoice {
    uint32_t weight;
    ToyItem *items; /* an stb_ds array */
} ToyChoice;

typedef struct ToyNode {
    uint32_t symbol, form, depth, topic;
    ToyChoice *choices; /* an stb_ds array */
    uint32_t total;     /* of the choices' weights */
    uint32_t echoes;    /* the symbol whose choice is repeated, or TOY_NONE */
    /* Expected values over the derivations of the node. */
    double entropy, tokens, people;
} ToyNode;

typedef struct ToyName {
    char *key; /* belongs to the map */
    uint32_t value;
} ToyName;

typedef struct ToyGrammar {
    const ToyTables *tables;
    ToyName *symbols, *words; /* stb_ds string maps; an id is a position in its map */
    ToyNode *nodes;           /* an stb_ds array */
    uint32_t person;          /* the symbol <person>, whose occurrences are counted */
} ToyGrammar;

/* Mistakes in the tables fail assertions. */
void toy_grammar_begin(ToyGrammar *grammar, const ToyTables *tables);
void toy_grammar_free(ToyGrammar *grammar);

/* The node of a symbol such as "<fresh>"; creates it and everything below it if it is new. */
uint32_t toy_grammar_node(ToyGrammar *grammar, const char *symbol, size_t topic);

/* One random derivation. Memory holds the latest choice of every symbol, which echoes read. */
typedef struct ToyDerivation {
    RandomKey key;
    uint64_t draws;   /* random numbers taken from the key so far */
    uint32_t *memory; /* one per symbol; TOY_NONE where there was no choice yet */
    uint32_t *words;  /* an stb_ds array that the words are appended to */
    double surprise;  /* -log of the probability of all choices so far */
} ToyDerivation;

/* Draws one of `count` weights, and adds its surprise. */
uint32_t toy_draw(ToyDerivation *derivation, const uint32_t *weights, size_t count);
void toy_derive(const ToyGrammar *grammar, uint32_t node, ToyDerivation *derivation);

/* --- the corpus --- */

/* At least `tokens` tokens (line ends counted), whole sentences, one a line; caller frees. */
char *toy_write(uint64_t seed, size_t tokens);

/* The entropy rate of the language in nats per token, <eos> counted, computed from the grammar.
 */
double toy_entropy(void);

/* A text told sentence by sentence. */
typedef struct ToyStory {
    ToyGrammar grammar;
    uint64_t seed, sentences; /* sentences so far */
    uint32_t topic;           /* of the latest one */
    uint32_t *memory;         /* the latest choices, such as the person introduced last */
    uint32_t fresh[TOY_TOPICS], sequel[TOY_TOPICS]; /* the roots */
    size_t tokens;                                  /* so far, line ends counted */
    double surprise;                                /* -log p of the text so far, in nats */
} ToyStory;

void toy_story_begin(ToyStory *story, uint64_t seed);
void toy_story_free(ToyStory *story);

/* Prints one sentence, a line. */
void toy_story_tell(ToyStory *story, FILE *stream);

#endif
