/* Names, settings and words of synthetic tasks; task_kinds.c has the tasks themselves. */
#include "data/corpora/tasks.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const TaskKind *find_kind(const char *name)
{
    size_t length = strcspn(name, ":");
    const TaskKind *kind;
    for (size_t i = 0; (kind = task_kind(i)); i++)
        if (strlen(kind->name) == length && strncmp(kind->name, name, length) == 0)
            break;
    return kind;
}

bool task_is_named(const char *name)
{
    return find_kind(name) != NULL;
}

static size_t count_settings(const TaskKind *kind)
{
    size_t count = 0;
    while (count < TASK_SETTINGS && kind->settings[count].name)
        count++;
    return count;
}

/* Reads "pairs=16"; `given` says which settings came before. */
static bool read_setting(Task *task, bool *given, char *text, Error *error)
{
    const TaskKind *kind = task->kind;
    char *value = strchr(text, '='), *names = NULL;
    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < count_settings(kind); i++) {
        const TaskSetting *setting = &kind->settings[i];
        text_append(&names, "%s%s", i ? ", " : "", setting->name);
        if (strcmp(text, setting->name) != 0)
            continue;
        free(names);
        if (given[i])
            return error_set(error, "%s: %s is set twice; give it one value", kind->name, text);
        given[i] = true;
        size_t *to = &task->values[i];
        return (value && text_to_size(value, to) && *to >= setting->least &&
                *to <= setting->most) ||
               error_set(error, "%s:%s=%s: %s must be a whole number from %zu to %zu",
                         kind->name, text, value ? value : "", setting->name, setting->least,
                         setting->most);
    }
    error_set(error, "%s: it has no setting '%s'; write %s:NAME=N,NAME=N with names of %s",
              kind->name, text, kind->name, names);
    free(names);
    return false;
}

static bool check(const Task *task, Error *error)
{
    enum { CONTEXT = 65536 };
    const size_t most = (size_t)1 << 31;
    const TaskKind *kind = task->kind;
    const size_t *values = task->values;
    if (kind->small_first && values[0] > values[1])
        return error_set(error, "%s: %s=%zu must not be more than %s=%zu", kind->name,
                         kind->settings[0].name, values[0], kind->settings[1].name, values[1]);
    if (task->length >= CONTEXT || task->lines > most / (task->length + 1))
        return error_set(error,
                         "%s: %zu lines of %zu symbols are too much; a line has fewer than %d "
                         "and the training text at most %zu tokens",
                         kind->name, task->lines, task->length, CONTEXT, most);
    return true;
}

bool task_read(Task *task, const char *name, Error *error)
{
    *task = (Task){.kind = find_kind(name)};
    size_t count = count_settings(task->kind);
    for (size_t i = 0; i < count; i++)
        task->values[i] = task->kind->settings[i].usual;
    char *copy = memory_copy_text(name), *rest = strchr(copy, ':');
    bool good = true, given[TASK_SETTINGS] = {false};
    if (rest)
        rest++;
    for (char *setting; good && (setting = strsep(&rest, ","));)
        good = read_setting(task, given, setting, error);
    free(copy);
    if (!good)
        return false;
    task->length = task->kind->length(task->values);
    task->symbols = (size_t)task_alphabet(task, TASK_ALPHABETS);
    task->lines = task->values[count - 1];
    return check(task, error);
}

bool task_value(const Task *task, const char *setting, size_t *value)
{
    for (size_t i = 0; i < count_settings(task->kind); i++)
        if (strcmp(task->kind->settings[i].name, setting) == 0) {
            *value = task->values[i];
            return true;
        }
    return false;
}

char *task_list(void)
{
    char *text = NULL;
    const TaskKind *kind;
    for (size_t i = 0; (kind = task_kind(i)); i++) {
        text_append(&text, "%s: %s\n", kind->name, kind->help);
        for (size_t s = 0; s < count_settings(kind); s++) {
            const TaskSetting *setting = &kind->settings[s];
            text_append(&text, "    %-9s %s (%zu to %zu) [%zu]\n", setting->name, setting->help,
                        setting->least, setting->most, setting->usual);
        }
    }
    return text;
}

/* --- lines --- */

int32_t task_alphabet(const Task *task, size_t index)
{
    size_t first = 0;
    for (size_t i = 0; i < index; i++) {
        const TaskAlphabet *before = &task->kind->alphabets[i];
        if (before->prefix)
            first += before->fixed ? before->fixed : task->values[before->setting];
    }
    return (int32_t)first;
}

char *task_word(const Task *task, size_t symbol)
{
    const TaskKind *kind = task->kind;
    if (kind->word)
        return kind->word(symbol);
    size_t index = TASK_ALPHABETS - 1;
    while (!kind->alphabets[index].prefix || (size_t)task_alphabet(task, index) > symbol)
        index--;
    const TaskAlphabet *of = &kind->alphabets[index];
    return of->fixed == 1
               ? memory_copy_text(of->prefix)
               : text_format("%s%zu", of->prefix, symbol - (size_t)task_alphabet(task, index));
}

void task_write(const Task *task, uint64_t seed, uint64_t line, int32_t *symbols,
                int32_t *answers)
{
    for (size_t i = 0; i < task->length; i++)
        answers[i] = TASK_NO_ANSWER;
    task->kind->write(task, random_key(seed, RANDOM_TASK, line), symbols, answers);
}
