#include "eval/runs/results.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

/* --- numbers, each as the caller's text --- */

char *results_amount(double amount)
{
    static const char units[] = " kMGT";
    size_t unit = 0;
    for (; fabs(amount) >= 999.5 && unit + 2 < sizeof units; unit++)
        amount /= 1000;
    return text_format(fabs(amount) < 9.995 && unit > 0 ? "%.2f%.*s" : "%.3g%.*s", amount,
                       unit > 0, units + unit);
}

/* All digits, with thin, non-breaking spaces between the thousands. */
static char *whole_text(double value)
{
    const double plain = 1e9; /* larger ones are written with an exponent */
    enum { GROUP = 3 };
    if (!(value >= 0 && value < plain))
        return text_format("%.4g", value);
    char *digits = text_format("%.0f", value), *text = NULL;
    size_t length = strlen(digits);
    for (size_t i = 0; i < length; i++)
        text_append(&text, "%s%c", i > 0 && (length - i) % GROUP == 0 ? "\u202f" : "",
                    digits[i]);
    free(digits);
    return text;
}

static char *count_text(double count)
{
    return text_format("%.0f", count);
}

static char *epoch_text(double epoch)
{
    return text_format("%.4g", epoch);
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
    if (!isfinite(loss))
        return memory_copy_text("diverged");
    return text_format(fabs(loss) < LONG ? "%.4f" : "%.4g", loss);
}

static char *perplexity_text(double perplexity)
{
    return memory_copy_text(isfinite(perplexity) ? text_perplexity(perplexity).text
                                                 : "diverged");
}

static char *perplexity_of_text(double loss)
{
    return perplexity_text(exp(loss));
}

/* An accuracy, in per cent. */
static char *accuracy_text(double accuracy)
{
    return text_format("%.2f %%", 100 * accuracy);
}

static char *per_cent_text(double per_cent)
{
    return text_format(fabs(per_cent) < LONG ? "%+.1f" : "%+.3g", per_cent);
}

/* --- the numbers of a group; NaN: unknown --- */

static double number_at(const void *of, size_t offset)
{
    double number;
    memcpy(&number, (const char *)of + offset, sizeof number);
    return number;
}

/* The mean of a field over the runs of a group that have logged anything, or come from a table.
 */
static double mean_of(const RunGroup *group, size_t field)
{
    double sum = 0;
    size_t count = 0;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (arrlenu(group->runs[r]->rows) > 0 || !isnan(number_at(group->runs[r], field))) {
            sum += number_at(group->runs[r], field);
            count++;
        }
    return sum / (double)count; /* NaN without runs */
}

/* The seeds whose losses the mean is of. Unknown for one, so that only groups of several show
 * the column. */
static double seeds(const RunGroup *group)
{
    return group->losses[GROUP_BEST].count > 1 ? group->losses[GROUP_BEST].count : NAN;
}

double results_tokens(const RunGroup *group)
{
    return mean_of(group, offsetof(RunData, tokens));
}

double results_parameters(const RunGroup *group)
{
    size_t count = group->runs[0]->parameters;
    return count > 0 ? (double)count : NAN;
}

static double state(const RunGroup *group)
{
    return group->runs[0]->state > 0 ? (double)group->runs[0]->state : NAN;
}

static double best_perplexity(const RunGroup *group)
{
    return group_diverged(group) ? INFINITY : exp(group->losses[GROUP_BEST].mean);
}

static double best_bits(const RunGroup *group)
{
    return group_diverged(group) ? INFINITY * group->losses[GROUP_BITS].mean
                                 : group->losses[GROUP_BITS].mean;
}

/* Without a number, the loss of a run that has logged anything diverged. */
static double train_loss(const RunGroup *group)
{
    bool logged = false;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        logged |= arrlenu(group->runs[r]->rows) > 0 && !arrlast(group->runs[r]->rows).matches;
    double loss = mean_of(group, offsetof(RunData, final_train_loss));
    return logged && isnan(loss) ? INFINITY : loss;
}

static double peak(const RunGroup *group)
{
    double most = NAN;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        most = fmax(most, group->runs[r]->peak_mb);
    return most;
}

/* --- cells of several numbers, or of words: the caller's text; NULL: unknown --- */

