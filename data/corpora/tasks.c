/* The synthetic tasks: the function of each that writes a line, a table, and what reads names
 * and settings. */
#include "data/corpora/tasks.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Within the key of a line, the streams of random numbers. */
enum { KEYS, VALUES, PLACES, QUESTIONS };

static int32_t draw(RandomKey key, size_t stream, size_t index, size_t below)
{
    return (int32_t)random_below(random_subkey(key, stream), index, below);
}

/* A permutation of 0..count-1; the caller frees. */
static uint32_t *permute(RandomKey key, size_t stream, size_t count)
{
    uint32_t *order = memory_new(count, sizeof *order, "a task");
    random_permutation(random_subkey(key, stream), order, count);
    return order;
}

/* --- recall --- */

enum { RECALL_PAIRS, RECALL_KEYS, RECALL_VALUES, RECALL_EXTRA };

static size_t recall_length(const size_t *values)
{
    return 3 * values[RECALL_PAIRS] + values[RECALL_EXTRA];
}

/* The pairs of distinct keys and any values, with `noise` single symbols of the third alphabet
 * at random places between them, or else `gap` of them after the pairs. Then each key is asked
 * for once, in random order. */
static void write_recall(const Task *task, RandomKey key, size_t noise, size_t gap,
                         int32_t *symbols, int32_t *answers)
{
    size_t pairs = task->values[RECALL_PAIRS];
    int32_t first_value = task_alphabet(task, 1), first_noise = task_alphabet(task, 2);
    size_t of_noise = task->symbols - (size_t)first_noise;
    uint32_t *keys = permute(key, KEYS, task->values[RECALL_KEYS]);
    uint32_t *places = permute(key, PLACES, pairs + noise);
    uint32_t *questions = permute(key, QUESTIONS, pairs);
    const RandomKey values = random_subkey(key, VALUES);
    for (size_t i = 0; i < pairs + noise; i++)
        if (places[i] < pairs) {
            *symbols++ = (int32_t)keys[places[i]];
            *symbols++ = first_value + draw(values, 0, places[i], task->values[RECALL_VALUES]);
        } else {
            *symbols++ = first_noise + draw(values, 1, i, of_noise);
        }
    for (size_t i = 0; i < gap; i++)
        *symbols++ = first_noise;
    answers += recall_length(task->values) - pairs;
    for (size_t i = 0; i < pairs; i++) {
        symbols[i] = (int32_t)keys[questions[i]];
        answers[i] = first_value + draw(values, 0, questions[i], task->values[RECALL_VALUES]);
    }
    free(keys);
    free(places);
    free(questions);
}

static void recall_write(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers)
{
    write_recall(task, key, 0, task->values[RECALL_EXTRA], symbols, answers);
}

static void noisy_recall_write(const Task *task, RandomKey key, int32_t *symbols,
                               int32_t *answers)
{
    write_recall(task, key, task->values[RECALL_EXTRA], 0, symbols, answers);
}

/* --- induction --- */

enum { INDUCTION_LENGTH, INDUCTION_SYMBOLS };

static size_t first_setting(const size_t *values)
{
    return values[0];
}

/* Random symbols; the mark stands at one random place and again at the end, where the symbol
 * after its first place is asked for. */
static void induction_write(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers)
{
    size_t last = task->length - 1;
    int32_t mark = task_alphabet(task, 1);
    for (size_t i = 0; i < last; i++)
        symbols[i] = draw(key, VALUES, i, task->values[INDUCTION_SYMBOLS]);
    size_t place = (size_t)draw(key, PLACES, 0, last - 1);
    symbols[place] = symbols[last] = mark;
    answers[last] = symbols[place + 1];
}

/* --- selective copying --- */

enum { COPYING_ITEMS, COPYING_LENGTH, COPYING_SYMBOLS };

static size_t copying_length(const size_t *values)
{
    return values[COPYING_LENGTH] + values[COPYING_ITEMS];
}

/* The items stand at random places among blanks; then marks ask for them, in their order. */
static void copying_write(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers)
{
    size_t items = task->values[COPYING_ITEMS], length = task->values[COPYING_LENGTH];
    int32_t blank = task_alphabet(task, 1), mark = task_alphabet(task, 2);
    uint32_t *places = permute(key, PLACES, length);
    for (size_t i = 0; i < length; i++)
        symbols[i] = blank;
    for (size_t i = 0; i < items; i++) {
        symbols[places[i]] = draw(key, VALUES, i, task->values[COPYING_SYMBOLS]);
        symbols[length + i] = mark;
    }
    answers += length;
    for (size_t i = 0; i < length; i++)
        if (symbols[i] != blank)
            *answers++ = symbols[i];
    free(places);
}

/* --- state tracking --- */

/* The parity of the bits so far, after each bit. */
static void parity_write(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers)
{
    int32_t sum = 0;
    for (size_t i = 0; i < task->length; i++) {
        symbols[i] = draw(key, VALUES, i, 2);
        answers[i] = sum ^= symbols[i];
    }
}

