/* Options, described once.
 *
 * Each floor keeps its settings in a struct and describes each field in one Option row: name,
 * type, range, default, help. The rows serve to set defaults, parse command lines and
 * "name = value" files, print the help, write settings.conf and checkpoints, and compare
 * settings on resume. A program passes its groups, one per floor. */
#ifndef LINNET_OPTIONS_H
#define LINNET_OPTIONS_H

#include "src/base/error.h"
#include "src/base/real.h"

typedef enum OptionType {
    OPTION_SIZE,    /* size_t, a whole number from low to high; OPTION_AUTO for "auto" if that
                     * is the default */
    OPTION_REAL,    /* double from low to high */
    OPTION_TEXT,    /* char *, owned by the struct */
    OPTION_FLAG,    /* bool: --name or --no-name; "name = yes" in files */
    OPTION_CHOICE,  /* size_t, an index into the names that choice() lists */
    OPTION_CHOICES, /* Choices: several of the names, joined by + */
    OPTION_ACTION   /* nothing stored; the program checks whether it was given. With an
                     * argument it takes an optional word */
} OptionType;

/* Indexes into the names of an option, in the order typed. */
enum { CHOICES_MOST = 16 };
typedef struct Choices {
    size_t count, index[CHOICES_MOST];
} Choices;

typedef struct Option Option;
struct Option {
    const char *name;     /* typed after --, and the key in files */
    const char *argument; /* what the help calls its value: "N", "FILE"; NULL for flags */
    OptionType type;
    size_t offset;                       /* of the field in the group's struct */
    double low, high;                    /* the range of numbers, both ends included */
    const char *fallback;                /* the default, as one would type it; NULL: none */
    const char *(*choice)(size_t index); /* the index-th name, NULL after the last */
    /* A phrase without a full stop. What follows the first semicolon is left out of the short
     * help. */
    const char *help;
    const char *also; /* names that other programs have for it, "batch-size bsz" */
    bool common;      /* in the short help */
    /* The heading in the full help; NULL: the group's title. Rows with sections come after
     * all groups, so that beginners meet them last. */
    const char *section;
    /* Stored settings are written to the run's settings file and its checkpoints. Of these,
     * the fixed ones cannot change when the run is resumed; those that can be extended, only
     * together with the length of the training. */
    bool stored, fixed, extends;
    bool once; /* of one session: not repeated where the run continues */
    /* If only some choices of another option use it, such as the attention kinds that have a
     * --window: the index-th of them, NULL after the last. */
    const char *(*owner)(const Option *option, size_t index);
};

/* The parts of a row that say what its value is: the place of the field, the range, the
 * default (NULL: none). OPTION_FIXED, OPTION_EXTENDED and OPTION_STORED say that the run keeps
 * it. */
#define OPTION_WHOLE(at, least, most, standard)                                     \
    .argument = "N", .type = OPTION_SIZE, .offset = at, .low = least, .high = most, \
    .fallback = standard
#define OPTION_NUMBER(at, least, most, standard)                                    \
    .argument = "X", .type = OPTION_REAL, .offset = at, .low = least, .high = most, \
    .fallback = standard
#define OPTION_PROBABILITY(at, most, standard)                                  \
    .argument = "P", .type = OPTION_REAL, .offset = at, .low = 0, .high = most, \
    .fallback = standard
#define OPTION_STRING(what, at, standard) \
    .argument = what, .type = OPTION_TEXT, .offset = at, .fallback = standard
#define OPTION_SWITCH(at, standard) .type = OPTION_FLAG, .offset = at, .fallback = standard
#define OPTION_ONE_OF(what, at, names, standard) \
    .argument = what, .type = OPTION_CHOICE, .offset = at, .choice = names, .fallback = standard
#define OPTION_THREADS(at, standard)                        \
    .name = "threads", OPTION_WHOLE(at, 0, 1024, standard), \
    .help = "CPU threads; 0: one per processor", .also = "num-threads"
/* Defines a function that lists names, for the choices of a row; a semicolon follows. */
#define OPTION_NAMES(function, ...)                                        \
    const char *function(size_t index)                                     \
    {                                                                      \
        static const char *const names[] = {__VA_ARGS__};                  \
        return index < sizeof names / sizeof *names ? names[index] : NULL; \
    }                                                                      \
    _Static_assert(true, "")