static char *attention(const RunGroup *groups, size_t g, GroupLoss loss)
{
    (void)loss;
    const char *name = groups[g].runs[0]->attn;
    return name ? memory_copy_text(name) : NULL;
}

/* The same; NULL where the group is called so. */
static char *other_attention(const RunGroup *groups, size_t g, GroupLoss loss)
{
    char *name = attention(groups, g, loss);
    if (!name || strcmp(name, groups[g].name) != 0)
        return name;
    free(name);
    return NULL;
}

/* "4.1234 ± 0.0056": a number and half the width of its interval, if there is one. */
static char *number_with_reach(double number, double reach, char *(*write)(double number))
{
    char *text = write(number);
    if (reach > 0 && isfinite(reach)) {
        char *of_reach = write(reach);
        text_append(&text, " ± %s", of_reach);
        free(of_reach);
    }
    return text;
}

/* The perplexity of a mean loss, or the bits per byte, and the upper half of its 95 %
 * confidence interval. The lower half of a perplexity's is a little smaller, as the interval is
 * symmetric in losses. */
static char *certainty(const RunGroup *groups, size_t g, GroupLoss loss)
{
    const Sample *losses = &groups[g].losses[loss];
    if (isnan(losses->mean))
        return NULL;
    if ((loss == GROUP_BEST || loss == GROUP_BITS) && group_diverged(&groups[g]))
        return memory_copy_text("diverged");
    const double reach = student_mean_reach(*losses, GROUP_TAILS), value = exp(losses->mean);
    return loss == GROUP_BEST || loss == GROUP_TEST
               ? number_with_reach(value, exp(losses->mean + reach) - value, perplexity_text)
               : number_with_reach(losses->mean, reach, loss_text);
}

/* The best loss itself, with its interval. */
static char *certain_loss(const RunGroup *groups, size_t g, GroupLoss loss)
{
    const Sample *losses = &groups[g].losses[loss];
    return isnan(losses->mean)
               ? NULL
               : number_with_reach(group_diverged(&groups[g]) ? INFINITY : losses->mean,
                                   student_mean_reach(*losses, GROUP_TAILS), loss_text);
}

/* The relative difference of perplexity or of bits per byte to the control. */
static char *against_first(const RunGroup *groups, size_t g, GroupLoss loss)
{
    const GroupDifference *from = &groups[g].differences[loss];
    if (loss != groups_compared_loss(groups) || isnan(from->of.mean))
        return NULL;
    char *middle = per_cent_text(group_per_cent(from, from->of.mean, loss)),
         *text = text_format("%s %%", middle);
    if (!isnan(from->of.low)) {
        char *low = per_cent_text(group_per_cent(from, from->of.low, loss)),
             *high = per_cent_text(group_per_cent(from, from->of.high, loss));
        text_append(&text, " (%s to %s)", low, high);
        free(low);
        free(high);
    }
    free(middle);
    return text;
}

/* The same without the interval. */
static char *change(const RunGroup *groups, size_t g, GroupLoss loss)
{
    loss = groups_compared_loss(groups);
    const GroupDifference *from = &groups[g].differences[loss];
    return group_diverged(&groups[g]) ? memory_copy_text("diverged")
           : isnan(from->of.mean)
               ? NULL
               : text_format("%+.2f %%", group_per_cent(from, from->of.mean, loss));
}

/* On a page: what the others are compared with, or the difference from it and its interval. */
static char *change_or_control(const RunGroup *groups, size_t g, GroupLoss loss)
{
    loss = groups_compared_loss(groups);
    return g == 0 && arrlenu(groups) > 1 && !isnan(groups[0].losses[loss].mean)
               ? memory_copy_text("control")
               : against_first(groups, g, loss);
}

/* Shown only if the losses compared are those of the test, or those of the validation. */
static char *change_of(const RunGroup *groups, size_t g, GroupLoss loss)
{
    const bool compares_test = groups_compared_loss(groups) != groups_measure(groups);
    return compares_test == (loss == GROUP_TEST) ? change(groups, g, loss) : NULL;
}

