/* Options: types and ranges, command lines, and settings files read and written. */
#include "src/base/containers.h"
#include "src/base/options.h"
#include "src/base/text.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "train/loop/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Bird {
    size_t eggs, colour;
    double weight;
    char *song;
    bool flies, rings;
} Bird;

static const char *colour_name(size_t index)
{
    static const char *const names[] = {"brown", "red", "grey"};
    return index < COUNT(names) ? names[index] : NULL;
}

#define FIELD(name) offsetof(Bird, name)
static const char *ringed_bird(const Option *option, size_t index)
{
    (void)option;
    static const char *const names[] = {"finch", "wren"};
    return index < COUNT(names) ? names[index] : NULL;
}

/* clang-format off: a table reads best in rows */
static const Option body_rows[] = {
    {.name = "eggs",
     .argument = "N",
     .type = OPTION_SIZE,
     .offset = FIELD(eggs),
     .low = 1,
     .high = 12,
     .fallback = "4",
     .help = "in a nest",
     .also = "num-eggs clutch-size",
     .stored = true,
     .fixed = true},
    {.name = "weight",
     .argument = "X",
     .type = OPTION_REAL,
     .offset = FIELD(weight),
     .low = 0,
     .high = 100,
     .fallback = "1e-3",
     .help = "in grams",
     .stored = true},
    {.name = "colour",
     .argument = "NAME",
     .type = OPTION_CHOICE,
     .offset = FIELD(colour),
     .fallback = "brown",
     .choice = colour_name,
     .help = "of the back",
     .stored = true},
};
static const Option voice_rows[] = {
    {.name = "song",
     .argument = "TEXT",
     .type = OPTION_TEXT,
     .offset = FIELD(song),
     .help = "what it sings",
     .stored = true},
    {.name = "rings",
     .type = OPTION_FLAG,
     .offset = FIELD(rings),
     .fallback = "no",
     .help = "on its legs",
     .section = "Of some birds",
     .owner = ringed_bird},
    {.name = "flies",
     .type = OPTION_FLAG,
     .offset = FIELD(flies),
     .fallback = "yes",
     .help = "or walks",
     .stored = true},
    {.name = "help", .type = OPTION_ACTION, .help = "this text"},
};
/* clang-format on */

static Bird bird;
static const Options groups = {{{"Body", body_rows, COUNT(body_rows), &bird},
                                {"Voice", voice_rows, COUNT(voice_rows), &bird}}};

static void hatch(void)
{
    options_set_defaults(&groups);
}

static void fly_off(void)
{
    options_free_texts(&groups);
}

SUITE("options", .set_up = hatch, .tear_down = fly_off);

TEST(defaults_come_from_the_table)
{
    ck_assert_uint_eq(bird.eggs, 4);
    ck_assert_uint_eq(bird.colour, 0);
    ck_assert(bird.weight == 1e-3 && bird.flies && !bird.rings && !bird.song);
    Error error;
    ck_assert(options_set(&groups, "song", "twitter", "here", &error));
    options_set_defaults(&groups);
    ck_assert_ptr_null(bird.song);
}

TEST(every_type_accepts_values_in_its_range)
{
    Error error;
    ck_assert(options_set(&groups, "eggs", "1", "here", &error) && bird.eggs == 1);
    ck_assert(options_set(&groups, "eggs", "12", "here", &error) && bird.eggs == 12);
    ck_assert(options_set(&groups, "weight", "0", "here", &error) && bird.weight == 0);
    ck_assert(options_set(&groups, "weight", "1e2", "here", &error) && bird.weight == 100);
    ck_assert(options_set(&groups, "colour", "grey", "here", &error) && bird.colour == 2);
    ck_assert(options_set(&groups, "flies", "no", "here", &error) && !bird.flies);
    ck_assert(options_set(&groups, "song", "", "here", &error));
    ck_assert_str_eq(bird.song, "");
    ck_assert(options_set(&groups, "song", "a = # b", "here", &error));
    ck_assert_str_eq(bird.song, "a = # b");
}

TEST(every_type_refuses_invalid_values)
{
    static const char *const wrong[][3] = {
        {"eggs", "0", "whole number from 1 to 12"},
        {"eggs", "13", "whole number from 1 to 12"},
        {"eggs", "99999999999999999999", "whole number"},
        {"eggs", "-1", "whole number"},
        {"eggs", "4.0", "whole number"},
        {"eggs", "", "whole number"},
        {"weight", "nan", "number from 0 to 100"},
        {"weight", "inf", "number from 0 to 100"},
        {"weight", "-1", "number from 0 to 100"},
        {"weight", "1e-3x", "number from 0 to 100"},
        {"weight", "1e999", "number from 0 to 100"},
        {"weight", "100.0001", "number from 0 to 100"},
        {"weight", "", "number from 0 to 100"},
        {"colour", "Red", "did you mean 'red'?"},
        {"colour", "", "one of: brown, red, grey"},
        {"colour", "1", "one of: brown, red, grey"},
        {"flies", "true", "neither yes nor no"},
        {"song", "two\nlines", "line break"},
        {"help", "yes", "unknown option 'help'"},
        {"wings", "2", "unknown option 'wings'"},
    };
    Bird before = bird;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        Error error = {0};
        ck_assert_msg(!options_set(&groups, wrong[i][0], wrong[i][1], "here:3", &error),
                      "%s took '%s'", wrong[i][0], wrong[i][1]);
        support_check_error(&error, "here:3: ", wrong[i][2]);
        ck_assert_mem_eq(&bird, &before, sizeof bird);
    }
}

