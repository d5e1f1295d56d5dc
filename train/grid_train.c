/* Trains a grid: what is left of it, the grid file, and the runs one after another. */
#include "train/grid.h"
#include "eval/runs/gridfile.h"
#include "eval/show/markup.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/ranks/ranks.h"
#include "train/loop/lock.h"
#include "train/loop/signals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- what is left --- */

/* Estimates how long a run takes as a whole, from the runs like it; without them, from all
 * whose time is known; NaN without any. */
static double estimate(const Grid *grid, size_t run)
{
    double sum[2] = {0}, count[2] = {0}; /* of all, and of those like it */
    if (!isnan(grid->runs[run].standing.seconds))
        return grid->runs[run].standing.seconds;
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        double seconds = grid->runs[i].standing.seconds;
        for (size_t alike = 0; !isnan(seconds) && alike <= grid_alike(grid, i, run); alike++) {
            sum[alike] += seconds;
            count[alike]++;
        }
    }
    return count[1] > 0 ? sum[1] / count[1] : sum[0] / count[0];
}

/* The place of a run, with what is left of the others; of all, if the index is their number. */
static GridPlace place_of(const Grid *grid, size_t index)
{
    GridPlace place = {.index = index + 1, .count = arrlenu(grid->runs)};
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        double left = 1 - grid->runs[i].standing.share, seconds = estimate(grid, i);
        if (i == index || grid->runs[i].standing.state == RUN_FINISHED)
            continue;
        if (isnan(seconds))
            place.runs_like_it += left;
        else
            place.seconds += left * seconds;
    }
    return place;
}

static size_t count_runs(const Grid *grid, RunState state)
{
    size_t count = 0;
    for (size_t i = 0; i < arrlenu(grid->runs); i++)
        count += grid->runs[i].standing.state == state;
    return count;
}

/* "3 of 24 runs finished, 1 open, 20 missing, about 2:10:00 left"; the caller frees. */
static char *words_of_rest(const Grid *grid)
{
    const GridPlace all = place_of(grid, arrlenu(grid->runs));
    const size_t open = count_runs(grid, RUN_OPEN), missing = count_runs(grid, RUN_MISSING);
    char *text = text_format("%zu of %zu runs finished", count_runs(grid, RUN_FINISHED),
                             arrlenu(grid->runs));
    if (open > 0)
        text_append(&text, ", %zu open", open);
    if (missing > 0)
        text_append(&text, ", %zu missing", missing);
    if (all.seconds > 0)
        text_append(&text, ", about %s left", text_duration(all.seconds).text);
    return text;
}

/* --- the grid file --- */

/* The program, and the options and operands as typed, one word each, without the directory,
 * which may move, and without what is of one session. */
static json_t *command_of(const CommandLine *line)
{
    static const char *const of_session[] = {"run", "stop-after", "watch", "quiet", NULL};
    json_t *words = json_pack("[s]", program_name);
    for (size_t i = 0; i < line->given_count; i++) {
        const OptionArgument *given = &line->given[i];
        const char *name = given->option->name;
        if (text_is_among(name, of_session))
            continue;
        char *word = option_takes_value(given->option)
                         ? text_format("--%s=%s", name, given->value)
                         : text_format("--%s%s", strcmp(given->value, "no") ? "" : "no-", name);
        json_array_append_new(words, markup_json(word));
        free(word);
    }
    json_array_append_new(words, json_string("--"));
    for (size_t i = 0; i < line->operand_count; i++)
        json_array_append_new(words, markup_json(line->operands[i]));
    return words;
}

static json_t *run_json(const Grid *grid, size_t index)
{
    static const char *const states[] = {"missing", "open", "finished"};
    const GridRun *run = &grid->runs[index];
    json_t *settings = json_object();
    for (size_t i = 0; i < arrlenu(grid->axes); i++)
        json_object_set_new(settings, grid->axes[i].option->name,
                            markup_json(grid_value(&grid->axes[i], index)));
    return json_pack("{so ss so so}", "run", markup_json(file_base_name(run->folder)), "state",
                     states[run->standing.state], "share", json_figure(run->standing.share),
                     "settings", settings);
}

static void write_file(const Grid *grid)
{
    Error error;
    const GridPlace all = place_of(grid, arrlenu(grid->runs));
    json_t *runs = json_array();
    for (size_t i = 0; i < arrlenu(grid->runs); i++)
        json_array_append_new(runs, run_json(grid, i));
    json_t *content = json_pack("{so so so}", "command", command_of(grid->line), "seconds_left",
                                json_figure(all.runs_like_it > 0 ? NAN : all.seconds), "runs",
                                runs);
    if (!file_make_parents(grid->file, &error) ||
        !file_replace_printed(grid->file, json_print_lines, content, &error))
        print_warning("%s", error.text); /* training needs no such file */
    json_decref(content);
}

