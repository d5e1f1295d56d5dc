#include "models/preset.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
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

/* "# what it is" -> "what it is". */
static char *first_comment(const char *path)
{
    char *text;
    size_t size;
    Error error;
    if (!file_read(path, MOST, &text, &size, &error))
        return memory_copy_text("");
    char *line = text + (text[0] == '#');
    line[strcspn(line, "\n")] = '\0';
    char *comment = memory_copy_text(text[0] == '#' ? text_trim(line) : "");
    free(text);
    return comment;
}

bool preset_list(PresetLine **presets, Error *error)
{
    char *folder = file_shipped_folder("models");
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_preset, alphasort);
    *presets = NULL;
    for (int i = 0; i < count; i++) {
        char *path = file_join(folder, entries[i]->d_name);
        PresetLine preset = {.name = memory_copy_text(entries[i]->d_name),
                             .text = first_comment(path)};
        preset.name[strlen(preset.name) - strlen(ENDING)] = '\0';
        arrput(*presets, preset);
        free(path);
        free(entries[i]);
    }
    free(entries);
    if (count < 0)
        error_set(error, "%s: cannot list this directory: %s", folder, strerror(errno));
    free(folder);
    return count >= 0;
}

void preset_list_free(PresetLine *presets)
{
    for (size_t i = 0; i < arrlenu(presets); i++) {
        free(presets[i].name);
        free(presets[i].text);
    }
    arrfree(presets);
}

static void explain_unknown(const char *name, const char *folder, Error *error)
{
    PresetLine *presets;
    Error ignored;
    Nearest near = nearest_to(name);
    if (preset_list(&presets, &ignored))
        for (size_t i = 0; i < arrlenu(presets); i++)
            nearest_consider(&near, presets[i].name);
    if (near.best)
        error_set(error, "--preset %s: no such preset or file; did you mean '%s'?", name,
                  near.best);
    else
        error_set(error,
                  "--preset %s: no such file, and no %s" ENDING
                  " in %s; --preset help lists the presets",
                  name, name, folder);
    preset_list_free(presets);
}

char *preset_text(const char *name, char **path, Error *error)
{
    char *folder = file_shipped_folder("models"), *text = NULL;
    bool is_file = file_exists(name) && !file_is_folder(name);
    size_t size;
    *path = is_file ? memory_copy_text(name) : text_format("%s/%s" ENDING, folder, name);
    if (!file_exists(*path))
        explain_unknown(name, folder, error);
    else
        file_read(*path, MOST, &text, &size, error);
    free(folder);
    return text;
}
