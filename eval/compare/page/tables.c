/* The tables of the page, results and settings; and samples of the runs' models: one made for
 * the page, and those written during training. */
#include "eval/compare/page/report.h"
#include "eval/runs/results.h"
#include "eval/runs/runchart.h"
#include "eval/runs/sentences.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/writer.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A table that scrolls inside the page. */
static void print_table(FILE *out, Table *table, const char *class, const char *label)
{
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n"
            "<table class=\"%s\">",
            label, class);
    table_print(out, table, TABLE_HTML, 0);
    fputs("</table></div>\n", out);
    table_free(table);
}

/* Prints a sentence, if there is one, and frees it. */
static void print_sentence(FILE *out, char *sentence)
{
    if (sentence) {
        fputc(' ', out);
        markup_print(out, sentence);
    }
    free(sentence);
}

/* What the numbers of each corpus mean. */
static void print_meaning(FILE *out, const Comparison *all)
{
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        const Section *section = &all->sections[s];
        char *const sentences[] = {
            sentences_test(section->groups[0].runs[0]), sentences_part(section->groups),
            sentences_bits(section->groups), sentences_history(section->groups)};
        bool named = arrlenu(all->sections) == 1;
        for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
            if (sentences[i] && !named) {
                fputc(' ', out);
                markup_print(out, section->name);
                fputc(':', out);
                named = true;
            }
            print_sentence(out, sentences[i]);
        }
    }
}

/* What the changes are of, and what is compared with what. */
static void print_changes(FILE *out, const Comparison *all)
{
    for (size_t s = 0; s < arrlenu(all->sections); s++) {
        const RunGroup *groups = all->sections[s].groups;
        if (!runchart_has_forest(groups))
            continue;
        Forest forest = runchart_forest(groups);
        char *sentence = text_format("%s.", forest.title);
        forest_free(&forest);
        print_sentence(out, sentence);
    }
}

void report_print_numbers(FILE *out, const Comparison *all)
{
    Table table = results_for_page(all);
    fputs("<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">Results</h2>\n", out);
    print_table(out, &table, "numbers", "Results");
    fputs("<button type=\"button\" id=\"unfold\" hidden>Show or hide all runs</button>\n", out);
    fputs("<p class=\"aside\">A row is a group: runs that differ in the seed only. Means over "
          "seeds; ±: 95 % confidence interval. Losses in nats per token; speed: median.",
          out);
    print_changes(out, all);
    print_meaning(out, all);
    fputs("</p></section>\n", out);
}

/* --- the settings --- */

/* A map of stb_ds from the names of settings to whether their values differ. */
typedef struct Setting {
    char *key;
    bool value;
} Setting;

/* All settings, in the order of their first appearance. */
static Setting *all_settings(const Comparison *all)
{
    Setting *settings = NULL;
    for (size_t r = 0; r < all->count; r++)
        for (size_t i = 0; i < arrlenu(all->runs[r].settings); i++) {
            char *name = all->runs[r].settings[i].name;
            if (shgeti(settings, name) < 0)
                shput(settings, name, comparison_differs(all, name));
        }
    return settings;
}

/* A check box that the style sheet reads, so it works without scripts. */
static void print_switch(FILE *out, Setting *settings)
{
    size_t different = 0, count = shlenu(settings);
    for (size_t i = 0; i < count; i++)
        different += settings[i].value;
    if (different == 0)
        fputs("<p class=\"aside\">The runs have the same settings.</p>\n", out);
    else
        fprintf(out,
                "<input type=\"checkbox\" id=\"only\" checked>\n"
                "<label for=\"only\" class=\"settings-line\">only differences: "
                "%zu of %zu</label>\n",
                different, count);
}

/* The different values of a setting in a group, in the order of its runs. The caller's; NULL:
 * no run has it. */
static char *values_of(const RunGroup *group, const char *name)
{
    const char **values = NULL;
    char *text = NULL;
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const char *value = rundata_setting(group->runs[r], name);
        size_t known = 0;
        while (value && known < arrlenu(values) && strcmp(values[known], value) != 0)
            known++;
        if (!value || known < arrlenu(values))
            continue;
        text_append(&text, "%s%s", text ? ", " : "", value);
        arrput(values, value);
    }
    arrfree(values);
    return text;
}