/* --- training --- */

/* Adds the run directory to the line, and the teacher. A run that goes on keeps what it stores.
 */
static void direct(GridRun *run, bool goes_on)
{
    static const char *const new_only[] = {"preset",      "match-params",  "batch-tokens",
                                           "generations", "keep-teachers", NULL};
    CommandLine *line = &run->line;
    size_t count = line->given_count;
    line->given_count = 0;
    for (size_t i = 0; i < count; i++) {
        const Option *option = line->given[i].option;
        bool stays = !option->stored && !text_is_among(option->name, new_only);
        if (strcmp(option->name, "run") != 0 && (stays || !goes_on))
            line->given[line->given_count++] = line->given[i];
    }
    if (goes_on)
        line->operand_count = 0;
    grid_add_option(run, goes_on ? "resume" : "run", run->folder);
    if (grid_is_taught(run) && !goes_on)
        grid_add_option(run, "distill", run->settings.train.distill);
}

/* The run that is trained; for GridPlace. */
typedef struct Current {
    const Grid *grid;
    GridRun *run;
} Current;

static void note_begun(void *current)
{
    const Current *now = current;
    now->run->standing.state = RUN_OPEN;
    write_file(now->grid);
}

/* Trains a run or what is left of it. */
static int train(const Grid *grid, GridRun *run, GridPlace place, TrainOne *train_one)
{
    Error error;
    Current current = {grid, run};
    place.begun = note_begun;
    place.grid = &current;
    bool is_stale = run->standing.state == RUN_MISSING && file_exists(run->folder);
    if (!ranks_agree(!ranks_first() || !is_stale || folder_discard(run->folder, &error),
                     &error)) {
        print_warning("%s", error.text);
        return EXIT_FAILURE;
    }
    direct(run, run->standing.state == RUN_OPEN);
    int status = train_one(&run->line, &place);
    run->standing = folder_standing(run->folder);
    ranks_share(&run->standing, sizeof run->standing, 0); /* all decide alike */
    if (ranks_first())
        write_file(grid);
    /* The run may have been complete already when the signal came. */
    size_t signal = ranks_most((size_t)signals_caught());
    return status == EXIT_SUCCESS && signal > 0 ? 128 + (int)signal : status;
}

/* Replaces this program by compare, which lies beside it. */
static void compare(const GridRun *runs)
{
    char *folder = file_program_folder();
    char *name = text_format("%s/%s%s", folder,
                             strncmp(program_name, "linnet-", 7) == 0 ? "linnet-" : "",
                             "compare");
    char **words = NULL;
    arrput(words, name);
    for (size_t i = 0; i < arrlenu(runs); i++)
        arrput(words, runs[i].folder);
    arrput(words, NULL);
    printf("\n");
    fflush(stdout);
    ranks_end();
    execv(name, words);
    die("%s: %s", name, strerror(errno));
}

/* How to go on with a grid that has ended early. */
static void say_rest(const Grid *grid)
{
    char *rest = words_of_rest(grid), *target = memory_copy_text(grid->file);
    char *command = text_format("%s --resume ", program_command);
    if (command_line_value(grid->line, "run"))
        target[strlen(target) - strlen("/" GRID_FILE)] = '\0';
    text_append_shell_word(&command, target);
    print_output("Grid: %s", rest);
    print_output("To continue the grid: the same command again, or %s", command);
    free(rest);
    free(command);
    free(target);
}

/* "== run 7 of 24: softmax-seed1, about 2:10:00 left of the grid", and one line for finished
 * runs that follow each other. */
static void print_heading(const Grid *grid, size_t index)
{
    const GridPlace all = place_of(grid, arrlenu(grid->runs));
    size_t count = arrlenu(grid->runs), end = index;
    while (end < count && grid->runs[end].standing.state == RUN_FINISHED)
        end++;
    if (index > 0 && end > index && grid->runs[index - 1].standing.state == RUN_FINISHED)
        return;
    printf("%s", index ? "\n" : "");
    if (end > index + 1)
        printf("== runs %zu to %zu of %zu: finished\n", index + 1, end, count);
    else if (end > index)
        printf("== run %zu of %zu: %s, finished\n", end, count, grid->runs[index].name);
    else if (all.seconds > 0)
        printf("== run %zu of %zu: %s, about %s left of the grid\n", index + 1, count,
               grid->runs[index].name, text_duration(all.seconds).text);
    else
        printf("== run %zu of %zu: %s\n", index + 1, count, grid->runs[index].name);
    fflush(stdout);
}

