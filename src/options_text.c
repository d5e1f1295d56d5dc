/* Options as text: files of "name = value" lines, and values as one would type them. */
#include "src/memory.h"
#include "src/options.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

/* Settings of earlier versions that switched off what this version does not have; every run of
 * theirs stores them. */
static bool is_gone(const char *name, const char *value)
{
    return (strcmp(name, "jitter") == 0 && strcmp(value, "0") == 0) ||
           (strcmp(name, "locked") == 0 && strcmp(value, "no") == 0);
}

static bool read_line(const OptionGroup *groups, size_t count, bool known_only, char *line,
                      const char *where, Error *error)
{
    const OptionGroup *group;
    char *name = text_trim(line), *equals = strchr(name, '=');
    if (!*name || *name == '#')
        return true;
    if (!equals)
        return error_set(error, "%s: '%s' is not of the form name = value", where, name);
    *equals = '\0';
    name = text_trim(name);
    const char *value = text_trim(equals + 1);
    if (is_gone(name, value) || (known_only && !option_find(groups, count, name, &group)))
        return true;
    return options_set(groups, count, name, value, where, error);
}

static bool read_lines(const OptionGroup *groups, size_t count, bool known_only,
                       const char *text, const char *where, Error *error)
{
    char *copy = memory_copy_text(text);
    bool good = true;
    size_t number = 1;
    for (char *line = copy; good && line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        char *place = text_format("%s:%zu", where, number);
        good = read_line(groups, count, known_only, line, place, error);
        free(place);
        line = end ? end + 1 : NULL;
    }
    free(copy);
    return good;
}

bool options_read_text(const OptionGroup *groups, size_t count, const char *text,
                       const char *where, Error *error)
{
    return read_lines(groups, count, false, text, where, error);
}

bool options_read_known(const OptionGroup *groups, size_t count, const char *text,
                        const char *where, Error *error)
{
    return read_lines(groups, count, true, text, where, error);
}

char *option_value(const OptionGroup *group, const Option *option)
{
    const void *source = option_field(group, option);
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
    case OPTION_CHOICES: {
        const Choices *chosen = source;
        char *text = memory_copy_text("");
        for (size_t i = 0; i < chosen->count; i++)
            text_append(&text, "%s%s", i ? "+" : "", option->choice(chosen->at[i]));
        return text;
    }
    case OPTION_ACTION:
        break;
    }
    return memory_copy_text("");
}

char *options_write_text(const OptionGroup *groups, size_t count)
{
    char *text = memory_copy_text("");
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            if (!option->stored)
                continue;
            char *value = option_value(&groups[g], option);
            if (*value)
                text_append(&text, "%s = %s\n", option->name, value);
            free(value);
        }
    return text;
}
