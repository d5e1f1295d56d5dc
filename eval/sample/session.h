/* An interactive session: prompts, and commands that change the settings.
 *
 * A line is a prompt; an empty line continues the texts; a line that begins with / is a
 * command. Commands that change settings are the option rows of texts.h, with their ranges and
 * help. The texts of a session are those that --count would generate, one after another, until
 * the seed is changed. */
#ifndef LINNET_SESSION_H
#define LINNET_SESSION_H

#include "eval/sample/texts.h"

/* Runs until the last line. A first prompt may be given. */
void session_run(const Model *model, const Vocabulary *vocabulary, TextOptions *options,
                 Prompt prompt);

/* The row of a command: its name, or an unambiguous part of it. */
const Option *session_find_option(const Options *settings, const char *name, Error *error);
/* Parses a command: "/top-k 40" has the name top-k and the value 40. Flags take on and off as
 * well as yes and no; without a value they are toggled. A text may stand in double quotes. */
bool session_set(const Options *settings, const char *name, const char *value, Error *error);

#endif
