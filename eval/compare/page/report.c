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

/* Curves with more points are thinned: a screen has fewer columns, and a page of many runs has
 * to stay small enough to open. */
static size_t most_points(const Comparison *all)
{
    enum { LEAST = 300, MOST = 2000, OF_ALL = 40000 };
    const size_t share = OF_ALL / (all->count + 1);
    return share < LEAST ? LEAST : share > MOST ? MOST : share;
}

/* --- what the script draws, as JSON --- */

/* Gives the object a list of values, each of which may name its i. */
#define SET_LIST(object, key, count, value)     \
    do {                                        \
        json_t *list = json_array();            \
        for (size_t i = 0; i < (count); i++)    \
            json_array_append_new(list, value); \
        json_object_set_new(object, key, list); \
    } while (0)

/* A curve: where its points are along each x axis, and their means; of several runs with the
 * band from the lowest to the highest. */
static json_t *curve_json(const RunGroup *group, GroupCurve curve, size_t most)
{
    GroupPoint *all = group_curve(group, curve), *points = NULL;
    ChartPoint *drawn = NULL;
    json_t *object = json_object();
    for (size_t i = 0; i < arrlenu(all); i++)
        arrput(drawn, ((ChartPoint){(double)all[i].step, all[i].mean}));
    size_t *kept = chart_thin(drawn, arrlenu(drawn), most), count = arrlenu(kept);
    for (size_t i = 0; i < count; i++)
        arrput(points, all[kept[i]]);
    SET_LIST(object, "step", count, json_count(points[i].step));
    SET_LIST(object, "epoch", count, json_figure(points[i].epoch));
    SET_LIST(object, "tokens", count, json_figure(points[i].tokens));
    SET_LIST(object, "seconds", count, json_figure(points[i].seconds));
    SET_LIST(object, "mean", count, json_figure(points[i].mean));
    if (arrlenu(group->runs) > 1) {
        SET_LIST(object, "low", count, json_figure(points[i].low));
        SET_LIST(object, "high", count, json_figure(points[i].high));
    }
    arrfree(kept);
    arrfree(drawn);
    arrfree(points);
    arrfree(all);
    return object;
}

/* What is drawn of a group, or of a run, which is a group of its own. */
static json_t *item_json(const RunGroup *group, size_t most)
{
    const RunData *run = group->runs[0];
    const RunLogRow *matched = rundata_last_match(run);
    const char *dashes = palette_dashes(run->identity);
    char *idea;
    const size_t place = runchart_idea(run, &idea);
    json_t *object = json_pack(
        "{so so so so so ss sb so so s{so so so}}", "name",
        markup_json(group_name_beside(group)), "corpus", json_count(run->scale), "idea",
        markup_json(idea), "place", json_count(place), "colour",
        json_sprintf("var(--c%zu)", palette_index(run->identity)), "dash",
        strcmp(dashes, "none") == 0 ? "" : dashes, "diverged", group_diverged(group), "bits",
        json_figure(run->val_bits > 0 ? run->val_bits : NAN), "trainBits",
        json_figure(run->train_bits), "curves", "val",
        curve_json(group, GROUP_VALIDATION, most), "train",
        curve_json(group, GROUP_TRAINING, most), "speed", curve_json(group, GROUP_SPEED, most));
    if (matched)
        json_object_set_new(object, "matched",
                            json_pack("{so so so so}", "step", json_count(matched->step),
                                      "epoch", json_figure(matched->epoch), "tokens",
                                      json_count(matched->tokens), "seconds",
                                      json_figure(matched->seconds)));
    free(idea);
    return object;
}

static json_t *seed_json(const Comparison *all, const RunData *run)
{
    json_t *object = item_json(&all->each[run - all->runs], most_points(all));
    json_object_set_new(object, "seed", markup_json(group_seed(run)));
    return object;
}

static json_t *group_json(const Comparison *all, const RunGroup *group)
{
    const size_t runs = arrlenu(group->runs);
    json_t *object = item_json(group, most_points(all));
    SET_LIST(object, "seeds", runs > 1 ? runs : 0, seed_json(all, group->runs[i]));
    return object;
}

/* A row of the forest plot. The identity of a group is its number. */
static json_t *mark_json(Forest *forest, size_t row)
{
    const ForestMark *mark = &forest->marks[row];
    json_t *object = json_pack(
        "{so so so so so sb}", "group", json_count(forest->table.rows[row].identity), "heading",
        markup_json(mark->heading), "estimate", json_figure(mark->estimate), "low",
        json_figure(mark->low), "high", json_figure(mark->high), "filled", mark->filled);
    SET_LIST(object, "cells", arrlenu(forest->table.columns) - 1,
             markup_json(table_cell(&forest->table, row, 1 + i)->text));
    return object;
}

