/* Texts as they are printed: detokenised, in columns; and the commands of a session. */
#include "eval/show/detok.h"
#include "eval/show/writer.h"
#include "eval/sample/texts.h"
#include "eval/sample/session.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/content.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <stdlib.h>
#include <string.h>

SUITE("writing");

/* --- detokenising --- */

static void append_word(Detok *detok, char **text, const char *word)
{
    bool space;
    char *written = detok_word(detok, word, &space);
    text_append(text, "%s%s", space ? " " : "", written);
    free(written);
}

/* Words between single blanks; "\n" is a line end. */
static void check_detok(const char *words, const char *expected)
{
    Detok detok;
    char *copy = memory_copy_text(words), *rest = copy, *text = memory_copy_text("");
    detok_begin(&detok);
    for (char *word; (word = strsep(&rest, " "));) {
        if (strcmp(word, "\n") != 0) {
            append_word(&detok, &text, word);
            continue;
        }
        text_append(&text, "\n");
        detok_begin(&detok);
    }
    ck_assert_str_eq(text, expected);
    free(text);
    free(copy);
}

TEST(punctuation_is_spaced_as_in_print)
{
    check_detok("yes , no ; so : it is .", "yes, no; so: it is.");
    check_detok("really ? no !", "really? no!");
    check_detok("well ... yes", "well... yes");
    check_detok("a ( big -lrb- red -rrb- ) one [ x ] -lsb- y -rsb-",
                "a (big (red)) one [x] [y]");
    check_detok("-LRB- x -RRB- { y } -lcb- z -rcb-", "(x) {y} {z}");
    check_detok("he said `` no '' , twice", "he said \"no\", twice");
    check_detok("he said \" no \" and \" yes \" .", "he said \"no\" and \"yes\".");
    check_detok("a \" b \n c \" d", "a \"b\nc \"d");
    check_detok("the ` new ' banks ' debts", "the 'new' banks' debts");
    check_detok("one -- or two", "one -- or two");
    check_detok("ab\\/cd 1\\/2 \\* a\\b", "ab/cd 1/2 * a\\b");
}

TEST(parts_of_words_are_joined)
{
    check_detok("it did n't , ca n't and wo n't", "it didn't, can't and won't");
    check_detok("they 're we 've he 'll she 'd i 'm it 's",
                "they're we've he'll she'd i'm it's");
    check_detok("he can not but the can is not", "he cannot but the can is not");
    check_detok("i 'm gon na we got ta you wan na", "i'm gonna we gotta you wanna");
    check_detok("gim me that lem me go", "gimme that lemme go");
    check_detok("'s so", "'s so"); /* nothing to join */
    check_detok("can \n not", "can\nnot");
}

TEST(numbers_keep_their_signs)
{
    check_detok("$ N million at N %", "$N million at N%");
    check_detok("us$ 20 , c$ 3.5 and # .5", "us$20, c$3.5 and #.5");
    check_detok("a $ N-a-share offer", "a $N-a-share offer");
    check_detok("the $ sign , the % sign", "the $ sign, the % sign");
    check_detok("$ No one", "$ No one");
    check_detok("N N stake", "N N stake");
    check_detok("\xe2\x82\xac 20", "\xe2\x82\xac"
                                   "20");
}

TEST(words_of_any_length_are_written)
{
    char word[TOKEN_LONGEST + 1];
    memset(word, 'a', TOKEN_LONGEST);
    word[TOKEN_LONGEST] = '\0';
    for (size_t length = TOKEN_LONGEST; length > 1; length -= length > 40 ? 97 : 1) {
        word[length] = '\0';
        char *words = text_format("mr. %s , x", word),
             *expected = text_format("mr. %s, x", word);
        check_detok(words, expected);
        free(words);
        free(expected);
    }
}

/* --- columns --- */

TEST(texts_are_printed_side_by_side)
{
    static char *const texts[] = {"one bird\n", "two birds that sing and then go away\n", ""};
    char *printed = NULL;
    size_t size;
    FILE *stream = open_memstream(&printed, &size);
    texts_print_columns(stream, texts, 3, 1, 51, false);
    fclose(stream);
    ck_assert_str_eq(printed, "(1)                      | (2)\n"
                              "one bird                 | two birds that sing and\n"
                              "                         | then go away\n"
                              "\n"
                              "(3)\n");
    free(printed);
    stream = open_memstream(&printed, &size);
    texts_print_columns(stream, texts, 2, 7, 5, true);
    fclose(stream);
    ck_assert_str_eq(printed,
                     "(7)\none\nbird\n\n(8)\ntwo\nbirds\nthat\nsing\nand\nthen\ngo\naway\n");
    free(printed);
}

/* --- commands of a session --- */

