/* The log of a run, what is gathered from it, and how it is drawn. */
#include "eval/chart.h"
#include "eval/rundata.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/text.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define HEADER "step,epoch,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n"
#define ROW_1  "1,0.5,10,0.25,0.001,3.5,,1,40\n"
#define ROW_2  "2,1,20,0.5,0.001,3.25,3.125,1,40\n"
#define ROW_3  "3,1.5,30,0.75,0.001,3,,1,60\n"

static char *folder, *log_path, *backup_path, *settings_path;
static Error error;

static void make_folder(void)
{
    folder = memory_copy_text("/tmp/linnet-chart-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    log_path = file_join(folder, RUN_LOG);
    backup_path = file_join(folder, RUN_LOG ".bak");
    settings_path = file_join(folder, RUN_SETTINGS);
}

static void remove_folder(void)
{
    unlink(log_path);
    unlink(backup_path);
    unlink(settings_path);
    ck_assert_int_eq(rmdir(folder), 0); /* no temporary file was left behind */
    free(folder);
    free(log_path);
    free(backup_path);
    free(settings_path);
}

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

static void check_file(const char *path, const char *expected)
{
    char *bytes;
    size_t size;
    ck_assert_msg(file_read(path, 1 << 20, &bytes, &size, &error), "%s", error.text);
    ck_assert_str_eq(bytes, expected);
    free(bytes);
}

/* --- the log --- */

START_TEST(test_log_reads_back_exactly)
{
    const RunLogRow rows[] = {
        {.step = 1, .epoch = 1.0f / 3, .train_loss = 0.1f, .lr = FLT_MIN, .grad_norm = FLT_MAX},
        {.step = 1, .train_loss = NAN, .val_loss = NAN, .has_val_loss = true, .lr = 5e-324},
        {.step = SIZE_MAX,
         .tokens = SIZE_MAX - 1,
         .train_loss = INFINITY,
         .grad_norm = -NAN,
         .val_loss = -INFINITY,
         .has_val_loss = true,
         .seconds = -0.0}};
    const size_t count = sizeof rows / sizeof rows[0];
    RunLog log;
    RunLogRow *back;
    ck_assert(runlog_create(&log, log_path, &error));
    for (size_t i = 0; i < count; i++)
        ck_assert(runlog_append(&log, &rows[i], &error));
    ck_assert(runlog_close(&log, &error));
    ck_assert_msg(runlog_read(log_path, &back, &error), "%s", error.text);
    ck_assert_uint_eq(arrlenu(back), count);
    ck_assert((float)back[0].epoch == 1.0f / 3 && (float)back[0].train_loss == 0.1f);
    ck_assert((float)back[0].lr == FLT_MIN && (float)back[0].grad_norm == FLT_MAX);
    ck_assert(!back[0].has_val_loss && isnan(back[0].val_loss));
    ck_assert(back[1].has_val_loss && isnan(back[1].val_loss) && isnan(back[1].train_loss));
    ck_assert(back[1].lr == 5e-324);
    ck_assert(back[2].step == SIZE_MAX && back[2].tokens == SIZE_MAX - 1);
    ck_assert(back[2].train_loss == INFINITY && back[2].val_loss == -INFINITY);
    ck_assert(isnan(back[2].grad_norm));
    arrfree(back);
}
END_TEST

START_TEST(test_log_bytes)
{
    RunLog log;
    const RunLogRow row = {.step = 7,
                           .epoch = 1.25,
                           .tokens = 700,
                           .seconds = 0.5,
                           .lr = 1e-3,
                           .train_loss = 5.5,
                           .grad_norm = NAN,
                           .tokens_per_second = 1400};
    ck_assert(runlog_create(&log, log_path, &error));
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER "7,1.25,700,0.5,0.001,5.5,,nan,1400\n");
    ck_assert(!runlog_create(&log, log_path, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "there is a log already"));
    check_file(log_path, HEADER "7,1.25,700,0.5,0.001,5.5,,nan,1400\n");
}
END_TEST

