/* Names, settings and words of puzzles; puzzle_kinds.c has the puzzles themselves. */
#include "data/puzzles.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const PuzzleKind *find_kind(const char *name)
{
    size_t length = strcspn(name, ":");
    const PuzzleKind *kind;
    for (size_t i = 0; (kind = puzzle_kind(i)); i++)
        if (strlen(kind->name) == length && strncmp(kind->name, name, length) == 0)
            break;
    return kind;
}

bool puzzle_is_named(const char *name)
{
    return find_kind(name) != NULL;
}

static size_t count_settings(const PuzzleKind *kind)
{
    size_t count = 0;
    while (count < PUZZLE_SETTINGS && kind->settings[count].name)
        count++;
    return count;
}

/* Reads "pairs=16". */
static bool read_setting(Puzzle *puzzle, char *text, Error *error)
{
    const PuzzleKind *kind = puzzle->kind;
    char *value = strchr(text, '='), *names = NULL;
    if (value)
        *value++ = '\0';
    for (size_t i = 0; i < count_settings(kind); i++) {
        const PuzzleSetting *setting = &kind->settings[i];
        text_append(&names, "%s%s", i ? ", " : "", setting->name);
        if (strcmp(text, setting->name) != 0)
            continue;
        free(names);
        size_t *to = &puzzle->values[i];
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

static bool check(const Puzzle *puzzle, Error *error)
{
    enum { CONTEXT = 65536 };
    const size_t most = (size_t)1 << 31;
    const PuzzleKind *kind = puzzle->kind;
    const size_t *values = puzzle->values;
    if (kind->small_first && values[0] > values[1])
        return error_set(error, "%s: %s=%zu must not be more than %s=%zu", kind->name,
                         kind->settings[0].name, values[0], kind->settings[1].name, values[1]);
    if (puzzle->length >= CONTEXT || puzzle->lines > most / (puzzle->length + 1))
        return error_set(error,
                         "%s: %zu lines of %zu symbols are too much; a line has fewer than %d "
                         "and the training text at most %zu tokens",
                         kind->name, puzzle->lines, puzzle->length, CONTEXT, most);
    return true;
}

bool puzzle_read(Puzzle *puzzle, const char *name, Error *error)
{
    *puzzle = (Puzzle){.kind = find_kind(name)};
    size_t count = count_settings(puzzle->kind);
    for (size_t i = 0; i < count; i++)
        puzzle->values[i] = puzzle->kind->settings[i].usual;
    char *copy = memory_copy_text(name), *rest = strchr(copy, ':');
    bool good = true;
    if (rest)
        rest++;
    for (char *setting; good && (setting = strsep(&rest, ","));)
        good = read_setting(puzzle, setting, error);
    free(copy);
    if (!good)
        return false;
    puzzle->length = puzzle->kind->length(puzzle->values);
    puzzle->symbols = (size_t)puzzle_alphabet(puzzle, PUZZLE_ALPHABETS);
    puzzle->lines = puzzle->values[count - 1];
    return check(puzzle, error);
}

bool puzzle_value(const Puzzle *puzzle, const char *setting, size_t *value)
{
    for (size_t i = 0; i < count_settings(puzzle->kind); i++)
        if (strcmp(puzzle->kind->settings[i].name, setting) == 0) {
            *value = puzzle->values[i];
            return true;
        }
    return false;
}

char *puzzle_list(void)
{
    char *text = NULL;
    const PuzzleKind *kind;
    for (size_t i = 0; (kind = puzzle_kind(i)); i++) {
        text_append(&text, "%s: %s\n", kind->name, kind->help);
        for (size_t s = 0; s < count_settings(kind); s++) {
            const PuzzleSetting *setting = &kind->settings[s];
            text_append(&text, "    %-9s %s (%zu to %zu) [%zu]\n", setting->name, setting->help,
                        setting->least, setting->most, setting->usual);
        }
    }
    return text;
}

/* --- lines --- */

int32_t puzzle_alphabet(const Puzzle *puzzle, size_t index)
{
    size_t first = 0;
    for (size_t i = 0; i < index; i++) {
        const PuzzleAlphabet *before = &puzzle->kind->alphabets[i];
        if (before->prefix)
            first += before->fixed ? before->fixed : puzzle->values[before->setting];
    }
    return (int32_t)first;
}

char *puzzle_word(const Puzzle *puzzle, size_t symbol)
{
    const PuzzleKind *kind = puzzle->kind;
    if (kind->word)
        return kind->word(symbol);
    size_t index = PUZZLE_ALPHABETS - 1;
    while (!kind->alphabets[index].prefix || (size_t)puzzle_alphabet(puzzle, index) > symbol)
        index--;
    const PuzzleAlphabet *of = &kind->alphabets[index];
    return of->fixed == 1 ? memory_copy_text(of->prefix)
                          : text_format("%s%zu", of->prefix,
                                        symbol - (size_t)puzzle_alphabet(puzzle, index));
}

void puzzle_write(const Puzzle *puzzle, uint64_t seed, uint64_t line, int32_t *symbols,
                  int32_t *answers)
{
    for (size_t i = 0; i < puzzle->length; i++)
        answers[i] = PUZZLE_NO_ANSWER;
    puzzle->kind->write(puzzle, random_key(seed, RANDOM_PUZZLE, line), symbols, answers);
}
