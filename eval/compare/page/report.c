#include "eval/compare/page/report.h"
#include "eval/runs/sentences.h"
#include "eval/runs/results.h"
#include "eval/runs/runchart.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Curves with more points are thinned; a screen has fewer columns. */
enum { REPORT_POINTS = 4000 };

/* --- the curves of the runs and of their groups, as JSON for the script --- */

/* Gives the object a list of values, each of which may name its i. */
#define SET_LIST(object, key, count, value)     \
    do {                                        \
        json_t *list = json_array();            \
        for (size_t i = 0; i < (count); i++)    \
            json_array_append_new(list, value); \
        json_object_set_new(object, key, list); \
    } while (0)

/* An object with what a run and a group have in common. */
static json_t *looks_of(const RunData *run, const char *name, bool diverged)
{
    const char *dashes = palette_dashes(run->identity);
    json_t *object = json_pack("{so so ss}", "name", markup_json(name), "corpus",
                               json_count(run->scale), "dash",
                               strcmp(dashes, "none") == 0 ? "" : dashes);
    json_object_set_new(object, "diverged", json_boolean(diverged));
    json_object_set_new(object, "bits", json_figure(run->val_bits > 0 ? run->val_bits : NAN));
    json_object_set_new(object, "colour",
                        json_sprintf("var(--c%zu)", palette_index(run->identity)));
    return object;
}

/* The validation losses are fewer: they come with the numbers of their rows. */
static void set_validations(json_t *object, const RunLogRow *rows)
{
    size_t *at = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].has_val_loss)
            arrput(at, i);
    SET_LIST(object, "at", arrlenu(at), json_count(at[i]));
    SET_LIST(object, "val", arrlenu(at), json_figure(rows[at[i]].val_loss));
    arrfree(at);
}

static json_t *run_json(const Comparison *all, size_t r)
{
    json_t *object = looks_of(&all->runs[r], all->each[r].name,
                              rundata_diverged(&all->runs[r]));
    RunLogRow *rows = runchart_thin(all->runs[r].rows, REPORT_POINTS);
    size_t count = arrlenu(rows);
    SET_LIST(object, "step", count, json_count(rows[i].step));
    SET_LIST(object, "epoch", count, json_figure(rows[i].epoch));
    SET_LIST(object, "tokens", count, json_count(rows[i].tokens));
    SET_LIST(object, "seconds", count, json_figure(rows[i].seconds));
    SET_LIST(object, "train", count, json_figure(rows[i].train_loss));
    SET_LIST(object, "speed", count, json_figure(rows[i].tokens_per_second));
    const RunLogRow *matched = rundata_last_match(&all->runs[r]);
    if (matched)
        json_object_set_new(object, "matched",
                            json_pack("{so so so so}", "step", json_count(matched->step),
                                      "epoch", json_figure(matched->epoch), "tokens",
                                      json_count(matched->tokens), "seconds",
                                      json_figure(matched->seconds)));
    json_object_set_new(object, "trainBits", json_figure(all->runs[r].train_bits));
    set_validations(object, rows);
    arrfree(rows);
    return object;
}

/* The points of a group's mean curve to draw, an stb_ds array. */
static GroupPoint *thin_group(const RunGroup *group)
{
    ChartPoint *curve = NULL;
    GroupPoint *points = NULL;
    for (size_t i = 0; i < arrlenu(group->points); i++)
        arrput(curve, ((ChartPoint){(double)group->points[i].step, group->points[i].mean}));
    size_t *drawn = chart_thin(curve, arrlenu(curve), REPORT_POINTS);
    for (size_t i = 0; i < arrlenu(drawn); i++)
        arrput(points, group->points[drawn[i]]);
    arrfree(drawn);
    arrfree(curve);
    return points;
}

static json_t *group_json(const Comparison *all, const RunGroup *group)
{
    json_t *object = looks_of(group->runs[0], group->name, group_diverged(group));
    GroupPoint *points = thin_group(group);
    size_t count = arrlenu(points);
    SET_LIST(object, "runs", arrlenu(group->runs),
             json_count((size_t)(group->runs[i] - all->runs)));
    SET_LIST(object, "step", count, json_count(points[i].step));
    SET_LIST(object, "epoch", count, json_figure(points[i].epoch));
    SET_LIST(object, "tokens", count, json_figure(points[i].tokens));
    SET_LIST(object, "seconds", count, json_figure(points[i].seconds));
    SET_LIST(object, "mean", count, json_figure(points[i].mean));
    SET_LIST(object, "low", count, json_figure(points[i].low));
    SET_LIST(object, "high", count, json_figure(points[i].high));
    arrfree(points);
    return object;
}

static json_t *section_json(const Section *section)
{
    const RunData *first = section->each[0].runs[0];
    bool part = false; /* whether validations of a run read a part of the text */
    for (size_t r = 0; r < arrlenu(section->each); r++)
        part |= section->each[r].runs[0]->part_tokens > 0;
    return json_pack("{so so sb sb}", "name", markup_json(section->name), "floor",
                     json_figure(first->entropy_floor), "byBits", first->by_bits, "part", part);
}

void report_print_data(FILE *out, const Comparison *all)
{
    json_t *data = json_object();
    SET_LIST(data, "corpora", arrlenu(all->sections), section_json(&all->sections[i]));
    SET_LIST(data, "runs", all->count, run_json(all, i));
    SET_LIST(data, "groups", arrlenu(all->groups), group_json(all, &all->groups[i]));
    markup_print_json(out, data);
}

