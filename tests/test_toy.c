/* The toy corpus: its text has the requested form, and costs what its entropy says. */
#include "data/corpora/toy.h"
#include "src/base/containers.h"
#include "tests/tests.h"
#include "tests/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

SUITE("toy");

/* --- numbers --- */

TEST(entropy_agrees_with_the_cost_of_texts)
{
    enum { BATCHES = 400, SENTENCES = 100 };
    double surprise[BATCHES], tokens[BATCHES], rate = toy_entropy(), spread = 0;
    ToyStory story;
    FILE *nowhere = fopen("/dev/null", "w");
    toy_story_begin(&story, 5);
    for (size_t b = 0; b < BATCHES; b++) {
        double surprise_before = story.surprise, tokens_before = (double)story.tokens;
        for (size_t i = 0; i < SENTENCES; i++)
            toy_story_tell(&story, nowhere);
        surprise[b] = story.surprise - surprise_before;
        tokens[b] = (double)story.tokens - tokens_before;
    }
    /* Batches are much longer than a paragraph, and thus nearly independent. */
    for (size_t b = 0; b < BATCHES; b++)
        spread += (surprise[b] - rate * tokens[b]) * (surprise[b] - rate * tokens[b]);
    double error = sqrt(spread) / (double)story.tokens;
    double mean = story.surprise / (double)story.tokens;
    ck_assert_double_lt(error, 0.002); /* otherwise the next check means little */
    ck_assert_msg(fabs(mean - rate) < 4 * error, "%.5f, not %.5f +- %.5f", mean, rate, error);
    double length = (double)story.tokens / (BATCHES * SENTENCES);
    ck_assert(length > 12 && length < 20);
    ck_assert(shlenu(story.grammar.words) >= 400 && shlenu(story.grammar.words) <= 700);
    fclose(nowhere);
    toy_story_free(&story);
}

TEST(topics_persist_and_have_their_frequencies)
{
    enum { SENTENCES = 60000 };
    const double shares[TOY_TOPICS] = {0.26, 0.20, 0.17, 0.14, 0.12, 0.11};
    size_t seen[TOY_TOPICS] = {0}, stayed = 0;
    ToyStory story;
    FILE *nowhere = fopen("/dev/null", "w");
    toy_story_begin(&story, 9);
    for (size_t i = 0; i < SENTENCES; i++) {
        uint32_t before = story.topic;
        toy_story_tell(&story, nowhere);
        stayed += i > 0 && story.topic == before;
        seen[story.topic]++;
    }
    ck_assert_double_eq_tol((double)stayed / SENTENCES, 0.875, 0.015); /* 0.877 expected */
    for (size_t t = 0; t < TOY_TOPICS; t++)
        ck_assert_double_eq_tol((double)seen[t] / SENTENCES, shares[t], 0.03);
    fclose(nowhere);
    toy_story_free(&story);
}

/* --- text --- */

static size_t count_tokens(const char *text)
{
    size_t tokens = 0;
    for (; *text; text++)
        tokens += *text == '\n'
                      ? 2
                      : *text == ' '; /* a line end ends a word, and is a token itself */
    return tokens;
}

TEST(texts_are_well_formed)
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

TEST(seeds_decide_the_text)
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

/* A person called "mr. jones" or "he" was introduced before, by that name. */
TEST(people_keep_their_names)
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
