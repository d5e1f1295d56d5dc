#include "train/grid.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/ranks/ranks.h"
#include "eval/runs/gridfile.h"
#include "eval/runs/rundata.h"
#include "train/observers/observers.h"

#include <stdlib.h>
#include <string.h>

/* Whether this use of an option on the command line lists values, and counts. */
static bool is_list(const CommandLine *line, size_t given)
{
    const Option *option = line->given[given].option;
    const char *value = line->given[given].value;
    return option->type != OPTION_TEXT && strpbrk(value, ",/") &&
           command_line_value(line, option->name) == value;
}

/* How many runs are a chain; the option is checked later, with the others. */
static size_t count_generations(const CommandLine *line)
{
    const char *value = command_line_value(line, "generations");
    size_t count;
    return value && text_to_size(value, &count) ? count : 1;
}

bool grid_asked_for(const CommandLine *line)
{
    if (count_generations(line) > 1)
        return true;
    for (size_t i = 0; i < line->given_count; i++)
        if (is_list(line, i))
            return true;
    return false;
}

/* Refuses two values that may be one number: 0,1 with a decimal comma, or 10,000 with a comma
 * between thousands. For a real, any two whole numbers may be; for a whole number, three digits
 * after the comma that begin with a needless 0. */
static void refuse_one_number(const Option *option, const char *first, int first_size,
                              const char *second)
{
    static const char digits[] = "0123456789";
    enum { THOUSANDS = 3 };
    bool is_real = option->type == OPTION_REAL;
    size_t size = strspn(second, digits);
    const char *last = second; /* as an entry of a list */
    while (last[0] == '0' && last[1] >= '0' && last[1] <= '9')
        last++;
    bool ends = !second[size] || (is_real && strchr("eE", second[size]));
    bool is_whole = option->type == OPTION_SIZE && size == THOUSANDS && last > second &&
                    first[0] != '0';
    if (strspn(first, digits) == (size_t)first_size && size > 0 && ends &&
        (is_real || is_whole))
        die_usage("--%s %.*s,%s: is it one number? Type %.*s%s%s, or for a list %.*s%s,%s",
                  option->name, first_size, first, second, first_size, first,
                  is_real ? "." : "", second, first_size, first, is_real ? ".0" : "", last);
}

/* Refuses what is no list of values, before there is memory to free. */
static void check_list(const OptionArgument *given)
{
    const char *value = given->value, *comma = strchr(value, ',');
    if (comma && strchr(value, '/'))
        die_usage("--%s %s: commas list values for all combinations, slashes values that "
                  "advance together with those of another option; use one of them",
                  given->option->name, value);
    if (strchr(",/", value[0]) || strchr(",/", value[strlen(value) - 1]) ||
        strstr(value, ",,") || strstr(value, "//"))
        die_usage("--%s %s: a value is missing beside a %s; a list has no blanks",
                  given->option->name, value, comma ? "comma" : "slash");
    if (comma && !strchr(comma + 1, ','))
        refuse_one_number(given->option, value, (int)(comma - value), comma + 1);
}

static GridAxis axis_of(const OptionArgument *given)
{
    GridAxis axis = {.option = given->option,
                     .text = memory_copy_text(given->value),
                     .joined = strchr(given->value, '/') != NULL};
    char *rest = axis.text;
    for (char *value; (value = strsep(&rest, ",/"));)
        arrput(axis.values, value);
    return axis;
}

/* Sets the strides: the last axis changes fastest, joined axes at the place of the last of
 * them. Returns the number of combinations. */
static size_t combine(const Grid *grid)
{
    const GridAxis *joined = NULL;
    size_t combinations = 1;
    for (size_t i = arrlenu(grid->axes); i-- > 0;) {
        GridAxis *axis = &grid->axes[i];
        if (joined && axis->joined && arrlenu(joined->values) != arrlenu(axis->values))
            die_usage("--%s %s and --%s have lists with / of different lengths; such lists "
                      "advance together and need as many values",
                      axis->option->name, command_line_value(grid->line, axis->option->name),
                      joined->option->name);
        axis->stride = joined && axis->joined ? joined->stride : combinations;
        if (!joined || !axis->joined)
            combinations *= arrlenu(axis->values);
        if (axis->joined)
            joined = axis;
    }
    return combinations;
}

void grid_add_option(GridRun *run, const char *name, const char *value)
{
    const Options options = settings_options(&run->settings);
    run->line.given[run->line.given_count++] = (OptionArgument){option_find(&options, name),
                                                                value};
}