/* --- the head: title, facts and verdicts --- */

static bool has_many_rows(const Comparison *all)
{
    for (size_t r = 0; r < all->count; r++)
        if (arrlenu(all->runs[r].rows) > REPORT_POINTS)
            return true;
    return false;
}

/* The day of the last row that any run logged, such as "2026-11-23". */
static void append_date(char **text, const Comparison *all)
{
    time_t last = 0;
    for (size_t r = 0; r < all->count; r++) {
        char *log = file_join(all->runs[r].path, RUN_LOG);
        struct stat status;
        if (stat(log, &status) == 0 && status.st_mtime > last)
            last = status.st_mtime;
        free(log);
    }
    char day[32];
    struct tm parts;
    if (last > 0 && localtime_r(&last, &parts) && strftime(day, sizeof day, "%Y-%m-%d", &parts))
        text_append(text, "%s%s", **text ? ", " : "", day);
}

/* "softmax and linear on ptb.txt"; "5 models on ptb.txt". */
static char *make_title(const Comparison *all)
{
    char *title = memory_copy_text("");
    groups_append_names(&title, all->groups);
    for (size_t s = 0; s < arrlenu(all->sections); s++)
        text_append(&title, "%s%s", s == 0 ? " on " : " and ", all->sections[s].name);
    return title;
}

/* "2.08M parameters, 6 runs, 2026-11-23" */
static char *make_facts(const Comparison *all)
{
    size_t low = SIZE_MAX, high = 0;
    for (size_t r = 0; r < all->count; r++) {
        size_t parameters = all->runs[r].parameters;
        low = parameters < low ? parameters : low;
        high = parameters > high ? parameters : high;
    }
    char *facts = memory_copy_text(""), *of_low = results_amount((double)low),
         *of_high = results_amount((double)high);
    if (low > 0)
        text_append(&facts, low < high ? "%s to %s parameters, " : "%s parameters, ", of_low,
                    of_high);
    text_append(&facts, "%zu run%s", all->count, text_plural(all->count));
    append_date(&facts, all);
    free(of_low);
    free(of_high);
    return facts;
}

/* Which model is best, for each corpus. */
static void print_verdicts(FILE *out, const Comparison *all)
{
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        char *verdict = sentences_verdict(all->sections[s].groups);
        if (!verdict)
            continue;
        fputs("<p class=\"verdict\">", out);
        if (arrlenu(all->sections) > 1) {
            markup_print(out, all->sections[s].name);
            fputs(": ", out);
        }
        markup_print(out, verdict);
        fputs("</p>\n", out);
        free(verdict);
    }
}

/* The policy forbids to load or send anything, whatever a run's names contain. */
static void print_head(FILE *out, const Comparison *all)
{
    char *title = make_title(all);
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<title>");
    markup_print(out, title);
    fprintf(out, "</title>\n<style>\n%s", text_report_css);
    palette_print_variables(out);
    fputs("</style>\n</head>\n<body>\n", out);
    free(title);
}

static void print_header(FILE *out, const Comparison *all)
{
    char *title = make_title(all), *facts = make_facts(all);
    fputs("<header><div><h1>", out);
    markup_print(out, title);
    fputs("</h1>\n<p>", out);
    markup_print(out, facts);
    fputs("</p></div>\n<button type=\"button\" id=\"theme\" hidden>Light or dark</button>"
          "</header>\n<main>\n",
          out);
    print_verdicts(out, all);
    free(title);
    free(facts);
}

/* --- the page --- */

/* The validation curves for those who read without scripts: a picture for each corpus. */
static void print_still(FILE *out, const Comparison *all)
{
    const RunChartAxes axes = {0};
    size_t pictures = 0;
    fputs("<div id=\"still\" class=\"still\">\n", out);
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        Chart chart = runchart_make(all->sections[s].each, NAN, &axes);
        char *title = runchart_title(all->sections[s].each, &axes);
        if (chart.series)
            svg_print(out, &chart, title);
        pictures += chart.series != NULL;
        free(title);
        chart_free(&chart);
    }
    if (pictures == 0)
        fputs("<p>No run has a validation loss yet.</p>\n", out);
    fputs("</div>\n", out);
}

static void print_page(FILE *out, const void *content)
{
    const Comparison *all = content;
    print_head(out, all);
    print_header(out, all);
    fputs("<section aria-labelledby=\"curves\"><h2 id=\"curves\">Curves</h2>\n", out);
    print_still(out, all);
    fputs(text_report_html, out);
    if (has_many_rows(all))
        fprintf(
            out,
            "<p class=\"aside\">Curves of more than %d points are thinned, keeping the lowest "
            "and the highest point of each short interval.</p>\n",
            REPORT_POINTS);
    fputs("</section>\n", out);
    report_print_numbers(out, all);
    report_print_settings(out, all);
    report_print_samples(out, all);
    fprintf(out, "</main>\n<footer>Made by linnet %s.</footer>\n", LINNET_VERSION);
    fputs("<script type=\"application/json\" id=\"data\">\n", out);
    report_print_data(out, all);
    fprintf(out,
            "</script>\n<script>\n'use strict';\n(function () {\n%s%s%s})();\n</script>\n"
            "</body>\n</html>\n",
            text_curves_js, text_charts_js, text_controls_js);
}

bool report_write(const char *path, const Comparison *all, Error *error)
{
    return file_replace_printed(path, print_page, all, error);
}
