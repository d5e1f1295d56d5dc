/* What a program says of itself, described once, as its options are.
 *
 * A program keeps one About beside its main. From it and from the rows of its options come
 * --help, the manual page and the completions of bash and zsh, so that none of them can tell
 * of options that do not exist, or keep silent about one that does. */
#ifndef LINNET_ABOUT_H
#define LINNET_ABOUT_H

#include "src/options.h"

/* A name and what there is to say of it, in small letters and without a full stop. */
typedef struct AboutItem {
    const char *name, *text;
} AboutItem;

enum { ABOUT_MOST = 9 };

/* Lists end with an empty place. Texts are ASCII, and paragraphs without line ends. */
typedef struct About {
    const char *name;    /* as it is built; when installed, linnet- stands before it */
    const char *purpose; /* goes on from the name: "trains a model on a text" */
    /* What follows the name on a command line. Operands are words in capitals, [OPTIONS]
     * excepted, and "..." says that the last may be repeated. The first synopsis decides what
     * is offered to who completes a word: files for FILE and CORPUS, folders for DIR, runs and
     * checkpoints for RUN, commands for COMMAND; the same goes for the values of options. */
    const char *synopses[ABOUT_MOST];
    const char *paragraphs[ABOUT_MOST];
    AboutItem (*command)(size_t index); /* name NULL after the last; or NULL: no commands */
    const char *examples[ABOUT_MOST];   /* again without the name */
    AboutItem files[ABOUT_MOST];
    AboutItem statuses[ABOUT_MOST]; /* besides those that every program has */
    const AboutItem *environment[ABOUT_MOST];
} About;

/* Variables that several programs heed. */
extern const AboutItem about_kernels, about_colour, about_terminal_size, about_locale;

/* On stdout. The manual page is for an installed program; others are the names of the programs
 * that it points to, itself perhaps among them. The completions are what differs from program
 * to program: src/completion.bash and src/completion.zsh are to follow. */
void about_print_help(const About *about, const OptionGroup *groups, size_t count);
void about_print_manual(const About *about, const OptionGroup *groups, size_t count,
                        const char *const *others, size_t other_count);
void about_print_bash(const About *about, const OptionGroup *groups, size_t count);
void about_print_zsh(const About *about, const OptionGroup *groups, size_t count);

#endif
