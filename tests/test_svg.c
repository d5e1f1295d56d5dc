/* SVG charts: valid documents for any points and names. */
#include "eval/show/chart.h"
#include "src/base/containers.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("svg");

static char *render_chart(Chart *chart, const char *title)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(stream);
    svg_print(stream, chart, title);
    ck_assert_int_eq(fclose(stream), 0);
    chart_free(chart);
    return text;
}

/* The series of a chart, as the tests list them. */
typedef struct Line {
    const char *name;
    const ChartPoint *points; /* (count) */
    size_t count;
} Line;

static Chart chart_of(const Line *lines, size_t count)
{
    Chart chart = {.x_label = "x", .y_label = "y"};
    for (size_t i = 0; i < count; i++)
        chart_add(&chart, lines[i].name, lines[i].points, lines[i].count);
    return chart;
}

static char *render(const Line *lines, size_t count, const char *title)
{
    Chart chart = chart_of(lines, count);
    return render_chart(&chart, title);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *c = strstr(text, what); c; c = strstr(c + 1, what))
        count++;
    return count;
}

/* Every element is closed, and every number is finite. */
static void check_document(const char *svg)
{
    ck_assert(strncmp(svg, "<svg ", 5) == 0);
    ck_assert_ptr_nonnull(strstr(svg, "</svg>\n"));
    ck_assert_uint_eq(count_of(svg, "<text"), count_of(svg, "</text>"));
    ck_assert_uint_eq(count_of(svg, "<title>"), count_of(svg, "</title>"));
    ck_assert_ptr_null(strstr(svg, "nan"));
    ck_assert_ptr_null(strstr(svg, "inf"));
}

TEST(names_cannot_become_markup)
{
    const ChartPoint points[] = {{0, 1}, {1, 2}};
    const Line series[] = {{"<script>alert(1)</script>&\"\x1b[31m", points, 2}};
    char *svg = render(series, 1, "</title><script>");
    check_document(svg);
    ck_assert_ptr_null(strstr(svg, "<script"));
    ck_assert_ptr_null(strchr(svg, '\x1b'));
    ck_assert_ptr_nonnull(strstr(svg, "&lt;script&gt;"));
    ck_assert_ptr_nonnull(strstr(svg, "&amp;&quot;"));
    free(svg);
}

TEST(gaps_and_extremes_stay_drawable)
{
    const ChartPoint gaps[] = {{0, 1}, {1, (double)NAN}, {2, 3}, {3, (double)INFINITY}, {4, 2}};
    const ChartPoint equal[] = {{5, 5}, {5, 5}};
    const ChartPoint huge[] = {{-1e299, 1e-299}, {1e299, 1e299}};
    const Line series[] = {
        {"gaps", gaps, 5}, {"equal", equal, 2}, {"huge", huge, 2}, {"none", NULL, 0}};
    for (size_t s = 0; s < 4; s++) {
        char *svg = render(&series[s], 1, "one");
        check_document(svg);
        free(svg);
    }
    char *svg = render(series, 4, "all");
    check_document(svg);
    free(svg);
    svg = render(series, 1, "gaps");
    ck_assert_uint_eq(count_of(svg, "<circle"), 3);
    free(svg);
}

TEST(many_points_are_a_line_without_dots)
{
    enum { COUNT = 100000 };
    ChartPoint *points = memory_new(COUNT, sizeof *points, "a test");
    for (size_t i = 0; i < COUNT; i++)
        points[i] = (ChartPoint){(double)i, sin((double)i / 1000)};
    const Line series[] = {{"many", points, COUNT}};
    char *svg = render(series, 1, "many");
    check_document(svg);
    ck_assert_uint_eq(count_of(svg, "<circle"), 0);
    free(svg);
    free(points);
}