static char *verdict(const RunGroup *groups, size_t g, GroupLoss loss)
{
    (void)loss;
    const char *word = group_verdict(&groups[g].differences[groups_compared_loss(groups)]);
    return word ? memory_copy_text(word) : NULL;
}

/* --- columns --- */

/* What is in a column: a number, by a function, of the group's samples of losses, or as the
 * mean of a field of RunData, and how to write it; or a text. */
typedef struct Column {
    const char *title;
    double (*of)(const RunGroup *group);
    size_t sample;  /* the offset of a double in RunGroup */
    size_t mean_of; /* of one in RunData */
    char *(*write)(double number);
    char *(*tell)(const RunGroup *groups, size_t g, GroupLoss loss);
    GroupLoss loss; /* for tell; what .best is about */
    int worth;      /* see TableColumn; only a terminal lacks room */
    size_t most;
    bool left, rare;
    bool of_groups;            /* nothing for the single runs of a page */
    bool best;                 /* the lowest number */
    bool marked;               /* where the loss is of a part of the validation text */
    const ResultsReach *reach; /* the number is the epoch that reached this loss */
} Column;

#define MEAN_OF(field)      .mean_of = offsetof(RunData, field)
#define SAMPLE(loss, field) .sample = offsetof(RunGroup, losses[loss].field)
/* clang-format off */
static const Column of_terminal[] = {
    {"attn", .tell = attention, .worth = 5, .most = 16, .left = true},
    {"seeds", .of = seeds, .write = count_text, .worth = 12, .rare = true},
    {"params", .of = results_parameters, .write = results_amount, .worth = TABLE_ALWAYS},
    {"tokens", .of = results_tokens, .write = results_amount, .worth = TABLE_ALWAYS},
    {"val loss", SAMPLE(GROUP_BEST, mean), .write = loss_text, .worth = TABLE_ALWAYS,
     .marked = true},
    {"std", SAMPLE(GROUP_BEST, deviation), .write = loss_text, .worth = 10, .rare = true},
    {"accuracy", MEAN_OF(best_accuracy), .write = accuracy_text, .worth = TABLE_ALWAYS,
     .rare = true, .marked = true},
    {"ppl", .of = best_perplexity, .write = perplexity_text, .worth = 9, .marked = true},
    {"bpb", .of = best_bits, .write = loss_text, .worth = 10, .rare = true, .marked = true},
    {"test ppl", SAMPLE(GROUP_TEST, mean), .write = perplexity_of_text, .worth = 11,
     .rare = true},
    {"test bpb", SAMPLE(GROUP_TEST_BITS, mean), .write = loss_text, .worth = 11, .rare = true},
    {"vs. first", .tell = change_of, .loss = GROUP_BEST, .worth = 11, .rare = true},
    {"test vs. first", .tell = change_of, .loss = GROUP_TEST, .worth = 11, .rare = true},
    {"verdict", .tell = verdict, .worth = 12, .left = true, .rare = true},
    {"epoch", MEAN_OF(best_epoch), .write = epoch_text, .worth = 2},
    {"train loss", .of = train_loss, .write = loss_text, .worth = 1},
    {"tok/s", MEAN_OF(tokens_per_second), .write = results_amount, .worth = 7},
    {"time", MEAN_OF(seconds), .write = time_text, .worth = 6},
    {"MB", .of = peak, .write = count_text, .worth = 3, .rare = true},
};
enum { REACH_WORTH = 8, REACH_AFTER = 11 }; /* the columns before those of --reach */

