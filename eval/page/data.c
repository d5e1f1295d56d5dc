/* The curves of the runs and of their groups as JSON. */
#include "eval/runs/groups.h"
#include "eval/show/palette.h"
#include "eval/page/report_parts.h"
#include "eval/show/terminal.h"
#include "eval/runs/thin.h"
#include "src/containers.h"
#include "src/text.h"

#include <string.h>

/* Numbers that are not finite are null: gaps. */
static void print_number(FILE *out, double value, bool first)
{
    char *text = NULL;
    text_append_json_number(&text, value);
    fprintf(out, "%s%s", first ? "" : ",", text);
    free(text);
}

/* Whole numbers are written as such: nine digits would round them. */
static void print_whole(FILE *out, size_t value, bool first)
{
    fprintf(out, "%s%zu", first ? "" : ",", value);
}

/* Nothing in it may look like the end of the script that it stands in. */
static void print_string(FILE *out, const char *name)
{
    char *safe = terminal_safe_name(name, SIZE_MAX, true), *quoted = NULL;
    text_append_json_string(&quoted, safe);
    for (const char *c = quoted; *c; c++)
        fputs(*c == '<' ? "\\u003c" : (char[]){*c, '\0'}, out);
    free(quoted);
    free(safe);
}

/* The beginning of an object, whose other keys follow. */
static void print_looks(FILE *out, const char *name, size_t identity)
{
    const char *dashes = palette_dashes(identity);
    fprintf(out, "{\"name\":");
    print_string(out, name);
    fputs(",\"colour\":\"", out);
    report_print_colour(out, identity);
    fprintf(out, "\",\"dash\":\"%s\"", strcmp(dashes, "none") == 0 ? "" : dashes);
}

/* A key with a list of values, each of which may name its i. */
#define PRINT_LIST(key, print, count, value) \
    do {                                     \
        fprintf(out, ",\"%s\":[", key);      \
        for (size_t i = 0; i < (count); i++) \
            print(out, value, i == 0);       \
        fputs("]", out);                     \
    } while (0)

/* The validation losses are fewer: they come with the numbers of their rows. */
static void print_validations(FILE *out, const RunLogRow *rows)
{
    size_t *at = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].has_val_loss)
            arrput(at, i);
    PRINT_LIST("at", print_whole, arrlenu(at), at[i]);
    PRINT_LIST("val", print_number, arrlenu(at), rows[at[i]].val_loss);
    arrfree(at);
}

static void print_run(FILE *out, const Report *report, size_t r)
{
    RunLogRow *rows = thin_rows(report->runs[r].rows, REPORT_POINTS);
    size_t count = arrlenu(rows);
    print_looks(out, report->names[r], report->runs[r].identity);
    fprintf(out, ",\"corpus\":%zu", report_corpus_of(report, r));
    PRINT_LIST("step", print_whole, count, rows[i].step);
    PRINT_LIST("epoch", print_number, count, rows[i].epoch);
    PRINT_LIST("tokens", print_whole, count, rows[i].tokens);
    PRINT_LIST("seconds", print_number, count, rows[i].seconds);
    PRINT_LIST("train", print_number, count, rows[i].train_loss);
    PRINT_LIST("speed", print_number, count, rows[i].tokens_per_second);
    print_validations(out, rows);
    fprintf(out, "}");
    arrfree(rows);
}

static void print_group(FILE *out, const Report *report, const RunGroup *group)
{
    /* Means are smooth already: of many, a few thousand will do. */
    size_t every = arrlenu(group->points) / REPORT_POINTS + 1;
    size_t count = (arrlenu(group->points) + every - 1) / every;
    const GroupPoint *points = group->points;
    print_looks(out, group->name, group->runs[0]->identity);
    fprintf(out, ",\"corpus\":%zu",
            report_corpus_of(report, (size_t)(group->runs[0] - report->runs)));
    PRINT_LIST("runs", print_whole, arrlenu(group->runs),
               (size_t)(group->runs[i] - report->runs));
    PRINT_LIST("step", print_whole, count, points[i * every].step);
    PRINT_LIST("epoch", print_number, count, points[i * every].epoch);
    PRINT_LIST("tokens", print_number, count, points[i * every].tokens);
    PRINT_LIST("seconds", print_number, count, points[i * every].seconds);
    PRINT_LIST("mean", print_number, count, points[i * every].mean);
    PRINT_LIST("low", print_number, count, points[i * every].low);
    PRINT_LIST("high", print_number, count, points[i * every].high);
    fprintf(out, "}");
}

/* The corpus of the r-th run, the first of its corpus. */
static void print_corpus(FILE *out, const Report *report, size_t r)
{
    char *name = groups_scale_name(&report->runs[r], report->runs, report->count);
    fputs(r > 0 ? ",{\"name\":" : "{\"name\":", out);
    print_string(out, name);
    fputs(",\"floor\":", out);
    print_number(out, report->runs[r].entropy_floor, true);
    fputs("}", out);
    free(name);
}

void report_print_data(FILE *out, const Report *report)
{
    fputs("{\"corpora\":[", out);
    for (size_t r = 0; r < report->count; r++)
        if (r == 0 || report_corpus_of(report, r) != report_corpus_of(report, r - 1))
            print_corpus(out, report, r);
    fprintf(out, "],\n\"runs\":[");
    for (size_t r = 0; r < report->count; r++) {
        fprintf(out, r > 0 ? ",\n" : "\n");
        print_run(out, report, r);
    }
    fprintf(out, "],\n\"groups\":[");
    for (size_t g = 0; g < arrlenu(report->groups); g++) {
        fprintf(out, g > 0 ? ",\n" : "\n");
        print_group(out, report, &report->groups[g]);
    }
    fprintf(out, "]}");
}
