#include "src/base/options.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

void *option_field(const OptionGroup *group, const Option *option)
{
    return (char *)group->target + option->offset;
}

const Option *option_find(const OptionGroup *groups, size_t count, const char *name,
                          const OptionGroup **group)
{
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (strcmp(groups[g].options[i].name, name) == 0) {
                if (group)
                    *group = &groups[g];
                return &groups[g].options[i];
            }
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
    for (size_t i = 0; option->owners && option->owners->name(option, i); i++)
        text_append(text, "%s%s", i ? ", " : before, option->owners->name(option, i));
}

/* Adds the rows of one section, of NULL those that have none. */
static void add_section(OptionLine **lines, const OptionGroup *group, const char *section)
{
    for (size_t i = 0; i < group->count; i++) {
        const Option *option = &group->options[i];
        if (section ? option->section && strcmp(option->section, section) == 0
                    : !option->section) {
            OptionLine line = {section ? section : group->title, option};
            arrput(*lines, line);
        }
    }
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
OptionLine *options_in_order(const OptionGroup *groups, size_t count)
{
    OptionLine *lines = NULL;
    for (size_t g = 0; g < count; g++)
        add_section(&lines, &groups[g], NULL);
    for (size_t g = count; g-- > 0;)
        for (size_t i = 0; i < groups[g].count; i++) {
            const char *section = groups[g].options[i].section;
            if (section && !has_section(lines, section))
                for (size_t other = 0; other < count; other++)
                    add_section(&lines, &groups[other], section);
        }
    return lines;
}

/* --- unknown names --- */

/* Whether the list of names, separated by blanks, has this one; - and _ count as equal. */
static bool lists(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = names; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        bool same = strcspn(at, " ") == length;
        for (size_t i = 0; same && i < length; i++)
            same = at[i] == (name[i] == '_' ? '-' : name[i]);
        if (same)
            return true;
    }
    return false;
}

/* Names that other programs have for the choice of a graphics processor. */
static const char of_gpus[] =
    "device devices gpu gpus cuda mps rocm accelerator num-gpus n-gpu n-gpus use-gpu use-cuda "
    "no-gpu no-cuda no-mps gpu-id device-id n-gpu-layers";

static bool unknown(const OptionGroup *groups, size_t count, const char *where,
                    const char *dashes, const char *name, Error *error)
{
    const Option *also = NULL;
    Nearest near = nearest_to(name);
    if (lists(of_gpus, name))
        return error_set(error,
                         "%sunknown option '%s%s'; linnet runs on the CPU only: leave it out",
                         where, dashes, name);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            nearest_consider(&near, option->name);
            if (!also && (lists(option->also, name) || lists(option->name, name)))
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

static bool set_choices(const Option *option, Choices *chosen, const char *value,
                        const char *where, Error *error)
{
    char *copy = memory_copy_text(value), *rest = copy;
    bool good = true;
    chosen->count = 0;
    for (char *word; good && (word = strsep(&rest, "+"));) {
        if (chosen->count == CHOICES_MOST)
            good = error_set(error, "%s: at most %d names can be joined by +", where,
                             CHOICES_MOST);
        else
            good = set_choice(option, &chosen->at[chosen->count++], word, where, error);
    }
    free(copy);
    return good;
}

/* A settings file cannot hold blanks at the ends of a value. */
static bool has_outer_blanks(const char *text)
{
    char *copy = memory_copy_text(text);
    bool has = strcmp(text_trim(copy), text) != 0;
    free(copy);
    return has;
}

static bool set_field(const OptionGroup *group, const Option *option, const char *value,
                      const char *where, Error *error)
{
    void *target = option_field(group, option);
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

bool options_set(const OptionGroup *groups, size_t count, const char *name, const char *value,
                 const char *where, Error *error)
{
    const OptionGroup *group;
    const Option *option = option_find(groups, count, name, &group);
    if (!option || option->type == OPTION_ACTION) {
        char *place = text_format("%s: ", where);
        unknown(groups, count, place, "", name, error);
        free(place);
        return false;
    }
    return set_field(group, option, value, where, error);
}

void options_free_texts(const OptionGroup *groups, size_t count)
{
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (groups[g].options[i].type == OPTION_TEXT) {
                char **text = option_field(&groups[g], &groups[g].options[i]);
                free(*text);
                *text = NULL;
            }
}

void options_set_defaults(const OptionGroup *groups, size_t count)
{
    options_free_texts(groups, count);
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++) {
            const Option *option = &groups[g].options[i];
            Error error;
            if (option->fallback &&
                !set_field(&groups[g], option, option->fallback, option->name, &error))
                die("a built-in default is invalid: %s", error.text);
        }
}

/* --- command lines --- */

static const Option *find_flag_to_clear(const OptionGroup *groups, size_t count,
                                        const char *name)
{
    if (strncmp(name, "no-", 3) != 0)
        return NULL;
    const Option *option = option_find(groups, count, name + 3, NULL);
    return option && option->type == OPTION_FLAG ? option : NULL;
}

/* One option, with its value from after the = or from the next word. */
static bool scan_option(const OptionGroup *groups, size_t count, char *word, char *next,
                        OptionArgument *given, bool *took_next, Error *error)
{
    char *equals = strchr(word, '=');
    char *name = text_format("%.*s", equals ? (int)(equals - word) : (int)strlen(word), word);
    const Option *option = option_find(groups, count, name, NULL);
    const Option *cleared = option ? NULL : find_flag_to_clear(groups, count, name);
    bool has_value = option && option_takes_value(option);
    bool good = true;
    *took_next = false;
    given->option = option ? option : cleared;
    if (!given->option) {
        good = unknown(groups, count, "", "--", name, error);
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

bool options_scan(const OptionGroup *groups, size_t count, int argc, char **argv,
                  CommandLine *line, Error *error)
{
    size_t words = argc > 0 ? (size_t)argc : 1;
    *line = (CommandLine){
        .given = memory_take(words, sizeof *line->given, "the command line"),
        .operands = memory_take(words, sizeof *line->operands, "the command line")};
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
            if (!scan_option(groups, count, word + 2, i + 1 < argc ? argv[i + 1] : NULL,
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

bool options_apply(const OptionGroup *groups, size_t count, const CommandLine *line,
                   Error *error)
{
    for (size_t i = 0; i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        if (option->type == OPTION_ACTION)
            continue;
        char *where = text_format("--%s", option->name);
        bool good = options_set(groups, count, option->name, line->given[i].value, where,
                                error);
        free(where);
        if (!good)
            return false;
    }
    return true;
}