/* Parses the words and, if they are valid, applies them. */
static bool understand(CommandLine *line, Error *error, char **words)
{
    int count = 1;
    while (words[count])
        count++;
    return options_scan(&groups, count, words, line, error) &&
           options_apply(&groups, line, error);
}

#define WORDS(...)                \
    (char *[])                    \
    {                             \
        "bird", __VA_ARGS__, NULL \
    }

TEST(command_lines_are_parsed)
{
    CommandLine line;
    Error error;
    char **words = WORDS("nest", "--eggs", "5", "--weight=2.5", "--no-flies", "--rings", "-",
                         "--eggs=6", "--song", "--", "--", "--eggs", "-x");
    ck_assert_msg(understand(&line, &error, words), "%s", error.text);
    ck_assert(bird.eggs == 6 && bird.weight == 2.5 && !bird.flies && bird.rings);
    ck_assert_str_eq(bird.song, "--"); /* a value may look like an option */
    ck_assert_uint_eq(line.operand_count, 4);
    static const char *const operands[] = {"nest", "-", "--eggs", "-x"};
    for (size_t i = 0; i < COUNT(operands); i++)
        ck_assert_str_eq(line.operands[i], operands[i]);
    ck_assert_str_eq(command_line_value(&line, "eggs"), "6");
    ck_assert_str_eq(command_line_value(&line, "flies"), "no");
    ck_assert_ptr_null(command_line_value(&line, "help"));
    command_line_free(&line);
    ck_assert(understand(&line, &error, WORDS("-h", "--song=a=b")));
    ck_assert_ptr_nonnull(command_line_value(&line, "help"));
    ck_assert_str_eq(bird.song, "a=b");
    command_line_free(&line);
    ck_assert(options_scan(&groups, 0, NULL, &line, &error)); /* not even a program name */
    ck_assert_uint_eq(line.operand_count, 0);
    command_line_free(&line);
}

