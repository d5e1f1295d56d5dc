/* The toy corpus: that its text is what was asked for, and that its entropy is what it says.
 *
 * The entropy rests on every sentence having one derivation only. That is shown twice: the
 * derivations of samples are counted, and a search goes through the whole grammar, all depths
 * and topics, for a sentence that has two. */
#include "data/toy.h"
#include "data/toy_story.h"
#include "src/containers.h"
#include "tests/tests.h"
#include "tests/toy_ambiguity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

START_TEST(one_derivation_each)
{
    ToyStory story;
    toy_story_begin(&story, 1);
    /* Roots that may follow the same text: somebody is known, if at all, while the topic stays,
     * so that <sequel> of one topic competes with <fresh> of the others. */
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
END_TEST

/* A language of two rules, to see that the search can find what it is looking for. */
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

START_TEST(ambiguity_is_found)
{
    ck_assert(!finds_ambiguity("<thing> <tail> .", "of it", "well"));
    ck_assert(finds_ambiguity("<thing> <tail> <tail> .", "of it", "well"));
    ck_assert(!finds_ambiguity("<thing> <tail> <thing>", "loan", "well"));
    ck_assert(finds_ambiguity("<tail> <thing> <tail>", "bond", "well"));
    ck_assert(finds_ambiguity("<thing> <tail> .", "of it", "well loan"));
    ck_assert(finds_ambiguity("the <tail> .", "thing", "well"));
}
END_TEST

/* --- samples --- */

static uint32_t word_id(const ToyGrammar *grammar, const char *word)
{
    ToyName *words = grammar->words;
    ptrdiff_t at = shgeti(words, strcmp(word, "an") == 0 ? "a" : word);
    ck_assert_msg(at >= 0, "'%s' is in no list", word);
    return (uint32_t)at;
}

/* The ids of a line's words, an stb_ds array. The line is cut up. */
static uint32_t *read_line(const ToyGrammar *grammar, char *line)
{
    uint32_t *words = NULL;
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n"))
        arrput(words, word_id(grammar, word));
    return words;
}

/* A line of a story, and the roots that it could have come from. */
typedef struct Told {
    uint32_t *words, roots[TOY_TOPICS];
} Told;

static Told tell(ToyStory *story)
{
    Told told;
    char *line = NULL;
    bool known = story->memory[story->grammar.person] != TOY_NONE;
    for (uint32_t t = 0; t < TOY_TOPICS; t++)
        told.roots[t] = known && t == story->topic ? story->sequel[t] : story->fresh[t];
    toy_story_tell(story, &line);
    arrput(line, '\0');
    told.words = read_line(&story->grammar, line);
    arrfree(line);
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

START_TEST(samples_parse_once)
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
END_TEST

static bool is_verb(const ToyGrammar *grammar, const ToyNode *node)
{
    const char *verbs[] = {"<verb>",  "<regards>", "<leans>", "<objects>", "<says>", "<hopes>",
                           "<rises>", "<remains>", "<have>",  "<is>",      "<was>"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(grammar->symbols[node->symbol].key, verbs[i]) == 0)
            return true;
    return false;
}

typedef struct Verb {
    uint32_t form, other; /* the word of the other number; TOY_NONE: not a verb's present */
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

/* Whether the word is one of those in the list. */
static bool is_among(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* Two ways: "several banks sell" as English has it, and no verb's number can be exchanged. */
START_TEST(verbs_agree)
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
END_TEST

/* --- the numbers --- */

START_TEST(entropy_is_what_texts_cost)
{
    enum { BATCHES = 400, SENTENCES = 100 };
    double surprise[BATCHES], tokens[BATCHES], rate = toy_entropy(), spread = 0;
    ToyStory story;
    char *text = NULL;
    toy_story_begin(&story, 5);
    for (size_t b = 0; b < BATCHES; b++) {
        double surprise_before = story.surprise, tokens_before = (double)story.tokens;
        for (size_t i = 0; i < SENTENCES; i++)
            toy_story_tell(&story, &text);
        surprise[b] = story.surprise - surprise_before;
        tokens[b] = (double)story.tokens - tokens_before;
        arrsetlen(text, 0);
    }
    /* Batches are long against a paragraph, and thus nearly independent. */
    for (size_t b = 0; b < BATCHES; b++)
        spread += (surprise[b] - rate * tokens[b]) * (surprise[b] - rate * tokens[b]);
    double error = sqrt(spread) / (double)story.tokens;
    double mean = story.surprise / (double)story.tokens;
    ck_assert_double_lt(error, 0.002); /* else the next line says little */
    ck_assert_msg(fabs(mean - rate) < 4 * error, "%.5f, not %.5f +- %.5f", mean, rate, error);
    double length = (double)story.tokens / (BATCHES * SENTENCES);
    ck_assert(length > 12 && length < 20);
    ck_assert(shlenu(story.grammar.words) >= 400 && shlenu(story.grammar.words) <= 700);
    arrfree(text);
    toy_story_free(&story);
}
END_TEST

START_TEST(topics_stay_and_have_their_shares)
{
    enum { SENTENCES = 60000 };
    const double shares[TOY_TOPICS] = {0.26, 0.20, 0.17, 0.14, 0.12, 0.11};
    size_t seen[TOY_TOPICS] = {0}, stayed = 0;
    ToyStory story;
    char *text = NULL;
    toy_story_begin(&story, 9);
    for (size_t i = 0; i < SENTENCES; i++) {
        uint32_t before = story.topic;
        toy_story_tell(&story, &text);
        stayed += i > 0 && story.topic == before;
        seen[story.topic]++;
        arrsetlen(text, 0);
    }
    ck_assert(stayed > 0.86 * SENTENCES && stayed < 0.89 * SENTENCES); /* 0.877 expected */
    for (size_t t = 0; t < TOY_TOPICS; t++)
        ck_assert_double_eq_tol((double)seen[t] / SENTENCES, shares[t], 0.03);
    arrfree(text);
    toy_story_free(&story);
}
END_TEST

/* --- the text --- */

static size_t count_tokens(const char *text)
{
    size_t tokens = 0;
    for (; *text; text++)
        tokens += *text == '\n' ? 2 : *text == ' '; /* a line end ends a word, and is one */
    return tokens;
}

START_TEST(texts_are_well_formed)
{
    char *text = toy_write(3, 50000), before = '\n';
    size_t tokens = count_tokens(text), lines = 0;
    ck_assert(tokens >= 50000 && tokens < 50100);
    for (const char *c = text; *c; before = *c++) {
        ck_assert_msg(strchr("abcdefghijklmnopqrstuvwxyz .,-$%N\n", *c), "byte %d", *c);
        ck_assert(!strchr(" \n", *c) || !strchr(" \n", before));
        lines += *c == '\n';
        ck_assert(*c != '\n' || (c - text >= 2 && memcmp(c - 2, " .", 2) == 0));
    }
    ck_assert_int_eq(before, '\n');
    ck_assert_uint_gt(lines, 2500);
    ck_assert_ptr_null(strstr(text, " a a"));
    ck_assert_ptr_null(strstr(text, " an n"));
    ck_assert_ptr_nonnull(strstr(text, " an "));
    free(text);
}
END_TEST

START_TEST(seeds_decide)
{
    char *text = toy_write(1, 2000), *again = toy_write(1, 2000), *other = toy_write(2, 2000);
    char *longer = toy_write(1, 9000), *nothing = toy_write(1, 0);
    ck_assert_str_eq(text, again);
    ck_assert_str_ne(text, other);
    ck_assert(strncmp(longer, text, strlen(text)) == 0);
    ck_assert_str_eq(nothing, "");
    free(text);
    free(again);
    free(other);
    free(longer);
    free(nothing);
}
END_TEST

typedef struct Person {
    char surname[32];
    const char *title, *pronoun;
} Person;

static void read_introduction(const char *line, Person *person)
{
    char first[32], surname[32];
    if (sscanf(line, "%31s %31s", first, surname) != 2)
        return;
    if (is_among(first, "john robert james william michael david richard thomas"))
        *person = (Person){.title = "mr. ", .pronoun = "he "};
    if (is_among(first, "mary susan linda karen helen barbara"))
        *person = (Person){.title = "ms. ", .pronoun = "she "};
    if (person->title && !person->surname[0])
        strcpy(person->surname, surname);
}

/* Whoever is called "mr. jones" or "he" was introduced before, by that name and no other. */
START_TEST(people_keep_their_names)
{
    char *text = toy_write(4, 60000), *state = NULL;
    Person person = {.title = NULL};
    size_t references = 0;
    for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
        const char *mr = strstr(line, "mr. "), *called = mr ? mr : strstr(line, "ms. ");
        bool he = strncmp(line, "he ", 3) == 0, she = strncmp(line, "she ", 4) == 0;
        if (called || he || she) {
            ck_assert_ptr_nonnull(person.title);
            references++;
        }
        if (called) {
            const char *name = called + strlen(person.title);
            ck_assert_msg(strncmp(called, person.title, 4) == 0, "%s", line);
            ck_assert_msg(strncmp(name, person.surname, strlen(person.surname)) == 0, "%s",
                          line);
        }
        if (he || she)
            ck_assert_msg(strncmp(line, person.pronoun, strlen(person.pronoun)) == 0, "%s",
                          line);
        read_introduction(line, &person);
    }
    ck_assert_uint_gt(references, 500);
    free(text);
}
END_TEST

Suite *toy_suite(void)
{
    Suite *suite = suite_create("toy");
    TCase *meaning = tcase_create("one derivation");
    tcase_set_timeout(meaning, 300);
    tcase_add_test(meaning, one_derivation_each);
    tcase_add_test(meaning, ambiguity_is_found);
    tcase_add_test(meaning, samples_parse_once);
    tcase_add_test(meaning, verbs_agree);
    suite_add_tcase(suite, meaning);
    TCase *numbers = tcase_create("numbers");
    tcase_set_timeout(numbers, 60);
    tcase_add_test(numbers, entropy_is_what_texts_cost);
    tcase_add_test(numbers, topics_stay_and_have_their_shares);
    suite_add_tcase(suite, numbers);
    TCase *text = tcase_create("text");
    tcase_add_test(text, texts_are_well_formed);
    tcase_add_test(text, seeds_decide);
    tcase_add_test(text, people_keep_their_names);
    suite_add_tcase(suite, text);
    return suite;
}