TEST(session_commands_set_options)
{
    TextOptions options = {0};
    const Options group = text_options(&options);
    Error error;
    options_set_defaults(&group);
    ck_assert(session_set(&group, "temperature", "1.5", &error));
    ck_assert_double_eq(options.sampler.temperature, 1.5);
    ck_assert(session_set(&group, "temp", "0.5", &error));
    ck_assert_double_eq(options.sampler.temperature, 0.5);
    ck_assert(session_set(&group, "probs", "on", &error) && options.show_probs);
    ck_assert(session_set(&group, "probs", "off", &error) && !options.show_probs);
    ck_assert(session_set(&group, "unk", "", &error) && !options.unk);
    ck_assert(session_set(&group, "unk", "yes", &error) && options.unk);
    const Option *option;
    for (size_t i = 0; (option = option_at(&group, i)); i++)
        ck_assert_ptr_eq(session_find_option(&group, option->name, &error), option);
}

TEST(a_stop_text_may_be_quoted)
{
    TextOptions options = {0};
    const Options group = text_options(&options);
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_WORD, "a b\n", 0, 1);
    Error error;
    options_set_defaults(&group);
    ck_assert(text_options_check(&options, &vocabulary, &error));
    static const char *const typed[][2] = {{"a b", "a b"}, {"\". \"", ". "}, {"\"\"", ""},
                                           {"\"", "\""},   {"a\"", "a\""},   {"\\n", "\\n"}};
    for (size_t i = 0; i < COUNT(typed); i++) {
        ck_assert(session_set(&group, "stop", typed[i][0], &error));
        ck_assert_str_eq(options.stop, typed[i][1]);
        ck_assert(text_options_check(&options, &vocabulary, &error));
    }
    ck_assert(session_set(&group, "penalty", "1.5", &error));
    ck_assert_double_eq(options.sampler.penalty, 1.5);
    ck_assert(session_set(&group, "stop", "a\\b", &error));
    ck_assert(!text_options_check(&options, &vocabulary, &error));
    support_check_error(&error, "stop text 'a\\b'", "backslash");
    options_free_texts(&group);
    vocabulary_free(&vocabulary);
}

TEST(invalid_commands_change_nothing)
{
    static const char *const wrong[][3] = {
        {"temperature", "200", "from 0 to 100"},
        {"temperature", "warm", "warm"},
        {"top", "3", "/top-k or /top-p"},
        {"wings", "2", "no command /wings"},
        {"temprature", "2", "did you mean /temperature?"},
        {"", "2", "no command"},
        {"detok", "perhaps", "perhaps"},
        {"count", "0", "from 1"},
        {"length", "", "length"},
        {"stop", "a\nb", "line break"},
        {"repetition-penalty", "0", "from 0.01 to 100"},
    };
    TextOptions options = {0};
    const Options group = text_options(&options);
    options_set_defaults(&group);
    TextOptions before = options;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        Error error;
        ck_assert(!session_set(&group, wrong[i][0], wrong[i][1], &error));
        support_check_error(&error, wrong[i][0], wrong[i][2]);
    }
    ck_assert_double_eq(options.sampler.temperature, before.sampler.temperature);
    ck_assert(options.length == before.length && options.count == before.count);
    ck_assert(options.detok == before.detok);
}

TEST(only_word_tokens_are_detokenised)
{
    TextOptions options = {.detok = true};
    Error error;
    for (size_t tokenizer = 0; tokenizer_find(tokenizer); tokenizer++) {
        Vocabulary vocabulary = vocabulary_of(tokenizer, "a b\n", 0, 1);
        ck_assert(text_options_check(&options, &vocabulary, &error) ==
                  (tokenizer == TOKENIZER_WORD || tokenizer == TOKENIZER_WORDPUNCT));
        vocabulary_free(&vocabulary);
    }
    support_check_error(&error, "--detok", "bpe");
}

/* An excerpt must be the text that is sampled after a start token, with a line end. */
static void check_excerpt(Generator *generator, const Vocabulary *vocabulary, int32_t start)
{
    enum { LENGTH = 30 };
    const SamplerOptions sampler = {.temperature = 0.8, .top_p = 1};
    RandomKey key = random_key(1, RANDOM_SAMPLE, 0);
    char *expected = memory_copy_text("");
    char *excerpt = excerpt_make(generator, vocabulary, LENGTH, key);
    generator_restart(generator);
    for (size_t i = 0; i < LENGTH; i++) {
        const char *piece;
        generator_read(generator, &start);
        start = generator_pick(generator, 0, &sampler, random_uniform(key, i), vocabulary->unk);
        vocabulary_piece(vocabulary, start, &piece);
        text_append(&expected, "%s", piece);
    }
    if (start != vocabulary->eos)
        text_append(&expected, "\n");
    ck_assert_str_eq(excerpt, expected);
    free(excerpt);
    free(expected);
}

TEST(excerpts_begin_after_the_start_token)
{
    SmallModel small;
    Generator generator;
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_CHAR, "abcdefgh\n", 0, 1);
    ModelConfig config = content_config;
    config.vocabulary = vocabulary.count;
    small_model_make(&small, config, 0.5);
    generator_make(&generator, &small.model, 1);
    check_excerpt(&generator, &vocabulary, vocabulary.eos);
    for (size_t start = 0; start < vocabulary.count; start++) {
        vocabulary.start = (int32_t)start;
        check_excerpt(&generator, &vocabulary, vocabulary.start);
    }
    generator_free(&generator);
    vocabulary_free(&vocabulary);
    small_model_free(&small);
}
