/* Options, described once.
 *
 * A floor that has settings keeps them in a struct and describes each field in one Option row:
 * name, type, range, default, help. From the rows come the defaults, the reading of command
 * lines and of "name = value" files, the help text, the echo of a run, the text stored in a
 * checkpoint and the comparison on resume. A program hands a list of groups, one per floor. */
#ifndef LINNET_OPTIONS_H
#define LINNET_OPTIONS_H

#include "src/error.h"
#include "src/real.h"

typedef enum OptionType {
    OPTION_SIZE,    /* size_t, a whole number from low to high */
    OPTION_REAL,    /* double from low to high */
    OPTION_TEXT,    /* char *, owned by the struct */
    OPTION_FLAG,    /* bool: --name or --no-name; "name = yes" in files */
    OPTION_CHOICE,  /* size_t, an index into the names that choice() lists */
    OPTION_CHOICES, /* Choices, several of them, joined by + */
    OPTION_ACTION   /* no value, nothing stored: the program asks whether it was given */
} OptionType;

/* Indexes into the names of an option, in the order given. */
enum { CHOICES_MOST = 16 };
typedef struct Choices {
    size_t count, at[CHOICES_MOST];
} Choices;

/* Whose an option is that only some have of what the program offers. */
typedef struct Option Option;
typedef struct OptionOwners {
    const char *title;                                       /* of all such options together */
    const char *(*name)(const Option *option, size_t index); /* NULL after the last */
} OptionOwners;

struct Option {
    const char *name;     /* what is typed after -- and stands in files */
    const char *argument; /* what the help calls the value: "N", "FILE"; NULL for flags */
    OptionType type;
    size_t offset;                       /* of the field in the group's struct */
    double low, high;                    /* the range of numbers, both ends included */
    const char *fallback;                /* the default, as one would type it; NULL: nothing */
    const char *(*choice)(size_t index); /* the index-th name, NULL after the last */
    const char *help;
    /* Stored settings travel with the run: its settings file and its checkpoints. Of these,
     * the fixed ones make the run what it is, and cannot change when it is resumed. */
    bool stored, fixed;
    const OptionOwners *owners; /* NULL: the option is for everybody */
};

typedef struct OptionGroup {
    const char *title;
    const Option *options;
    size_t count;
    void *target; /* the struct that the offsets point into */
} OptionGroup;

#define OPTION_MOST 9007199254740992.0 /* 2^53: the largest range that a double can state */

/* What a command line said, before it means anything. */
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
void options_set_defaults(const OptionGroup *groups, size_t count);
void options_free_texts(const OptionGroup *groups, size_t count);

/* Splits a command line; words after "--" are operands. Fails on options nobody described,
 * naming the nearest, and on missing values. */
bool options_scan(const OptionGroup *groups, size_t count, int argc, char **argv,
                  CommandLine *line, Error *error);
void command_line_free(CommandLine *line);
/* What the option's last use on the command line said; NULL if it was not used. */
const char *command_line_value(const CommandLine *line, const char *name);

/* Sets what was given, in the order it was given. */
bool options_apply(const OptionGroup *groups, size_t count, const CommandLine *line,
                   Error *error);
/* Sets one field from text; where says who is speaking, such as "--lr" or "tiny.conf:3". */
bool options_set(const OptionGroup *groups, size_t count, const char *name, const char *value,
                 const char *where, Error *error);

/* Reads "name = value" lines, and skips those that begin with #. Unknown names are errors. */
bool options_read_text(const OptionGroup *groups, size_t count, const char *text,
                       const char *where, Error *error);
/* The same for a program that has only some of the settings: others' names are passed over. */
bool options_read_known(const OptionGroup *groups, size_t count, const char *text,
                        const char *where, Error *error);
/* Writes the stored settings in that form; the caller owns the text. */
char *options_write_text(const OptionGroup *groups, size_t count);

/* The value of one field as one would type it; the caller owns the text. */
char *option_value(const OptionGroup *group, const Option *option);
/* The field that a row describes. */
void *option_field(const OptionGroup *group, const Option *option);
const Option *option_find(const OptionGroup *groups, size_t count, const char *name,
                          const OptionGroup **group);
bool option_takes_value(const Option *option);

/* Calls heading and row in the order in which people read them: the rows that are for everybody
 * under their group's title, and then, under theirs, those that have owners. */
void options_visit(const OptionGroup *groups, size_t count, void (*heading)(const char *title),
                   void (*row)(const Option *option));

#endif
