/* Terminal charts of every size, for any points. */
#include "eval/show/chart.h"
#include "src/base/memory.h"
#include "tests/tests.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("chart");

/* Renders the chart and checks its size, its characters, and that rendering is deterministic.
 */
static char *render(const Chart *chart)
{
    char *text = NULL, *again = NULL;
    size_t lines = 0;
    chart_append(&text, chart);
    chart_append(&again, chart);
    ck_assert_str_eq(text, again);
    free(again);
    for (const char *c = text; *c; lines++) {
        size_t columns = 0;
        for (; *c != '\n'; c++) {
            ck_assert_msg(*c, "the last line has no end");
            if (*c == '\x1b') {
                ck_assert(chart->colour);
                c += strcspn(c, "m");
                continue;
            }
            ck_assert((unsigned char)*c >= ' ');
            ck_assert(chart->utf8 || (unsigned char)*c < 0x7f);
            columns += ((unsigned char)*c & 0xc0) != 0x80;
        }
        c++;
        ck_assert_msg(columns <= chart->columns, "%zu columns in:\n%s", columns, text);
    }
    ck_assert_msg(lines == chart->rows, "%zu lines in:\n%s", lines, text);
    return text;
}

/* In every size, with and without UTF-8 and colours, with one series and with several. */
static void render_every_way(const ChartPoint *points, size_t count)
{
    static const size_t sizes[][2] = {
        {CHART_COLUMNS_LEAST, CHART_ROWS_LEAST}, {80, 24}, {200, 50}};
    const ChartPoint diagonal[] = {{0, 0}, {1, 1}};
    for (size_t i = 0; i < 3 * 2 * 2 * 2 * 2; i++) {
        const size_t *size = sizes[i / 16];
        Chart chart = {.x_label = "step",
                       .y_label = "loss",
                       .columns = size[0],
                       .rows = size[1],
                       .utf8 = (i & 2) != 0,
                       .colour = (i & 4) != 0,
                       .logarithmic_x = (i & 8) != 0};
        chart_add(&chart, "it", points, count);
        if (i & 1)
            chart_add(&chart, "other", diagonal, 2);
        free(render(&chart));
        chart_free(&chart);
    }
}

TEST(charts_of_odd_values_are_drawn)
{
    static const struct {
        size_t count;
        ChartPoint points[4];
    } cases[] = {
        {0, {{0, 0}}},
        {1, {{3, 5}}},
        {1, {{0, 0}}},
        {1, {{NAN, 1}}},
        {2, {{1, 2}, {3, 4}}},
        {2, {{3, 4}, {1, 2}}},
        {3, {{1, 2}, {2, NAN}, {3, 4}}},
        {4, {{1, 7}, {1, 7}, {1, 7}, {1, 7}}},
        {3, {{NAN, NAN}, {INFINITY, 1}, {1, -INFINITY}}},
        {3, {{0, 1}, {1, INFINITY}, {2, 3}}},
        {3, {{-DBL_MAX, -DBL_MAX}, {0, 0}, {DBL_MAX, DBL_MAX}}},
        {2, {{-1e300, -1e300}, {1e300, 1e300}}},
        {2, {{5e-324, 5e-324}, {1e-310, 1e-310}}},
        {2, {{1e-290, 1e-299}, {2e-290, 2e-299}}},
        {2, {{1e15, 1e15}, {1e15 + 1, 1e15 + 0.25}}},
        {2, {{1e9, 1e9}, {1e9 + 200, 1e9 + 200}}},
        {2, {{0, 4.9999999}, {1, 5.0000001}}},
        {2, {{-3e6, -0.00031}, {2e6, 0.00029}}},
        {2, {{0.3, 0.7}, {0.7, 0.3}}},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        render_every_way(cases[i].points, cases[i].count);
}

TEST(a_million_points_fit_the_chart)
{
    const size_t count = 1000000;
    ChartPoint *points = memory_new(count, sizeof *points, "a test");
    for (size_t i = 0; i < count; i++)
        points[i] = (ChartPoint){(double)i, 5 + (double)(i * 7919 % 1000) / 1000};
    Chart chart = {.columns = 80, .rows = 24, .utf8 = true};
    chart_add(&chart, "many", points, count);
    char *text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "800k"));
    free(text);
    chart_free(&chart);
    free(points);
}

TEST(many_long_and_hostile_names_fit_the_chart)
{
    enum { COUNT = 100 };
    const ChartPoint points[] = {{0, 0}, {1, 1}};
    for (size_t i = 0; i < 4; i++) {
        Chart chart = {.columns = 40,
                       .rows = 16,
                       .utf8 = i & 1,
                       .colour = i & 2,
                       .x_label = "a label that is longer than the whole chart is wide, by far",
                       .y_label = "\x1b]0;title\a"};
        for (size_t s = 0; s < COUNT; s++)
            chart_add(&chart,
                      s % 2 ? "evil\x1b[2J\n\xff"
                            : "a name that is longer than the whole chart would be wide",
                      points, 2);
        char *text = render(&chart);
        ck_assert_ptr_nonnull(strstr(text, " more\n"));
        ck_assert_ptr_nonnull(strstr(text, "\\x1b]0;title\\x07\n"));
        free(text);
        chart_free(&chart);
    }
}

