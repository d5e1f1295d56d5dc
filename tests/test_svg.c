/* Pictures of curves: whatever the points and names are, a document that browsers accept. */
#include "eval/svg.h"
#include "src/memory.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *render(const ChartSeries *series, size_t count, const char *title)
{
    Chart chart = {.series = series, .series_count = count, .x_label = "x", .y_label = "y"};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(stream);
    svg_print(stream, &chart, title);
    ck_assert_int_eq(fclose(stream), 0);
    return text;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *c = strstr(text, what); c; c = strstr(c + 1, what))
        count++;
    return count;
}

/* Every element is closed, and no number is anything but finite. */
static void check_document(const char *svg)
{
    ck_assert(strncmp(svg, "<svg ", 5) == 0);
    ck_assert_ptr_nonnull(strstr(svg, "</svg>\n"));
    ck_assert_uint_eq(count_of(svg, "<text"), count_of(svg, "</text>"));
    ck_assert_uint_eq(count_of(svg, "<title>"), count_of(svg, "</title>"));
    ck_assert_ptr_null(strstr(svg, "nan"));
    ck_assert_ptr_null(strstr(svg, "inf"));
}

START_TEST(names_cannot_become_markup)
{
    const ChartPoint points[] = {{0, 1}, {1, 2}};
    const ChartSeries series[] = {{"<script>alert(1)</script>&\"\x1b[31m", points, 2}};
    char *svg = render(series, 1, "</title><script>");
    check_document(svg);
    ck_assert_ptr_null(strstr(svg, "<script"));
    ck_assert_ptr_null(strchr(svg, '\x1b'));
    ck_assert_ptr_nonnull(strstr(svg, "&lt;script&gt;"));
    ck_assert_ptr_nonnull(strstr(svg, "&amp;&quot;"));
    free(svg);
}
END_TEST

START_TEST(gaps_and_extremes_stay_drawable)
{
    const ChartPoint gaps[] = {{0, 1}, {1, (double)NAN}, {2, 3}, {3, (double)INFINITY}, {4, 2}};
    const ChartPoint equal[] = {{5, 5}, {5, 5}};
    const ChartPoint huge[] = {{-1e299, 1e-299}, {1e299, 1e299}};
    const ChartSeries series[] = {
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
END_TEST

START_TEST(many_points_are_a_line_without_dots)
{
    enum { COUNT = 100000 };
    ChartPoint *points = memory_take(COUNT, sizeof *points, "a test");
    for (size_t i = 0; i < COUNT; i++)
        points[i] = (ChartPoint){(double)i, sin((double)i / 1000)};
    const ChartSeries series[] = {{"many", points, COUNT}};
    char *svg = render(series, 1, "many");
    check_document(svg);
    ck_assert_uint_eq(count_of(svg, "<circle"), 0);
    free(svg);
    free(points);
}
END_TEST

Suite *svg_suite(void)
{
    Suite *suite = suite_create("svg");
    TCase *tests = tcase_create("svg");
    tcase_add_test(tests, names_cannot_become_markup);
    tcase_add_test(tests, gaps_and_extremes_stay_drawable);
    tcase_add_test(tests, many_points_are_a_line_without_dots);
    suite_add_tcase(suite, tests);
    return suite;
}
