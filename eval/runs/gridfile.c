#include "eval/runs/gridfile.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

char *gridfile_find(const char *path)
{
    const char *name = file_base_name(path);
    bool is_named = strcmp(name, GRID_FILE) == 0 || text_ends_in(name, "." GRID_FILE);
    if (is_named && file_exists(path) && !file_is_folder(path))
        return memory_copy_text(path);
    return file_is_in(path, GRID_FILE) ? file_join(path, GRID_FILE) : NULL;
}

/* The caller's; NULL, without an error, if the file is not JSON. */
static bool read_grid(const char *file, json_t **grid, Error *error)
{
    enum { MOST = 1 << 26 };
    char *text;
    size_t size;
    json_error_t where;
    if (!file_read(file, MOST, &text, &size, error))
        return false;
    *grid = json_parse(text, size, &where);
    free(text);
    return true;
}

static bool refuse(const char *file, Error *error)
{
    return error_set(error, "%s: not the description of a grid, which train writes", file);
}

/* Reads an array of the file. Its elements are texts or, with a key, objects with a text of
 * this key. */
static bool read_texts(const char *file, const char *array, const char *key, char ***texts,
                       Error *error)
{
    size_t i;
    json_t *grid;
    const json_t *element;
    *texts = NULL;
    if (!read_grid(file, &grid, error))
        return false;
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
    if (good)
        return true;
    text_lines_free(*texts);
    *texts = NULL;
    return refuse(file, error);
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

bool gridfile_progress(const char *file, GridProgress *progress, Error *error)
{
    size_t i;
    json_t *grid;
    const json_t *run;
    if (!read_grid(file, &grid, error))
        return false;
    const json_t *runs = json_object_get(grid, "runs"),
                 *left = json_object_get(grid, "seconds_left");
    const bool good = json_is_array(runs);
    json_array_foreach(runs, i, run)
    {
        const char *state = json_string_value(json_object_get(run, "state"));
        progress->finished += state && strcmp(state, "finished") == 0;
        progress->runs++;
    }
    progress->seconds_left += json_is_number(left) ? json_number_value(left) : NAN;
    json_decref(grid);
    return good || refuse(file, error);
}
