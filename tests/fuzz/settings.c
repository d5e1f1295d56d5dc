/* Settings: files of "name = value" lines, and command lines, with all options of train. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/fuzz/fuzz.h"
#include "train/loop/options.h"

#include <stdlib.h>
#include <string.h>

static Options begin(Settings *settings)
{
    *settings = (Settings){0};
    const Options options = settings_options(settings);
    options_set_defaults(&options);
    return options;
}

/* Written settings are read back unchanged, with all options and with a part of them. */
static void check_stored(const Options *options)
{
    Settings again;
    const Options back = begin(&again), part = {{back.groups[0]}};
    Error error = {0};
    char *text = options_write_text(options);
    FUZZ_HOLDS(options_read_text(&back, text, "again", &error));
    char *text_back = options_write_text(&back);
    FUZZ_HOLDS(strcmp(text, text_back) == 0);
    FUZZ_HOLDS(options_read_known(&part, text, "again", &error));
    free(text_back);
    text_back = options_write_text(&back);
    FUZZ_HOLDS(strcmp(text, text_back) == 0);
    options_free_texts(&back);
    free(text_back);
    free(text);
}

/* Checking an accepted model again does not change it. */
static void check_model(ModelConfig *config)
{
    const Options options = {{config_group(config)}};
    Error error = {0};
    if (!config_check(config, &error)) {
        fuzz_check_reason(&error);
        return;
    }
    char *text = options_write_text(&options);
    FUZZ_HOLDS(config_check(config, &error));
    char *again = options_write_text(&options);
    FUZZ_HOLDS(strcmp(text, again) == 0);
    config_check_kind_options(config, &error);
    free(again);
    free(text);
}

void fuzz_settings(const uint8_t *data, size_t size)
{
    Settings settings;
    const Options options = begin(&settings);
    Error error = {0};
    char *text = fuzz_next_text(&data, &size);
    if (options_read_text(&options, text, "settings", &error)) {
        check_stored(&options);
        FUZZ_HOLDS(options_read_known(&options, text, "settings", &error));
        StopAfter stop;
        stop_after_read(&stop, settings.session.stop_after, &error);
        check_model(&settings.model);
    } else {
        fuzz_check_reason(&error);
    }
    options_free_texts(&options);
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
static void check_said_plainly(const Options *options, const CommandLine *line)
{
    Settings again;
    const Options back = begin(&again);
    Error error = {0};
    for (size_t i = 0; i < line->given_count; i++) {
        const OptionArgument *given = &line->given[i];
        FUZZ_HOLDS(given->option && given->value);
        FUZZ_HOLDS(option_takes_value(given->option) || strcmp(given->value, "yes") == 0 ||
                   strcmp(given->value, "no") == 0);
        FUZZ_HOLDS(options_set(&back, given->option->name, given->value, "plainly", &error));
    }
    char *text = options_write_text(options), *plainly = options_write_text(&back);
    FUZZ_HOLDS(strcmp(text, plainly) == 0);
    options_free_texts(&back);
    free(text);
    free(plainly);
}

void fuzz_command_line(const uint8_t *data, size_t size)
{
    Settings settings;
    const Options options = begin(&settings);
    CommandLine line;
    Error error = {0};
    char *text = fuzz_next_text(&data, &size), *words[MOST_WORDS + 1];
    int count = cut_words(text, words);
    if (options_scan(&options, count, words, &line, &error)) {
        FUZZ_HOLDS(line.given_count + line.operand_count < (size_t)count);
        if (options_apply(&options, &line, &error)) {
            check_stored(&options);
            check_said_plainly(&options, &line);
        } else {
            fuzz_check_reason(&error);
        }
    } else {
        fuzz_check_reason(&error);
    }
    command_line_free(&line);
    options_free_texts(&options);
    free(text);
}
