/* Presets: named settings in files of "name = value" lines. */
#ifndef LINNET_PRESET_H
#define LINNET_PRESET_H

#include "src/base/options.h"

/* Sets the options that the file `name` has, or NAME.conf in the presets directory; of a
 * program that has only some of the settings, those that it knows. */
bool preset_read(const Options *options, const char *name, bool known_only, Error *error);

/* The names of the installed presets, in order: an stb_ds array; free with text_lines_free. */
bool preset_list(char ***names, Error *error);
/* The first line of its comment; the caller frees. */
char *preset_about(const char *name);

#endif
