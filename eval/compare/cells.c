#include "eval/compare/cells.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- numbers, each as the caller's text --- */

/* Four or so digits and a unit: "12.3k". */
static char *amount_text(double amount)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; fabs(amount) >= 999.5 && unit + 2 < sizeof units; unit++)
        amount /= 1000;
    return text_format(fabs(amount) < 9.995 && unit > 0 ? "%.2f%.*s" : "%.3g%.*s", amount,
                       unit > 0, units + unit);
}

static char *time_text(double seconds)
{
    const double most = 1e9; /* thirty years; also what fits every integer type */
    const double minute = 60;
    return seconds >= minute && seconds < most ? memory_copy_text(text_duration(seconds).text)
                                               : text_format("%.3gs", seconds);
}

/* Larger numbers are written with an exponent. */
#define LONG 1e5

static char *loss_text(double loss)
{
    return text_format(fabs(loss) < LONG ? "%.4f" : "%.4g", loss);
}

static char *perplexity_text(double perplexity)
{
    return memory_copy_text(isfinite(perplexity) ? text_perplexity(perplexity).text
                                                 : "diverged");
}

/* A difference of losses as a relative difference of perplexities, in per cent. */
static char *per_cent_text(double difference)
{
    double per_cent = 100 * expm1(difference);
    return text_format(fabs(per_cent) < LONG ? "%+.1f" : "%+.3g", per_cent);
}

/* --- the cell of a group in each column: the caller's text, NULL if unknown --- */

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

static char *attention_text(const RunGroup *group, size_t most)
{
    const char *attention = group->runs[0]->attn;
    return attention ? terminal_safe_name(attention, most, false) : NULL;
}

static char *tell_attention(const RunGroup *groups, size_t g)
{
    enum { MOST = 16 };
    return attention_text(&groups[g], MOST);
}

static char *tell_whole_attention(const RunGroup *groups, size_t g)
{
    return attention_text(&groups[g], SIZE_MAX);
}

/* Unknown for one seed, so that only groups of several show the column. */
static char *tell_seeds(const RunGroup *groups, size_t g)
{
    size_t seeds = arrlenu(groups[g].runs);
    return seeds > 1 ? text_format("%zu", seeds) : NULL;
}

static char *tell_parameters(const RunGroup *groups, size_t g)
{
    size_t parameters = groups[g].runs[0]->parameters;
    return parameters > 0 ? amount_text((double)parameters) : NULL;
}

static char *tell_best(const RunGroup *groups, size_t g)
{
    double loss = groups[g].best.mean;
    return isnan(loss) ? NULL : loss_text(loss);
}

static char *tell_deviation(const RunGroup *groups, size_t g)
{
    double deviation = groups[g].best.deviation;
    return isnan(deviation) ? NULL : loss_text(deviation);
}

static char *tell_perplexity(const RunGroup *groups, size_t g)
{
    double loss = groups[g].best.mean;
    for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
        if (groups_diverged(groups[g].runs[r]))
            return memory_copy_text("diverged");
    return isnan(loss) ? NULL : perplexity_text(exp(loss));
}

static char *tell_test(const RunGroup *groups, size_t g)
{
    double loss = groups[g].test.mean;
    return isnan(loss) ? NULL : perplexity_text(exp(loss));
}

static char *tell_epoch(const RunGroup *groups, size_t g)
{
    double epoch = mean_of(&groups[g], offsetof(RunData, best_epoch));
    return isnan(epoch) ? NULL : text_format("%.4g", epoch);
}

static char *tell_train(const RunGroup *groups, size_t g)
{
    if (!has_rows(&groups[g]))
        return NULL;
    return loss_text(mean_of(&groups[g], offsetof(RunData, final_train_loss)));
}

static char *tell_speed(const RunGroup *groups, size_t g)
{
    double speed = mean_of(&groups[g], offsetof(RunData, tokens_per_second));
    return isnan(speed) ? NULL : amount_text(speed);
}

static char *tell_time(const RunGroup *groups, size_t g)
{
    if (!has_rows(&groups[g]))
        return NULL;
    return time_text(mean_of(&groups[g], offsetof(RunData, seconds)));
}

static char *tell_memory(const RunGroup *groups, size_t g)
{
    double peak = NAN;
    for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
        peak = fmax(peak, groups[g].runs[r]->peak_mb);
    return isnan(peak) ? NULL : text_format("%.0f", peak);
}

/* --- with confidence intervals --- */

/* The perplexity of a mean loss and the upper half of its 95 % confidence interval. The lower
 * half is a little smaller, as the interval is symmetric in losses. */
static char *certainty_text(const Sample *losses)
{
    if (isnan(losses->mean))
        return NULL;
    double perplexity = exp(losses->mean);
    double reach = exp(losses->mean + student_mean_reach(*losses, GROUP_TAILS)) - perplexity;
    char *text = perplexity_text(perplexity);
    if (reach > 0 && isfinite(reach)) {
        char *of_reach = perplexity_text(reach);
        text_append(&text, " ± %s", of_reach);
        free(of_reach);
    }
    return text;
}

static char *tell_certain_best(const RunGroup *groups, size_t g)
{
    return certainty_text(&groups[g].best);
}

static char *tell_certain_test(const RunGroup *groups, size_t g)
{
    return certainty_text(&groups[g].test);
}

/* The relative difference of perplexity to the first group. */
static char *against_first_text(const RunGroup *groups, size_t g, GroupLoss loss)
{
    GroupDifference of = groups_difference(&groups[0], &groups[g], loss);
    if (g == 0 || !of.comparable || isnan(of.difference))
        return NULL;
    char *middle = per_cent_text(of.difference), *text = text_format("%s %%", middle);
    if (!isnan(of.interval.low)) {
        char *low = per_cent_text(of.interval.low), *high = per_cent_text(of.interval.high);
        text_append(&text, " (%s to %s)", low, high);
        free(low);
        free(high);
    }
    free(middle);
    return text;
}

