#include "src/base/options.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

size_t options_group_count(const Options *options)
{
    size_t count = 0;
    while (count < OPTION_GROUPS && options->groups[count].count > 0)
        count++;
    return count;
}

const Option *option_at(const Options *options, size_t index)
{
    const OptionGroup *group = options->groups, *end = group + options_group_count(options);
    for (; group < end && index >= group->count; group++)
        index -= group->count;
    return group < end ? &group->options[index] : NULL;
}

const Option *option_find(const Options *options, const char *name)
{
    const Option *option;
    size_t i = 0;
    while ((option = option_at(options, i)) && strcmp(option->name, name) != 0)
        i++;
    return option;
}

void *option_field(const Options *options, const Option *option)
{
    const OptionGroup *end = options->groups + options_group_count(options);
    for (const OptionGroup *group = options->groups; group < end; group++)
        for (size_t i = 0; i < group->count; i++)
            if (&group->options[i] == option)
                return (char *)group->target + option->offset;
    return NULL;
}

bool option_takes_value(const Option *option)
{
    return option->type != OPTION_FLAG && option->type != OPTION_ACTION;
}

void option_append_choices(char **text, const Option *option, const char *before,
                           const char *between)
{
    for (size_t i = 0; option->choice && option->choice(i); i++)
        text_append(text, "%s%s", i ? between : before, option->choice(i));
}

void option_append_owners(char **text, const Option *option, const char *before)
{
    for (size_t i = 0; option->owner && option->owner(option, i); i++)
        text_append(text, "%s%s", i ? ", " : before, option->owner(option, i));
}

static bool has_section(const OptionLine *lines, const char *section)
{
    for (size_t i = 0; i < arrlenu(lines); i++)
        if (lines[i].option->section && strcmp(lines[i].heading, section) == 0)
            return true;
    return false;
}

/* Sections go from the last group to the first, so that those of a session come before those
 * of a model's variants. */
OptionLine *options_in_order(const Options *options)
{
    OptionLine *lines = NULL;
    const Option *option;
    for (size_t g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < options->groups[g].count; i++)
            if (!(option = &options->groups[g].options[i])->section)
                arrput(lines, ((OptionLine){options->groups[g].title, option}));
    for (size_t g = OPTION_GROUPS; g-- > 0;)
        for (size_t i = 0; i < options->groups[g].count; i++) {
            const char *section = options->groups[g].options[i].section;
            if (section && !has_section(lines, section))
                for (size_t all = 0; (option = option_at(options, all)); all++)
                    if (option->section && strcmp(option->section, section) == 0)
                        arrput(lines, ((OptionLine){section, option}));
        }
    return lines;
}

/* --- unknown names --- */

/* Names that other programs have for the choice of a graphics processor. */
static const char of_gpus[] =
    "device devices gpu gpus cuda mps rocm accelerator num-gpus n-gpu n-gpus use-gpu use-cuda "
    "no-gpu no-cuda no-mps gpu-id device-id n-gpu-layers";

static bool unknown(const Options *options, const char *where, const char *dashes,
                    const char *name, Error *error)
{
    const Option *also = NULL, *option;
    Nearest near = nearest_to(name);
    if (text_is_listed(name, of_gpus))
        return error_set(error,
                         "%sunknown option '%s%s'; linnet runs on the CPU only: leave it out",
                         where, dashes, name);
    for (size_t i = 0; (option = option_at(options, i)); i++) {
        nearest_consider(&near, option->name);
        if (!also && (text_is_listed(name, option->also) || text_is_listed(name, option->name)))
            also = option;
    }
    if (also)
        return error_set(error, "%sunknown option '%s%s'; linnet calls it '%s%s': %.*s", where,
                         dashes, name, dashes, also->name, (int)strcspn(also->help, ";"),
                         also->help);
    if (near.best)
        return error_set(error, "%sunknown option '%s%s'; did you mean '%s%s'?", where, dashes,
                         name, dashes, near.best);
    return error_set(error, "%sunknown option '%s%s'", where, dashes, name);
}

