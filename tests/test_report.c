/* The C part of compare --html: thinning of logs, and escaping of markup. report.sh tests the
 * page's script. */
#include "eval/compare/page/report.h"
#include "eval/runs/runchart.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <math.h>

SUITE("report", .folder = true);

enum { MOST = 100 };

/* A row for every step, with a validation every `every` steps. */
static RunLogRow *make_rows(size_t count, size_t every)
{
    RunLogRow *rows = NULL;
    for (size_t i = 0; i < count; i++) {
        RunLogRow row = {.step = i + 1,
                         .train_loss = 3 + sin((double)i),
                         .val_loss = 3 + cos((double)i),
                         .val_accuracy = (double)NAN,
                         .tokens_per_second = 1000,
                         .has_val_loss = i % every == 0};
        arrput(rows, row);
    }
    return rows;
}

static const RunLogRow *row_of_step(const RunLogRow *rows, size_t step)
{
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].step == step)
            return &rows[i];
    return NULL;
}

TEST(short_logs_are_not_thinned)
{
    for (size_t count = 0; count <= MOST; count += MOST / 4) {
        RunLogRow *rows = make_rows(count, 10), *thin = runchart_thin(rows, MOST);
        ck_assert_uint_eq(arrlenu(thin), count);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(thin[i].step, rows[i].step);
        arrfree(thin);
        arrfree(rows);
    }
}

TEST(thinned_logs_keep_visible_points)
{
    enum { COUNT = 100000, HIGH = 31234, LOW = 31235, FAST = 70001, BEST = 50000, GAP = 99000 };
    RunLogRow *rows = make_rows(COUNT, 2);
    rows[HIGH].train_loss = 1000;
    rows[LOW].train_loss = -1000;
    rows[FAST].tokens_per_second = 1e9;
    rows[BEST].val_loss = 0.5;
    rows[GAP].train_loss = (double)NAN;
    RunLogRow *thin = runchart_thin(rows, MOST);
    ck_assert_uint_gt(arrlenu(thin), MOST / 2);
    ck_assert_uint_le(arrlenu(thin), 3 * MOST);
    const size_t kept[] = {0, HIGH, LOW, FAST, BEST, GAP, COUNT - 1};
    for (size_t i = 0; i < COUNT(kept); i++)
        ck_assert_msg(row_of_step(thin, kept[i] + 1), "row %zu has gone", kept[i]);
    for (size_t i = 1; i < arrlenu(thin); i++)
        ck_assert_uint_lt(thin[i - 1].step, thin[i].step);
    arrfree(thin);
    arrfree(rows);
}

TEST(thinned_logs_keep_validations)
{
    enum { COUNT = 10000, EVERY = 200 };
    RunLogRow *rows = make_rows(COUNT, EVERY), *thin = runchart_thin(rows, MOST);
    for (size_t i = 0; i < COUNT; i += EVERY)
        ck_assert_ptr_nonnull(row_of_step(thin, i + 1));
    arrfree(thin);
    arrfree(rows);
}

/* Writes the page of one run without a log and reads it back; the caller frees. */
static char *page_of(const char *name, char *setting, char *value)
{
    RunSetting *settings = NULL;
    RunSetting only = {setting, value};
    arrput(settings, only);
    RunData run = {.path = "nowhere",
                   .name = memory_copy_text(name),
                   .settings = settings,
                   .attn = value,
                   .entropy_floor = (double)NAN,
                   .best_val_loss = (double)NAN,
                   .best_accuracy = (double)NAN,
                   .final_train_loss = (double)INFINITY,
                   .seconds = (double)INFINITY,
                   .tokens_per_second = (double)NAN,
                   .peak_mb = (double)NAN};
    char *path = scratch_path("page.html"), *page;
    Comparison all = comparison_make(&run, 1, true, NULL);
    Error error;
    size_t size;
    ck_assert_msg(report_write(path, &(Report){.all = &all}, &error), "%s", error.text);
    ck_assert(file_read(path, (size_t)1 << 24, &page, &size, &error));
    ck_assert_uint_eq(strlen(page), size);
    comparison_free(&all);
    free(run.name);
    arrfree(settings);
    return page;
}

TEST(names_and_settings_cannot_become_markup_in_the_page)
{
    char value[] = "</td><script>alert(2)</script>", setting[] = "\"><b>";
    char *page = page_of("</script><script>alert(1)</script>'\"&", setting, value);
    ck_assert_ptr_null(strstr(page, "<script>alert"));
    ck_assert_ptr_null(strstr(page, "</script><script>alert"));
    ck_assert_ptr_null(strstr(page, "\"><b>"));
    ck_assert_ptr_nonnull(strstr(page, "\"name\":\"\\u003c/script>\\u003cscript>"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;/td&gt;&lt;script&gt;alert(2)"));
    ck_assert_ptr_nonnull(strstr(page, "&quot;&gt;&lt;b&gt;"));
    ck_assert_ptr_nonnull(strstr(page, "alert(1)&lt;/script&gt;&#39;&quot;&amp;"));
    free(page);
}

TEST(invalid_text_is_escaped)
{
    char value[] = "\x1b[31m", setting[] = "\xff\x01";
    char *page = page_of("\x7f\xc3\x28", setting, value);
    for (const char *c = page; *c; c++)
        ck_assert_msg((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t',
                      "a control character at %td", c - page);
    ck_assert_ptr_nonnull(strstr(page, "\\xff\\x01"));
    ck_assert_ptr_nonnull(strstr(page, "\\x1b[31m"));
    free(page);
}