enum { MOVED = 5, PERMUTATIONS = 120 };

/* The permutation of a number, in lexicographic order: to[i] is where i goes. */
static void permutation_of(size_t number, size_t to[MOVED])
{
    size_t left[MOVED] = {0, 1, 2, 3, 4}, block = PERMUTATIONS;
    for (size_t i = 0; i < MOVED; i++) {
        block /= MOVED - i;
        size_t at = number / block;
        number %= block;
        to[i] = left[at];
        memmove(left + at, left + at + 1, (MOVED - i - at - 1) * sizeof *left);
    }
}

static int32_t number_of(const size_t to[MOVED])
{
    size_t number = 0;
    for (size_t i = 0; i < MOVED; i++) {
        size_t smaller = 0;
        for (size_t j = i + 1; j < MOVED; j++)
            smaller += to[j] < to[i];
        number = number * (MOVED - i) + smaller;
    }
    return (int32_t)number;
}

/* "21345": where 1 to 5 go. */
static char *permutation_word(size_t symbol)
{
    size_t to[MOVED];
    permutation_of(symbol, to);
    char *text = NULL;
    for (size_t i = 0; i < MOVED; i++)
        text_append(&text, "%zu", to[i] + 1);
    return text;
}

/* The product of the permutations so far, after each: the first is applied first. */
static void s5_write(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers)
{
    size_t product[MOVED] = {0, 1, 2, 3, 4}, next[MOVED];
    for (size_t i = 0; i < task->length; i++) {
        symbols[i] = draw(key, VALUES, i, PERMUTATIONS);
        permutation_of((size_t)symbols[i], next);
        for (size_t j = 0; j < MOVED; j++)
            product[j] = next[product[j]];
        answers[i] = number_of(product);
    }
}

/* --- the table --- */

#define LINES(usual)                                        \
    {                                                       \
        "lines", "of the training text", 2, 10000000, usual \
    }
#define PAIRS                                                                 \
    {                                                                         \
        "pairs", "pairs of key and value; each is asked for once", 1, 4096, 8 \
    }
#define OF_KEYS                                \
    {                                          \
        "keys", "different keys", 1, 16384, 64 \
    }
#define OF_VALUES                                  \
    {                                              \
        "values", "different values", 2, 16384, 64 \
    }

static const TaskKind kinds[] = {
    {.name = "recall",
     .help = "multi-query associative recall: pairs of key and value, then the keys",
     .settings = {PAIRS,
                  OF_KEYS,
                  OF_VALUES,
                  {"distance", "blanks between the pairs and the questions", 0, 32768, 0},
                  LINES(20000)},
     .alphabets = {{"k", 0, RECALL_KEYS}, {"v", 0, RECALL_VALUES}, {".", 1, 0}},
     .small_first = true,
     .length = recall_length,
     .write = recall_write},
    {.name = "noisy-recall",
     .help = "the same with random symbols between the pairs",
     .settings = {PAIRS,
                  OF_KEYS,
                  OF_VALUES,
                  {"noise", "random symbols between the pairs", 1, 32768, 16},
                  LINES(20000)},
     .alphabets = {{"k", 0, RECALL_KEYS}, {"v", 0, RECALL_VALUES}, {"x", 16, 0}},
     .small_first = true,
     .length = recall_length,
     .write = noisy_recall_write},
    {.name = "induction",
     .help = "what followed the mark > when it came before?",
     .settings = {{"length", "symbols of a line", 3, 65535, 32},
                  {"symbols", "different symbols", 2, 16384, 16},
                  LINES(20000)},
     .alphabets = {{"s", 0, INDUCTION_SYMBOLS}, {">", 1, 0}},
     .length = first_setting,
     .write = induction_write},
    {.name = "copying",
     .help = "selective copying: items among blanks, to be repeated in their order",
     .settings = {{"items", "items to copy", 1, 16384, 8},
                  {"length", "positions that the items lie in", 1, 32768, 32},
                  {"symbols", "different items", 2, 16384, 16},
                  LINES(20000)},
     .alphabets = {{"s", 0, COPYING_SYMBOLS}, {".", 1, 0}, {">", 1, 0}},
     .small_first = true,
     .length = copying_length,
     .write = copying_write},
    {.name = "parity",
     .help = "the parity of all bits so far, after each bit",
     .settings = {{"length", "bits of a line", 1, 65535, 32}, LINES(20000)},
     .alphabets = {{"", 2, 0}},
     .length = first_setting,
     .write = parity_write},
    {.name = "s5",
     .help = "the product of all permutations of 1 to 5 so far, after each",
     .settings = {{"length", "permutations of a line", 1, 65535, 16}, LINES(20000)},
     .alphabets = {{"", PERMUTATIONS, 0}},
     .length = first_setting,
     .write = s5_write,
     .word = permutation_word},
};

const TaskKind *task_kind(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? &kinds[index] : NULL;
}

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