/* --- values --- */

static bool set_choice(const Option *option, size_t *chosen, const char *value,
                       const char *where, Error *error)
{
    Nearest near = nearest_to(value);
    for (size_t i = 0; option->choice(i); i++) {
        if (strcmp(option->choice(i), value) == 0) {
            *chosen = i;
            return true;
        }
        nearest_consider(&near, option->choice(i));
    }
    if (near.best)
        return error_set(error, "%s: there is no '%s'; did you mean '%s'?", where, value,
                         near.best);
    char *names = NULL;
    option_append_choices(&names, option, "", ", ");
    error_set(error, "%s: '%s' is not one of: %s", where, value, names);
    free(names);
    return false;
}

/* The number of 3xNAME, of which *word becomes NAME; 1 of a NAME alone. */
static size_t repeats_of(char **word)
{
    char *end = *word;
    size_t count = 1;
    const size_t digits = strspn(*word, "0123456789");
    if (digits > 0 && (*word)[digits] == 'x') {
        count = (size_t)strtoul(*word, &end, 10);
        *word = end + 1;
    }
    return count;
}

static bool set_choices(const Option *option, Choices *chosen, const char *value,
                        const char *where, Error *error)
{
    char *copy = memory_copy_text(value), *rest = copy;
    bool good = true;
    chosen->count = 0;
    for (char *word; good && (word = strsep(&rest, "+"));) {
        size_t index = 0;
        const size_t repeats = repeats_of(&word);
        good = set_choice(option, &index, word, where, error);
        if (good && (repeats == 0 || repeats > CHOICES_MOST - chosen->count))
            good = error_set(error, "%s: from 1 to %d names can be joined by +", where,
                             CHOICES_MOST);
        for (size_t i = 0; i < repeats && good; i++)
            chosen->index[chosen->count++] = index;
    }
    free(copy);
    return good;
}

/* A settings file cannot hold blanks at the ends of a value. */
static bool has_outer_blanks(const char *text)
{
    static const char blanks[] = " \t\r";
    return *text && (strchr(blanks, *text) || strchr(blanks, text[strlen(text) - 1]));
}

static bool set_field(const Options *options, const Option *option, const char *value,
                      const char *where, Error *error)
{
    void *target = option_field(options, option);
    switch (option->type) {
    case OPTION_SIZE: {
        size_t number = OPTION_AUTO;
        bool may_be_auto = option->fallback && strcmp(option->fallback, "auto") == 0;
        if (may_be_auto && strcmp(value, "auto") == 0)
            number = OPTION_AUTO;
        else if (!text_to_size(value, &number) || (double)number < option->low ||
                 (double)number > option->high)
            return error_set(error, "%s: '%s' is not a whole number from %.0f to %.0f", where,
                             value, option->low, option->high);
        *(size_t *)target = number;
        return true;
    }
    case OPTION_REAL: {
        double number;
        if (!text_to_double(value, &number) || number < option->low || number > option->high)
            return error_set(error, "%s: '%s' is not a number from %g to %g", where, value,
                             option->low, option->high);
        *(double *)target = number;
        return true;
    }
    case OPTION_TEXT:
        if (strpbrk(value, "\n\r"))
            return error_set(error, "%s: a value cannot contain a line break", where);
        if (option->stored && has_outer_blanks(value))
            return error_set(error,
                             "%s: '%s' begins or ends with a blank, which a settings file "
                             "cannot hold",
                             where, value);
        free(*(char **)target);
        *(char **)target = memory_copy_text(value);
        return true;
    case OPTION_FLAG:
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return error_set(error, "%s: '%s' is neither yes nor no", where, value);
        *(bool *)target = value[0] == 'y';
        return true;
    case OPTION_CHOICE:
        return set_choice(option, target, value, where, error);
    case OPTION_CHOICES:
        return set_choices(option, target, value, where, error);
    case OPTION_ACTION:
        return true;
    }
    return true;
}