START_TEST(test_log_torn_anywhere)
{
    const char whole[] = HEADER ROW_1 ROW_2 ROW_3;
    for (size_t size = 0; size < sizeof whole; size++) {
        size_t lines = 0;
        for (size_t i = 0; i < size; i++)
            lines += whole[i] == '\n';
        RunLogRow *rows;
        write_bytes(log_path, whole, size);
        ck_assert_msg(runlog_read(log_path, &rows, &error), "%zu: %s", size, error.text);
        ck_assert_uint_eq(arrlenu(rows), lines > 0 ? lines - 1 : 0);
        arrfree(rows);
    }
}
END_TEST

START_TEST(test_log_hostile)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a,b\n1,2\n", ":1: not the log of a run"},
        {"\n" HEADER, ":1: not the log"},
        {HEADER "1,2,3\n", ":2: 3 values"},
        {HEADER "\n", ":2: step: ''"},
        {HEADER ROW_1 "2,1,20,0.5,0.001,3.25,3.125,1,40,9\n", ":3: more than the 9"},
        {HEADER "1.5,1,20,0.5,0.001,3,3,1,40\n", ":2: step: '1.5' is not a whole number"},
        {HEADER "-1,1,20,0.5,0.001,3,3,1,40\n", ":2: step: '-1'"},
        {HEADER "99999999999999999999999,1,20,0.5,0,3,3,1,40\n", ":2: step: '99999"},
        {HEADER "1, 1,20,0.5,0.001,3,3,1,40\n", ":2: epoch: ' 1'"},
        {HEADER "1,0x10,20,0.5,0.001,3,3,1,40\n", ":2: epoch: '0x10'"},
        {HEADER "1,1,20,0.5,1e999,3,3,1,40\n", ":2: lr: '1e999'"},
        {HEADER "1,1,20,0.5,0,infinity,3,1,40\n", ":2: train_loss: 'infinity'"},
        {HEADER "1,1,20,0.5,0,nan(7),3,1,40\n", ":2: train_loss: 'nan(7)'"},
        {HEADER "1,1,20,0.5,0,-,3,1,40\n", ":2: train_loss: '-'"},
        {HEADER "1,1,20,0.5,0,3,3,1,40\r\n", ":2: tokens_per_second: '40\r'"},
        {HEADER ROW_2 ROW_1, ":3: step 1 comes after step 2"},
    };
    RunLogRow *rows;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text(log_path, cases[i].text);
        ck_assert(!runlog_read(log_path, &rows, &error));
        ck_assert_ptr_null(rows);
        ck_assert_msg(strstr(error.text, cases[i].message), "%zu: %s", i, error.text);
    }
    write_bytes(log_path, HEADER "1\0\n", sizeof HEADER "1\0\n" - 1);
    ck_assert(!runlog_read(log_path, &rows, &error));
    char *text = text_format(HEADER "%0600d,1,20,0.5,0,3,3,1,40\n", 1);
    write_text(log_path, text);
    ck_assert(!runlog_read(log_path, &rows, &error));
    free(text);
    ck_assert_ptr_nonnull(strstr(error.text, ":2: not a row"));
    ck_assert(truncate(log_path, ((off_t)256 << 20) + 1) == 0);
    ck_assert(!runlog_read(log_path, &rows, &error));
    ck_assert(!runlog_read(folder, &rows, &error));
    ck_assert(!runlog_read(settings_path, &rows, &error));
}
END_TEST

static void reopen(size_t step)
{
    RunLog log;
    ck_assert_msg(runlog_reopen(&log, log_path, step, &error), "%s", error.text);
    ck_assert(runlog_close(&log, &error));
}

START_TEST(test_log_reopen)
{
    RunLog log;
    const RunLogRow row = {.step = 2, .val_loss = 9, .has_val_loss = true};
    write_text(log_path, HEADER ROW_1 ROW_2 ROW_3 "4,2,4");
    reopen(3); /* nothing but the torn line goes */
    check_file(log_path, HEADER ROW_1 ROW_2 ROW_3);
    ck_assert(!file_exists(backup_path));
    reopen(1000);
    check_file(log_path, HEADER ROW_1 ROW_2 ROW_3);
    ck_assert(runlog_reopen(&log, log_path, 1, &error));
    check_file(log_path, HEADER ROW_1);
    check_file(backup_path, HEADER ROW_2 ROW_3);
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER ROW_1 "2,0,0,0,0,0,9,0,0\n");
    reopen(0); /* the second time adds to what was kept aside */
    check_file(log_path, HEADER);
    check_file(backup_path, HEADER ROW_2 ROW_3 ROW_1 "2,0,0,0,0,0,9,0,0\n");
}
END_TEST

