#include "eval/runs/gridfile.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/text.h"

#include <string.h>

char *gridfile_find(const char *path)
{
    const char *name = file_base_name(path);
    bool is_named = strcmp(name, GRID_FILE) == 0 || text_ends_in(name, "." GRID_FILE);
    if (is_named && file_exists(path) && !file_is_folder(path))
        return memory_copy_text(path);
    return file_is_in(path, GRID_FILE) ? file_join(path, GRID_FILE) : NULL;
}

/* Reads an array of the file. Its elements are texts or, with a key, objects with a text of
 * this key. */
static bool read_texts(const char *file, const char *array, const char *key, char ***texts,
                       Error *error)
{
    enum { MOST = 1 << 26 };
    char *text;
    size_t size, i;
    json_error_t where;
    const json_t *element;
    *texts = NULL;
    if (!file_read(file, MOST, &text, &size, error))
        return false;
    json_t *grid = json_parse(text, size, &where);
    const json_t *elements = json_object_get(grid, array);
    bool good = json_is_array(elements);
    json_array_foreach(elements, i, element)
    {
        const json_t *value = key ? json_object_get(element, key) : element;
        if (json_is_string(value))
            arrput(*texts, memory_copy_text(json_string_value(value)));
        else
            good = false;
    }
    json_decref(grid);
    free(text);
    if (good)
        return true;
    text_lines_free(*texts);
    *texts = NULL;
    return error_set(error, "%s: not the description of a grid, which train writes", file);
}

bool gridfile_runs(const char *file, char ***folders, Error *error)
{
    if (!read_texts(file, "runs", "run", folders, error))
        return false;
    char *parent = file_folder_of(file);
    for (size_t i = 0; i < arrlenu(*folders); i++) {
        char *name = (*folders)[i];
        (*folders)[i] = file_join(parent, name);
        free(name);
    }
    free(parent);
    return true;
}

void gridfile_add_run(char ***runs, const char *path)
{
    char *run = memory_copy_text(path);
    file_trim_slashes(run);
    for (size_t i = 0; i < arrlenu(*runs); i++)
        if (strcmp((*runs)[i], run) == 0) {
            free(run);
            return;
        }
    arrput(*runs, run);
}

bool gridfile_add_runs(char ***runs, const char *file, bool (*has_begun)(const char *folder),
                       size_t *missing, Error *error)
{
    char **of_grid;
    *missing = 0;
    if (!gridfile_runs(file, &of_grid, error))
        return false;
    const size_t count = arrlenu(of_grid);
    for (size_t r = 0; r < count; r++)
        if (has_begun(of_grid[r]))
            gridfile_add_run(runs, of_grid[r]);
        else
            ++*missing;
    text_lines_free(of_grid);
    return *missing < count || error_set(error, "%s: no run of this grid has begun", file);
}

bool gridfile_command(const char *file, char ***words, Error *error)
{
    return read_texts(file, "command", NULL, words, error);
}
