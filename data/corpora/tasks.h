/* Synthetic tasks: made-up texts that ask one question each, such as associative recall.
 *
 * An example is one line of a fixed number of symbols. Some of its positions have an answer:
 * what the model must predict after reading the symbol there. Answers are never read as input.
 * Each answer follows from the symbols before it, so the lowest possible loss is 0 nats.
 *
 * A line is a pure function of the seed and its index. */
#ifndef LINNET_TASKS_H
#define LINNET_TASKS_H

#include "src/base/error.h"
#include "src/math/random.h"

enum { TASK_SETTINGS = 5, TASK_ALPHABETS = 3, TASK_NO_ANSWER = -1 };

typedef struct TaskSetting {
    const char *name, *help;
    size_t least, most, usual;
} TaskSetting;

/* Symbols with a common prefix and a number: "k0", "k1"; a single one is the prefix alone. */
typedef struct TaskAlphabet {
    const char *prefix;
    size_t fixed;   /* how many; 0: */
    size_t setting; /* the index of the setting that says so */
} TaskAlphabet;

typedef struct Task Task;

typedef struct TaskKind {
    const char *name, *help;
    TaskSetting settings[TASK_SETTINGS]; /* the last of every kind is "lines" */
    TaskAlphabet alphabets[TASK_ALPHABETS];
    bool small_first;                       /* setting 0 must not exceed setting 1 */
    size_t (*length)(const size_t *values); /* in symbols */
    /* Writes one line; the answers are TASK_NO_ANSWER before. */
    void (*write)(const Task *task, RandomKey key, int32_t *symbols, int32_t *answers);
    char *(*word)(size_t symbol); /* NULL: by the alphabets */
} TaskKind;

struct Task {
    const TaskKind *kind;
    size_t values[TASK_SETTINGS];
    size_t length;  /* of a line in symbols, without its line end */
    size_t symbols; /* of all alphabets */
    size_t lines;   /* of the training text */
};

/* The kinds in their order; NULL after the last. */
const TaskKind *task_kind(size_t index);

/* Whether a corpus of this name is a task: NAME or NAME:SETTING=N,... */
bool task_is_named(const char *name);
/* Reads such a name. */
bool task_read(Task *task, const char *name, Error *error);

/* The value of a setting; false if the task has none of this name. */
bool task_value(const Task *task, const char *setting, size_t *value);

/* The first symbol of an alphabet; of TASK_ALPHABETS, the number of all symbols. */
int32_t task_alphabet(const Task *task, size_t index);
/* The text of a symbol; the caller frees. */
char *task_word(const Task *task, size_t symbol);

/* Fills symbols and answers, (length) each: answers[i] is what must be predicted after
 * symbols[i], or TASK_NO_ANSWER. */
void task_write(const Task *task, uint64_t seed, uint64_t line, int32_t *symbols,
                int32_t *answers);

/* The kinds and their settings, for people; the caller frees. */
char *task_list(void);

#endif