static char *tell_test_against_first(const RunGroup *groups, size_t g)
{
    return against_first_text(groups, g, GROUP_TEST);
}

/* Only without test losses. */
static char *tell_best_against_first(const RunGroup *groups, size_t g)
{
    for (size_t other = 1; other < arrlenu(groups); other++)
        if (!isnan(groups[other].test.mean - groups[0].test.mean))
            return NULL;
    return against_first_text(groups, g, GROUP_BEST);
}

/* --- columns --- */

typedef struct Kind {
    const char *title;
    char *(*tell)(const RunGroup *groups, size_t g);
    int worth; /* see CellColumn; a report has room for all */
    bool rare; /* left out if empty */
    bool left;
} Kind;

static const Kind of_terminal[] = {
    {.title = "attn", .tell = tell_attention, .worth = 5, .left = true},
    {.title = "seeds", .tell = tell_seeds, .worth = 12, .rare = true},
    {.title = "params", .tell = tell_parameters, .worth = 4},
    {.title = "val loss", .tell = tell_best, .worth = CELL_ALWAYS},
    {.title = "std", .tell = tell_deviation, .worth = 10, .rare = true},
    {.title = "ppl", .tell = tell_perplexity, .worth = 9},
    {.title = "test ppl", .tell = tell_test, .worth = 11, .rare = true},
    {.title = "epoch", .tell = tell_epoch, .worth = 2},
    {.title = "train loss", .tell = tell_train, .worth = 1},
    {.title = "tok/s", .tell = tell_speed, .worth = 7},
    {.title = "time", .tell = tell_time, .worth = 6},
    {.title = "MB", .tell = tell_memory, .worth = 3, .rare = true},
};
enum { REACH_WORTH = 8, REACH_AFTER = 7 }; /* the columns before those of --reach */

static const Kind of_report[] = {
    {.title = "attn", .tell = tell_whole_attention, .left = true},
    {.title = "params", .tell = tell_parameters},
    {.title = "seeds", .tell = tell_seeds, .rare = true},
    {.title = "validation", .tell = tell_certain_best},
    {.title = "test", .tell = tell_certain_test, .rare = true},
    {.title = "test against the first", .tell = tell_test_against_first, .rare = true},
    {.title = "validation against the first", .tell = tell_best_against_first, .rare = true},
    {.title = "tokens/s", .tell = tell_speed},
    {.title = "time", .tell = tell_time},
    {.title = "MB", .tell = tell_memory, .rare = true},
};

/* A column without cells yet. */
static CellColumn make_column(const char *title, size_t groups)
{
    return (CellColumn){.title = title,
                        .cells = memory_take(groups, sizeof(char *), "the table")};
}

void cells_free_column(CellColumn *column, size_t groups)
{
    for (size_t g = 0; g < groups; g++)
        free(column->cells[g]);
    free(column->cells);
}

void cells_free(CellColumn *columns, size_t groups)
{
    for (size_t i = 0; i < arrlenu(columns); i++)
        cells_free_column(&columns[i], groups);
    arrfree(columns);
}

/* Measures the column and adds it, or drops it if it is rare and empty. */
static void add_column(CellColumn **columns, CellColumn column, size_t groups, bool rare)
{
    bool empty = true;
    column.width = text_columns(column.title);
    for (size_t g = 0; g < groups; g++) {
        empty = empty && !column.cells[g];
        if (!column.cells[g])
            column.cells[g] = memory_copy_text("-");
        size_t width = text_columns(column.cells[g]);
        column.width = width > column.width ? width : column.width;
    }
    if (rare && empty)
        cells_free_column(&column, groups);
    else
        arrput(*columns, column);
}

static void add_kinds(CellColumn **columns, const RunGroup *groups, const Kind *kinds,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CellColumn column = make_column(kinds[i].title, arrlenu(groups));
        column.worth = kinds[i].worth;
        column.left = kinds[i].left;
        for (size_t g = 0; g < arrlenu(groups); g++)
            column.cells[g] = kinds[i].tell(groups, g);
        add_column(columns, column, arrlenu(groups), kinds[i].rare);
    }
}

static void add_reaches(CellColumn **columns, const RunGroup *groups, const CompareReach *reach)
{
    for (size_t i = 0; i < arrlenu(reach); i++) {
        CellColumn column = make_column(reach[i].title, arrlenu(groups));
        column.worth = REACH_WORTH;
        for (size_t g = 0; g < arrlenu(groups); g++) {
            double epoch = group_epoch_to_reach(&groups[g], reach[i].loss);
            column.cells[g] = isnan(epoch) ? NULL : text_format("%.4g", epoch);
        }
        add_column(columns, column, arrlenu(groups), false);
    }
}

CellColumn *cells_for_terminal(const RunGroup *groups, const CompareReach *reach)
{
    CellColumn *columns = NULL;
    size_t count = sizeof of_terminal / sizeof *of_terminal;
    add_kinds(&columns, groups, of_terminal, REACH_AFTER);
    add_reaches(&columns, groups, reach);
    add_kinds(&columns, groups, of_terminal + REACH_AFTER, count - REACH_AFTER);
    return columns;
}

CellColumn *cells_for_report(const RunGroup *groups)
{
    CellColumn *columns = NULL;
    add_kinds(&columns, groups, of_report, sizeof of_report / sizeof *of_report);
    return columns;
}