/* Of many points in one column the lowest and the highest are drawn, and gaps stay. */
TEST(thinned_lines_keep_their_extremes)
{
    enum { COUNT = 100000 };
    ChartPoint *points = memory_new(COUNT, sizeof *points, "a test");
    for (size_t i = 0; i < COUNT; i++)
        points[i] = (ChartPoint){(double)i, 5};
    points[50010].y = 9;
    points[50020].y = 1;
    points[70000].y = (double)NAN;
    const Line series[] = {{"many", points, COUNT}};
    char *svg = render(series, 1, "many");
    check_document(svg);
    ck_assert_uint_lt(strlen(svg), 200000);
    ck_assert_ptr_nonnull(strstr(svg, " 71.0L"));  /* 9, at the top of the plot */
    ck_assert_ptr_nonnull(strstr(svg, " 371.0L")); /* 1, at the bottom */
    const char *line = strstr(svg, " d=\"M60.0 221.0");
    ck_assert_ptr_nonnull(line);
    const char *anew = strchr(line + strlen(" d=\"M"), 'M');
    ck_assert(anew && anew < strchr(line + strlen(" d=\""), '"')); /* after the gap */
    free(svg);
    free(points);
}

TEST(bands_surround_their_line)
{
    const ChartPoint points[] = {{0, 2}, {1, 2}, {2, (double)NAN}, {3, 2}, {4, 2}};
    const ChartBand band[] = {{1, 3}, {1, 3}, {(double)NAN, (double)NAN}, {0, 4}, {1, 3}};
    const Line series[] = {{"mean", points, 5}, {NULL, points, 5}};
    Chart chart = chart_of(series, 2);
    memcpy(arraddnptr(chart.series[0].band, 5), band, sizeof band);
    chart.series[0].identity = 1;
    chart.series[1].identity = 7;
    chart.series[1].faint = true;
    char *svg = render_chart(&chart, "band");
    check_document(svg);
    ck_assert_uint_eq(count_of(svg, "class=\"band ink c1\""), 1);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 146.0L190.5 146.0L190.5 296.0L60.0 296.0Z"
                                      "M451.5 71.0L582.0 146.0L582.0 296.0L451.5 371.0Z\""));
    ck_assert_uint_eq(count_of(svg, "class=\"line faint c1\" stroke-dasharray=\"8 5\""), 1);
    ck_assert_uint_eq(count_of(svg, "<circle"), 4); /* a faint series has none */
    ck_assert_ptr_nonnull(strstr(svg, "mean: 2 at 3, from 0 to 4</title>"));
    free(svg);
}

TEST(many_names_make_the_legend_taller)
{
    enum { COUNT = 20 };
    const ChartPoint points[] = {{0, 1}, {1, 2}};
    Line series[COUNT];
    for (size_t s = 0; s < COUNT; s++)
        series[s] = (Line){"a name of usual length", points, 2};
    char *svg = render(series, COUNT, "many");
    check_document(svg);
    ck_assert_ptr_nonnull(strstr(svg, "viewBox=\"0 0 640 634\"")); /* two in a line: 10 */
    static const char swatch[] = "h24\"/><text class=\"name ink c";
    ck_assert_uint_eq(count_of(svg, swatch), COUNT);
    for (const char *name = svg; (name = strstr(name, swatch)); name++)
        ck_assert_double_lt(strtod(strstr(name, " x=\"") + strlen(" x=\""), NULL),
                            640 - 22 * 9);
    free(svg);
}

/* The y of each name at the end of a line, in the order of the document. */
static size_t read_ends(const char *svg, double *y, size_t most)
{
    size_t count = 0;
    for (const char *name = svg; (name = strstr(name, "class=\"end ")) && count < most; name++)
        y[count++] = strtod(strstr(name, " y=\"") + strlen(" y=\""), NULL);
    return count;
}

