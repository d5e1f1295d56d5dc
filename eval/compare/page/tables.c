/* The tables of the page, results and settings; and samples of the runs' models: one made for
 * the page, and those written during training. */
#include "eval/compare/page/report.h"
#include "eval/runs/results.h"
#include "eval/runs/sentences.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "eval/show/writer.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

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

void report_print_numbers(FILE *out, const Comparison *all)
{
    bool comparable = all->count > 1 && arrlenu(all->sections) == 1;
    Table table = results_for_page(all->each, comparable);
    fputs("<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">Numbers</h2>\n", out);
    print_table(out, &table, "numbers", "Numbers");
    fputs("<p class=\"aside\">Losses in nats per token; speed: median.", out);
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

void report_print_settings(FILE *out, const Comparison *all)
{
    Setting *settings = all_settings(all);
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "setting"});
    for (size_t r = 0; r < all->count; r++)
        table_add_column(&table, (TableColumn){.title = all->each[r].name,
                                               .left = true,
                                               .coloured = true,
                                               .identity = all->runs[r].identity});
    for (size_t i = 0; i < shlenu(settings); i++) {
        const char *name = settings[i].key;
        table_add_row(&table, (TableRow){.class = settings[i].value ? "differs" : "same"});
        table_add(&table, memory_copy_text(name));
        for (size_t r = 0; r < all->count; r++) {
            const char *value = rundata_setting(&all->runs[r], name);
            table_add(&table, value ? memory_copy_text(value) : NULL);
        }
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

void report_print_samples(FILE *out, const Comparison *all)
{
    fprintf(
        out,
        "<section aria-labelledby=\"samples\"><h2 id=\"samples\">Samples</h2>\n"
        "<p class=\"aside\">The first %d tokens sampled from each run's best checkpoint with "
        "seed %d.</p>\n<div class=\"samples\">\n",
        EXCERPT_TOKENS, EXCERPT_SEED);
    for (size_t r = 0; r < all->count; r++) {
        fputs("<article><h3>", out);
        palette_print_swatch(out, all->runs[r].identity);
        markup_print(out, all->each[r].name);
        fputs("</h3>\n", out);
        print_excerpt(out, &all->runs[r]);
        print_history(out, &all->runs[r]);
        fputs("</article>\n", out);
    }
    fputs("</div></section>\n", out);
}
