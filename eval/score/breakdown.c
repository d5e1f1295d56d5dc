#include "eval/score/breakdown.h"
#include "eval/runs/groups.h"
#include "eval/runs/sentences.h"
#include "eval/show/chart.h"
#include "eval/show/markup.h"
#include "eval/show/table.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the units --- */

/* Where a unit ends: behind a line, or behind `block` tokens unless that is 0. */
static bool ends_unit(const Vocabulary *vocabulary, int32_t id, size_t position, size_t block)
{
    const char *piece;
    if (block > 0)
        return (position + 1) % block == 0;
    size_t size = vocabulary_piece(vocabulary, id, &piece);
    return size > 0 && memchr(piece, '\n', size);
}

/* Sets the unit of every scored token, unless units is NULL, and returns their number. */
static size_t cut(const ScoredText *text, size_t block, uint32_t *units)
{
    const CorpusSplit *split = text->split;
    TokenReader ids, labels;
    int32_t id, label;
    size_t unit = 0, next = 0;
    bool open = false;
    token_reader_begin(&ids, split->ids, split->count);
    token_reader_begin(&labels, split->labels.data ? split->labels : split->ids, split->count);
    for (size_t i = 0; token_reader_next(&ids, &id) && token_reader_next(&labels, &label);
         i++) {
        if (label != TOKEN_NONE && units)
            units[next++] = (uint32_t)unit;
        open = !ends_unit(&text->corpus->vocabulary, id, i, block);
        unit += !open;
    }
    return unit + open;
}

void breakdown_make(Breakdown *breakdown, const ScoredText *text, size_t runs, size_t window)
{
    enum { LINES_LEAST = 20 };
    const CorpusSplit *split = text->split;
    size_t scored = split_scored(split), line = text->corpus->line;
    size_t block = line > 0 ? line : cut(text, 0, NULL) >= LINES_LEAST ? 0 : window;
    *breakdown = (Breakdown){
        .split = split,
        .runs = runs,
        .are_lines = block == line,
        .unit_count = cut(text, block, NULL),
        .positions = memory_new(runs, sizeof *breakdown->positions, "the losses"),
        .units = memory_new(scored, sizeof *breakdown->units, "the lines")};
    breakdown->sizes = memory_new(breakdown->unit_count, sizeof *breakdown->sizes, "the lines");
    breakdown->nats = memory_new(memory_product(runs, breakdown->unit_count, "the losses"),
                                 sizeof *breakdown->nats, "the losses");
    cut(text, block, breakdown->units);
    for (size_t i = 0; i < scored; i++)
        breakdown->sizes[breakdown->units[i]]++;
}

void breakdown_free(Breakdown *breakdown)
{
    free(breakdown->positions);
    free(breakdown->units);
    free(breakdown->sizes);
    free(breakdown->nats);
    *breakdown = (Breakdown){0};
}

/* --- the losses --- */

/* The first and the last position of a range that is whole. */
static size_t range_first(size_t range)
{
    return range > 0 ? ((size_t)1 << (range - 1)) + 1 : 1;
}

static size_t range_whole(size_t range)
{
    return (size_t)1 << range;
}

static size_t range_of(size_t position)
{
    size_t range = 0;
    while (range_whole(range) < position)
        range++;
    return range;
}

size_t position_ranges(size_t window)
{
    const size_t last = range_of(window), length = window + 1 - range_first(last),
                 whole = range_whole(last) + 1 - range_first(last);
    return 2 * length < whole ? last : last + 1;
}

/* Batches follow each other in the order of the text. */
static void add_losses(void *context, Pass *pass)
{
    Breakdown *breakdown = context;
    PositionLosses *losses = &breakdown->positions[breakdown->run];
    double *nats = breakdown->nats + breakdown->run * breakdown->unit_count;
    const size_t last = position_ranges(pass->length) - 1;
    losses->window = pass->length;
    for (size_t n = 0; n < pass->scored.count; n++) {
        double loss = (double)pass->scored.losses[n];
        size_t range = range_of(pass->scored.rows[n] % pass->length + 1);
        range = range < last ? range : last;
        losses->nats[range] += loss;
        losses->tokens[range]++;
        nats[breakdown->units[breakdown->next++]] += loss;
    }
    if (breakdown->next == split_scored(breakdown->split)) {
        breakdown->run++;
        breakdown->next = 0;
    }
}

ScoreListener breakdown_listener(Breakdown *breakdown)
{
    return (ScoreListener){add_losses, breakdown};
}

/* --- by position --- */

/* NaN if no token was scored there. */
static double loss_at(const PositionLosses *losses, size_t range)
{
    return losses->nats[range] / (double)losses->tokens[range];
}

