/* What every program does before and after its own work: it reads its command line, answers
 * --help and --version, and makes sure that what it printed has arrived. Whatever goes wrong
 * here ends the program with a message, so that a main begins with its own affairs. */
#ifndef LINNET_PROGRAM_H
#define LINNET_PROGRAM_H

#include "src/base/about.h"

/* Fills the targets of the groups: with the defaults, then with what was given. The rows of
 * --help and --version are added here. The caller frees the line with command_line_free, and
 * the texts with options_free_texts.
 *
 * Whoever installs the program has it write its manual page by "--help=man OTHERS...", and its
 * completions by --help=bash and --help=zsh. */
void program_read_command_line(const About *about, const OptionGroup *groups, size_t count,
                               int argc, char **argv, CommandLine *line);

/* The first half, for a program that has more to read before it applies what was given: names
 * the program, scans, answers, and leaves the targets alone. */
void program_scan_command_line(const About *about, const OptionGroup *groups, size_t count,
                               int argc, char **argv, CommandLine *line);

/* Waits until standard output has taken all that was printed: call it before leaving. */
void program_finish_output(void);

#endif
