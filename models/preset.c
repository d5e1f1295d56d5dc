#include "models/preset.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 };
#define ENDING ".conf"

static int is_preset(const struct dirent *entry)
{
    return text_ends_in(entry->d_name, ENDING);
}

bool preset_list(char ***names, Error *error)
{
    char *folder = file_shipped_folder("models");
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_preset, alphasort);
    *names = NULL;
    for (int i = 0; i < count; i++) {
        size_t length = strlen(entries[i]->d_name) - strlen(ENDING);
        arrput(*names, text_format("%.*s", (int)length, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
    if (count < 0)
        error_set(error, "%s: cannot list this directory: %s", folder, strerror(errno));
    free(folder);
    return count >= 0;
}

static bool fail_unknown(const char *name, const char *folder, Error *error)
{
    char **names;
    Error ignored;
    Nearest near = nearest_to(name);
    if (preset_list(&names, &ignored))
        for (size_t i = 0; i < arrlenu(names); i++)
            nearest_consider(&near, names[i]);
    if (near.best)
        error_set(error, "--preset %s: no such preset or file; did you mean '%s'?", name,
                  near.best);
    else
        error_set(error,
                  "--preset %s: no such file, and no %s" ENDING
                  " in %s; --preset help lists the presets",
                  name, name, folder);
    text_lines_free(names);
    return false;
}

/* Reads the file and sets its path; the caller frees both. */
static bool read_file(const char *name, char **path, char **text, Error *error)
{
    size_t size;
    char *folder = file_shipped_folder("models");
    bool named = file_exists(name) && !file_is_folder(name);
    *path = named ? memory_copy_text(name) : text_format("%s/%s" ENDING, folder, name);
    *text = NULL;
    bool good = (named || file_exists(*path) || fail_unknown(name, folder, error)) &&
                file_read(*path, MOST, text, &size, error);
    free(folder);
    return good;
}

bool preset_read(const Options *options, const char *name, bool known_only, Error *error)
{
    char *path, *text;
    bool good = read_file(name, &path, &text, error) &&
                (known_only ? options_read_known : options_read_text)(options, text, path,
                                                                      error);
    free(text);
    free(path);
    return good;
}

char *preset_about(const char *name)
{
    char *path, *text, *comment = NULL;
    Error error;
    if (read_file(name, &path, &text, &error) && text[0] == '#') {
        text[strcspn(text, "\n")] = '\0';
        comment = memory_copy_text(text_trim(text + 1));
    }
    free(text);
    free(path);
    return comment ? comment : memory_copy_text("");
}