/* The last position of a range in these windows; 0: they do not have it. */
static size_t range_end(size_t window, size_t range)
{
    const size_t count = position_ranges(window);
    return range + 1 < count ? range_whole(range) : range + 1 == count ? window : 0;
}

/* The nearest end of this range beyond a position that any run has; 0: none. */
static size_t next_end(const Breakdown *breakdown, size_t range, size_t beyond)
{
    size_t nearest = 0;
    for (size_t run = 0; run < breakdown->runs; run++) {
        size_t end = range_end(breakdown->positions[run].window, range);
        nearest = end > beyond && (nearest == 0 || end < nearest) ? end : nearest;
    }
    return nearest;
}

/* "308", or "308-4800" where the windows of the runs, and so their tokens here, differ. */
static char *tokens_text(const Breakdown *breakdown, size_t range, size_t end)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t run = 0; run < breakdown->runs; run++) {
        const PositionLosses *losses = &breakdown->positions[run];
        if (range_end(losses->window, range) != end)
            continue;
        least = losses->tokens[range] < least ? losses->tokens[range] : least;
        most = losses->tokens[range] > most ? losses->tokens[range] : most;
    }
    return least < most ? text_format("%zu-%zu", least, most) : text_format("%zu", most);
}

/* A row for the positions up to this end of a range; runs whose range ends elsewhere have
 * another row. */
static void add_position_row(Table *table, const Breakdown *breakdown, size_t range, size_t end)
{
    const size_t first = range_first(range);
    table_add_row(table, (TableRow){0});
    table_add(table,
              end > first ? text_format("%zu-%zu", first, end) : text_format("%zu", first));
    table_add(table, tokens_text(breakdown, range, end));
    for (size_t run = 0; run < breakdown->runs; run++) {
        const PositionLosses *losses = &breakdown->positions[run];
        bool has = range_end(losses->window, range) == end && losses->tokens[range] > 0;
        table_add(table, has ? text_format("%.4f", loss_at(losses, range)) : NULL);
    }
}

/* A column for each run. */
static Table position_table(const Breakdown *breakdown, const char *const *names)
{
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "position", .worth = TABLE_ALWAYS});
    table_add_column(
        &table, (TableColumn){.title = breakdown->split->labels.data ? "answers" : "tokens",
                              .worth = TABLE_ALWAYS});
    for (size_t run = 0; run < breakdown->runs; run++)
        table_add_column(&table, (TableColumn){.title = names[run], .worth = 1});
    for (size_t range = 0; range < POSITION_RANGES; range++)
        for (size_t end = 0; (end = next_end(breakdown, range, end)) > 0;)
            add_position_row(&table, breakdown, range, end);
    return table;
}

/* A line for each run, a point at the last position of each range. */
static Chart position_chart(const Breakdown *breakdown, const char *const *names)
{
    Chart chart = {.x_label = "up to this position in the window (logarithmic)",
                   .y_label = breakdown->split->labels.data ? "mean loss, nats per answer"
                                                            : "mean loss, nats per token",
                   .logarithmic_x = true};
    for (size_t run = 0; run < breakdown->runs; run++) {
        ChartSeries *series = chart_add(&chart, names[run], NULL, 0);
        const PositionLosses *losses = &breakdown->positions[run];
        for (size_t range = 0; range < position_ranges(losses->window); range++)
            if (losses->tokens[range])
                arrput(series->points, ((ChartPoint){(double)range_end(losses->window, range),
                                                     loss_at(losses, range)}));
    }
    return chart;
}

void positions_print(const Breakdown *breakdown, const char *const *names)
{
    enum { ROWS = 16, MOST = 100 };
    size_t width = terminal_width(STDOUT_FILENO);
    Table table = position_table(breakdown, names);
    Chart chart = position_chart(breakdown, names);
    chart.columns = width < MOST ? width : MOST;
    chart.rows = ROWS;
    chart.utf8 = terminal_is_utf8();
    chart.colour = terminal_has_colour(STDOUT_FILENO);
    char *text = NULL;
    chart_append(&text, &chart);
    printf("\nMean loss by position in the window, in nats per %s:\n",
           scored_unit(breakdown->split));
    table_print(stdout, &table, TABLE_TERMINAL, width);
    printf("\n%s", text);
    free(text);
    chart_free(&chart);
    table_free(&table);
}

json_t *positions_json(const PositionLosses *losses)
{
    json_t *ranges = json_array();
    for (size_t range = 0; range < position_ranges(losses->window); range++)
        json_array_append_new(ranges, json_pack("{s:o, s:o, s:o, s:o}", "from",
                                                json_count(range_first(range)), "to",
                                                json_count(range_end(losses->window, range)),
                                                "tokens", json_count(losses->tokens[range]),
                                                "loss", json_figure(loss_at(losses, range))));
    return ranges;
}

