#include "eval/runs/runtable.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)64 << 20)

bool runtable_is(const char *path)
{
    return text_ends_in(path, ".csv") && file_exists(path) && !file_is_folder(path);
}

/* --- cells --- */

/* What a row has, in the order of `names`; NULL: no such column, or an empty cell. */
enum {
    RUN,
    VALIDATION,
    VALIDATION_TOKENS,
    VALIDATION_BYTES,
    TEST,
    TEST_TOKENS,
    TEST_BYTES,
    ACCURACY,
    PARAMETERS,
    STATE,
    SECONDS,
    SPEED,
    PEAK,
    COMMAND,
    CELLS
};
static const char *const names[CELLS] = {
    [RUN] = "run",
    [VALIDATION] = "validation",
    [VALIDATION_TOKENS] = "validation_tokens",
    [VALIDATION_BYTES] = "validation_bytes",
    [TEST] = "test",
    [TEST_TOKENS] = "test_tokens",
    [TEST_BYTES] = "test_bytes",
    [ACCURACY] = "accuracy",
    [PARAMETERS] = "parameters",
    [STATE] = "state",
    [SECONDS] = "seconds",
    [SPEED] = "tokens_per_second",
    [PEAK] = "peak_mb",
    [COMMAND] = "command",
};

/* The number of a cell; NaN: there is none, or another text. */
static double number_of(const char *cell)
{
    double number;
    return cell && text_to_double(cell, &number) ? number : NAN;
}

static size_t count_of(const char *cell)
{
    size_t count;
    return cell && text_to_size(cell, &count) ? count : 0;
}

/* An array of stb_ds with what each column is, CELLS for others; NULL if it is no such table.
 */
static size_t *read_header(char *line)
{
    size_t *columns = NULL, known = 0;
    for (char *cell; (cell = strsep(&line, ","));) {
        size_t which = 0;
        while (which < CELLS && strcmp(cell, names[which]) != 0)
            which++;
        known += which == RUN || which == COMMAND;
        arrput(columns, which);
    }
    if (known != 2 || arrlast(columns) != COMMAND)
        arrfree(columns);
    return columns;
}

/* False if the line has too few cells. */
static bool read_cells(char *line, const size_t *columns, const char *cells[CELLS])
{
    for (size_t i = 0; i < arrlenu(columns); i++) {
        bool last = i + 1 == arrlenu(columns);
        char *cell = last ? line : strsep(&line, ",");
        if (!cell)
            return false;
        if (columns[i] < CELLS)
            cells[columns[i]] = *cell ? cell : NULL;
    }
    return cells[RUN] && cells[COMMAND];
}

/* --- settings --- */

/* An option: "--no-conv" is "conv" with the value "no", and one without a value is "yes". */
static void add_option(RunData *run, const char *option, const char *value)
{
    static const char no[] = "no-";
    bool negative = !value && strncmp(option, no, strlen(no)) == 0;
    rundata_add_setting(run, negative ? option + strlen(no) : option,
                        value      ? value
                        : negative ? "no"
                                   : "yes");
}

static void read_command(RunData *run, const char *command)
{
    char *copy = memory_copy_text(command), *rest = copy, *word;
    char *last = strrchr(copy, ' ');
    rundata_add_setting(run, "attn", "softmax");
    if (last) {
        *last = '\0';
        rundata_add_setting(run, "corpus", last + 1);
    }
    const char *option = NULL;
    while ((word = strsep(&rest, " "))) {
        bool names_option = strncmp(word, "--", 2) == 0;
        if (option)
            add_option(run, option, names_option ? NULL : word);
        option = names_option ? word + 2 : NULL;
    }
    if (option)
        add_option(run, option, NULL);
    free(copy);
}

/* --- runs --- */

/* Losses of a row without the number of its tokens are those of one. */
static RunScore test_of(const char *const cells[CELLS])
{
    RunScore test = {.split = "test", .method = SCORE_PLAIN, .tokens = 1, .accuracy = NAN};
    if (count_of(cells[TEST_TOKENS]) > 0)
        test.tokens = count_of(cells[TEST_TOKENS]);
    test.bytes = count_of(cells[TEST_BYTES]);
    test.nats = number_of(cells[TEST]) * (double)test.tokens;
    return test;
}

static RunData run_of(const char *const cells[CELLS])
{
    RunData run = rundata_unknown(cells[RUN]);
    read_command(&run, cells[COMMAND]);
    rundata_settings_read(&run);
    run.parameters = count_of(cells[PARAMETERS]);
    run.state = count_of(cells[STATE]);
    run.best_val_loss = number_of(cells[VALIDATION]);
    run.seconds = number_of(cells[SECONDS]);
    run.tokens_per_second = number_of(cells[SPEED]);
    run.peak_mb = number_of(cells[PEAK]);
    run.best_accuracy = number_of(cells[ACCURACY]);
    run.valid_tokens = count_of(cells[VALIDATION_TOKENS]);
    run.valid_bytes = count_of(cells[VALIDATION_BYTES]);
    run.val_bits = rundata_bits_of_nat(run.valid_tokens, run.valid_bytes);
    RunScore test = test_of(cells);
    if (!isnan(test.nats))
        arrput(run.scores, test);
    return run;
}

static bool read_rows(char *text, const char *path, RunData **runs, Error *error)
{
    char *rest = text;
    size_t *columns = read_header(strsep(&rest, "\n"));
    if (!columns)
        return error_set(error,
                         "%s: not a table of runs: its first line needs the columns run and, "
                         "at the end, command",
                         path);
    bool good = true;
    size_t number = 1;
    for (char *line; good && (line = strsep(&rest, "\n")) && (*line || rest);) {
        const char *cells[CELLS] = {NULL};
        number++;
        good = read_cells(line, columns, cells);
        if (good)
            arrput(*runs, run_of(cells));
        else
            error_set(error, "%s:%zu: a row needs all columns, and a run and a command", path,
                      number);
    }
    arrfree(columns);
    return good;
}

bool runtable_read(const char *path, RunData **runs, Error *error)
{
    char *bytes;
    size_t size;
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    bool good = memchr(bytes, '\0', size)
                    ? error_set(error, "%s: holds zero bytes, so it is not a table", path)
                    : read_rows(bytes, path, runs, error);
    free(bytes);
    return good;
}