TEST(an_ascii_chart_is_drawn_as_expected)
{
    const ChartPoint falling[] = {{0, 3}, {1, 2}, {2, NAN}, {3, 1}, {4, 1}};
    const ChartPoint level[] = {{0, 1}, {4, 1}};
    Chart chart = {.x_label = "epoch", .y_label = "loss", .columns = 24, .rows = 10};
    chart_add(&chart, "one", falling, 5);
    chart_add(&chart, "two", level, 2);
    char *text = render(&chart);
    ck_assert_str_eq(text, "loss\n"
                           "3+aa\n"
                           " |  aa\n"
                           "2+    aa\n"
                           " |\n"
                           "1+bbbbbbbbbbbbbbbbababab\n"
                           " ++----------+---------+\n"
                           "  0          2         4\n"
                           "          epoch\n"
                           " a one    b two\n");
    free(text);
    chart_free(&chart);
}

/* Doublings of x are equally far apart; what has no logarithm is a gap. */
TEST(x_may_be_logarithmic_on_a_terminal)
{
    const ChartPoint points[] = {{0, 7}, {1, 4}, {2, 3}, {4, 2}, {8, 1}, {-3, 9}};
    Chart chart = {.x_label = "position",
                   .y_label = "loss",
                   .columns = 33,
                   .rows = 12,
                   .logarithmic_x = true};
    chart_add(&chart, "run", points, COUNT(points));
    char *text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "1         2         4         8\n"));
    ck_assert_ptr_nonnull(strstr(text, "loss\n4+aa"));
    ck_assert_ptr_null(strstr(text, "7+"));
    free(text);
    chart_free(&chart);
}

TEST(a_braille_chart_is_drawn_as_expected)
{
    const ChartPoint points[] = {{0, 8}, {1, 4}, {2, 2}, {3, 1}};
    Chart chart = {
        .x_label = "tokens", .y_label = "loss", .columns = 24, .rows = 9, .utf8 = true};
    chart_add(&chart, "one", points, 4);
    char *text = render(&chart);
    ck_assert_str_eq(text, "loss\n"
                           "8┤⠑⠢⣀\n"
                           "6┤   ⠑⠢⢄\n"
                           "4┤      ⠉⠒⠤⠤⣀⣀\n"
                           "2┤            ⠉⠉⠒⠒⠢⠤⠤⠤⣀⣀\n"
                           " └┬─────────────┬───────\n"
                           "  0             2\n"
                           "          tokens\n"
                           "── one\n");
    free(text);
    chart_add(&chart, "lone point", points + 1, 1);
    chart.colour = true;
    text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "\x1b[38;5;166m"));
    free(text);
    chart_free(&chart);
}

/* A run's colour does not depend on earlier runs; a faint series is drawn in braille. */
TEST(a_run_keeps_its_colour)
{
    const ChartPoint points[] = {{0, 8}, {1, 4}}, others[] = {{0, 1}, {1, 2}};
    Chart chart = {.columns = 24, .rows = 12, .utf8 = true, .colour = true};
    chart_add(&chart, "one (train)", points, 2)->faint = true;
    chart_add(&chart, "one", others, 2);
    chart_add(&chart, NULL, points, 2)->faint = true;
    for (size_t s = 0; s < 3; s++)
        chart.series[s].identity = 3;
    char *text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "\x1b[2;38;5;175m──\x1b[0m one (train)"));
    ck_assert_ptr_nonnull(strstr(text, "\x1b[38;5;175m──\x1b[0m one\n"));
    ck_assert_ptr_null(strstr(text, "38;5;32m"));
    free(text);
    chart_free(&chart);
}

/* A diverged run does not flatten the others: it runs along the edge of their range. Alone it
 * is shown whole. */
TEST(a_diverged_run_is_clipped)
{
    const ChartPoint falling[] = {{0, 3}, {2, 2}, {4, 1}},
                     rising[] = {{0, 2}, {1, 2}, {4, 1e9}};
    Chart chart = {.x_label = "epoch", .y_label = "loss", .columns = 24, .rows = 10};
    Chart alone = chart;
    chart_add(&chart, "one", falling, 3);
    chart_add(&chart, "two", rising, 3)->diverged = true;
    chart_add(&alone, "two", rising, 3)->diverged = true;
    char *text = render(&chart);
    ck_assert_str_eq(text, "loss\n"
                           "3+aaa              bbbbb\n"
                           " |   aaaaaabbbbbbbb\n"
                           "2+bbbbbbbbbaaaaa\n"
                           " |              aaaaa\n"
                           "1+                   aaa\n"
                           " ++----------+---------+\n"
                           "  0          2         4\n"
                           "          epoch\n"
                           " a one    b two\n");
    free(text);
    text = render(&alone);
    ck_assert_ptr_nonnull(strstr(text, "1.0G+"));
    free(text);
    chart_free(&chart);
    chart_free(&alone);
}

/* Learning rates a factor apart are as far from each other as the next; points between gaps are
 * drawn alone. */
TEST(a_logarithmic_x_axis_has_equal_steps_for_equal_factors)
{
    const ChartPoint points[] = {{0.01, 1}, {NAN, NAN}, {0.1, 1}, {NAN, NAN}, {1, 1}};
    Chart chart = {
        .x_label = "lr", .y_label = "loss", .columns = 35, .rows = 9, .logarithmic_x = true};
    chart_add(&chart, NULL, points, 5);
    char *text = render(&chart), *first = strchr(text, 'a'), *second = strchr(first + 1, 'a'),
         *third = strchr(second + 1, 'a');
    ck_assert(second - first > 5 && abs((int)(third - second) - (int)(second - first)) <= 1);
    ck_assert_ptr_nonnull(strstr(text, " 0.1 "));
    free(text);
    chart_free(&chart);
}
