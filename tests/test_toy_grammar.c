/* The grammar of the toy corpus. Its entropy is exact only if every sentence has one
 * derivation. Two tests show it: one counts the derivations of samples, the other searches the
 * whole grammar, all depths and topics, for a sentence with two. */
#include "data/corpora/toy.h"
#include "src/base/containers.h"
#include "tests/tests.h"
#include "tests/toy_ambiguity.h"
#include "tests/words.h"

#include <string.h>

SUITE("toy grammar");

TEST(every_sentence_has_one_derivation)
{
    ToyStory story;
    toy_story_begin(&story, 1);
    /* Roots that may follow the same text: a person is known only while the topic stays, so
     * <sequel> of one topic competes with <fresh> of the others. */
    uint32_t pairs[2 * TOY_TOPICS * TOY_TOPICS][2];
    size_t count = 0;
    for (size_t t = 0; t < TOY_TOPICS; t++)
        for (size_t u = 0; u < TOY_TOPICS; u++) {
            pairs[count][0] = story.fresh[t];
            pairs[count++][1] = story.fresh[u];
            pairs[count][0] = story.sequel[t];
            pairs[count++][1] = t == u ? story.sequel[t] : story.fresh[u];
        }
    ck_assert(!toy_is_ambiguous(&story.grammar, pairs, count));
    toy_story_free(&story);
}

/* A grammar of two rules, to check that the search finds ambiguity. */
static bool finds_ambiguity(const char *expansion, const char *tail, const char *other_topic)
{
    const ToyRule rules[] = {
        {"<fresh>", 1, false, expansion}, {"<tail>", 1, false, ""}, {"<tail>", 1, false, tail}};
    const ToyWords words[] = {
        {"<thing>", NULL, {"bond loan", other_topic, "x", "y", "z", "w"}}};
    const ToyTables tables = {rules, 3, words, 1};
    ToyGrammar grammar;
    toy_grammar_begin(&grammar, &tables);
    uint32_t a = toy_grammar_node(&grammar, "<fresh>", 0);
    uint32_t b = toy_grammar_node(&grammar, "<fresh>", 1);
    const uint32_t pairs[][2] = {{a, a}, {b, b}, {a, b}};
    bool found = toy_is_ambiguous(&grammar, pairs, 3);
    toy_grammar_free(&grammar);
    return found;
}

TEST(ambiguity_is_found)
{
    ck_assert(!finds_ambiguity("<thing> <tail> .", "of it", "well"));
    ck_assert(finds_ambiguity("<thing> <tail> <tail> .", "of it", "well"));
    ck_assert(!finds_ambiguity("<thing> <tail> <thing>", "loan", "well"));
    ck_assert(finds_ambiguity("<tail> <thing> <tail>", "bond", "well"));
    ck_assert(finds_ambiguity("<thing> <tail> .", "of it", "well loan"));
    ck_assert(finds_ambiguity("the <tail> .", "thing", "well"));
}

/* --- samples --- */

static uint32_t word_id(const ToyGrammar *grammar, const char *word)
{
    ToyName *words = grammar->words;
    ptrdiff_t at = shgeti(words, strcmp(word, "an") == 0 ? "a" : word);
    ck_assert_msg(at >= 0, "'%s' is in no list", word);
    return (uint32_t)at;
}

/* The ids of a line's words, an stb_ds array. Changes the line. */
static uint32_t *read_line(const ToyGrammar *grammar, char *line)
{
    uint32_t *words = NULL;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
        arrput(words, word_id(grammar, word));
    return words;
}

/* A line of a story, and its possible roots. */
typedef struct Told {
    uint32_t *words, roots[TOY_TOPICS];
} Told;

static Told tell(ToyStory *story)
{
    Told told;
    char *line;
    size_t size;
    bool known = story->memory[story->grammar.person] != TOY_NONE;
    for (uint32_t t = 0; t < TOY_TOPICS; t++)
        told.roots[t] = known && t == story->topic ? story->sequel[t] : story->fresh[t];
    FILE *stream = memory_text_open(&line, &size, "a line");
    toy_story_tell(story, stream);
    memory_text_close(stream, "a line");
    told.words = read_line(&story->grammar, line);
    free(line);
    return told;
}

static size_t count_all(const ToyStory *story, const Told *told)
{
    size_t derivations = 0;
    for (size_t t = 0; t < TOY_TOPICS; t++)
        derivations += toy_count_derivations(&story->grammar, told->roots[t], told->words,
                                             arrlenu(told->words));
    return derivations;
}

TEST(every_sample_has_one_derivation)
{
    ToyStory story;
    toy_story_begin(&story, 7);
    for (size_t i = 0; i < 400; i++) {
        Told told = tell(&story);
        ck_assert_uint_eq(count_all(&story, &told), 1);
        arrfree(told.words);
    }
    toy_story_free(&story);
}

static bool is_verb(const ToyGrammar *grammar, const ToyNode *node)
{
    const char *verbs[] = {"<verb>",  "<regards>", "<leans>", "<objects>", "<says>", "<hopes>",
                           "<rises>", "<remains>", "<have>",  "<is>",      "<was>"};
    for (size_t i = 0; i < COUNT(verbs); i++)
        if (strcmp(grammar->symbols[node->symbol].key, verbs[i]) == 0)
            return true;
    return false;
}

typedef struct Verb {
    uint32_t form,
        other; /* the form of the other number; TOY_NONE: not a verb in the present tense */
} Verb;

/* By word, an stb_ds array. */
static Verb *list_verbs(const ToyGrammar *grammar)
{
    Verb *verbs = NULL;
    for (size_t i = 0; i < shlenu(grammar->words); i++)
        arrput(verbs, ((Verb){.other = TOY_NONE}));
    for (size_t a = 0; a < arrlenu(grammar->nodes); a++)
        for (size_t b = 0; is_verb(grammar, &grammar->nodes[a]) && b < arrlenu(grammar->nodes);
             b++) {
            const ToyNode *x = &grammar->nodes[a], *y = &grammar->nodes[b];
            if (x->symbol == y->symbol && x->topic == y->topic &&
                x->form + y->form == TOY_PLURAL)
                for (size_t i = 0; i < arrlenu(x->choices); i++)
                    verbs[x->choices[i].items[0].id] = (Verb){x->form,
                                                              y->choices[i].items[0].id};
        }
    return verbs;
}

/* Checked in two ways: "several banks sell" is correct English, and no verb can take its other
 * form. */
TEST(verbs_agree_with_their_subjects)
{
    ToyStory story;
    toy_story_begin(&story, 11);
    Verb *verbs = list_verbs(&story.grammar);
    size_t exchanged = 0, begun = 0;
    for (size_t i = 0; i < 600; i++) {
        Told told = tell(&story);
        for (size_t j = 0; j < arrlenu(told.words); j++) {
            uint32_t word = told.words[j];
            const char *first = story.grammar.words[told.words[0]].key;
            if (verbs[word].other == TOY_NONE)
                continue;
            bool one = is_among(first, "a every this another");
            if (j == 2 && (one || is_among(first, "N some these several"))) {
                ck_assert_int_eq(verbs[word].form, one ? TOY_SINGULAR : TOY_PLURAL);
                begun++;
            }
            told.words[j] = verbs[word].other;
            ck_assert_msg(count_all(&story, &told) == 0, "'%s' would do as well",
                          story.grammar.words[told.words[j]].key);
            told.words[j] = word;
            exchanged++;
        }
        arrfree(told.words);
    }
    ck_assert(exchanged > 400 && begun > 10);
    arrfree(verbs);
    toy_story_free(&story);
}
