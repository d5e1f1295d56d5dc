#include "eval/compare/table.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 32 };

typedef char Cell[CELL];

/* Four or so digits and a unit: "12.3k". */
static void print_amount(Cell cell, double amount)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; fabs(amount) >= 999.5 && unit + 2 < sizeof units; unit++)
        amount /= 1000;
    snprintf(cell, CELL, fabs(amount) < 9.995 && unit > 0 ? "%.2f%.*s" : "%.3g%.*s", amount,
             unit > 0, units + unit);
}

static void print_time(Cell cell, double seconds)
{
    const double most = 1e9; /* thirty years; also what fits every integer type */
    enum { MINUTE = 60, HOUR = 3600 };
    if (!(seconds >= MINUTE && seconds < most)) {
        snprintf(cell, CELL, "%.3gs", seconds);
        return;
    }
    unsigned long whole = (unsigned long)(seconds + 0.5);
    snprintf(cell, CELL, "%lu:%02lu:%02lu", whole / HOUR, whole % HOUR / MINUTE,
             whole % MINUTE);
}

static void print_loss(Cell cell, double loss)
{
    const double plain = 1e5; /* longer ones are written with an exponent */
    snprintf(cell, CELL, fabs(loss) < plain ? "%.4f" : "%.4g", loss);
}

static void print_perplexity(Cell cell, double loss)
{
    const double plain = 1e5;
    double perplexity = exp(loss);
    snprintf(cell, CELL, perplexity < plain ? "%.2f" : "%.3g", perplexity);
}

/* --- what a column says of a group; a cell that is left alone is "-" --- */

/* The mean of a field over the runs of a group that have logged anything. */
static double mean_of(const RunGroup *group, size_t field)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (arrlenu(group->runs[r]->rows) > 0) {
            double value;
            memcpy(&value, (const char *)group->runs[r] + field, sizeof value);
            sum += value;
            count++;
        }
    return sum / (double)count; /* NaN without runs */
}

static bool has_rows(const RunGroup *group)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (arrlenu(group->runs[r]->rows) > 0)
            return true;
    return false;
}

static void tell_attention(Cell cell, const CompareTable *table, const RunGroup *group)
{
    enum { MOST = 16 };
    (void)table;
    const char *attention = group->runs[0]->attn;
    char *safe = terminal_safe_name(attention ? attention : "-", MOST, false);
    snprintf(cell, CELL, "%s", safe);
    free(safe);
}

/* Unknown when there is one, so that the column is there for groups only. */
static void tell_seeds(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (arrlenu(group->runs) > 1)
        snprintf(cell, CELL, "%zu", arrlenu(group->runs));
}

static void tell_parameters(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (group->runs[0]->parameters > 0)
        print_amount(cell, (double)group->runs[0]->parameters);
}

static void tell_best(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (!isnan(group->best.mean))
        print_loss(cell, group->best.mean);
}

static void tell_deviation(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (!isnan(group->best.deviation))
        print_loss(cell, group->best.deviation);
}

static void tell_perplexity(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (!isnan(group->best.mean))
        print_perplexity(cell, group->best.mean);
}

/* Of a group only when all its runs were scored. */
static void tell_test(Cell cell, const CompareTable *table, const RunGroup *group)
{
    double sum = 0;
    for (size_t r = 0; table->test && r < arrlenu(group->runs); r++) {
        const RunScore *score = rundata_score(group->runs[r], table->test);
        sum += score ? score_row_loss(score) : NAN;
    }
    if (table->test && !isnan(sum))
        print_perplexity(cell, sum / (double)arrlenu(group->runs));
}

static void tell_epoch(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    double epoch = mean_of(group, offsetof(RunData, best_epoch));
    if (!isnan(epoch))
        snprintf(cell, CELL, "%.4g", epoch);
}

static void tell_train(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (has_rows(group))
        print_loss(cell, mean_of(group, offsetof(RunData, final_train_loss)));
}

static void tell_speed(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    double speed = mean_of(group, offsetof(RunData, tokens_per_second));
    if (!isnan(speed))
        print_amount(cell, speed);
}

static void tell_time(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    if (has_rows(group))
        print_time(cell, mean_of(group, offsetof(RunData, seconds)));
}

static void tell_memory(Cell cell, const CompareTable *table, const RunGroup *group)
{
    (void)table;
    double peak = NAN;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        peak = fmax(peak, group->runs[r]->peak_mb);
    if (!isnan(peak))
        snprintf(cell, CELL, "%.0f", peak);
}

/* --- columns --- */

enum { ALWAYS = 100 };

typedef struct Kind {
    const char *title;
    void (*tell)(Cell cell, const CompareTable *table, const RunGroup *group);
    int worth; /* those of the least worth go first where there is no room */
    bool rare; /* left out where nothing is known */
    bool left; /* flush left */
} Kind;