START_TEST(test_log_reopen_damaged)
{
    RunLog log;
    ck_assert(!runlog_reopen(&log, log_path, 1, &error));
    write_text(log_path, "");
    reopen(5);
    check_file(log_path, HEADER);
    write_text(log_path, "step,ep");
    reopen(5);
    check_file(log_path, HEADER);
    write_text(log_path, "somebody else's file\n");
    ck_assert(!runlog_reopen(&log, log_path, 1, &error));
    ck_assert(runlog_close(&log, &error)); /* harmless after a failure */
    check_file(log_path, "somebody else's file\n");
}
END_TEST

START_TEST(test_log_full_disk)
{
    struct rlimit before, small;
    RunLog log;
    const RunLogRow row = {.step = 1};
    ck_assert(runlog_create(&log, log_path, &error));
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = strlen(HEADER) + 5; /* a disk with room for a part of the row */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool good = runlog_append(&log, &row, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    ck_assert(!good);
    check_file(log_path, HEADER);
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER "1,0,0,0,0,0,,0,0\n");
}
END_TEST

/* --- what is gathered from a run --- */

START_TEST(test_rundata)
{
    RunData run;
    write_text(settings_path, "# parameters: 1234567\n# entropy floor: 1.5 nats\r\n# hello\n\n"
                              " attn=linear \ncorpus = a = b\ndim = 64");
    write_text(log_path, HEADER ROW_1 ROW_2 ROW_3 "9,2,90,1.5,0,nan,inf,1,50\n"
                                                  "9,2,90,1.5,0,nan,3.5,1,nan\n");
    ck_assert_msg(rundata_read(&run, folder, &error), "%s", error.text);
    ck_assert_str_eq(run.name, strrchr(folder, '/') + 1);
    ck_assert_str_eq(run.attn, "linear");
    ck_assert_str_eq(run.corpus, "a = b");
    ck_assert_uint_eq(run.parameters, 1234567);
    ck_assert(run.entropy_floor == 1.5);
    ck_assert_uint_eq(run.validations, 3);
    ck_assert(run.best_val_loss == 3.125 && run.best_epoch == 1 && run.best_step == 2);
    ck_assert(isnan(run.final_train_loss) && run.seconds == 1.5);
    ck_assert(run.tokens_per_second == 45); /* between 40 and 50; nan is left out */
    char *json = NULL;
    size_t size;
    FILE *stream = open_memstream(&json, &size);
    rundata_print_json(stream, &run);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(json, "\"attn\": \"linear\", \"parameters\": 1234567, "));
    ck_assert_ptr_nonnull(strstr(json, "\"final_train_loss\": null, "));
    ck_assert_ptr_nonnull(strstr(json, "{\"step\": 2, \"epoch\": 1, \"tokens\": 20, "
                                       "\"seconds\": 0.5, \"val_loss\": 3.125},\n"));
    free(json);
    rundata_free(&run);
}
END_TEST

static void check_no_run(const char *path, const char *message)
{
    RunData run;
    ck_assert(!rundata_read(&run, path, &error));
    ck_assert_msg(strstr(error.text, message), "%s", error.text);
    rundata_free(&run);
}

START_TEST(test_rundata_refuses)
{
    check_no_run("/nowhere/at/all", "No such file");
    check_no_run(folder, "there is no settings.conf");
    write_text(settings_path, "attn = linear\n# parameters: many\n# entropy floor: nan nats\n");
    check_no_run(folder, "there is no log.csv");
    check_no_run(settings_path, "a file; give the folder");
    write_text(log_path, HEADER);
    RunData run;
    ck_assert(rundata_read(&run, folder, &error));
    ck_assert(run.parameters == 0 && isnan(run.entropy_floor) && isnan(run.best_val_loss));
    rundata_free(&run);
    write_text(settings_path, "attn = linear\nfoo\n");
    check_no_run(folder, "settings.conf:2: 'foo'");
    write_bytes(settings_path, "a\0", 2);
    check_no_run(folder, "zero bytes");
}
END_TEST

