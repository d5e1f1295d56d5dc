/* The tables of the page: results and settings. */
#include "eval/page/report_parts.h"
#include "eval/runs/results.h"
#include "src/containers.h"

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

void report_print_numbers(FILE *out, const Report *report)
{
    const RunScore *test = rundata_shared_test(report->runs, report->count);
    RunGroup *each = groups_make(report->runs, report->count, false);
    bool comparable = report->count > 1 && report_corpus_of(report, report->count - 1) == 0;
    groups_score(each, test);
    Table table = results_for_page(each, report->names, comparable);
    fputs("<section aria-labelledby=\"numbers\"><h2 id=\"numbers\">Numbers</h2>\n", out);
    print_table(out, &table, "numbers", "Numbers");
    char *protocol = test ? score_protocol_text(test) : memory_copy_text("");
    fprintf(out,
            "<p class=\"aside\">Losses in nats per token; speed: median. %s</p></section>\n",
            protocol);
    free(protocol);
    groups_free(each);
}

/* --- the settings --- */

/* The names of all settings, in the order of their first appearance. */
static const char **all_settings(const Report *report)
{
    const char **names = NULL;
    struct {
        char *key;
        bool value;
    } *seen = NULL;
    for (size_t r = 0; r < report->count; r++)
        for (size_t i = 0; i < arrlenu(report->runs[r].settings); i++) {
            char *name = report->runs[r].settings[i].name;
            if (shgeti(seen, name) >= 0)
                continue;
            shput(seen, name, true);
            arrput(names, name);
        }
    shfree(seen);
    return names;
}

static bool differs(const Report *report, const char *name)
{
    const char *first = rundata_setting(&report->runs[0], name);
    for (size_t r = 1; r < report->count; r++) {
        const char *value = rundata_setting(&report->runs[r], name);
        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

static void add_setting(Table *table, const Report *report, const char *name)
{
    table_add_row(table, (TableRow){.class = differs(report, name) ? "differs" : "same"});
    table_add(table, memory_copy_text(name));
    for (size_t r = 0; r < report->count; r++) {
        const char *value = rundata_setting(&report->runs[r], name);
        table_add(table, value ? memory_copy_text(value) : NULL);
    }
}

/* A check box that the style sheet reads, so it works without scripts. */
static void print_switch(FILE *out, const char *const *settings, const Report *report)
{
    size_t different = 0, count = arrlenu(settings);
    for (size_t i = 0; i < count; i++)
        different += differs(report, settings[i]);
    if (report->count < 2)
        return;
    if (different == 0)
        fputs("<p class=\"aside\">The runs have the same settings.</p>\n", out);
    else
        fprintf(out,
                "<input type=\"checkbox\" id=\"only\" checked>\n"
                "<label for=\"only\" class=\"settings-line\">only differences: "
                "%zu of %zu</label>\n",
                different, count);
}

void report_print_settings(FILE *out, const Report *report)
{
    const char **settings = all_settings(report);
    fputs("<section aria-labelledby=\"settings\"><h2 id=\"settings\">Settings</h2>\n", out);
    print_switch(out, settings, report);
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "setting"});
    for (size_t r = 0; r < report->count; r++)
        table_add_column(&table, (TableColumn){.title = report->names[r],
                                               .left = true,
                                               .coloured = true,
                                               .identity = report->runs[r].identity});
    for (size_t i = 0; i < arrlenu(settings); i++)
        add_setting(&table, report, settings[i]);
    print_table(out, &table, "settings", "Settings");
    fputs("</section>\n", out);
    arrfree(settings);
}
