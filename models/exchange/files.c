#include "models/exchange/files.h"
#include "models/safetensors.h"
#include "src/base/file.h"

#include <stdlib.h>

static json_t *parse(const char *path, const char *text, size_t size, Error *error)
{
    json_error_t where;
    json_t *root = json_parse(text, size, &where);
    if (!root)
        error_set(error, "%s:%d: not valid JSON: %s", path, where.line,
                  tensor_label(where.text).text);
    else if (!json_is_object(root))
        error_set(error, "%s: not a JSON object", path);
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

json_t *files_json(const char *folder, const char *name, size_t most, Error *error)
{
    char *path = file_join(folder, name), *text;
    size_t size;
    json_t *root = NULL;
    if (file_read(path, most, &text, &size, error)) {
        root = parse(path, text, size, error);
        free(text);
    }
    free(path);
    return root;
}