static const Column of_markdown[] = {
    {"attn", .tell = other_attention, .left = true, .rare = true},
    {"params", .of = results_parameters, .write = results_amount, .rare = true},
    {"tokens", .of = results_tokens, .write = results_amount, .rare = true},
    {"seeds", .of = seeds, .write = count_text, .rare = true},
    {"validation ppl", .tell = certainty, .loss = GROUP_BEST, .marked = true},
    {"accuracy", MEAN_OF(best_accuracy), .write = accuracy_text, .rare = true, .marked = true},
    {"bits/byte", .tell = certainty, .loss = GROUP_BITS, .rare = true, .marked = true},
    {"test ppl", .tell = certainty, .loss = GROUP_TEST, .rare = true},
    {"test bits/byte", .tell = certainty, .loss = GROUP_TEST_BITS, .rare = true},
    {"test ppl vs. first", .tell = against_first, .loss = GROUP_TEST, .rare = true},
    {"validation ppl vs. first", .tell = against_first, .loss = GROUP_BEST, .rare = true},
    {"test bits/byte vs. first", .tell = against_first, .loss = GROUP_TEST_BITS, .rare = true},
    {"bits/byte vs. first", .tell = against_first, .loss = GROUP_BITS, .rare = true},
    {"verdict", .tell = verdict, .left = true, .rare = true},
    {"state, B", .of = state, .write = results_amount, .rare = true},
    {"tokens/s", MEAN_OF(tokens_per_second), .write = results_amount, .rare = true},
    {"time", MEAN_OF(seconds), .write = time_text, .rare = true},
    {"MB", .of = peak, .write = count_text, .rare = true},
};

static const Column of_forest[] = {
    {"change", .tell = change, .worth = 12},
    {"verdict", .tell = verdict, .worth = 8, .left = true, .rare = true},
    {"params", .of = results_parameters, .write = results_amount, .worth = 11},
    {"state, B", .of = state, .write = results_amount, .worth = 9},
    {"tokens/s", MEAN_OF(tokens_per_second), .write = results_amount, .worth = 10},
};

static const Column of_page[] = {
    {"attention", .tell = other_attention, .left = true, .rare = true, .of_groups = true},
    {"seeds", .of = seeds, .write = count_text, .rare = true},
    {"best validation loss", SAMPLE(GROUP_BEST, mean), .tell = certain_loss, .loss = GROUP_BEST,
     .rare = true, .best = true, .marked = true},
    {"perplexity", .of = best_perplexity, .write = perplexity_text, .rare = true, .best = true,
     .marked = true},
    {"bits per byte", .of = best_bits, .write = loss_text, .loss = GROUP_BITS, .rare = true,
     .best = true, .marked = true},
    {"test perplexity", SAMPLE(GROUP_TEST, mean), .tell = certainty, .loss = GROUP_TEST,
     .rare = true, .best = true},
    {"test bits per byte", SAMPLE(GROUP_TEST_BITS, mean), .tell = certainty,
     .loss = GROUP_TEST_BITS, .rare = true, .best = true},
    {"accuracy", MEAN_OF(best_accuracy), .write = accuracy_text, .rare = true, .marked = true},
    {"change", .tell = change_or_control, .rare = true, .of_groups = true},
    {"verdict", .tell = verdict, .left = true, .rare = true, .of_groups = true},
    {"parameters", .of = results_parameters, .write = whole_text, .rare = true},
    {"tokens", .of = results_tokens, .write = whole_text, .rare = true},
    {"tokens/s", MEAN_OF(tokens_per_second), .write = whole_text, .rare = true},
    {"time", MEAN_OF(seconds), .write = time_text, .rare = true},
    {"memory, MB", .of = peak, .write = whole_text, .rare = true},
    {"best at epoch", MEAN_OF(best_epoch), .write = epoch_text, .rare = true},
    {"final training loss", .of = train_loss, .write = loss_text, .rare = true},
};
/* clang-format on */

#define COUNT(columns) (sizeof(columns) / sizeof *(columns))

static double number_of(const Column *column, const RunGroup *group)
{
    return column->reach     ? group_epoch_to_reach(group, column->reach->loss)
           : column->of      ? column->of(group)
           : column->sample  ? number_at(group, column->sample)
           : column->mean_of ? mean_of(group, column->mean_of)
                             : NAN;
}

static char *cell_of(const Column *column, const RunGroup *groups, size_t g)
{
    double number = column->tell ? NAN : number_of(column, &groups[g]);
    char *cell = column->tell    ? column->tell(groups, g, column->loss)
                 : isnan(number) ? NULL
                                 : column->write(number);
    if (cell && column->marked && group_has_part(&groups[g]))
        text_append(&cell, "~");
    return cell;
}

static void add_columns(Table *table, const char *names, const Column *columns, size_t count)
{
    table_add_column(table, (TableColumn){.title = names, .worth = TABLE_ALWAYS});
    for (size_t i = 0; i < count; i++)
        table_add_column(table, (TableColumn){.title = columns[i].title,
                                              .worth = columns[i].worth,
                                              .most = columns[i].most,
                                              .left = columns[i].left,
                                              .rare = columns[i].rare});
}

