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

#include <math.h>
#include <string.h>

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
    story->memory = memory_take(symbols, sizeof *story->memory, "the toy corpus");
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
