/* A session: a person types how texts begin, and commands that change the settings.
 *
 * A line is a prompt; an empty one lets the texts go on where they stopped; a line that begins
 * with a stroke is a command. The commands that change settings are the option rows of texts.h
 * themselves, with their ranges and their help. The texts of a session are those that --count
 * would make, one after the other, until another seed is set. */
#ifndef LINNET_SESSION_H
#define LINNET_SESSION_H

#include "eval/write/texts.h"

/* Until the last line has been read. The first prompt may have been given already, else NULL.
 */
void session_run(const Model *model, const Vocabulary *vocabulary, TextOptions *options,
                 const char *prompt);

/* The row that a command means: its name, or a part of it that no other name has. */
const Option *session_find_option(const OptionGroup *group, const char *name, Error *error);
/* What a command sets: "/top-k 40" has the name top-k and the value 40. Flags take on and off
 * as well as yes and no, and without a value become what they are not. */
bool session_set(const OptionGroup *group, const char *name, const char *value, Error *error);

#endif
