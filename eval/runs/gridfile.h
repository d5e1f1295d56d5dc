/* The file that describes a grid, several runs that one command trains: grid.json in the
 * directory that --run named, or beside its runs, as runs/NAME.grid.json.
 *
 *   {"command": ["train", "--attn=softmax,linear", "--seed=1,2", "--", "text.txt"],
 *    "seconds_left": 120.5,
 *    "runs": [{"run": "softmax-seed1", "state": "finished", "share": 1,
 *              "settings": {"attn": "softmax", "seed": "1"}}, ...]}
 *
 * The command is what train was started with. A run is a directory beside the file; its state
 * is finished, open (it can be continued) or missing, its share the part of its steps that is
 * done, its settings are those that differ in the grid. train writes the file anew whenever a
 * run begins or ends. It is not trusted: it may come from another machine. */
#ifndef LINNET_GRIDFILE_H
#define LINNET_GRIDFILE_H

#include "src/base/error.h"

#include <stddef.h>

#define GRID_FILE "grid.json"

/* The grid file that a path names, which is one or a directory with one; NULL: there is none.
 * The caller frees. */
char *gridfile_find(const char *path);

/* Appends the path of a run to an stb_ds array for text_lines_free, unless it is there:
 * runs/NAME and the grid beside it may both name the run. */
void gridfile_add_run(char ***runs, const char *path);
/* The same for the runs of a grid that have begun; *missing becomes how many have not. It is an
 * error if none has. */
bool gridfile_add_runs(char ***runs, const char *file, bool (*has_begun)(const char *folder),
                       size_t *missing, Error *error);

/* An stb_ds array for text_lines_free: the paths of the run directories, or the words of the
 * command. */
bool gridfile_runs(const char *file, char ***folders, Error *error);
bool gridfile_command(const char *file, char ***words, Error *error);

/* How far a grid is. */
typedef struct GridProgress {
    size_t finished, runs;
    double seconds_left; /* NaN: unknown */
} GridProgress;

/* Adds that of a grid to the progress. */
bool gridfile_progress(const char *file, GridProgress *progress, Error *error);

#endif
