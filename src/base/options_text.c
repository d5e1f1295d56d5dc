/* Options as text: files of "name = value" lines, and values as one would type them. */
#include "src/base/memory.h"
#include "src/base/options.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Settings of earlier versions that switched off what this version does not have; every run of
 * theirs stores them. */
static bool is_gone(const char *name, const char *value)
{
    static const char *const settings[][2] = {
        {"jitter", "0"},         {"locked", "no"},
        {"noise", "0"},          {"redraw", "0"},
        {"streams", "no"},       {"penalty", "0"},
        {"change-penalty", "0"}, {"adversarial-softmax", "0"},
        {"soft-targets", ""}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcmp(name, settings[i][0]) == 0 && strcmp(value, settings[i][1]) == 0)
            return true;
    return false;
}

bool options_read_lines(const char *text, const char *where, OptionLineTaker *on_line,
                        void *self, Error *error)
{
    char *copy = memory_copy_text(text), *rest = copy;
    bool good = true;
    for (size_t number = 1; good && rest; number++) {
        char *name = text_trim(strsep(&rest, "\n")), *equals = strchr(name, '=');
        char *place = text_format("%s:%zu", where, number);
        if (*name == '#') {
            good = on_line(self, name, NULL, place, error);
        } else if (equals) {
            *equals = '\0';
            good = on_line(self, text_trim(name), text_trim(equals + 1), place, error);
        } else if (*name) {
            good = error_set(error, "%s: '%.40s' is not of the form name = value", place, name);
        }
        free(place);
    }
    free(copy);
    return good;
}

typedef struct Reading {
    const Options *options;
    bool known_only;
} Reading;

static bool set_option(void *self, char *name, char *value, const char *where, Error *error)
{
    const Reading *reading = self;
    return !value || is_gone(name, value) ||
           (reading->known_only && !option_find(reading->options, name)) ||
           options_set(reading->options, name, value, where, error);
}

bool options_read_text(const Options *options, const char *text, const char *where,
                       Error *error)
{
    Reading reading = {options, false};
    return options_read_lines(text, where, set_option, &reading, error);
}

bool options_read_known(const Options *options, const char *text, const char *where,
                        Error *error)
{
    Reading reading = {options, true};
    return options_read_lines(text, where, set_option, &reading, error);
}

/* Names joined by +; one that stands three times or more in a row is written as 3xNAME. The
 * caller's. */
static char *choices_text(const Option *option, const Choices *chosen)
{
    char *text = memory_copy_text("");
    for (size_t i = 0, same; i < chosen->count; i += same) {
        for (same = 1; i + same < chosen->count && chosen->index[i + same] == chosen->index[i];)
            same++;
        same = same < 3 ? 1 : same;
        text_append(&text, "%s", i ? "+" : "");
        if (same > 1)
            text_append(&text, "%zux", same);
        text_append(&text, "%s", option->choice(chosen->index[i]));
    }
    return text;
}

char *option_value(const Options *options, const Option *option)
{
    const void *source = option_field(options, option);
    switch (option->type) {
    case OPTION_SIZE:
        if (*(const size_t *)source == OPTION_AUTO)
            return memory_copy_text("auto");
        return text_format("%zu", *(const size_t *)source);
    case OPTION_REAL: {
        /* The shortest text that reads back as the same number. */
        double number = *(const double *)source;
        for (int digits = 1; digits < 17; digits++) {
            char *text = text_format("%.*g", digits, number);
            if (strtod(text, NULL) == number)
                return text;
            free(text);
        }
        return text_format("%.17g", number);
    }
    case OPTION_TEXT: {
        const char *text = *(char *const *)source;
        return memory_copy_text(text ? text : "");
    }
    case OPTION_FLAG:
        return memory_copy_text(*(const bool *)source ? "yes" : "no");
    case OPTION_CHOICE:
        return memory_copy_text(option->choice(*(const size_t *)source));
    case OPTION_CHOICES:
        return choices_text(option, source);
    case OPTION_ACTION:
        break;
    }
    return memory_copy_text("");
}

bool option_has_default(const Options *options, const Option *option)
{
    const char *fallback = option->fallback ? option->fallback : "";
    char *value = option_value(options, option);
    double number, usual; /* 0.001 and 1e-3 are the same */
    bool same = strcmp(value, fallback) == 0 ||
                (text_to_double(value, &number) && text_to_double(fallback, &usual) &&
                 number == usual);
    free(value);
    return same;
}

char *options_write_text(const Options *options)
{
    char *text = memory_copy_text("");
    const Option *option;
    for (size_t i = 0; (option = option_at(options, i)); i++) {
        char *value = option_value(options, option);
        if (option->stored && *value)
            text_append(&text, "%s = %s\n", option->name, value);
        free(value);
    }
    return text;
}