/* --- charts --- */

/* Renders the chart and checks its promises: the size, the alphabet, the same bytes again. */
static char *render(const Chart *chart)
{
    char *text = NULL, *again = NULL;
    size_t lines = 0;
    chart_append(&text, chart);
    chart_append(&again, chart);
    ck_assert_str_eq(text, again);
    free(again);
    for (const char *c = text; *c; lines++) {
        size_t columns = 0;
        for (; *c != '\n'; c++) {
            ck_assert_msg(*c, "the last line has no end");
            if (*c == '\x1b') {
                ck_assert(chart->colour);
                c += strcspn(c, "m");
                continue;
            }
            ck_assert((unsigned char)*c >= ' ');
            ck_assert(chart->utf8 || (unsigned char)*c < 0x7f);
            columns += ((unsigned char)*c & 0xc0) != 0x80;
        }
        c++;
        ck_assert_msg(columns <= chart->columns, "%zu columns in:\n%s", columns, text);
    }
    ck_assert_msg(lines == chart->rows, "%zu lines in:\n%s", lines, text);
    return text;
}

/* In every size, with and without UTF-8 and colours, alone and among others. */
static void render_every_way(const ChartPoint *points, size_t count)
{
    static const size_t sizes[][2] = {
        {CHART_COLUMNS_LEAST, CHART_ROWS_LEAST}, {80, 24}, {200, 50}};
    const ChartPoint diagonal[] = {{0, 0}, {1, 1}};
    const ChartSeries series[] = {{"it", points, count}, {"other", diagonal, 2}};
    for (size_t i = 0; i < 3 * 2 * 2 * 2; i++) {
        const size_t *size = sizes[i / 8];
        Chart chart = {.series = series,
                       .series_count = 1 + (i & 1),
                       .x_label = "step",
                       .y_label = "loss",
                       .columns = size[0],
                       .rows = size[1],
                       .utf8 = (i & 2) != 0,
                       .colour = (i & 4) != 0};
        free(render(&chart));
    }
}