static void add_row(Table *table, TableRow row, const char *name, const Column *columns,
                    size_t count, const RunGroup *groups, size_t g)
{
    row.identity = groups[g].runs[0]->identity;
    table_add_row(table, row);
    table_add(table, memory_copy_text(name));
    for (size_t i = 0; i < count; i++)
        table_add(table, cell_of(&columns[i], groups, g));
}

static Table make(const RunGroup *groups, const Column *columns, size_t count)
{
    Table table = {0};
    add_columns(&table, "run", columns, count);
    for (size_t g = 0; g < arrlenu(groups); g++)
        add_row(&table, (TableRow){.coloured = true}, groups[g].name, columns, count, groups,
                g);
    return table;
}

Table results_for_terminal(const RunGroup *groups, const ResultsReach *reach)
{
    Column *columns = NULL;
    for (size_t i = 0; i < COUNT(of_terminal); i++) {
        for (size_t r = 0; i == REACH_AFTER && r < arrlenu(reach); r++)
            arrput(columns, ((Column){reach[r].title, .write = epoch_text, .worth = REACH_WORTH,
                                      .reach = &reach[r]}));
        arrput(columns, of_terminal[i]);
    }
    Table table = make(groups, columns, arrlenu(columns));
    arrfree(columns);
    return table;
}

Table results_for_markdown(const RunGroup *groups)
{
    return make(groups, of_markdown, COUNT(of_markdown));
}

Table results_for_forest(const RunGroup *groups)
{
    return make(groups, of_forest, COUNT(of_forest));
}

/* Marks the lowest numbers of a column in the last row, that of group g. */
static void mark_lowest(Table *table, const RunGroup *groups, size_t g)
{
    for (size_t i = 0; i < COUNT(of_page); i++) {
        const Column *column = &of_page[i];
        double lowest = INFINITY;
        for (size_t other = 0; other < arrlenu(groups); other++)
            if (!group_diverged(&groups[other]))
                lowest = fmin(lowest, number_of(column, &groups[other]));
        table_cell(table, arrlenu(table->rows) - 1, 1 + i)->strong =
            column->best && !group_diverged(&groups[g]) && arrlenu(groups) > 1 &&
            (column->loss != GROUP_BEST || groups_measure(groups) == GROUP_BEST) &&
            number_of(column, &groups[g]) <= lowest;
    }
}

/* Adds the rows of the runs of a group, each of which is one of the groups `each`. */
static void add_runs(Table *table, const RunGroup *group, const RunGroup *each)
{
    Column columns[COUNT(of_page)] = {{0}};
    for (size_t i = 0; i < COUNT(of_page); i++)
        if (!of_page[i].of_groups)
            columns[i] = of_page[i];
    for (size_t e = 0; e < arrlenu(each); e++)
        for (size_t r = 0; r < arrlenu(group->runs); r++)
            if (each[e].runs[0] == group->runs[r])
                add_row(table, (TableRow){.class = "run"}, each[e].name, columns,
                        COUNT(columns), each, e);
}

Table results_for_page(const Comparison *all)
{
    Table table = {0};
    add_columns(&table, "group", of_page, COUNT(of_page));
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        const Section *section = &all->sections[s];
        size_t *order = groups_rank(section->groups);
        if (arrlenu(all->sections) > 1) {
            table_add_row(&table, (TableRow){.heading = true});
            table_add(&table, memory_copy_text(section->name));
            for (size_t i = 0; i < COUNT(of_page); i++)
                table_add(&table, NULL);
        }
        for (size_t i = 0; i < arrlenu(order); i++) {
            const RunGroup *group = &section->groups[order[i]];
            add_row(&table, (TableRow){.class = "group", .coloured = true},
                    group_name_beside(group), of_page, COUNT(of_page), section->groups,
                    order[i]);
            mark_lowest(&table, section->groups, order[i]);
            if (arrlenu(group->runs) > 1)
                add_runs(&table, group, section->each);
        }
        arrfree(order);
    }
    return table;
}