/* Kinds are in the name as they are, other values after the name of their option. */
static GridRun run_of(const Grid *grid, size_t combination)
{
    GridRun run = {.name = memory_copy_text(""), .line = *grid->line};
    const size_t count = run.line.given_count;
    run.line.given = memory_new(count + GRID_ADDED, sizeof *run.line.given, "the command line");
    if (count > 0)
        memcpy(run.line.given, grid->line->given, count * sizeof *run.line.given);
    for (size_t axis = 0; axis < arrlenu(grid->axes); axis++) {
        const Option *option = grid->axes[axis].option;
        const char *value = grid_value(&grid->axes[axis], combination);
        text_append(&run.name, "%s%s%s", axis ? "-" : "",
                    strcmp(option->name, "attn") == 0 ? "" : option->name, value);
        for (size_t i = 0; i < count; i++)
            if (run.line.given[i].option == option)
                run.line.given[i].value = value;
        if (strcmp(option->name, "generation") == 0)
            grid_add_option(&run, option->name, value);
    }
    return run;
}

void grid_free(Grid *grid)
{
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        const Options options = settings_options(&grid->runs[i].settings);
        options_free_texts(&options);
        free(grid->runs[i].name);
        free(grid->runs[i].folder);
        free(grid->runs[i].seed);
        free(grid->runs[i].line.given);
    }
    for (size_t i = 0; i < arrlenu(grid->axes); i++) {
        free(grid->axes[i].text);
        arrfree(grid->axes[i].values);
    }
    arrfree(grid->axes);
    arrfree(grid->runs);
    free(grid->file);
}

bool grid_alike(const Grid *grid, size_t one, size_t other)
{
    static const char *const same_time[] = {"seed", "lr", "lr-floor", "generation", NULL};
    for (size_t i = 0; i < arrlenu(grid->axes); i++) {
        const GridAxis *axis = &grid->axes[i];
        if (!text_is_among(axis->option->name, same_time) &&
            grid_value(axis, one) != grid_value(axis, other))
            return false;
    }
    return grid_is_taught(&grid->runs[one]) == grid_is_taught(&grid->runs[other]);
}

/* Whether the lists set the same values for both, as the model has them. */
static bool are_twins(const Grid *grid, const GridRun *one, const GridRun *other)
{
    const Options of_one = settings_options(&one->settings),
                  of_other = settings_options(&other->settings);
    bool same = true;
    for (size_t axis = 0; same && axis < arrlenu(grid->axes); axis++) {
        char *value = option_value(&of_one, grid->axes[axis].option),
             *other_value = option_value(&of_other, grid->axes[axis].option);
        same = strcmp(value, other_value) == 0;
        free(value);
        free(other_value);
    }
    return same;
}

/* Refuses two spellings of one value, such as 1 and 01. */
static void refuse_twins(const Grid *grid, size_t last)
{
    for (size_t i = 0; i < last; i++)
        for (size_t axis = 0; axis < arrlenu(grid->axes); axis++) {
            const char *one = grid_value(&grid->axes[axis], i),
                       *other = grid_value(&grid->axes[axis], last);
            if (one != other && are_twins(grid, &grid->runs[i], &grid->runs[last]))
                die_usage("--%s: '%s' and '%s' would train the same model; list one of them",
                          grid->axes[axis].option->name, one, other);
        }
}

/* Gives a later generation a seed of its own. */
static void count_seed(GridRun *run)
{
    enum { APART = 100 };
    TrainOptions *train = &run->settings.train;
    if (!grid_is_taught(run))
        return;
    train->seed += APART * (train->generation - 1);
    run->seed = text_format("%zu", train->seed);
    grid_add_option(run, "seed", run->seed);
}

/* Checks the settings of every run before the first is trained. */
static void check(Grid *grid)
{
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        GridRun *run = &grid->runs[i];
        Error error;
        Init init;
        if (!settings_read(&run->settings, &run->line, NULL, &init, &error))
            error_die(&error);
        init_close(&init);
        count_seed(run);
        if (!watch_check(&run->settings.session, &error) ||
            !gemm_set_precision((GemmPrecision)run->settings.train.precision, &error))
            die("%s", error.text);
        refuse_twins(grid, i);
    }
}

/* The last list, so that a chain is trained from its first run to its last. */
static void add_generations(Grid *grid)
{
    const size_t count = count_generations(grid->line);
    const Options options = settings_options(&(Settings){0});
    char *list = memory_copy_text("1");
    for (size_t i = 2; i <= count; i++)
        text_append(&list, ",%zu", i);
    if (count > 1) {
        GridAxis axis = axis_of(&(OptionArgument){option_find(&options, "generation"), list});
        arrput(grid->axes, axis);
    }
    free(list);
}

