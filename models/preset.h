/* Presets: named settings, in files of "name = value" lines. */
#ifndef LINNET_PRESET_H
#define LINNET_PRESET_H

#include "src/error.h"

/* Reads the file of that name, otherwise NAME.conf in the presets' directory. Returns its text
 * and its path, for messages; both are the caller's. Returns NULL and an error if there is
 * none. */
char *preset_text(const char *name, char **path, Error *error);

/* The presets that come with the program, by name, each with the first line of its comment; an
 * array of stb_ds, the caller's. */
typedef struct PresetLine {
    char *name, *text;
} PresetLine;
bool preset_list(PresetLine **presets, Error *error);
void preset_list_free(PresetLine *presets);

#endif