TEST(invalid_command_lines_are_explained)
{
    static const struct {
        char *words[4];
        const char *about, *phrase;
    } cases[] = {
        {{"bird", "--egs", "3"}, "'--egs'", "did you mean '--eggs'?"},
        {{"bird", "--clutch_size", "3"}, "'--clutch_size'", "linnet calls it '--eggs': in a"},
        {{"bird", "--num-eggs=3"}, "'--num-eggs'", "linnet calls it '--eggs'"},
        {{"bird", "--gpus=2"}, "'--gpus'", "linnet runs on the CPU only"},
        {{"bird", "--colour=violet"}, "--colour: 'violet'", "brown, red, grey"},
        {{"bird", "--colour=gray"}, "--colour: ", "no 'gray'; did you mean 'grey'?"},
        {{"bird", "--zzzzzzzzzzzz"}, "unknown option", "'--zzzzzzzzzzzz'"},
        {{"bird", "--eggs"}, "--eggs", "needs a value: N"},
        {{"bird", "--rings=yes"}, "--rings", "takes no value"},
        {{"bird", "--help=me"}, "--help", "takes no value"},
        {{"bird", "--no-eggs"}, "unknown option", "'--no-eggs'"},
        {{"bird", "--no-rings=no"}, "--no-rings", "takes no value"},
        {{"bird", "-e", "3"}, "'-e'", "two dashes"},
        {{"bird", "--eggs", "nan"}, "--eggs: ", "'nan'"},
        {{"bird", "--=3"}, "unknown option", "'--'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        CommandLine line;
        Error error = {0};
        char *words[4];
        memcpy(words, cases[i].words, sizeof words);
        ck_assert_msg(!understand(&line, &error, words), "%s was taken", words[1]);
        support_check_error(&error, cases[i].about, cases[i].phrase);
        command_line_free(&line);
    }
}

TEST(a_distant_option_is_not_suggested)
{
    CommandLine line;
    Error error;
    ck_assert(!understand(&line, &error, WORDS("--zzzzzzzzzzzz")));
    ck_assert_ptr_null(strstr(error.text, "did you mean"));
    command_line_free(&line);
}

TEST(files_of_settings_are_read)
{
    Error error;
    const char *text = "# a bird\n\n  eggs=7\r\n\tcolour = red  \nsong = la = la # no comment\n"
                       "   # another\nflies = no";
    ck_assert_msg(options_read_text(&groups, text, "bird.conf", &error), "%s", error.text);
    ck_assert(bird.eggs == 7 && bird.colour == 1 && !bird.flies);
    ck_assert_str_eq(bird.song, "la = la # no comment");
    ck_assert(options_read_text(&groups, "", "bird.conf", &error));
    static const char *const wrong[][3] = {
        {"eggs = 3\n\nwings = 2\n", "bird.conf:3: ", "unknown option 'wings'"},
        {"egs = 3", "bird.conf:1: ", "did you mean 'eggs'?"},
        {"eggs\n", "bird.conf:1: ", "name = value"},
        {"# x\neggs = many\n", "bird.conf:2: ", "'many'"},
        {"= 3\n", "bird.conf:1: ", "unknown option ''"},
        {"help = yes\n", "bird.conf:1: ", "unknown option 'help'"},
        {"--eggs = 3\n", "bird.conf:1: ", "did you mean 'eggs'?"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        ck_assert_msg(!options_read_text(&groups, wrong[i][0], "bird.conf", &error), "%s",
                      wrong[i][0]);
        support_check_error(&error, wrong[i][1], wrong[i][2]);
    }
}

TEST(written_settings_are_read_back)
{
    static const char *const weights[] = {"0.1", "1e-05", "0.30000000000000004", "100",
                                          "3.0000000000000001e-20"};
    Error error;
    for (size_t i = 0; i < COUNT(weights); i++) {
        ck_assert(options_set(&groups, "weight", weights[i], "here", &error));
        ck_assert(options_set(&groups, "song", "tu \"wit\"\\ = \xc3\xa9 #", "here", &error));
        ck_assert(options_set(&groups, "rings", "yes", "here", &error));
        bird.eggs = i + 1;
        bird.colour = 2;
        bird.flies = false;
        double weight = bird.weight;
        char *text = options_write_text(&groups);
        ck_assert_ptr_null(
            strstr(text, "rings")); /* options that are not stored are not written */
        options_set_defaults(&groups);
        ck_assert_msg(options_read_text(&groups, text, "here", &error), "%s", error.text);
        ck_assert(bird.eggs == i + 1 && bird.colour == 2 && !bird.flies && !bird.rings);
        ck_assert(bird.weight == weight);
        ck_assert_str_eq(bird.song, "tu \"wit\"\\ = \xc3\xa9 #");
        free(text);
    }
}

TEST(values_that_settings_files_cannot_hold_are_refused)
{
    static const char *const wrong[] = {" blank before", "blank behind ", "tab\t", " "};
    Error error;
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(!options_set(&groups, "song", wrong[i], "here", &error), "'%s' was taken",
                      wrong[i]);
}

TEST(options_of_kinds_are_listed_separately)
{
    OptionLine *lines = options_in_order(&groups);
    const char *heading = NULL;
    char *text = NULL;
    for (size_t i = 0; i < arrlenu(lines); i++) {
        if (lines[i].heading != heading)
            text_append(&text, "[%s]", lines[i].heading);
        heading = lines[i].heading;
        text_append(&text, "%s ", lines[i].option->name);
    }
    ck_assert_str_eq(text,
                     "[Body]eggs weight colour [Voice]song flies help [Of some birds]rings ");
    free(text);
    arrfree(lines);
}

TEST(kinds_accept_only_their_own_options)
{
    const size_t first = offsetof(ModelConfig, kind_options);
    ModelConfig config = {0};
    const Options options = {{config_group(&config)}};
    const Option *option;
    for (size_t i = 0; (option = option_at(&options, i)); i++) {
        bool theirs = option->offset >= first &&
                      option->offset < first + sizeof(AttentionOptions);
        ck_assert_msg((option->owner != NULL) == theirs, "%s", option->name);
        if (!theirs)
            continue;
        ck_assert_msg(option->owner(option, 0), "no kind has --%s", option->name);
        for (size_t k = 0; option->owner(option, k); k++) {
            size_t kind = 0;
            while (strcmp(attention_name(kind), option->owner(option, k)) != 0)
                kind++;
            ck_assert(config_kind_uses(attention_find(kind), option->name));
        }
    }
}

TEST(the_option_tables_are_valid)
{
    Settings settings = {0};
    const Options all = settings_options(&settings);
    const Option *option;
    options_set_defaults(&all); /* which would end the program */
    for (size_t i = 0; (option = option_at(&all, i)); i++) {
        ck_assert_ptr_eq(option_find(&all, option->name), option);
        ck_assert_msg(!option->fixed || option->stored, "%s", option->name);
        ck_assert_msg(strncmp(option->name, "no-", 3) != 0, "%s", option->name);
        ck_assert_msg(option->type == OPTION_TEXT || option->type == OPTION_ACTION ||
                          option->fallback,
                      "%s has no default", option->name);
    }
    char *text = options_write_text(&all);
    Error error;
    ck_assert_msg(options_read_text(&all, text, "here", &error), "%s", error.text);
    char *again = options_write_text(&all);
    ck_assert_str_eq(text, again);
    free(text);
    free(again);
    options_free_texts(&all);
}