Grid grid_make(const CommandLine *line)
{
    Grid grid = {.line = line};
    if (command_line_value(line, "resume"))
        die_usage("--resume continues one run as it is, without lists of values and --dry-run, "
                  "or the whole grid in a directory");
    for (size_t i = 0; i < line->given_count; i++)
        if (is_list(line, i)) {
            check_list(&line->given[i]);
            GridAxis axis = axis_of(&line->given[i]);
            arrput(grid.axes, axis);
        }
    add_generations(&grid);
    size_t combinations = combine(&grid);
    for (size_t i = 0; i < combinations; i++)
        arrput(grid.runs, run_of(&grid, i));
    check(&grid);
    return grid;
}

/* --- run directories --- */

/* Whether a run has the value that is asked for, or has found it in the text and the machine.
 */
static bool value_matches(const Option *option, const char *asked, const char *has,
                          const GridRun *run)
{
    bool of_text = strcmp(option->name, "tokens") == 0 ||
                   strcmp(option->name, "lowercase") == 0;
    return strcmp(asked, has) == 0 || strcmp(asked, "auto") == 0 ||
           (strcmp(option->name, "shards") == 0 && strcmp(asked, "0") == 0) ||
           (strcmp(option->name, "ffn") == 0 && run->settings.session.match_params) ||
           (of_text && !command_line_value(&run->line, option->name));
}

/* Whether the settings of a run say that --match-params chose its width as it would here. */
static bool is_matched_alike(const GridRun *run, const char *text)
{
    const char *which = run->settings.session.match_params;
    char *comment = text_format("# " RUN_MATCHED ": %s%s", which ? which : "",
                                which ? "," : "");
    bool has = strstr(text, comment) != NULL;
    free(comment);
    return which ? has : !has;
}

/* The first setting of the run in a directory that differs from what this command asks for, as
 * "lr 0.001, not 0.003"; NULL: it is the run that the command would start. The caller frees. */
static char *difference(const GridRun *run, const char *text)
{
    Settings stored = {0};
    const Options asked = settings_options(&run->settings), has = settings_options(&stored);
    const Option *option;
    Error error;
    char *found = NULL;
    options_set_defaults(&has);
    if (!options_read_text(&has, text, "its settings", &error))
        found = memory_copy_text(error.text);
    for (size_t i = 0; !found && (option = option_at(&has, i)); i++) {
        char *one = option_value(&asked, option), *other = option_value(&has, option);
        if (option->stored && !value_matches(option, one, other, run))
            found = text_format("%s %s, not %s", option->name, other, one);
        free(one);
        free(other);
    }
    if (!found && !is_matched_alike(run, text))
        found = memory_copy_text("a run of another --match-params");
    options_free_texts(&has);
    return found;
}

/* Reads the settings of the run in a directory; the caller frees. */
static bool read_settings_of(const char *folder, char **text, Error *error)
{
    enum { MOST = 1 << 20 };
    size_t size;
    char *path = file_join(folder, RUN_SETTINGS);
    bool good = file_read(path, MOST, text, &size, error);
    free(path);
    return good;
}

/* Why the directory cannot hold the run that this command would start there, for a sentence;
 * NULL: it can. A session that was killed at its start leaves no settings. The caller frees. */
static char *obstacle(const GridRun *run)
{
    char *text, *found = NULL;
    Error error;
    if (read_settings_of(run->folder, &text, &error)) {
        found = difference(run, text);
        free(text);
    } else if (file_exists(run->folder) &&
               (file_is_in(run->folder, RUN_SETTINGS) || !file_is_folder(run->folder))) {
        found = memory_copy_text("something that is not a run");
    }
    return found;
}

/* The teacher of a later generation is the run before it, whose directory is chosen. */
static void choose_teacher(Grid *grid, size_t index)
{
    TrainOptions *train = &grid->runs[index].settings.train;
    if (!grid_is_taught(&grid->runs[index]))
        return;
    free(train->distill);
    train->distill = memory_copy_text(grid->runs[index - 1].folder);
}

/* Whether every run directory of this number is free, or holds a run of this grid. Their names
 * share the kind, unless kinds are listed, and the stem of the corpus. */
