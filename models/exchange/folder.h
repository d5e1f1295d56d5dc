/* A directory of files that appears whole or not at all.
 *
 * The files are written into a temporary directory beside it, which is renamed at the end. An
 * empty directory of that name is replaced; one with files in it never is. */
#ifndef LINNET_EXPORT_FOLDER_H
#define LINNET_EXPORT_FOLDER_H

#include "src/base/error.h"
#include "src/base/json.h"

typedef struct ExportFolder {
    char *path, *temporary;
    char **files; /* paths of the files begun, an stb_ds array */
} ExportFolder;

bool export_folder_begin(ExportFolder *folder, const char *path, Error *error);
/* The path to write the file of this name to; owned by the folder. */
const char *export_folder_file(ExportFolder *folder, const char *name);
/* Writes a file of text, or of a value, which is freed. */
bool export_folder_text(ExportFolder *folder, const char *name, const char *text, Error *error);
bool export_folder_json(ExportFolder *folder, const char *name, json_t *value, Error *error);
/* Appends a line with the name and the size of every file. */
bool export_folder_list(const ExportFolder *folder, char **list, Error *error);
/* One of these ends it. A commit that fails leaves nothing. */
bool export_folder_commit(ExportFolder *folder, Error *error);
void export_folder_abort(ExportFolder *folder);

#endif