#define OPTION_STORED   .stored = true
#define OPTION_FIXED    .stored = true, .fixed = true
#define OPTION_EXTENDED OPTION_FIXED, .extends = true

typedef struct OptionGroup {
    const char *title;
    const Option *options;
    size_t count;
    void *target; /* the struct that the offsets point into */
} OptionGroup;

/* The group of a table of rows. Settings that are constant can be read through it, not set. */
#define OPTION_GROUP(title, rows, settings) \
    ((OptionGroup){title, rows, sizeof(rows) / sizeof *(rows), (void *)(settings)})

/* The groups of a program, or of a part of it, up to the first without rows. */
enum { OPTION_GROUPS = 8 };
typedef struct Options {
    OptionGroup groups[OPTION_GROUPS];
} Options;
size_t options_group_count(const Options *options);

/* The row of this index through all groups, NULL after the last, and the one of this name. */
const Option *option_at(const Options *options, size_t index);
const Option *option_find(const Options *options, const char *name);
/* The field that one of the rows describes. */
void *option_field(const Options *options, const Option *option);
bool option_takes_value(const Option *option);
/* The value of the field as one would type it; the caller owns the text. */
char *option_value(const Options *options, const Option *option);
bool option_has_default(const Options *options, const Option *option);

#define OPTION_AUTO SIZE_MAX           /* the program chooses */
#define OPTION_MOST 9007199254740992.0 /* 2^53: doubles hold all whole numbers up to it */

/* One option of a command line, before its value is parsed. */
typedef struct OptionArgument {
    const Option *option;
    const char *value; /* points into argv; "no" for --no-flag */
} OptionArgument;

typedef struct CommandLine {
    OptionArgument *given;
    size_t given_count;
    const char **operands; /* the words that are not options */
    size_t operand_count;
} CommandLine;

/* Every field to its default; texts that were there are freed. */
void options_set_defaults(const Options *options);
void options_free_texts(const Options *options);

/* Splits a command line; words after "--" are operands. Fails on missing values and on unknown
 * options; the error names the option that other programs call so, or the nearest. */
bool options_scan(const Options *options, int argc, char **argv, CommandLine *line,
                  Error *error);
void command_line_free(CommandLine *line);
/* The value of the option's last use on the command line; NULL if it was not used. */
const char *command_line_value(const CommandLine *line, const char *name);

/* Sets what was given, in the order it was given. */
bool options_apply(const Options *options, const CommandLine *line, Error *error);
/* Sets one field from text; errors begin with where, such as "--lr" or "tiny.conf:3". */
bool options_set(const Options *options, const char *name, const char *value, const char *where,
                 Error *error);

/* Reads "name = value" lines, the form of presets, settings.conf and the settings in a
 * checkpoint. Calls `take` with the name and value of each line; for a comment, with its text
 * from the # on and NULL. Stops at the first error. `where` names the text: its lines are
 * "where:1" and so on. */
typedef bool OptionLineTaker(void *self, char *name, char *value, const char *where,
                             Error *error);
bool options_read_lines(const char *text, const char *where, OptionLineTaker *take, void *self,
                        Error *error);
/* Sets the options that the lines name. Unknown names are errors. */
bool options_read_text(const Options *options, const char *text, const char *where,
                       Error *error);
/* The same for a program that has only some of the settings: ignores unknown names. */
bool options_read_known(const Options *options, const char *text, const char *where,
                        Error *error);
/* Writes the stored settings in that form; the caller owns the text. */
char *options_write_text(const Options *options);

/* Append the names of its choices, or of its owners, after `before`; nothing if it has none. */
void option_append_choices(char **text, const Option *option, const char *before,
                           const char *between);
void option_append_owners(char **text, const Option *option, const char *before);

/* An option and the heading that it stands under; the heading of the next line is the same
 * pointer or another one. */
typedef struct OptionLine {
    const char *heading;
    const Option *option;
} OptionLine;

/* All options in the order in which people read them, an stb_ds array: first the rows without a
 * section under the title of their group, then the others by section, those of the last group
 * first. */
OptionLine *options_in_order(const Options *options);

#endif
