/* The tables of the page: results and settings. */
#include "eval/compare/page/report_parts.h"
#include "eval/runs/results.h"
#include "eval/show/markup.h"
#include "src/base/containers.h"
#include "src/base/text.h"

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
    RunGroup *section;
    for (size_t next = 0; next < arrlenu(all->groups);
         next += arrlenu(section), arrfree(section)) {
        section = groups_section(all->groups, next);
        const RunData *first = section[0].runs[0];
        char *const sentences[] = {groups_test_text(first), results_part_text(section),
                                   results_bits_text(section), results_history_text(section)};
        bool named = arrlenu(section) == arrlenu(all->groups);
        for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
            if (sentences[i] && !named) {
                char *name = groups_scale_name(first, all->runs, all->count);
                text_append(&name, ":");
                print_sentence(out, name);
                named = true;
            }
            print_sentence(out, sentences[i]);
        }
    }
}

void report_print_numbers(FILE *out, const Comparison *all)
{
    bool comparable = all->count > 1 && all->runs[all->count - 1].scale == 0;
    Table table = results_for_page(all->each, comparable);
    fputs("<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">Numbers</h2>\n", out);
    print_table(out, &table, "numbers", "Numbers");
    fputs("<p class=\"aside\">Losses in nats per token; speed: median.", out);
    print_meaning(out, all);
    fputs("</p></section>\n", out);
}

/* --- the settings --- */

static bool differs(const Comparison *all, const char *name)
{
    const char *first = rundata_setting(&all->runs[0], name);
    for (size_t r = 1; r < all->count; r++) {
        const char *value = rundata_setting(&all->runs[r], name);
        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

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
            shput(settings, name, differs(all, name));
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
