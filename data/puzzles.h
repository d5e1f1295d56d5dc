/* Puzzles: synthetic tasks, made-up texts that ask one question each, such as associative
 * recall.
 *
 * A puzzle is one line of a fixed number of symbols. Some of its positions have an answer: what
 * the model must predict after reading the symbol there. Answers are never read as input. Each
 * answer follows from the symbols before it, so the lowest possible loss is 0 nats.
 *
 * A line is a pure function of the seed and its index. */
#ifndef LINNET_PUZZLES_H
#define LINNET_PUZZLES_H

#include "src/error.h"
#include "src/random.h"

enum { PUZZLE_SETTINGS = 5, PUZZLE_ALPHABETS = 3, PUZZLE_NO_ANSWER = -1 };

typedef struct PuzzleSetting {
    const char *name, *help;
    size_t least, most, usual;
} PuzzleSetting;

/* Symbols with a common prefix and a number: "k0", "k1"; a single one is the prefix alone. */
typedef struct PuzzleAlphabet {
    const char *prefix;
    size_t fixed;   /* how many; 0: */
    size_t setting; /* the index of the setting that says so */
} PuzzleAlphabet;

typedef struct Puzzle Puzzle;

typedef struct PuzzleKind {
    const char *name, *help;
    PuzzleSetting settings[PUZZLE_SETTINGS]; /* the last of every kind is "lines" */
    PuzzleAlphabet alphabets[PUZZLE_ALPHABETS];
    bool small_first;                       /* setting 0 must not exceed setting 1 */
    size_t (*length)(const size_t *values); /* in symbols */
    /* Writes one line; the answers are PUZZLE_NO_ANSWER before. */
    void (*write)(const Puzzle *puzzle, RandomKey key, int32_t *symbols, int32_t *answers);
    char *(*word)(size_t symbol); /* NULL: by the alphabets */
} PuzzleKind;

struct Puzzle {
    const PuzzleKind *kind;
    size_t values[PUZZLE_SETTINGS];
    size_t length;  /* of a line in symbols, without its line end */
    size_t symbols; /* of all alphabets */
    size_t lines;   /* of the training text */
};

/* The kinds in their order; NULL after the last. */
const PuzzleKind *puzzle_kind(size_t index);

/* Whether a corpus of this name is a puzzle: NAME or NAME:SETTING=N,... */
bool puzzle_is_named(const char *name);
/* Reads such a name. */
bool puzzle_read(Puzzle *puzzle, const char *name, Error *error);

/* The value of a setting; false if the puzzle has none of this name. */
bool puzzle_value(const Puzzle *puzzle, const char *setting, size_t *value);

/* The first symbol of an alphabet; of PUZZLE_ALPHABETS, the number of all symbols. */
int32_t puzzle_alphabet(const Puzzle *puzzle, size_t index);
/* The text of a symbol; the caller frees. */
char *puzzle_word(const Puzzle *puzzle, size_t symbol);

/* Fills symbols and answers, (length) each: answers[i] is what must be predicted after
 * symbols[i], or PUZZLE_NO_ANSWER. */
void puzzle_write(const Puzzle *puzzle, uint64_t seed, uint64_t line, int32_t *symbols,
                  int32_t *answers);

/* The kinds and their settings, for people; the caller frees. */
char *puzzle_list(void);

#endif
