/* Settings: files of "name = value" lines, and command lines, with all options of train. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"
#include "train/loop/options.h"

#include <stdlib.h>
#include <string.h>

static void begin(Settings *settings, OptionGroup groups[GROUP_COUNT])
{
    *settings = (Settings){0};
    settings_groups(settings, groups);
    options_set_defaults(groups, GROUP_COUNT);
}

/* Written settings are read back unchanged, with all options and with a part of them. */
static void check_stored(const OptionGroup groups[GROUP_COUNT])
{
    Settings again;
    OptionGroup back[GROUP_COUNT];
    Error error = {0};
    char *text = options_write_text(groups, GROUP_COUNT);
    begin(&again, back);
    FUZZ_HOLDS(options_read_text(back, GROUP_COUNT, text, "again", &error));
    char *text_back = options_write_text(back, GROUP_COUNT);
    FUZZ_HOLDS(strcmp(text, text_back) == 0);
    FUZZ_HOLDS(options_read_known(back, 1, text, "again", &error));
    free(text_back);
    text_back = options_write_text(back, GROUP_COUNT);
    FUZZ_HOLDS(strcmp(text, text_back) == 0);
    options_free_texts(back, GROUP_COUNT);
    free(text_back);
    free(text);
}

/* Checking an accepted model again does not change it. */
static void check_model(const OptionGroup *group)
{
    ModelConfig *config = group->target;
    Error error = {0};
    if (!config_check(config, &error)) {
        fuzz_check_reason(&error);
        return;
    }
    char *text = options_write_text(group, 1);
    FUZZ_HOLDS(config_check(config, &error));
    char *again = options_write_text(group, 1);
    FUZZ_HOLDS(strcmp(text, again) == 0);
    config_check_kind_options(config, &error);
    free(again);
    free(text);
}

void fuzz_settings(const uint8_t *data, size_t size)
{
    Settings settings;
    OptionGroup groups[GROUP_COUNT];
    Error error = {0};
    char *text = fuzz_next_text(&data, &size);
    begin(&settings, groups);
    if (options_read_text(groups, GROUP_COUNT, text, "settings", &error)) {
        check_stored(groups);
        FUZZ_HOLDS(options_read_known(groups, GROUP_COUNT, text, "settings", &error));
        StopAfter stop;
        stop_after_read(&stop, settings.session.stop_after, &error);
        check_model(&groups[GROUP_MODEL]);
    } else {
        fuzz_check_reason(&error);
    }
    options_free_texts(groups, GROUP_COUNT);
    free(text);
}

/* --- command lines: words, each followed by a line end --- */

enum { MOST_WORDS = 64 };

static int cut_words(char *text, char *words[MOST_WORDS + 1])
{
    int count = 0;
    words[count++] = (char[]){"train"};
    for (char *word; count < MOST_WORDS && (word = strsep(&text, "\n"));)
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* The same settings, set one by one by name and value. */
static void check_said_plainly(const OptionGroup groups[GROUP_COUNT], const CommandLine *line)
{
    Settings again;
    OptionGroup back[GROUP_COUNT];
    Error error = {0};
    begin(&again, back);
    for (size_t i = 0; i < line->given_count; i++) {
        const OptionArgument *given = &line->given[i];
        FUZZ_HOLDS(given->option && given->value);
        FUZZ_HOLDS(option_takes_value(given->option) || strcmp(given->value, "yes") == 0 ||
                   strcmp(given->value, "no") == 0);
        FUZZ_HOLDS(options_set(back, GROUP_COUNT, given->option->name, given->value, "plainly",
                               &error));
    }
    char *text = options_write_text(groups, GROUP_COUNT),
         *plainly = options_write_text(back, GROUP_COUNT);
    FUZZ_HOLDS(strcmp(text, plainly) == 0);
    options_free_texts(back, GROUP_COUNT);
    free(text);
    free(plainly);
}

void fuzz_command_line(const uint8_t *data, size_t size)
{
    Settings settings;
    OptionGroup groups[GROUP_COUNT];
    CommandLine line;
    Error error = {0};
    char *text = fuzz_next_text(&data, &size), *words[MOST_WORDS + 1];
    int count = cut_words(text, words);
    begin(&settings, groups);
    if (options_scan(groups, GROUP_COUNT, count, words, &line, &error)) {
        FUZZ_HOLDS(line.given_count + line.operand_count < (size_t)count);
        if (options_apply(groups, GROUP_COUNT, &line, &error)) {
            check_stored(groups);
            check_said_plainly(groups, &line);
        } else {
            fuzz_check_reason(&error);
        }
    } else {
        fuzz_check_reason(&error);
    }
    command_line_free(&line);
    options_free_texts(groups, GROUP_COUNT);
    free(text);
}