START_TEST(test_chart_edges)
{
    static const struct {
        size_t count;
        ChartPoint points[4];
    } cases[] = {
        {0, {{0, 0}}},
        {1, {{3, 5}}},
        {1, {{0, 0}}},
        {1, {{NAN, 1}}},
        {2, {{1, 2}, {3, 4}}},
        {2, {{3, 4}, {1, 2}}},
        {3, {{1, 2}, {2, NAN}, {3, 4}}},
        {4, {{1, 7}, {1, 7}, {1, 7}, {1, 7}}},
        {3, {{NAN, NAN}, {INFINITY, 1}, {1, -INFINITY}}},
        {3, {{0, 1}, {1, INFINITY}, {2, 3}}},
        {3, {{-DBL_MAX, -DBL_MAX}, {0, 0}, {DBL_MAX, DBL_MAX}}},
        {2, {{-1e300, -1e300}, {1e300, 1e300}}},
        {2, {{5e-324, 5e-324}, {1e-310, 1e-310}}},
        {2, {{1e-290, 1e-299}, {2e-290, 2e-299}}},
        {2, {{1e15, 1e15}, {1e15 + 1, 1e15 + 0.25}}},
        {2, {{1e9, 1e9}, {1e9 + 200, 1e9 + 200}}},
        {2, {{0, 4.9999999}, {1, 5.0000001}}},
        {2, {{-3e6, -0.00031}, {2e6, 0.00029}}},
        {2, {{0.3, 0.7}, {0.7, 0.3}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        render_every_way(cases[i].points, cases[i].count);
}
END_TEST

START_TEST(test_chart_million_points)
{
    const size_t count = 1000000;
    ChartPoint *points = memory_take(count, sizeof *points, "a test");
    for (size_t i = 0; i < count; i++)
        points[i] = (ChartPoint){(double)i, 5 + (double)(i * 7919 % 1000) / 1000};
    const ChartSeries series = {"many", points, count};
    Chart chart = {
        .series = &series, .series_count = 1, .columns = 80, .rows = 24, .utf8 = true};
    char *text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "800k"));
    free(text);
    free(points);
}
END_TEST

START_TEST(test_chart_many_series)
{
    enum { COUNT = 100 };
    const ChartPoint points[] = {{0, 0}, {1, 1}};
    ChartSeries series[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        series[i] = (ChartSeries){i % 2 ? "evil\x1b[2J\n\xff"
                                        : "a name that is longer than the "
                                          "whole chart would be wide",
                                  points, 2};
    for (size_t i = 0; i < 4; i++) {
        Chart chart = {.series = series,
                       .series_count = COUNT,
                       .columns = 40,
                       .rows = 16,
                       .utf8 = i & 1,
                       .colour = i & 2,
                       .x_label = "a label that is longer than the whole chart is wide, by far",
                       .y_label = "\x1b]0;title\a"};
        char *text = render(&chart);
        ck_assert_ptr_nonnull(strstr(text, " more\n"));
        ck_assert_ptr_nonnull(strstr(text, "\\x1b]0;title\\x07\n"));
        free(text);
    }
}
END_TEST

START_TEST(test_chart_golden_ascii)
{
    const ChartPoint falling[] = {{0, 3}, {1, 2}, {2, NAN}, {3, 1}, {4, 1}};
    const ChartPoint level[] = {{0, 1}, {4, 1}};
    const ChartSeries series[] = {{"one", falling, 5}, {"two", level, 2}};
    const Chart chart = {.series = series,
                         .series_count = 2,
                         .x_label = "epoch",
                         .y_label = "loss",
                         .columns = 24,
                         .rows = 10};
    char *text = render(&chart);
    ck_assert_str_eq(text, "loss\n"
                           "3+aa\n"
                           " |  aa\n"
                           "2+    aa\n"
                           " |\n"
                           "1+bbbbbbbbbbbbbbbbababab\n"
                           " ++----------+---------+\n"
                           "  0          2         4\n"
                           "          epoch\n"
                           " a one    b two\n");
    free(text);
}
END_TEST

START_TEST(test_chart_golden_braille)
{
    const ChartPoint points[] = {{0, 8}, {1, 4}, {2, 2}, {3, 1}};
    const ChartSeries series[] = {{"one", points, 4}, {"lone point", points + 1, 1}};
    Chart chart = {.series = series,
                   .series_count = 1,
                   .x_label = "tokens",
                   .y_label = "loss",
                   .columns = 24,
                   .rows = 9,
                   .utf8 = true};
    char *text = render(&chart);
    ck_assert_str_eq(text, "loss\n"
                           "8┤⠑⠢⣀\n"
                           "6┤   ⠑⠢⢄\n"
                           "4┤      ⠉⠒⠤⠤⣀⣀\n"
                           "2┤            ⠉⠉⠒⠒⠢⠤⠤⠤⣀⣀\n"
                           " └┬─────────────┬───────\n"
                           "  0             2\n"
                           "          tokens\n"
                           "── one\n");
    free(text);
    chart.series_count = 2;
    chart.colour = true;
    text = render(&chart);
    ck_assert_ptr_nonnull(strstr(text, "\x1b[38;5;74m"));
    free(text);
}
END_TEST

/* --- terminals --- */

static void check_safe(const char *text, const char *expected)
{
    char *shown = NULL;
    size_t size;
    FILE *stream = open_memstream(&shown, &size);
    terminal_print_safe(stream, text);
    fclose(stream);
    ck_assert_str_eq(shown, expected);
    free(shown);
}

START_TEST(test_print_safe)
{
    check_safe("", "");
    check_safe("plain\ntext ä € 😀", "plain\ntext ä € 😀");
    check_safe("\x1b[31mred\a\t\r\x7f", "\\x1b[31mred\\x07\\x09\\x0d\\x7f");
    check_safe("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0");
    check_safe("\u202a\u202e\u2066\u2069", "\\u202a\\u202e\\u2066\\u2069");
    check_safe("\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a");
    check_safe("\xff\x80z\xc3", "\\xff\\x80z\\xc3");
    check_safe("\xc0\xaf", "\\xc0\\xaf");                   /* too long a form */
    check_safe("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");          /* the same */
    check_safe("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half a surrogate pair */
    check_safe("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond the last */
    check_safe("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80");
    check_safe("\xe2\x82", "\\xe2\\x82"); /* cut off */
}
END_TEST

static void check_name(const char *name, size_t columns, bool utf8, const char *expected)
{
    char *shown = terminal_safe_name(name, columns, utf8);
    ck_assert_str_eq(shown, expected);
    free(shown);
}

START_TEST(test_safe_name)
{
    check_name("linear", 6, false, "linear");
    check_name("a\nb", 80, true, "a\\x0ab");
    check_name("näh", 80, true, "näh");
    check_name("näh", 80, false, "n\\xc3\\xa4h");
    check_name("abcdefghij", 7, true, "abc…hij");
    check_name("abcdefghij", 6, false, "abc~ij");
    check_name("äöüäöüß", 4, true, "äö…ß");
    check_name("abc", 2, false, "a~");
    check_name("abc", 1, false, "~");
    check_name("abc", 0, false, "");
    check_name("", 0, false, "");
}
END_TEST

static void set_locale(const char *all, const char *ctype, const char *lang)
{
    setenv("LC_ALL", all, 1);
    setenv("LC_CTYPE", ctype, 1);
    setenv("LANG", lang, 1);
}

START_TEST(test_terminal)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    setenv("COLUMNS", "123", 1);
    setenv("LINES", "45", 1);
    ck_assert_uint_eq(terminal_width(ends[1]), 123);
    ck_assert_uint_eq(terminal_height(ends[1]), 45);
    setenv("COLUMNS", "wide", 1);
    setenv("LINES", "0", 1);
    ck_assert_uint_eq(terminal_width(ends[1]), 80);
    ck_assert_uint_eq(terminal_height(ends[1]), 24);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    ck_assert(!terminal_is_interactive(ends[1]) && !terminal_has_colour(ends[1]));
    close(ends[0]);
    close(ends[1]);
    set_locale("", "", "en_GB.UTF-8");
    ck_assert(terminal_is_utf8());
    set_locale("", "C.utf8", "C");
    ck_assert(terminal_is_utf8());
    set_locale("C", "C.utf8", "C.utf8");
    ck_assert(!terminal_is_utf8());
    set_locale("", "", "");
    ck_assert(!terminal_is_utf8());
}
END_TEST

/* Colours are for terminals only, so the test needs one: a pseudo-terminal. */
START_TEST(test_terminal_colour)
{
    int controller = posix_openpt(O_RDWR | O_NOCTTY);
    if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0)
        return; /* a machine without pseudo-terminals cannot be asked */
    int fd = open(ptsname(controller), O_RDWR | O_NOCTTY);
    const struct winsize window = {.ws_col = 99, .ws_row = 33};
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ioctl(fd, TIOCSWINSZ, &window), 0);
    ck_assert_uint_eq(terminal_width(fd), 99);
    ck_assert_uint_eq(terminal_height(fd), 33);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "", 1);
    ck_assert(terminal_has_colour(fd));
    setenv("NO_COLOR", "1", 1);
    ck_assert(!terminal_has_colour(fd));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert(!terminal_has_colour(fd));
    close(fd);
    close(controller);
}
END_TEST

Suite *chart_suite(void)
{
    Suite *suite = suite_create("chart");
    TCase *files = tcase_create("runs"), *shown = tcase_create("terminals");
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, test_log_reads_back_exactly);
    tcase_add_test(files, test_log_bytes);
    tcase_add_test(files, test_log_torn_anywhere);
    tcase_add_test(files, test_log_hostile);
    tcase_add_test(files, test_log_reopen);
    tcase_add_test(files, test_log_reopen_damaged);
    tcase_add_test(files, test_log_full_disk);
    tcase_add_test(files, test_rundata);
    tcase_add_test(files, test_rundata_refuses);
    tcase_add_test(shown, test_chart_edges);
    tcase_add_test(shown, test_chart_million_points);
    tcase_add_test(shown, test_chart_many_series);
    tcase_add_test(shown, test_chart_golden_ascii);
    tcase_add_test(shown, test_chart_golden_braille);
    tcase_add_test(shown, test_print_safe);
    tcase_add_test(shown, test_safe_name);
    tcase_add_test(shown, test_terminal);
    tcase_add_test(shown, test_terminal_colour);
    tcase_set_timeout(shown, 60);
    suite_add_tcase(suite, files);
    suite_add_tcase(suite, shown);
    return suite;
}
