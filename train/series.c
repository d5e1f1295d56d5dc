#include "train/series.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "eval/runs/rundata.h"
#include "train/loop/folder.h"
#include "train/loop/settings.h"
#include "train/loop/signals.h"
#include "train/observers/observers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An option with a list of values. */
typedef struct Axis {
    const Option *option;
    char *text;    /* the list, cut at its commas */
    char **values; /* an array of stb_ds */
} Axis;

/* One combination of the values. */
typedef struct Run {
    char *name;        /* what differs: "softmax-seed1" */
    char *folder;      /* its directory */
    CommandLine line;  /* with single values, and room for one option more */
    Settings settings; /* that the line asks for */
} Run;

typedef struct Series {
    const CommandLine *line;
    Axis *axes; /* arrays of stb_ds */
    Run *runs;
} Series;

/* Whether this use of an option on the command line lists values, and counts. */
static bool is_list(const CommandLine *line, size_t given)
{
    const Option *option = line->given[given].option;
    const char *value = line->given[given].value;
    return option->type != OPTION_TEXT && strchr(value, ',') &&
           command_line_value(line, option->name) == value;
}

bool series_asked_for(const CommandLine *line)
{
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
    if (comma == value || strstr(value, ",,") || value[strlen(value) - 1] == ',')
        die_usage("--%s %s: a value is missing beside a comma", given->option->name, value);
    if (!strchr(comma + 1, ','))
        refuse_one_number(given->option, value, (int)(comma - value), comma + 1);
}

static Axis axis_of(const OptionArgument *given)
{
    Axis axis = {.option = given->option, .text = memory_copy_text(given->value)};
    char *rest = axis.text;
    for (char *value; (value = strsep(&rest, ","));)
        arrput(axis.values, value);
    return axis;
}

/* The value of an axis in a combination; the last axis changes fastest. */
static const char *value_of(const Series *series, size_t axis, size_t combination)
{
    for (size_t later = arrlenu(series->axes); later-- > axis + 1;)
        combination /= arrlenu(series->axes[later].values);
    return series->axes[axis].values[combination % arrlenu(series->axes[axis].values)];
}

/* Kinds are in the name as they are, other values after the name of their option. */
static Run run_of(const Series *series, size_t combination)
{
    Run run = {.name = memory_copy_text(""), .line = *series->line};
    const size_t count = run.line.given_count;
    run.line.given = memory_new(count + 1, sizeof *run.line.given, "the command line");
    memcpy(run.line.given, series->line->given, count * sizeof *run.line.given);
    for (size_t axis = 0; axis < arrlenu(series->axes); axis++) {
        const Option *option = series->axes[axis].option;
        const char *value = value_of(series, axis, combination);
        text_append(&run.name, "%s%s%s", axis ? "-" : "",
                    strcmp(option->name, "attn") == 0 ? "" : option->name, value);
        for (size_t i = 0; i < count; i++)
            if (run.line.given[i].option == option)
                run.line.given[i].value = value;
    }
    return run;
}

static Series series_make(const CommandLine *line)
{
    Series series = {.line = line};
    size_t combinations = 1;
    for (size_t i = 0; i < line->given_count; i++)
        if (is_list(line, i)) {
            check_list(&line->given[i]);
            Axis axis = axis_of(&line->given[i]);
            arrput(series.axes, axis);
            combinations *= arrlenu(axis.values);
        }
    for (size_t i = 0; i < combinations; i++)
        arrput(series.runs, run_of(&series, i));
    return series;
}

static void series_free(Series *series)
{
    for (size_t i = 0; i < arrlenu(series->runs); i++) {
        const Options options = settings_options(&series->runs[i].settings);
        options_free_texts(&options);
        free(series->runs[i].name);
        free(series->runs[i].folder);
        free(series->runs[i].line.given);
    }
    for (size_t i = 0; i < arrlenu(series->axes); i++) {
        free(series->axes[i].text);
        arrfree(series->axes[i].values);
    }
    arrfree(series->axes);
    arrfree(series->runs);
}

/* Whether the lists set the same values for both, as the model has them. */
static bool are_twins(const Series *series, const Run *one, const Run *other)
{
    const Options of_one = settings_options(&one->settings),
                  of_other = settings_options(&other->settings);
    bool same = true;
    for (size_t axis = 0; same && axis < arrlenu(series->axes); axis++) {
        char *value = option_value(&of_one, series->axes[axis].option),
             *other_value = option_value(&of_other, series->axes[axis].option);
        same = strcmp(value, other_value) == 0;
        free(value);
        free(other_value);
    }
    return same;
}

/* Refuses two spellings of one value, such as 1 and 01. */
static void refuse_twins(const Series *series, size_t last)
{
    for (size_t i = 0; i < last; i++)
        for (size_t axis = 0; axis < arrlenu(series->axes); axis++) {
            const char *one = value_of(series, axis, i), *other = value_of(series, axis, last);
            if (one != other && are_twins(series, &series->runs[i], &series->runs[last]))
                die_usage("--%s: '%s' and '%s' would train the same model; list one of them",
                          series->axes[axis].option->name, one, other);
        }
}