void report_print_settings(FILE *out, const Comparison *all)
{
    Setting *settings = all_settings(all);
    const size_t count = arrlenu(all->groups);
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "setting"});
    for (size_t g = 0; g < count; g++)
        table_add_column(&table, (TableColumn){.title = group_name_beside(&all->groups[g]),
                                               .left = true,
                                               .coloured = true,
                                               .identity = all->groups[g].runs[0]->identity});
    for (size_t i = 0; i < shlenu(settings); i++) {
        const char *name = settings[i].key;
        table_add_row(&table, (TableRow){.class = settings[i].value ? "differs" : "same"});
        table_add(&table, memory_copy_text(name));
        for (size_t g = 0; g < count; g++)
            table_add(&table, values_of(&all->groups[g], name));
    }
    fputs("<section aria-labelledby=\"settings\"><h2 id=\"settings\">Settings</h2>\n", out);
    if (all->count > 1)
        print_switch(out, settings);
    print_table(out, &table, "settings", "Settings");
    fputs("</section>\n", out);
    shfree(settings);
}

/* --- samples --- */

/* What a training with --sample-every leaves. */
#define RUN_SAMPLES "samples.txt"

enum { EXCERPT_TOKENS = 60, EXCERPT_SEED = 1 };

/* Prints untrusted text, which may contain zero bytes. */
static void print_lines(FILE *out, const char *text, size_t size)
{
    char *copy = memory_new(size + 1, 1, "a sample");
    memcpy(copy, text, size);
    for (char *line = copy; line <= copy + size; line += strlen(line) + 1) {
        if (line > copy)
            fputs(text[line - copy - 1] == '\n' ? "\n" : "\\x00", out);
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        markup_print(out, line);
    }
    free(copy);
}

static void print_missing(FILE *out, const Error *why)
{
    fputs("<p class=\"aside\">No sample: ", out);
    markup_print(out, why->text);
    fputs("</p>\n", out);
}

static void print_excerpt(FILE *out, const RunData *run)
{
    LoadedModel loaded;
    Error error;
    if (!loaded_open(&loaded, run->path, &error)) {
        print_missing(out, &error);
        return;
    }
    Generator generator;
    generator_make(&generator, &loaded.model, 1);
    char *text = excerpt_make(&generator, &loaded.checkpoint.vocabulary, EXCERPT_TOKENS,
                              random_key(EXCERPT_SEED, RANDOM_SAMPLE, 0));
    generator_free(&generator);
    fputs("<pre>", out);
    print_lines(out, text, strlen(text));
    fputs("</pre>\n", out);
    free(text);
    loaded_close(&loaded);
}

/* Of a long history, prints the end, from the start of a line. */
static void print_history(FILE *out, const RunData *run)
{
    const size_t most = (size_t)64 << 20, shown = 20000;
    char *path = file_join(run->path, RUN_SAMPLES), *text = NULL;
    size_t size = 0;
    Error error;
    bool exists = file_exists(path),
         good = exists && file_read(path, most, &text, &size, &error);
    free(path);
    if (exists && !good)
        print_missing(out, &error);
    if (!good)
        return;
    size_t from = size > shown ? size - shown : 0;
    const char *line = from > 0 ? memchr(text + from, '\n', size - from) : NULL;
    from = line ? (size_t)(line + 1 - text) : from;
    fputs("<details><summary>Samples during training</summary>\n<pre>", out);
    fputs(from > 0 ? "[...]\n" : "", out);
    print_lines(out, text + from, size - from);
    fputs("</pre></details>\n", out);
    free(text);
}

/* The run of the lowest loss; the first one, if none has a loss. */
static const RunData *best_run(const RunGroup *group)
{
    const RunData *best = group->runs[0];
    for (size_t r = 1; r < arrlenu(group->runs); r++)
        if (!(group->runs[r]->best_val_loss >= best->best_val_loss))
            best = isnan(group->runs[r]->best_val_loss) ? best : group->runs[r];
    return best;
}

void report_print_samples(FILE *out, const Comparison *all)
{
    fprintf(out,
            "<section aria-labelledby=\"samples\"><h2 id=\"samples\">Samples</h2>\n"
            "<p class=\"aside\">The first %d tokens sampled with seed %d from the best "
            "checkpoint of "
            "each group's best run.</p>\n<div class=\"samples\">\n",
            EXCERPT_TOKENS, EXCERPT_SEED);
    for (size_t g = 0; g < arrlenu(all->groups); g++) {
        const RunGroup *group = &all->groups[g];
        const RunData *run = best_run(group);
        fputs("<article><h3>", out);
        palette_print_swatch(out, group->runs[0]->identity);
        markup_print(out, group_name_beside(group));
        fputs("</h3>\n", out);
        print_excerpt(out, run);
        print_history(out, run);
        fputs("</article>\n", out);
    }
    fputs("</div></section>\n", out);
}