/* Ends the program if another process trains the grid. */
static void lock(const Grid *grid)
{
    Error error;
    bool good = !ranks_first() || (file_make_parents(grid->file, &error) &&
                                   lock_acquire(LOCK_GRID, grid->file, &error));
    if (!ranks_agree(good, &error))
        die("%s", error.text);
}

/* Removes the checkpoints of runs that have taught, unless they are wanted. */
static void forget_teachers(const Grid *grid)
{
    Error error;
    for (size_t i = 1; i < arrlenu(grid->runs) && ranks_first(); i++)
        if (grid_is_taught(&grid->runs[i]) && !grid->runs[i].settings.session.keep_teachers &&
            grid->runs[i].standing.state == RUN_FINISHED &&
            !folder_forget(grid->runs[i - 1].folder, &error))
            print_warning("%s", error.text);
}

/* A run that fails, as one that diverges does, leaves the others to be trained. One that is
 * stopped, by a signal or --stop-after, ends the grid. */
int grid_train(const CommandLine *line, TrainOne *train_one)
{
    Grid grid = grid_make(line);
    const char *quiet = command_line_value(line, "quiet");
    bool talks = ranks_first() && !(quiet && strcmp(quiet, "yes") == 0), goes_on = true;
    const double began = clock_seconds();
    int status = EXIT_SUCCESS;
    grid_place(&grid);
    lock(&grid);
    grid_look(&grid);
    signals_catch(); /* also between the runs */
    for (size_t i = 0; goes_on && i < arrlenu(grid.runs); i++) {
        GridRun *run = &grid.runs[i];
        GridPlace place = place_of(&grid, i);
        place.elapsed = clock_seconds() - began;
        if (talks)
            print_heading(&grid, i);
        if (run->standing.state == RUN_FINISHED)
            continue;
        int ended = train(&grid, run, place, train_one);
        goes_on = ended == EXIT_FAILURE ||
                  (ended == EXIT_SUCCESS && run->standing.state == RUN_FINISHED);
        status = ended > status ? ended : status;
    }
    forget_teachers(&grid);
    bool complete = count_runs(&grid, RUN_FINISHED) == arrlenu(grid.runs);
    if (ranks_first())
        write_file(&grid);
    lock_release(LOCK_GRID);
    if (talks && complete && status == EXIT_SUCCESS)
        compare(grid.runs);
    if (talks && !complete)
        say_rest(&grid);
    grid_free(&grid);
    return status;
}

/* --- a grid to resume --- */

/* The command that began the grid, which the words then hold. */
static CommandLine read_command(const Options *options, const char *file, char ***words)
{
    CommandLine line;
    Error error;
    if (!gridfile_command(file, words, &error))
        die("%s", error.text);
    if (!options_scan(options, (int)arrlen(*words), *words, &line, &error))
        die("%s: %s", file, error.text);
    return line;
}

/* What --run was for the grid of a file, appended to the words; NULL for a grid without it,
 * whose runs are in runs/ here. */
static const char *run_of_file(const char *resumed, const char *file, char ***words)
{
    char *folder = file_folder_of(file);
    if (strcmp(file_base_name(file), GRID_FILE) == 0) {
        arrput(*words, folder);
        return folder;
    }
    if (strcmp(folder, "runs") != 0)
        die_usage("--resume %s: the runs of this grid are beside it; change to the directory "
                  "that has them in runs/, and give runs/%s",
                  resumed, file_base_name(file));
    free(folder);
    return NULL;
}

char **grid_continue(const Options *options, CommandLine *line)
{
    const char *resumed = command_line_value(line, "resume");
    char *file = resumed ? gridfile_find(resumed) : NULL, **words = NULL;
    if (!file)
        return NULL;
    CommandLine command = read_command(options, file, &words);
    const char *folder = run_of_file(resumed, file, &words);
    command.given = memory_resize(command.given, command.given_count + line->given_count,
                                  sizeof *command.given, "the command line");
    for (size_t i = 0; i < line->given_count; i++) {
        OptionArgument given = line->given[i];
        if (given.option->stored || line->operand_count > 0)
            die_usage("--resume %s: a grid keeps its text and its settings; leave %s%s out",
                      resumed, line->operand_count > 0 ? "" : "--",
                      line->operand_count > 0 ? line->operands[0] : given.option->name);
        if (strcmp(given.option->name, "resume") != 0)
            command.given[command.given_count++] = given;
        else if (folder)
            command.given[command.given_count++] = (OptionArgument){option_find(options, "run"),
                                                                    folder};
    }
    command_line_free(line);
    *line = command;
    free(file);
    return words;
}
