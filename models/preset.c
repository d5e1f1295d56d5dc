#include "models/preset.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdlib.h>

static char *find(const char *name, Error *error)
{
    if (file_exists(name) && !file_is_folder(name))
        return memory_copy_text(name);
    static const char *const places[] = {"../models", "../share/linnet/models"};
    char *folder = file_program_folder();
    char *found = NULL;
    for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++) {
        char *path = text_format("%s/%s/%s.conf", folder, places[i], name);
        if (file_exists(path))
            found = path;
        else
            free(path);
    }
    if (!found)
        error_set(error, "--preset %s: no such file, and no %s.conf in %s/../models", name,
                  name, folder);
    free(folder);
    return found;
}

char *preset_text(const char *name, char **path, Error *error)
{
    enum { MOST = 1 << 20 };
    char *text = NULL;
    size_t size;
    *path = find(name, error);
    if (!*path || file_read(*path, MOST, &text, &size, error))
        return text;
    free(*path);
    *path = NULL;
    return NULL;
}