bool positions_write_svg(const Breakdown *breakdown, const char *const *names, const char *path,
                         Error *error)
{
    Chart chart = position_chart(breakdown, names);
    bool good = svg_write(path, &chart, "Loss by position in the window", error);
    chart_free(&chart);
    return good;
}

/* --- paired --- */

typedef struct PairedDifference {
    double mean; /* nats per token, of the run less the first */
    Bootstrap of;
    double holm;      /* p corrected for all differences from the first run */
    const char *word; /* by that; NULL: there is none */
} PairedDifference;

static PairedDifference paired_difference(const Breakdown *breakdown, size_t run)
{
    double *differences = memory_new(breakdown->unit_count, sizeof *differences, "the lines");
    double sum = 0;
    for (size_t u = 0; u < breakdown->unit_count; u++) {
        differences[u] = breakdown->nats[run * breakdown->unit_count + u] - breakdown->nats[u];
        sum += differences[u];
    }
    PairedDifference paired = {.mean = sum / (double)split_scored(breakdown->split),
                               .of = student_bootstrap(differences, breakdown->sizes,
                                                       breakdown->unit_count, GROUP_TAILS)};
    free(differences);
    return paired;
}

/* Of all runs but the first, whose difference from itself is left empty; the caller frees. */
static PairedDifference *paired_differences(const Breakdown *breakdown)
{
    const size_t runs = breakdown->runs;
    PairedDifference *all = memory_new(runs, sizeof *all, "the differences");
    double *p = memory_new(runs, sizeof *p, "the differences");
    for (size_t run = 1; run < runs; run++) {
        all[run] = paired_difference(breakdown, run);
        p[run] = all[run].of.p;
    }
    student_holm(p + 1, runs - 1);
    for (size_t run = 1; run < runs; run++) {
        all[run].holm = p[run];
        if (!isnan(p[run]))
            all[run].word = difference_word(all[run].mean, p[run] < GROUP_TAILS);
    }
    free(p);
    return all;
}

static const char *units_name(const Breakdown *breakdown)
{
    return breakdown->are_lines ? "lines" : "windows";
}

static double per_cent(double nats)
{
    return 100 * expm1(nats);
}

void paired_print(const Breakdown *breakdown, const char *const *names)
{
    PairedDifference *all = paired_differences(breakdown);
    fputc('\n', stdout);
    for (size_t run = 1; run < breakdown->runs; run++) {
        const PairedDifference *paired = &all[run];
        char *line = text_format("%s minus %s: %+.4f nats per %s (perplexity %+.2f %%)",
                                 names[run], names[0], paired->mean,
                                 scored_unit(breakdown->split), per_cent(paired->mean));
        if (paired->word)
            text_append(&line,
                        ", 95 %% interval %+.4f to %+.4f (%+.2f to %+.2f %%), p %.2g (Holm "
                        "%.2g): %s",
                        paired->of.low, paired->of.high, per_cent(paired->of.low),
                        per_cent(paired->of.high), paired->of.p, paired->holm, paired->word);
        else
            text_append(&line, "; no interval: the text is a single %s",
                        breakdown->are_lines ? "line" : "window");
        sentences_print(line);
    }
    const size_t count = breakdown->runs - 1;
    sentences_print(text_format(
        "Paired bootstrap of the %zu %s of the text, %d resamples. Verdicts: p below %g after "
        "Holm's correction for %zu comparison%s. Intervals are not corrected; they cover the "
        "text, not the seeds: other seeds of the same settings may differ by more.",
        breakdown->unit_count, units_name(breakdown), BOOTSTRAP_RESAMPLES, GROUP_TAILS, count,
        text_plural(count)));
    free(all);
}

json_t *paired_json(const Breakdown *breakdown, const char *const *names)
{
    json_t *pairs = json_array();
    PairedDifference *all = paired_differences(breakdown);
    for (size_t run = 1; run < breakdown->runs; run++) {
        const PairedDifference *paired = &all[run];
        json_array_append_new(
            pairs,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s, s:o, s:i}", "run",
                      markup_json(names[run]), "against", markup_json(names[0]), "difference",
                      json_figure(paired->mean), "low", json_figure(paired->of.low), "high",
                      json_figure(paired->of.high), "p", json_figure(paired->of.p), "p_holm",
                      json_figure(paired->holm), "verdict", paired->word, "resampled",
                      units_name(breakdown), "units", json_count(breakdown->unit_count),
                      "resamples", BOOTSTRAP_RESAMPLES));
    }
    free(all);
    return pairs;
}