/* Checks the settings of every run before the first is trained. */
static void check(Series *series)
{
    for (size_t i = 0; i < arrlenu(series->runs); i++) {
        Run *run = &series->runs[i];
        Error error;
        Init init;
        if (!settings_read(&run->settings, &run->line, NULL, &init, &error))
            error_die(&error);
        init_close(&init);
        if (!watch_check(&run->settings.session, &error) ||
            !gemm_set_precision((GemmPrecision)run->settings.train.precision, &error))
            die("%s", error.text);
        refuse_twins(series, i);
    }
}

/* Whether a run has the value that is asked for, or has found it in the text and the machine.
 */
static bool value_matches(const Option *option, const char *asked, const char *has,
                          const CommandLine *line)
{
    bool of_text = strcmp(option->name, "tokens") == 0 ||
                   strcmp(option->name, "lowercase") == 0;
    return strcmp(asked, has) == 0 || strcmp(asked, "auto") == 0 ||
           (strcmp(option->name, "shards") == 0 && strcmp(asked, "0") == 0) ||
           (of_text && !command_line_value(line, option->name));
}

/* Whether the directory holds the run that this command would start there. */
static bool is_run_of_series(const Run *run)
{
    enum { MOST = 1 << 20 };
    Settings stored = {0};
    const Options asked = settings_options(&run->settings), has = settings_options(&stored);
    const Option *option;
    Error error;
    char *text, *path = file_join(run->folder, RUN_SETTINGS);
    size_t size;
    bool same = file_read(path, MOST, &text, &size, &error);
    free(path);
    if (!same)
        return false;
    options_set_defaults(&has);
    same = options_read_text(&has, text, "the settings", &error);
    for (size_t i = 0; same && (option = option_at(&has, i)); i++) {
        char *one = option_value(&asked, option), *other = option_value(&has, option);
        same = !option->stored || value_matches(option, one, other, &run->line);
        free(one);
        free(other);
    }
    options_free_texts(&has);
    free(text);
    return same;
}

/* Whether every run directory of this number is free, or holds a run of this series. Their
 * names share the kind, unless kinds are listed, and the stem of the corpus. */
static bool place(Series *series, size_t number)
{
    bool has_kinds = false, fits = true;
    for (size_t i = 0; i < arrlenu(series->axes); i++)
        has_kinds = has_kinds || strcmp(series->axes[i].option->name, "attn") == 0;
    for (size_t i = 0; i < arrlenu(series->runs); i++) {
        Run *run = &series->runs[i];
        const char *corpus = run->settings.train.corpus;
        char *kind = config_attention(&run->settings.model),
             *stem = folder_stem(corpus ? corpus : "");
        free(run->folder);
        run->folder = text_format("runs/%s%s%s-%s", has_kinds ? "" : kind, has_kinds ? "" : "-",
                                  run->name, stem);
        if (number > 1)
            text_append(&run->folder, "-%zu", number);
        fits = fits && (!file_exists(run->folder) || is_run_of_series(run));
        free(kind);
        free(stem);
    }
    return fits;
}

/* Chooses the run directories: inside --run, or in runs/, with names that show what differs. */
static void place_runs(Series *series)
{
    const char *parent = command_line_value(series->line, "run");
    for (size_t i = 0; parent && i < arrlenu(series->runs); i++)
        series->runs[i].folder = file_join(parent, series->runs[i].name);
    size_t number = 1;
    while (!parent && !place(series, number))
        number++;
}

/* Adds the run directory to the line. A run that goes on keeps what it stores. */
static void direct(Run *run, bool goes_on)
{
    static const Option start = {.name = "run", .type = OPTION_TEXT},
                        resume = {.name = "resume", .type = OPTION_TEXT};
    CommandLine *line = &run->line;
    size_t count = line->given_count;
    line->given_count = 0;
    for (size_t i = 0; i < count; i++) {
        const Option *option = line->given[i].option;
        bool stays = strcmp(option->name, "run") != 0 && strcmp(option->name, "preset") != 0 &&
                     !option->stored;
        if (!goes_on || stays)
            line->given[line->given_count++] = line->given[i];
    }
    if (goes_on)
        line->operand_count = 0;
    line->given[line->given_count++] = (OptionArgument){goes_on ? &resume : &start,
                                                        run->folder};
}

/* Replaces this program by compare, which lies beside it. */
static void compare(const Run *runs)
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

int series_train(const CommandLine *line, int (*train_one)(const CommandLine *line))
{
    Series series = series_make(line);
    if (command_line_value(line, "resume"))
        die_usage("--%s: a list of values starts new runs; --resume continues one run, without "
                  "lists",
                  series.axes[0].option->name);
    check(&series);
    place_runs(&series);
    int status = EXIT_SUCCESS;
    const char *quiet = command_line_value(line, "quiet");
    bool talks = ranks_first() && !(quiet && strcmp(quiet, "yes") == 0);
    for (size_t i = 0; status == EXIT_SUCCESS && i < arrlenu(series.runs); i++) {
        Run *run = &series.runs[i];
        direct(run, file_exists(run->folder) && is_run_of_series(run));
        if (talks)
            printf("%s== %s\n", i ? "\n" : "", run->name);
        fflush(stdout);
        status = train_one(&run->line);
        /* The run may have been complete already when the signal came. */
        size_t signal = ranks_most((size_t)signals_caught());
        if (status == EXIT_SUCCESS && signal > 0)
            status = 128 + (int)signal;
    }
    if (status == EXIT_SUCCESS && talks)
        compare(series.runs);
    if (status > 128 && talks)
        printf("The same command continues all of its runs.\n");
    series_free(&series);
    return status;
}