static const Kind kinds[] = {
    {.title = "attn", .tell = tell_attention, .worth = 5, .left = true},
    {.title = "seeds", .tell = tell_seeds, .worth = 12, .rare = true},
    {.title = "params", .tell = tell_parameters, .worth = 4},
    {.title = "best val", .tell = tell_best, .worth = ALWAYS},
    {.title = "sd", .tell = tell_deviation, .worth = 10, .rare = true},
    {.title = "ppl", .tell = tell_perplexity, .worth = 9},
    {.title = "test", .tell = tell_test, .worth = 11, .rare = true},
    {.title = "epoch", .tell = tell_epoch, .worth = 2},
    {.title = "train", .tell = tell_train, .worth = 1},
    {.title = "tok/s", .tell = tell_speed, .worth = 7},
    {.title = "time", .tell = tell_time, .worth = 6},
    {.title = "MB", .tell = tell_memory, .worth = 3, .rare = true},
};
enum { REACH_WORTH = 8, REACH_AFTER = 7 }; /* the columns before those of --reach */

typedef struct Column {
    const char *title;
    Cell *cells; /* one for each group */
    size_t width;
    int worth;
    bool left;
} Column;

enum { GAP = 2 };

static Column make_column(const char *title, size_t count)
{
    Column column = {.title = title, .cells = memory_take(count, sizeof(Cell), "the table")};
    for (size_t g = 0; g < count; g++)
        snprintf(column.cells[g], CELL, "-");
    return column;
}

/* Measures the column and adds it, or drops it when it is rare and knows nothing. */
static void add_column(Column **columns, Column column, size_t count, bool rare)
{
    bool empty = true;
    column.width = text_columns(column.title);
    for (size_t g = 0; g < count; g++) {
        size_t width = text_columns(column.cells[g]);
        column.width = width > column.width ? width : column.width;
        empty = empty && strcmp(column.cells[g], "-") == 0;
    }
    if (rare && empty)
        free(column.cells);
    else
        arrput(*columns, column);
}

static void add_reaches(Column **columns, const CompareTable *table)
{
    size_t count = arrlenu(table->groups);
    for (size_t i = 0; i < arrlenu(table->reach); i++) {
        Column column = make_column(table->reach[i].title, count);
        column.worth = REACH_WORTH;
        for (size_t g = 0; g < count; g++) {
            double epoch = group_epoch_to_reach(&table->groups[g], table->reach[i].loss);
            if (!isnan(epoch))
                snprintf(column.cells[g], CELL, "%.4g", epoch);
        }
        add_column(columns, column, count, false);
    }
}

/* An array of stb_ds of all columns but the names. */
static Column *fill_columns(const CompareTable *table)
{
    Column *columns = NULL;
    size_t count = arrlenu(table->groups);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (i == REACH_AFTER)
            add_reaches(&columns, table);
        Column column = make_column(kinds[i].title, count);
        column.worth = kinds[i].worth;
        column.left = kinds[i].left;
        for (size_t g = 0; g < count; g++)
            kinds[i].tell(column.cells[g], table, &table->groups[g]);
        add_column(&columns, column, count, kinds[i].rare);
    }
    return columns;
}

/* The place of the column to go next, of those with the least worth the last. */
static size_t least_worth(const Column *columns)
{
    size_t least = 0;
    for (size_t i = 1; i < arrlenu(columns); i++)
        if (columns[i].worth <= columns[least].worth)
            least = i;
    return least;
}

static size_t width_of(const Column *columns)
{
    size_t width = 0;
    for (size_t i = 0; i < arrlenu(columns); i++)
        width += GAP + columns[i].width;
    return width;
}

/* Drops what has no room beside the names; returns the width that these get. */
static size_t fit_columns(Column **columns, const CompareTable *table)
{
    enum { NAME_LEAST = 8, NAME_MOST = 16 }; /* below the first nothing can be recognised */
    size_t longest = NAME_LEAST;
    for (size_t g = 0; g < arrlenu(table->groups); g++) {
        size_t width = text_columns(table->names[g]);
        longest = width > longest ? width : longest;
    }
    size_t wanted = longest < NAME_MOST ? longest : NAME_MOST;
    for (size_t i; arrlenu(*columns) > 0 && wanted + width_of(*columns) > table->width &&
                   (*columns)[i = least_worth(*columns)].worth < ALWAYS;) {
        free((*columns)[i].cells);
        arrdel(*columns, i);
    }
    size_t others = width_of(*columns);
    size_t room = table->width > others + NAME_LEAST ? table->width - others : NAME_LEAST;
    return longest < room ? longest : room;
}

/* --- printing --- */

/* The row of a group, or of the titles where that is SIZE_MAX. */
static void print_row(const char *name, size_t name_width, const Column *columns, size_t group)
{
    char *line = text_format("%s%*s", name, (int)(name_width - text_columns(name)), "");
    for (size_t i = 0; i < arrlenu(columns); i++) {
        const char *text = group == SIZE_MAX ? columns[i].title : columns[i].cells[group];
        int blanks = (int)(columns[i].width - text_columns(text));
        text_append(&line, "%*s%s%*s", GAP + (columns[i].left ? 0 : blanks), "", text,
                    columns[i].left ? blanks : 0, "");
    }
    printf("%s\n", line);
    free(line);
}

void compare_print_table(const CompareTable *table)
{
    Column *columns = fill_columns(table);
    size_t width = fit_columns(&columns, table);
    print_row("run", width, columns, SIZE_MAX);
    for (size_t g = 0; g < arrlenu(table->groups); g++) {
        char *name = terminal_safe_name(table->names[g], width, table->utf8);
        print_row(name, width, columns, g);
        free(name);
    }
    for (size_t i = 0; i < arrlenu(columns); i++)
        free(columns[i].cells);
    arrfree(columns);
}
