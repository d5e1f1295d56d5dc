/* Tables in all forms: what is shown, what is left out, and what is escaped. */
#include "eval/show/table.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

SUITE("table");

/* Two runs, the second without a time and with a name that every form has to escape. */
static Table make_table(void)
{
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "run", .worth = TABLE_ALWAYS});
    table_add_column(&table,
                     (TableColumn){.title = "kind", .worth = 2, .most = 6, .left = true});
    table_add_column(&table, (TableColumn){.title = "never", .rare = true});
    table_add_column(&table, (TableColumn){.title = "loss", .worth = TABLE_ALWAYS});
    table_add_column(&table, (TableColumn){.title = "time", .worth = 1, .rare = true});
    static const char *const cells[][5] = {{"plain", "softmax", NULL, "12.5", "3s"},
                                           {"a,\"<b>|\x1b", "gla", NULL, "4.25", NULL}};
    for (size_t row = 0; row < 2; row++) {
        table_add_row(&table, (TableRow){.class = row ? "odd" : NULL, .coloured = row > 0});
        for (size_t i = 0; i < 5; i++)
            table_add(&table, cells[row][i] ? memory_copy_text(cells[row][i]) : NULL);
    }
    table_cell(&table, 1, 3)->strong = true;
    return table;
}

static void check_table(TableForm form, size_t width, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    Table table = make_table();
    ck_assert_ptr_nonnull(stream);
    table_print(stream, &table, form, width);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(text, expected);
    free(text);
    table_free(&table);
}

TEST(a_terminal_shows_what_it_has_room_for)
{
    setenv("LC_ALL", "C", 1);
    check_table(TABLE_TERMINAL, 80,
                "run          kind    loss  time\n"
                "plain        sof~ax  12.5    3s\n"
                "a,\"<b>|\\x1b  gla     4.25     -\n");
    check_table(TABLE_TERMINAL, 30,
                "run          kind    loss\n"
                "plain        sof~ax  12.5\n"
                "a,\"<b>|\\x1b  gla     4.25\n"
                "Left out at this width: time\n");
    check_table(TABLE_TERMINAL, 18,
                "run          loss\n"
                "plain        12.5\n"
                "a,\"<b>|\\x1b  4.25\n"
                "Left out at this width:\nkind, time\n");
    check_table(TABLE_TERMINAL, 1,
                "run       loss\n"
                "plain     12.5\n"
                "a,\"<~x1b  4.25\n"
                "Left out at this width:\nkind, time\n");
}

/* Columns go before names lose what differs; a heading and empty cells leave no blanks. */
TEST(a_terminal_keeps_what_differs_between_names)
{
    static const char *const names[] = {"a-long-name-lr1e-2-of-a-grid",
                                        "a-long-name-lr1e-3-of-a-grid", "a heading above it"};
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "run", .worth = TABLE_ALWAYS});
    table_add_column(&table, (TableColumn){.title = "perplexity", .worth = 1});
    for (size_t row = 0; row < COUNT(names); row++) {
        table_add_row(&table, (TableRow){.heading = row == 2});
        table_add(&table, memory_copy_text(names[row]));
        table_add(&table, memory_copy_text(row ? "" : "3.5"));
    }
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(stream);
    table_print(stream, &table, TABLE_TERMINAL, 30);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(text, "run\na-long-name-lr1e-2-of-a-grid\na-long-name-lr1e-3-of-a-grid\n"
                           "a heading above it\nLeft out at this width:\nperplexity\n");
    free(text);
    table_free(&table);
}

TEST(markdown_has_every_known_column)
{
    check_table(TABLE_MARKDOWN, 0,
                "| run | kind | loss | time |\n"
                "|---|---|---:|---:|\n"
                "| plain | softmax | 12.5 | 3s |\n"
                "| a,\"&lt;b&gt;\\|\\\\x1b | gla | 4.25 | - |\n");
}

TEST(html_has_headings_classes_and_swatches)
{
    check_table(
        TABLE_HTML, 0,
        "<thead><tr><th scope=\"col\">run</th><th scope=\"col\">kind</th>"
        "<th scope=\"col\" class=\"number\">loss</th>"
        "<th scope=\"col\" class=\"number\">time</th></tr></thead>\n<tbody>\n"
        "<tr><th scope=\"row\">plain</th><td>softmax</td><td class=\"number\">12.5</td>"
        "<td class=\"number\">3s</td></tr>\n"
        "<tr class=\"odd\"><th scope=\"row\">"
        "<svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path d=\"M1 4H25\" "
        "stroke=\"var(--c0)\" stroke-width=\"3\" stroke-dasharray=\"none\"/></svg>"
        "a,&quot;&lt;b&gt;|\\x1b</th><td>gla</td><td class=\"number best\">4.25</td>"
        "<td class=\"number\">\u2013</td></tr>\n</tbody>");
}

TEST(csv_has_quotes_where_they_are_needed)
{
    check_table(TABLE_CSV, 0,
                "run,kind,loss,time\nplain,softmax,12.5,3s\n\"a,\"\"<b>|\\x1b\",gla,4.25,\n");
}

TEST(a_csv_in_parts_has_its_titles_once)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    Table table = {0};
    table_add_column(&table, (TableColumn){.title = "n"});
    table_print(stream, &table, TABLE_CSV, 0);
    for (size_t i = 0; i < 3; i++) {
        table_add_row(&table, (TableRow){0});
        table_add(&table, text_format("%zu", i));
        table_print(stream, &table, TABLE_CSV, 0);
    }
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_str_eq(text, "n\n0\n1\n2\n");
    free(text);
    table_free(&table);
}