static json_t *forest_json(const RunGroup *groups)
{
    if (!runchart_has_forest(groups))
        return json_null();
    Forest forest = runchart_forest(groups);
    json_t *object = json_pack("{so so so}", "title", markup_json(forest.title), "label",
                               markup_json(forest.x_label), "note", markup_json(forest.note));
    SET_LIST(object, "columns", arrlenu(forest.table.columns) - 1,
             json_string(forest.table.columns[1 + i].title));
    SET_LIST(object, "rows", arrlenu(forest.marks), mark_json(&forest, i));
    forest_free(&forest);
    return object;
}

static json_t *section_json(const Section *section)
{
    const RunData *first = section->each[0].runs[0];
    bool part = false; /* whether validations of a run read a part of the text */
    for (size_t r = 0; r < arrlenu(section->each); r++)
        part |= section->each[r].runs[0]->part_tokens > 0;
    return json_pack("{so so sb sb so}", "name", markup_json(section->name), "floor",
                     json_figure(first->entropy_floor), "byBits", first->by_bits, "part", part,
                     "forest", forest_json(section->groups));
}

static bool is_unfinished(const Report *report)
{
    return report->progress.finished < report->progress.runs;
}

void report_print_data(FILE *out, const Report *report)
{
    const Comparison *all = report->all;
    json_t *data = json_object();
    SET_LIST(data, "corpora", arrlenu(all->sections), section_json(&all->sections[i]));
    SET_LIST(data, "groups", arrlenu(all->groups), group_json(all, &all->groups[i]));
    json_object_set_new(data, "by", report->by ? json_deep_copy(report->by) : json_null());
    json_object_set_new(data, "reload", json_count(is_unfinished(report) ? report->watch : 0));
    markup_print_json(out, data);
}

/* --- the head: title, facts, verdicts and warnings --- */

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

/* "softmax and linear on ptb.txt"; "5 models on ptb.txt"; "5 models on 3 texts". */
static char *make_title(const Comparison *all)
{
    char *title = memory_copy_text("");
    groups_append_names(&title, all->groups);
    const size_t texts = arrlenu(all->sections), most = 2;
    for (size_t s = 0; s < texts && texts <= most; s++)
        text_append(&title, "%s%s", s == 0 ? " on " : " and ", all->sections[s].name);
    if (texts > most)
        text_append(&title, " on %zu texts", texts);
    return title;
}

/* "2.08M parameters, 6 runs in 2 groups, 2026-11-23" */
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
    if (arrlenu(all->groups) < all->count)
        text_append(&facts, " in %zu group%s", arrlenu(all->groups),
                    text_plural(arrlenu(all->groups)));
    append_date(&facts, all);
    free(of_low);
    free(of_high);
    return facts;
}

/* Prints a paragraph about a corpus, or about the group of this name (NULL: none), if there is
 * a sentence; frees it. */
static void print_paragraph(FILE *out, const char *class, const char *about, char *sentence)
{
    if (sentence) {
        fprintf(out, "<p class=\"%s\">", class);
        markup_print(out, about ? about : "");
        fputs(about ? ": " : "", out);
        markup_print(out, sentence);
        fputs("</p>\n", out);
    }
    free(sentence);
}

/* For each corpus the ranking, and what makes it unfair. */
static void print_verdicts(FILE *out, const Report *report)
{
    const Comparison *all = report->all;
    const bool several = arrlenu(all->sections) > 1;
    const char *by = json_string_value(json_object_get(report->by, "setting"));
    for (size_t s = 0; s < arrlenu(all->sections); s++)
        print_paragraph(out, "verdict", several ? all->sections[s].name : NULL,
                        sentences_verdict(all->sections[s].groups));
    for (size_t s = 0; s < arrlenu(all->sections); s++)
        print_paragraph(out, "warning", several ? all->sections[s].name : "Compare with care",
                        sentences_unequal(all->sections[s].groups, by));
    for (size_t g = 0; g < arrlenu(all->groups); g++)
        print_paragraph(out, "warning", group_name_beside(&all->groups[g]),
                        sentences_steps(&all->groups[g]));
}

/* How far grids are that are not finished. */
static void print_progress(FILE *out, const Report *report)
{
    const GridProgress *progress = &report->progress;
    if (!is_unfinished(report))
        return;
    fprintf(out,
            "<p class=\"progress\"><progress max=\"%zu\" value=\"%zu\"></progress> %zu of "
            "%zu runs are finished",
            progress->runs, progress->finished, progress->finished, progress->runs);
    if (progress->seconds_left > 0)
        fprintf(out, ", about %s left when the last run began or ended",
                text_duration(progress->seconds_left).text);
    if (report->watch > 0)
        fprintf(out, "; this page loads itself anew every %zu s", report->watch);
    fputs(".</p>\n", out);
}

