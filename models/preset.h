/* Presets: settings with a name, in files of "name = value" lines. */
#ifndef LINNET_PRESET_H
#define LINNET_PRESET_H

#include "src/error.h"

/* The text of the file as named, else of NAME.conf in the models folder beside the program's;
 * and its path, for messages. Both are the caller's; NULL and an error if there is none. */
char *preset_text(const char *name, char **path, Error *error);

#endif