static bool place_numbered(Grid *grid, size_t number)
{
    bool has_kinds = false, fits = true;
    for (size_t i = 0; i < arrlenu(grid->axes); i++)
        has_kinds = has_kinds || strcmp(grid->axes[i].option->name, "attn") == 0;
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        GridRun *run = &grid->runs[i];
        const char *corpus = run->settings.train.corpus;
        char *kind = config_attention(&run->settings.model),
             *stem = folder_stem(corpus ? corpus : "");
        free(run->folder);
        run->folder = text_format("runs/%s%s%s%s%s", has_kinds ? "" : kind,
                                  has_kinds ? "" : "-", run->name, *run->name ? "-" : "", stem);
        if (number > 1)
            text_append(&run->folder, "-%zu", number);
        choose_teacher(grid, i);
        char *why = obstacle(run);
        fits = fits && !why;
        free(why);
        free(kind);
        free(stem);
    }
    return fits;
}

/* Whether the grid file of this path is free, or of a grid with these runs. */
static bool is_own_file(const Grid *grid, const char *path)
{
    char **folders;
    Error error;
    if (!file_exists(path))
        return true;
    bool same = gridfile_runs(path, &folders, &error) &&
                arrlenu(folders) == arrlenu(grid->runs);
    for (size_t i = 0; same && i < arrlenu(folders); i++)
        same = strcmp(folders[i], grid->runs[i].folder) == 0;
    text_lines_free(folders);
    return same;
}

/* runs/attn-seed-ptb.grid.json for a grid of kinds and seeds on ptb.txt. */
static char *choose_file(const Grid *grid)
{
    const char *corpus = grid->runs[0].settings.train.corpus;
    char *stem = folder_stem(corpus ? corpus : ""), *names = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(grid->axes); i++)
        text_append(&names, "%s-", grid->axes[i].option->name);
    char *path = text_format("runs/%s%s." GRID_FILE, names, stem);
    for (size_t number = 2; !is_own_file(grid, path); number++) {
        free(path);
        path = text_format("runs/%s%s-%zu." GRID_FILE, names, stem, number);
    }
    free(names);
    free(stem);
    return path;
}

/* In runs/, under the first number that is free or that of this grid. */
static void place_in_runs(Grid *grid)
{
    size_t number = 1;
    while (!place_numbered(grid, number))
        number++;
    grid->file = choose_file(grid);
}

/* Finds the directory of a run that the grid has trained under another name, since a list had
 * one value then, or has one now. */
static bool find_renamed(GridRun *run, char *const *folders)
{
    bool found = false;
    for (size_t i = 0; !found && i < arrlenu(folders); i++) {
        char *text;
        Error error;
        if (!read_settings_of(folders[i], &text, &error))
            continue;
        char *differs = difference(run, text);
        found = !differs;
        if (found) {
            free(run->folder);
            run->folder = memory_copy_text(folders[i]);
        }
        free(differs);
        free(text);
    }
    return found;
}

/* In the directory that --run names, and that may hold no other grid. */
static void place_in(Grid *grid, const char *parent)
{
    char **before = NULL; /* the directories of the grid's runs so far */
    Error error;
    grid->file = file_join(parent, GRID_FILE);
    if (file_exists(grid->file) && !gridfile_runs(grid->file, &before, &error))
        before = NULL; /* it is written anew */
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        GridRun *run = &grid->runs[i];
        run->folder = *run->name ? file_join(parent, run->name) : memory_copy_text(parent);
        choose_teacher(grid, i);
        char *why = obstacle(run);
        bool found = (why || !file_exists(run->folder)) && find_renamed(run, before);
        if (why && !found)
            die("--run %s: %s holds %s; choose another directory for this grid", parent,
                run->folder, why);
        free(why);
    }
    text_lines_free(before);
}

/* The names show what differs. All ranks take what the first one finds, since it may begin
 * while the others still look. */
void grid_place(Grid *grid)
{
    const char *parent = command_line_value(grid->line, "run");
    if (parent)
        place_in(grid, parent);
    else
        place_in_runs(grid);
    ranks_lead();
}

/* A run that has taught a finished one is finished, also if its checkpoints were removed. */
static void look_at_teachers(Grid *grid)
{
    for (size_t i = arrlenu(grid->runs); i-- > 1;) {
        RunStanding *teacher = &grid->runs[i - 1].standing;
        if (grid_is_taught(&grid->runs[i]) && grid->runs[i].standing.state == RUN_FINISHED) {
            teacher->state = RUN_FINISHED;
            teacher->share = 1;
        }
    }
}

void grid_look(Grid *grid)
{
    for (size_t i = 0; i < arrlenu(grid->runs); i++) {
        RunStanding *standing = &grid->runs[i].standing;
        *standing = folder_standing(grid->runs[i].folder);
        ranks_share(standing, sizeof *standing, 0);
    }
    look_at_teachers(grid);
}
