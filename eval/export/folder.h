/* A folder of files that is there whole or not at all.
 *
 * The files are written into a temporary folder beside it, which takes its name at the end; an
 * empty folder of that name is replaced, one with anything in it never. */
#ifndef LINNET_EXPORT_FOLDER_H
#define LINNET_EXPORT_FOLDER_H

#include "src/error.h"

#include <stdio.h>

typedef struct ExportFolder {
    char *path, *temporary;
    char **files; /* paths of what was begun, an stb_ds array */
} ExportFolder;

bool export_folder_begin(ExportFolder *folder, const char *path, Error *error);
/* Where to write the file of this name; the folder owns the path. */
const char *export_folder_file(ExportFolder *folder, const char *name);
/* Writes a file of text, without zero bytes, that a function prints. */
bool export_folder_print(ExportFolder *folder, const char *name,
                         void (*print)(FILE *out, const void *what), const void *what,
                         Error *error);
/* One of these ends it. A commit that fails leaves nothing. */
bool export_folder_commit(ExportFolder *folder, Error *error);
void export_folder_abort(ExportFolder *folder);

#endif
