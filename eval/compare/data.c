#include "eval/compare/data.h"
#include "eval/runs/differences.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* --- JSON --- */

static void append_safe_string(char **text, const char *value)
{
    char *safe = terminal_safe_name(value, SIZE_MAX, true);
    text_append_json_string(text, safe);
    free(safe);
}

static void print_point(FILE *stream, const GroupPoint *point)
{
    char *text = memory_copy_text("{");
    text_append_json_count(&text, "step", point->step);
    text_append_json_figure(&text, "epoch", point->epoch);
    text_append_json_figure(&text, "tokens", point->tokens);
    text_append_json_figure(&text, "seconds", point->seconds);
    text_append_json_figure(&text, "mean", point->mean);
    text_append_json_figure(&text, "low", point->low);
    text_append_json_figure(&text, "high", point->high);
    fprintf(stream, "%s}", text);
    free(text);
}

static void append_sample(char **text, const char *key, const Sample *sample)
{
    text_append_json_key(text, key);
    text_append(text, "{\"count\": %.0f", sample->count);
    text_append_json_figure(text, "mean", sample->mean);
    text_append_json_figure(text, "standard_deviation", sample->deviation);
    text_append_json_figure(text, "low", sample->low);
    text_append_json_figure(text, "high", sample->high);
    text_append(text, "}");
}

static void print_group(FILE *stream, const RunData *runs, const RunGroup *group)
{
    char *text = memory_copy_text("{\"name\": ");
    append_safe_string(&text, group->name);
    text_append(&text, ", \"runs\": [");
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        text_append(&text, "%s%zu", r ? ", " : "", (size_t)(group->runs[r] - runs));
    text_append(&text, "], \"seeds\": [");
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        text_append(&text, "%s", r ? ", " : "");
        append_safe_string(&text, group_seed(group->runs[r]));
    }
    text_append(&text, "]");
    append_sample(&text, "best_val_loss", &group->best);
    append_sample(&text, "test_loss", &group->test);
    fprintf(stream, "%s, \"points\": [", text);
    free(text);
    for (size_t i = 0; i < arrlenu(group->points); i++) {
        fputs(i ? ",\n  " : "\n  ", stream);
        print_point(stream, &group->points[i]);
    }
    fputs("]}", stream);
}

void compare_print_json(FILE *stream, const RunData *runs, size_t count, const RunGroup *groups)
{
    fputs("{\"runs\": [", stream);
    for (size_t r = 0; r < count; r++) {
        fputs(r ? ",\n" : "\n", stream);
        rundata_print_json(stream, &runs[r]);
    }
    fputs("\n],\n\"groups\": [", stream);
    for (size_t g = 0; g < arrlenu(groups); g++) {
        fputs(g ? ",\n" : "\n", stream);
        print_group(stream, runs, &groups[g]);
    }
    fputs("\n],\n\"differences\": ", stream);
    differences_print_json(stream, groups);
    fputs("}\n", stream);
}

/* --- CSV --- */

/* In quotes where it has to be. */
static void append_cell(char **text, const char *value)
{
    char *safe = terminal_safe_name(value, SIZE_MAX, true), *rest = safe;
    if (!strpbrk(safe, ",\""))
        text_append(text, "%s,", safe);
    else {
        const char *between = "\"";
        for (char *part; (part = strsep(&rest, "\"")); between = "\"\"")
            text_append(text, "%s%s", between, part);
        text_append(text, "\",");
    }
    free(safe);
}

static void print_number(FILE *stream, double value, bool known, const char *after)
{
    if (isnan(value) && known)
        fprintf(stream, "nan%s", after);
    else if (known)
        fprintf(stream, "%.9g%s", value, after);
    else
        fputs(after, stream);
}

static void print_line(FILE *stream, const RunLogRow *row)
{
    fprintf(stream, "%zu,%.9g,%zu,%.9g,", row->step, row->epoch, row->tokens, row->seconds);
    print_number(stream, row->train_loss, true, ",");
    print_number(stream, row->val_loss, row->has_val_loss, ",");
    print_number(stream, row->tokens_per_second, true, ",");
    print_number(stream, row->peak_mb, !isnan(row->peak_mb), ",");
}

static const char *group_name_of(const RunGroup *groups, const RunData *run)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
            if (groups[g].runs[r] == run)
                return groups[g].name;
    return "";
}

void compare_print_csv(FILE *stream, const RunData *runs, size_t count, const RunGroup *groups)
{
    fputs("run,group,seed,step,epoch,tokens,seconds,train_loss,val_loss,tokens_per_second,"
          "peak_mb,corpus\n",
          stream);
    for (size_t r = 0; r < count; r++) {
        char *who = NULL;
        append_cell(&who, runs[r].path);
        append_cell(&who, group_name_of(groups, &runs[r]));
        append_cell(&who, group_seed(&runs[r]));
        char *corpus = NULL;
        append_cell(&corpus, runs[r].corpus ? runs[r].corpus : "");
        corpus[strlen(corpus) - 1] = '\n'; /* the last cell */
        for (size_t i = 0; i < arrlenu(runs[r].rows); i++) {
            fputs(who, stream);
            print_line(stream, &runs[r].rows[i]);
            fputs(corpus, stream);
        }
        free(corpus);
        free(who);
    }
}
