#include "train/series.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "eval/runs/rundata.h"
#include "train/loop/folder.h"
#include "train/loop/init.h"
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

typedef struct Series {
    const CommandLine *line;
    Axis *axes;
    char **names, **runs; /* of each combination; the run directory */
    char **asked;         /* and the settings that the command asks for */
    char *attention;      /* the kind that all runs share, if they do */
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

/* "softmax-seed1": kinds by their bare name, other values after the name of their option. */
static char *name_of(const Series *series, size_t combination)
{
    char *name = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(series->axes); i++) {
        const char *option = series->axes[i].option->name;
        text_append(&name, "%s%s%s", i ? "-" : "", strcmp(option, "attn") == 0 ? "" : option,
                    value_of(series, i, combination));
    }
    return name;
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
    for (size_t i = 0; i < combinations; i++) {
        arrput(series.names, name_of(&series, i));
        arrput(series.runs, NULL);
    }
    return series;
}

static void series_free(Series *series)
{
    for (size_t i = 0; i < arrlenu(series->names); i++) {
        free(series->names[i]);
        free(series->runs[i]);
    }
    text_lines_free(series->asked);
    for (size_t i = 0; i < arrlenu(series->axes); i++) {
        free(series->axes[i].text);
        arrfree(series->axes[i].values);
    }
    free(series->attention);
    arrfree(series->axes);
    arrfree(series->names);
    arrfree(series->runs);
}

/* The command line of one run, with single values; free its `given`. One that goes on has the
 * options that a run does not store. */
static CommandLine line_of(const Series *series, size_t combination, bool goes_on)
{
    static const Option run = {.name = "run", .type = OPTION_TEXT},
                        resume = {.name = "resume", .type = OPTION_TEXT};
    const CommandLine *line = series->line;
    CommandLine one = *line;
    one.given = memory_take(line->given_count + 1, sizeof *one.given, "the command line");
    one.given_count = 0;
    for (size_t i = 0; i < line->given_count; i++) {
        OptionArgument given = line->given[i];
        for (size_t axis = 0; axis < arrlenu(series->axes); axis++)
            if (given.option == series->axes[axis].option)
                given.value = value_of(series, axis, combination);
        bool stays = strcmp(given.option->name, "run") != 0 &&
                     strcmp(given.option->name, "preset") != 0 && !given.option->stored;
        if (!goes_on || stays)
            one.given[one.given_count++] = given;
    }
    if (goes_on)
        one.operand_count = 0;
    if (series->runs[combination])
        one.given[one.given_count++] = (OptionArgument){goes_on ? &resume : &run,
                                                        series->runs[combination]};
    return one;
}

/* The settings of a combination that the lists set, as the model has them; the caller frees. */
static char *key_of(const Series *series, const Options *options)
{
    char *key = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(series->axes); i++) {
        char *value = option_value(options, series->axes[i].option);
        text_append(&key, "%s,", value);
        free(value);
    }
    return key;
}

/* Refuses two spellings of one value, such as 1 and 01. */
static void refuse_twins(const Series *series, char **keys)
{
    size_t last = arrlenu(keys) - 1;
    for (size_t i = 0; i < last; i++)
        for (size_t axis = 0; axis < arrlenu(series->axes); axis++) {
            const char *one = value_of(series, axis, i), *other = value_of(series, axis, last);
            if (one != other && strcmp(keys[i], keys[last]) == 0)
                die_usage("--%s: '%s' and '%s' would train the same model; list one of them",
                          series->axes[axis].option->name, one, other);
        }
}

/* Checks the settings of every run before the first is trained. Returns the stem of the corpus,
 * which the names of all run directories share; the caller frees. */
static char *check(Series *series)
{
    char *stem = NULL, **keys = NULL;
    for (size_t i = 0; i < arrlenu(series->names); i++) {
        Settings settings = {0};
        const Options options = settings_options(&settings);
        Error error;
        Init init;
        CommandLine one = line_of(series, i, false);
        if (!settings_read(&settings, &one, NULL, &init, &error))
            error_die(&error);
        init_close(&init);
        if (!watch_check(&settings.session, &error) ||
            !gemm_set_precision((GemmPrecision)settings.train.precision, &error))
            die("%s", error.text);
        arrput(keys, key_of(series, &options));
        refuse_twins(series, keys);
        arrput(series->asked, settings_text(&settings));
        free(stem);
        free(series->attention);
        stem = folder_stem(settings.train.corpus ? settings.train.corpus : "");
        series->attention = option_value(&options, option_find(&options, "attn"));
        options_free_texts(&options);
        free(one.given);
    }
    text_lines_free(keys);
    return stem;
}