bool options_set(const Options *options, const char *name, const char *value, const char *where,
                 Error *error)
{
    const Option *option = option_find(options, name);
    if (!option || option->type == OPTION_ACTION) {
        char *place = text_format("%s: ", where);
        unknown(options, place, "", name, error);
        free(place);
        return false;
    }
    return set_field(options, option, value, where, error);
}

void options_free_texts(const Options *options)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(options, i)); i++)
        if (option->type == OPTION_TEXT) {
            char **text = option_field(options, option);
            free(*text);
            *text = NULL;
        }
}

void options_set_defaults(const Options *options)
{
    const Option *option;
    Error error;
    options_free_texts(options);
    for (size_t i = 0; (option = option_at(options, i)); i++)
        if (option->fallback &&
            !set_field(options, option, option->fallback, option->name, &error))
            die("a built-in default is invalid: %s", error.text);
}

/* --- command lines --- */

static const Option *find_flag_to_clear(const Options *options, const char *name)
{
    if (strncmp(name, "no-", 3) != 0)
        return NULL;
    const Option *option = option_find(options, name + 3);
    return option && option->type == OPTION_FLAG ? option : NULL;
}

/* One option, with its value from after the = or from the next word. */
static bool scan_option(const Options *options, char *word, char *next, OptionArgument *given,
                        bool *took_next, Error *error)
{
    char *equals = strchr(word, '=');
    char *name = text_format("%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    const Option *option = option_find(options, name);
    const Option *cleared = option ? NULL : find_flag_to_clear(options, name);
    bool has_value = option && option_takes_value(option);
    bool good = true;
    *took_next = false;
    given->option = option ? option : cleared;
    if (!given->option) {
        good = unknown(options, "", "--", name, error);
    } else if (has_value) {
        given->value = equals ? equals + 1 : next;
        *took_next = !equals;
        if (!given->value)
            good = error_set(error, "--%s needs a value: %s", name, option->argument);
    } else if (option && option->argument) { /* an action with an optional word */
        *took_next = !equals && next && next[0] != '-';
        given->value = equals ? equals + 1 : *took_next ? next : "";
    } else if (equals) {
        good = error_set(error, "--%s takes no value", name);
    } else {
        given->value = cleared ? "no" : "yes";
    }
    free(name);
    return good;
}

bool options_scan(const Options *options, int argc, char **argv, CommandLine *line,
                  Error *error)
{
    size_t words = argc > 0 ? (size_t)argc : 1;
    *line = (CommandLine){
        .given = memory_new(words, sizeof *line->given, "the command line"),
        .operands = memory_new(words, sizeof *line->operands, "the command line")};
    bool only_operands = false;
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        if (!only_operands && strcmp(word, "-h") == 0)
            word = "--help";
        if (only_operands || strncmp(word, "-", 1) != 0 || strcmp(word, "-") == 0) {
            line->operands[line->operand_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (strncmp(word, "--", 2) != 0) {
            return error_set(error, "unknown option '%s'; options begin with two dashes", word);
        } else {
            bool took_next;
            if (!scan_option(options, word + 2, i + 1 < argc ? argv[i + 1] : NULL,
                             &line->given[line->given_count], &took_next, error))
                return false;
            line->given_count++;
            i += took_next;
        }
    }
    return true;
}

void command_line_free(CommandLine *line)
{
    free(line->given);
    free(line->operands);
    *line = (CommandLine){0};
}

const char *command_line_value(const CommandLine *line, const char *name)
{
    for (size_t i = line->given_count; i-- > 0;)
        if (strcmp(line->given[i].option->name, name) == 0)
            return line->given[i].value;
    return NULL;
}

bool options_apply(const Options *options, const CommandLine *line, Error *error)
{
    for (size_t i = 0; i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        if (option->type == OPTION_ACTION)
            continue;
        char *where = text_format("--%s", option->name);
        bool good = options_set(options, option->name, line->given[i].value, where, error);
        free(where);
        if (!good)
            return false;
    }
    return true;
}
