/* Grids: several runs one after another. "--attn softmax,linear --seed 1,2,3" trains six models
 * on the same text and ends with their comparison; "--context 128/1024 --batch 16/2" trains
 * two, because lists with a / advance together. With --generations, each combination is a chain
 * of runs, in which each run is taught by the one before it.
 *
 * Repeating the command continues the grid: a run directory that holds the run it would start
 * is skipped if that is finished, resumed if it has a checkpoint, and begun anew otherwise.
 * grid.c has the runs and their directories, grid_train.c trains them, grid_plan.c prints what
 * they would take (--dry-run). */
#ifndef LINNET_GRID_H
#define LINNET_GRID_H

#include "src/base/containers.h"
#include "train/loop/folder.h"
#include "train/loop/settings.h"

/* An option with a list of values. */
typedef struct GridAxis {
    const Option *option;
    char *text;    /* the list, cut at its commas or slashes */
    char **values; /* an array of stb_ds */
    bool joined;   /* by slashes: it advances together with the other such lists */
    size_t stride; /* combinations after which its value changes */
} GridAxis;

/* One combination of the values. */
typedef struct GridRun {
    char *name;        /* what differs: "softmax-seed1" */
    char *folder;      /* its directory */
    CommandLine line;  /* with single values, and room for GRID_ADDED options more */
    char *seed;        /* of a later generation, which counts on from that of the first */
    Settings settings; /* that the line asks for */
    RunStanding standing;
} GridRun;

typedef struct Grid {
    const CommandLine *line;
    GridAxis *axes; /* arrays of stb_ds */
    GridRun *runs;
    char *file; /* the path of its grid file (eval/runs/gridfile.h) */
} Grid;

/* The options that are added to the line of a run: --run or --resume, and of a chain
 * --generation,
 * --seed and --distill. */
enum { GRID_ADDED = 4 };

/* Whether an option, other than a text, has a list of values, or there are several generations.
 */
bool grid_asked_for(const CommandLine *line);

/* The grid of a command line, or the one run of a line without lists. Ends the program if its
 * values do not fit together; checks the settings of every run. */
Grid grid_make(const CommandLine *line);
void grid_free(Grid *grid);
/* Adds an option to the line of a run, for which it has room. */
void grid_add_option(GridRun *run, const char *name, const char *value);
/* Chooses the run directories, and so the teachers of chains. Ends the program if one that
 * --run asks for holds another run.
 */
void grid_place(Grid *grid);
/* Reads how far the runs are. */
void grid_look(Grid *grid);

/* The value of an axis in a combination; the last axis changes fastest. */
static inline const char *grid_value(const GridAxis *axis, size_t combination)
{
    return axis->values[combination / axis->stride % arrlenu(axis->values)];
}
/* Whether a run is taught by the run before it. */
static inline bool grid_is_taught(const GridRun *run)
{
    return run->settings.train.generation > 1;
}
/* Whether two combinations take the same time: they differ in the seed or in learning rates. */
bool grid_alike(const Grid *grid, size_t one, size_t other);

/* If the command line resumes a grid, replaces it by the command that began the grid, with the
 * other options of this line. Returns its words, to be kept as long as the line and then freed
 * with text_lines_free; NULL: it resumes a run, or nothing. */
char **grid_continue(const Options *options, CommandLine *line);

/* Calls train_one, which returns an exit status, for every run that is not finished; a signal
 * or --stop-after ends it. Returns the exit status. */
typedef int TrainOne(const CommandLine *line, const GridPlace *place);
int grid_train(const CommandLine *line, TrainOne *train_one);

/* --dry-run: prints a table of the runs; returns the exit status. */
int grid_plan(const CommandLine *line);

#endif