static bool read_text(const Options *options, const char *text)
{
    Error error;
    options_set_defaults(options);
    return options_read_text(options, text, "the settings", &error);
}

/* Whether a run has the value that is asked for, or has found it in the text and the machine.
 */
static bool is_granted(const Option *option, const char *asked, const char *has,
                       const CommandLine *line)
{
    bool of_text = strcmp(option->name, "tokens") == 0 ||
                   strcmp(option->name, "lowercase") == 0;
    return strcmp(asked, has) == 0 || strcmp(asked, "auto") == 0 ||
           (strcmp(option->name, "shards") == 0 && strcmp(asked, "0") == 0) ||
           (of_text && !command_line_value(line, option->name));
}

/* Whether the directory holds the run that this command would start there. */
static bool is_own(const Series *series, size_t combination)
{
    enum { MOST = 1 << 20 };
    Settings asked = {0}, has = {0};
    const Options of_asked = settings_options(&asked), of_has = settings_options(&has);
    const Option *option;
    Error error;
    char *text, *path = file_join(series->runs[combination], RUN_SETTINGS);
    size_t size;
    bool same = file_read(path, MOST, &text, &size, &error);
    free(path);
    if (!same)
        return false;
    same = read_text(&of_asked, series->asked[combination]) && read_text(&of_has, text);
    for (size_t i = 0; same && (option = option_at(&of_has, i)); i++) {
        char *one = option_value(&of_asked, option), *other = option_value(&of_has, option);
        same = !option->stored || is_granted(option, one, other, series->line);
        free(one);
        free(other);
    }
    options_free_texts(&of_asked);
    options_free_texts(&of_has);
    free(text);
    return same;
}

/* Whether every run directory of this number is free, or holds a run of this series. */
static bool place(Series *series, const char *stem, size_t number)
{
    bool has_kinds = false, fits = true;
    for (size_t i = 0; i < arrlenu(series->axes); i++)
        has_kinds = has_kinds || strcmp(series->axes[i].option->name, "attn") == 0;
    for (size_t i = 0; i < arrlenu(series->names); i++) {
        free(series->runs[i]);
        series->runs[i] = text_format("runs/%s%s%s-%s", has_kinds ? "" : series->attention,
                                      has_kinds ? "" : "-", series->names[i], stem);
        if (number > 1)
            text_append(&series->runs[i], "-%zu", number);
        fits = fits && (!file_exists(series->runs[i]) || is_own(series, i));
    }
    return fits;
}

/* Chooses the run directories: inside --run, or in runs/, with names that show what differs. */
static void place_runs(Series *series, const char *stem)
{
    const char *parent = command_line_value(series->line, "run");
    for (size_t i = 0; parent && i < arrlenu(series->names); i++)
        series->runs[i] = file_join(parent, series->names[i]);
    size_t number = 1;
    while (!parent && !place(series, stem, number))
        number++;
}

/* Replaces this program by compare, which lies beside it. */
static void compare(char **paths)
{
    char *folder = file_program_folder();
    char *name = text_format("%s/%s%s", folder,
                             strncmp(program_name, "linnet-", 7) == 0 ? "linnet-" : "",
                             "compare");
    char **words = NULL;
    arrput(words, name);
    for (size_t i = 0; i < arrlenu(paths); i++)
        arrput(words, paths[i]);
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
    char *stem = check(&series);
    place_runs(&series, stem);
    free(stem);
    int status = EXIT_SUCCESS;
    const char *quiet = command_line_value(line, "quiet");
    bool talks = ranks_first() && !(quiet && strcmp(quiet, "yes") == 0);
    for (size_t i = 0; status == EXIT_SUCCESS && i < arrlenu(series.names); i++) {
        bool goes_on = file_exists(series.runs[i]) && is_own(&series, i);
        CommandLine one = line_of(&series, i, goes_on);
        if (talks)
            printf("%s== %s\n", i ? "\n" : "", series.names[i]);
        fflush(stdout);
        status = train_one(&one);
        free(one.given);
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
