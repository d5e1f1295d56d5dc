#include "eval/page/report.h"
#include "eval/compare/chart.h"
#include "eval/draw/palette.h"
#include "eval/page/report_parts.h"
#include "eval/draw/svg.h"
#include "eval/page/thin.h"
#include "src/containers.h"
#include "src/file.h"

#include <math.h>
#include <stdlib.h>

void report_print_swatch(FILE *out, const RunData *run)
{
    fprintf(
        out,
        "<svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path d=\"M1 4H25\" "
        "stroke=\"%s\" stroke-width=\"3\" stroke-dasharray=\"%s\"/></svg>",
        palette_hex(run->identity, false), palette_dashes(run->identity));
}

/* The page may neither load nor send anything, whatever a run has smuggled into it. */
static void print_head(FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
            "<title>Training runs compared</title>\n<style>\n%s</style>\n</head>\n<body>\n",
            report_css);
}

static bool has_many_rows(const Report *report)
{
    for (size_t r = 0; r < report->count; r++)
        if (arrlenu(report->runs[r].rows) > REPORT_POINTS)
            return true;
    return false;
}

static void print_header(FILE *out, const Report *report)
{
    fprintf(out, "<header><div><h1>Training runs compared</h1>\n<p>%zu run%s", report->count,
            report->count == 1 ? "" : "s");
    if (!isnan(report->entropy))
        fprintf(out, ". The corpus cannot be predicted better than %.6g nats per token",
                report->entropy);
    fputs(".</p></div>\n<button type=\"button\" id=\"theme\" hidden>Light or dark</button>"
          "</header>\n<main>\n",
          out);
}

/* The validation curves for those who read without scripts; of rows that a picture has room
 * for. */
static void print_still(FILE *out, const Report *report)
{
    const CompareAxes axes = {0};
    RunData *runs = memory_take(report->count, sizeof *runs, "the picture");
    for (size_t r = 0; r < report->count; r++) {
        runs[r] = report->runs[r];
        runs[r].rows = thin_rows(runs[r].rows, REPORT_POINTS);
    }
    Chart chart = compare_chart_make(runs, report->count, report->names, report->entropy,
                                     &axes);
    fputs("<div id=\"still\" class=\"still\">\n", out);
    if (chart.series_count > 0)
        svg_print(out, &chart, "Validation loss");
    else
        fputs("<p>No run has a validation loss yet.</p>\n", out);
    fputs("</div>\n", out);
    compare_chart_free(&chart);
    for (size_t r = 0; r < report->count; r++)
        arrfree(runs[r].rows);
    free(runs);
}

static void print_page(FILE *out, const void *content)
{
    const Report *report = content;
    print_head(out);
    print_header(out, report);
    fputs("<section aria-labelledby=\"curves\"><h2 id=\"curves\">Curves</h2>\n", out);
    print_still(out, report);
    fputs(report_html, out);
    if (has_many_rows(report))
        fprintf(out,
                "<p class=\"aside\">Curves of more than %d points are thinned: of each short "
                "stretch the lowest and the highest point are kept.</p>\n",
                REPORT_POINTS);
    fputs("</section>\n", out);
    report_print_numbers(out, report);
    report_print_settings(out, report);
    report_print_samples(out, report);
    fprintf(out, "</main>\n<footer>Made by linnet %s.</footer>\n", LINNET_VERSION);
    fputs("<script type=\"application/json\" id=\"data\">", out);
    report_print_data(out, report);
    fprintf(out, "</script>\n<script>\n%s</script>\n</body>\n</html>\n", report_js);
}

bool report_write(const char *path, const Report *report, Error *error)
{
    return file_replace_printed(path, print_page, report, error);
}
