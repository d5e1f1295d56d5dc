/* Presets: named settings in files of "name = value" lines. */
#ifndef LINNET_PRESET_H
#define LINNET_PRESET_H

#include "src/base/error.h"

/* Reads the file `name`, or NAME.conf in the presets directory. Returns its text, or NULL and
 * an error if there is none, and sets its path, for messages; the caller frees both. */
char *preset_text(const char *name, char **path, Error *error);

/* The installed presets, sorted by name, each with the first line of its comment; an stb_ds
 * array that the caller frees. */
typedef struct PresetLine {
    char *name, *text;
} PresetLine;
bool preset_list(PresetLine **presets, Error *error);
void preset_list_free(PresetLine *presets);

#endif