/* The policy forbids to load or send anything, whatever a run's names contain. */
static void print_head(FILE *out, const Report *report, const char *title)
{
    fprintf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    if (is_unfinished(report) && report->watch > 0)
        fprintf(out, "<noscript><meta http-equiv=\"refresh\" content=\"%zu\"></noscript>\n",
                report->watch);
    fputs("<title>", out);
    markup_print(out, title);
    fprintf(out, "</title>\n<style>\n%s", text_report_css);
    palette_print_variables(out);
    fputs("</style>\n</head>\n<body>\n", out);
}

static void print_header(FILE *out, const Report *report, const char *title)
{
    char *facts = make_facts(report->all);
    fputs("<header><div><h1>", out);
    markup_print(out, title);
    fputs("</h1>\n<p>", out);
    markup_print(out, facts);
    fputs("</p></div>\n<button type=\"button\" id=\"theme\" hidden>Light or dark</button>"
          "</header>\n<main>\n",
          out);
    print_progress(out, report);
    print_verdicts(out, report);
    free(facts);
}

/* --- the page --- */

/* What was chosen of the results by a setting; the script draws them. */
static void print_by(FILE *out, const json_t *by)
{
    size_t i;
    const json_t *line;
    if (!by)
        return;
    fputs("<section aria-labelledby=\"by-title\"><h2 id=\"by-title\">By ", out);
    markup_print(out, json_string_value(json_object_get(by, "setting")));
    fputs("</h2>\n<div id=\"by\"></div>\n<ul class=\"aside\">\n", out);
    json_array_foreach(json_object_get(by, "lines"), i, line)
    {
        const char *verdict = json_string_value(json_object_get(line, "verdict"));
        if (!verdict)
            continue;
        fputs("<li>", out);
        markup_print(out, verdict);
        fputs("</li>\n", out);
    }
    fputs("</ul></section>\n", out);
}

/* The place of the forest plots; for those who read without scripts with pictures. */
static void print_forests(FILE *out, const Comparison *all)
{
    bool has = false;
    for (size_t s = 0; s < arrlenu(all->sections); s++)
        has |= runchart_has_forest(all->sections[s].groups);
    if (!has)
        return;
    fputs("<section aria-labelledby=\"differences\"><h2 id=\"differences\">Differences</h2>\n"
          "<div id=\"forests\" class=\"still\">\n",
          out);
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        if (!runchart_has_forest(all->sections[s].groups))
            continue;
        Forest forest = runchart_forest(all->sections[s].groups);
        forest_print_svg(out, &forest, forest.title);
        forest_free(&forest);
    }
    fputs("</div></section>\n", out);
}

/* The validation curves for those who read without scripts: a picture for each corpus. */
static void print_still(FILE *out, const Comparison *all)
{
    const RunChartAxes axes = {0};
    size_t pictures = 0;
    fputs("<div id=\"still\" class=\"still\">\n", out);
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        Chart chart = runchart_make(all->sections[s].groups, NAN, &axes);
        char *title = runchart_title(all->sections[s].groups, &axes);
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

static bool has_many_rows(const Comparison *all)
{
    for (size_t r = 0; r < all->count; r++)
        if (arrlenu(all->runs[r].rows) > most_points(all))
            return true;
    return false;
}

static void print_page(FILE *out, const void *content)
{
    const Report *report = content;
    const Comparison *all = report->all;
    char *title = make_title(all);
    print_head(out, report, title);
    print_header(out, report, title);
    print_by(out, report->by);
    report_print_numbers(out, all);
    print_forests(out, all);
    fputs("<section aria-labelledby=\"curves\"><h2 id=\"curves\">Curves</h2>\n", out);
    print_still(out, all);
    fputs(text_report_html, out);
    if (has_many_rows(all))
        fprintf(
            out,
            "<p class=\"aside\">Curves of more than %zu points are thinned, keeping the lowest "
            "and the highest point of each short interval.</p>\n",
            most_points(all));
    fputs("</section>\n", out);
    report_print_settings(out, all);
    report_print_samples(out, all);
    fprintf(out, "</main>\n<footer>Made by linnet %s.</footer>\n", LINNET_VERSION);
    fputs("<script type=\"application/json\" id=\"data\">\n", out);
    report_print_data(out, report);
    fprintf(out,
            "</script>\n<script>\n'use strict';\n(function () {\n%s%s%s%s})();\n</script>\n"
            "</body>\n</html>\n",
            text_curves_js, text_charts_js, text_figures_js, text_controls_js);
    free(title);
}

bool report_write(const char *path, const Report *report, Error *error)
{
    return file_replace_printed(path, print_page, report, error);
}
