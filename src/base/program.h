/* What every program does before and after its own work: it reads its command line, answers
 * --help and --version, and makes sure that what it printed has arrived. Whatever goes wrong
 * here ends the program with a message, so that a main begins with its own affairs. */
#ifndef LINNET_PROGRAM_H
#define LINNET_PROGRAM_H

#include "src/base/options.h"

/* The description of a program, written once.
 *
 * A program keeps one About beside its main. --help, the manual page and the completions for
 * bash and zsh are printed from it and from the option rows, so that they always agree with
 * the program. */

/* A name and its description: a phrase in lower case without a full stop. */
typedef struct AboutItem {
    const char *name, *text;
} AboutItem;

enum { ABOUT_MOST = 10 };

/* Lists end with an empty place. Texts are ASCII, and paragraphs without line ends. */
typedef struct About {
    const char *name;    /* as it is built; when installed, linnet- stands before it */
    const char *purpose; /* goes on from the name: "trains a model on a text" */
    /* The command line after the name. Operands are words in capitals other than [OPTIONS];
     * "..." marks one that may be repeated. Completion follows the first synopsis: it offers
     * files for FILE and CORPUS, directories for DIR, runs and checkpoints for RUN, commands
     * for COMMAND; likewise for the values of options. */
    const char *synopses[ABOUT_MOST];
    const char *paragraphs[ABOUT_MOST];
    AboutItem commands[ABOUT_MOST];
    const char *examples[ABOUT_MOST]; /* again without the name */
    AboutItem files[ABOUT_MOST];
    AboutItem statuses[ABOUT_MOST]; /* in addition to those of every program */
    const char *more;               /* below the short help: other things that it can list */
    AboutItem environment[ABOUT_MOST];
} About;

/* Environment variables that several programs read. */
#define ABOUT_COLOUR                                                                \
    {                                                                               \
        "NO_COLOR", "if not empty, output has no colours; the same if TERM is dumb" \
    }
#define ABOUT_TERMINAL_SIZE                                                        \
    {                                                                              \
        "COLUMNS, LINES",                                                          \
            "the size of output that does not go to a terminal; 80 by 24 if unset" \
    }
#define ABOUT_LOCALE                                                                           \
    {                                                                                          \
        "LC_ALL, LC_CTYPE, LANG", "the first of these that is set decides whether charts use " \
                                  "UTF-8 characters or ASCII"                                  \
    }

/* Fills the targets of the groups: with the defaults, then with what was given. The rows of
 * --help and --version are added here. program_end frees the line and the texts.
 *
 * Whoever installs the program has it write its manual page by "--help=man OTHERS...", and its
 * completions by --help=bash and --help=zsh. */
void program_read_command_line(const About *about, const Options *options, int argc,
                               char **argv, CommandLine *line);

/* The first half, for a program that has more to read before it applies what was given: names
 * the program, scans, answers, and leaves the targets alone. */
void program_scan_command_line(const About *about, const Options *options, int argc,
                               char **argv, CommandLine *line);

/* Waits until standard output has taken all that was printed: call it before leaving. */
void program_finish_output(void);
/* Passes on what was printed so far; if that fails, program_finish_output says why. */
void program_flush_output(void);
/* The end of a program: frees what its command line gave, and finishes the output. */
void program_end(const Options *options, CommandLine *line);

/* All print to stdout, from an stb_ds array of all options. The word is what followed --help:
 * "" for the common options, "all" for every option, anything else is searched for. The manual
 * page is for an installed program; its "see also" names the others. The completion is only the
 * part that differs from program to program; the Makefile appends src/base/completion.bash or
 * src/base/completion.zsh. */
void about_print_help(const About *about, const OptionLine *lines, const char *word);
void about_print_manual(const About *about, const OptionLine *lines, const char *const *others,
                        size_t other_count);
void about_print_completion(const About *about, const OptionLine *lines, bool zsh);

#endif
