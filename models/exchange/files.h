/* The small files of a model's directory. */
#ifndef LINNET_IMPORT_FILES_H
#define LINNET_IMPORT_FILES_H

#include "src/base/error.h"
#include "src/base/json.h"

/* Reads a JSON object from a file of at most `most` bytes; NULL on failure. */
enum { FILES_SMALL = 1 << 20, FILES_LARGE = 1 << 26 };
json_t *files_json(const char *folder, const char *name, size_t most, Error *error);

#endif