TEST(names_at_the_ends_do_not_overlap)
{
    enum { COUNT = 15 };
    ChartPoint points[COUNT][2];
    Line series[COUNT];
    for (size_t shape = 0; shape < 3; shape++) {
        double y[COUNT];
        for (size_t s = 0; s < COUNT; s++) {
            double end = shape == 0 ? 1 : shape == 1 ? (double)(s * s) : s < 8 ? 0 : 10;
            points[s][0] = (ChartPoint){0, 20};
            points[s][1] = (ChartPoint){1, end};
            series[s] = (Line){"name", points[s], 2};
        }
        char *svg = render(series, COUNT, "ends");
        check_document(svg);
        ck_assert_uint_eq(read_ends(svg, y, COUNT), COUNT);
        for (size_t s = 1; s < COUNT; s++)
            ck_assert_double_ge(y[s] - y[s - 1], 19.8);
        ck_assert(y[0] > 71 && y[COUNT - 1] < 371 + 10);
        free(svg);
    }
}

TEST(names_stand_beside_the_ends_in_their_order)
{
    const ChartPoint high[] = {{0, 0}, {1, 9}}, low[] = {{0, 10}, {1, 1}};
    const Line series[] = {{"below", low, 2}, {"above", high, 2}};
    char *svg = render(series, 2, "ends");
    double y[2];
    ck_assert_uint_eq(read_ends(svg, y, 2), 2);
    ck_assert_double_eq_tol(y[0], 71 + 30 + 5.5, 0.06);
    ck_assert_double_eq_tol(y[1], 371 - 30 + 5.5, 0.06);
    ck_assert(strstr(svg, ">above</text>") < strstr(svg, ">below</text>"));
    ck_assert_ptr_nonnull(strstr(svg, "class=\"end ink c1\""));
    ck_assert_ptr_null(strstr(svg, "leader c"));
    free(svg);
}

/* A level is drawn if the curves still fill most of the plot, with its name below it. */
TEST(a_far_level_does_not_flatten_the_curves)
{
    const ChartPoint points[] = {{0, 5}, {1, 4}}, near[] = {{0, 3.8}, {1, 3.8}},
                     far[] = {{0, 1}, {1, 1}};
    for (size_t i = 0; i < 2; i++) {
        const Line series[] = {{"curve", points, 2}, {"level", i ? far : near, 2}};
        Chart chart = chart_of(series, 2);
        chart.series[1].identity = CHART_NOBODY;
        char *svg = render_chart(&chart, "a picture");
        check_document(svg);
        ck_assert_uint_eq(count_of(svg, "class=\"line c6\""), i ? 0 : 1);
        ck_assert_uint_eq(count_of(svg, ">level</text>"), i ? 0 : 1);
        if (i)
            ck_assert_ptr_nonnull(strstr(svg, "M60.0 71.0L571.0 371.0"));
        free(svg);
    }
}

TEST(a_long_title_takes_several_lines)
{
    const ChartPoint points[] = {{0, 1}, {1, 2}};
    const Line series[] = {{"name", points, 2}};
    char *svg = render(series, 1,
                       "A message about two models that does not fit into one line of a chart");
    check_document(svg);
    ck_assert_uint_eq(count_of(svg, "class=\"title\""), 2);
    free(svg);
}

static char *render_logarithmic(const Line *series, size_t count)
{
    Chart chart = chart_of(series, count);
    chart.logarithmic = true;
    return render_chart(&chart, "logarithmic");
}

/* y = x^2 / 1000: a straight line through the corners of the plot, between ticks of the scale.
 */
TEST(powers_are_straight_lines_on_logarithmic_scales)
{
    const ChartPoint points[] = {{100, 10}, {1000, 1000}, {10000, 100000}};
    const Line series[] = {{"power", points, 3}};
    char *svg = render_logarithmic(series, 1);
    check_document(svg);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 371.0L315.5 221.0L571.0 71.0\""));
    static const char *const labels[] = {">100<",  ">200<",   ">500<",   ">1000<",
                                         ">2000<", ">10000<", ">100000<"};
    for (size_t i = 0; i < COUNT(labels); i++)
        if (!strstr(svg, labels[i]))
            ck_abort_msg("no tick has the label %s", labels[i]);
    ck_assert_ptr_nonnull(strstr(svg, "power: 1000 at 1000"));
    free(svg);
}

TEST(lengths_have_ticks_at_powers_of_two)
{
    const ChartPoint points[] = {{128, 3}, {4096, 700}};
    const Line series[] = {{"time", points, 2}};
    char *svg = render_logarithmic(series, 1);
    check_document(svg);
    static const char *const labels[] = {">128<",  ">256<",  ">512<", ">1024<",
                                         ">2048<", ">4096<", ">5<",   ">500<"};
    for (size_t i = 0; i < COUNT(labels); i++)
        if (!strstr(svg, labels[i]))
            ck_abort_msg("no tick has the label %s", labels[i]);
    ck_assert_ptr_nonnull(strstr(svg, "M60.0 371.0L")); /* the data fill the plot */
    free(svg);
}

TEST(one_side_may_be_logarithmic_alone)
{
    const ChartPoint points[] = {{0, 9}, {1, -2}, {2, 0}, {4, 2}};
    const Line series[] = {{"loss", points, 4}};
    Chart chart = chart_of(series, 1);
    chart.logarithmic_x = true;
    char *svg = render_chart(&chart, "by position");
    check_document(svg);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 371.0L321.0 221.0L582.0 71.0\""));
    ck_assert_uint_eq(count_of(svg, "<circle"), 3);
    free(svg);
}

TEST(a_logarithmic_scale_omits_points_below_zero)
{
    const ChartPoint points[] = {{1, 1}, {2, 0}, {3, -1}, {4, 2}};
    const Line series[] = {{"some", points, 4}, {"none", points + 1, 2}};
    for (size_t first = 0; first < 2; first++) {
        char *svg = render_logarithmic(series + first, 2 - first);
        check_document(svg);
        ck_assert_uint_eq(count_of(svg, "<circle"), first == 0 ? 2 : 0);
        free(svg);
    }
}

TEST(a_logarithmic_scale_has_room_for_a_single_value)
{
    const double values[] = {1, 0.00123, 1.5, 2, 99999, 1e9};
    for (size_t i = 0; i < COUNT(values); i++) {
        const ChartPoint point = {values[i], values[i]};
        const Line series[] = {{"one", &point, 1}};
        char *svg = render_logarithmic(series, 1);
        check_document(svg);
        ck_assert_uint_eq(count_of(svg, "<circle"), 1);
        ck_assert_uint_eq(count_of(svg, "class=\"grid\""), 2);
        free(svg);
    }
}

/* A diverged run and its band lie at the edge of the plot, which goes from 3 at the top to 1 at
 * the bottom. */
TEST(a_diverged_run_is_clipped)
{
    const ChartPoint falling[] = {{0, 3}, {2, 2}, {4, 1}};
    const ChartPoint rising[] = {{0, 2}, {2, 500}, {5, 1e9}};
    const ChartBand band[] = {{-7, 3}, {400, 600}, {1e8, 2e9}};
    const Line series[] = {{"one", falling, 3}, {"two", rising, 3}};
    Chart chart = chart_of(series, 2);
    memcpy(arraddnptr(chart.series[1].band, 3), band, sizeof band);
    chart.series[1].diverged = true;
    char *svg = render_chart(&chart, "clipped");
    check_document(svg);
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 71.0L273.2 221.0L486.4 371.0\"")); /* one */
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 221.0L273.2 71.0L593.0 71.0\""));  /* two */
    ck_assert_ptr_nonnull(strstr(svg, "<title>two: 500 at 2, from 400 to 600</title>"));
    ck_assert_ptr_nonnull(strstr(svg, "d=\"M60.0 71.0L273.2 71.0L593.0 71.0L593.0 71.0L273.2 "
                                      "71.0L60.0 371.0Z\"")); /* the band */
    free(svg);
}
