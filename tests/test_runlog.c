/* The log of a run: values are read back exactly, and a truncated, damaged or foreign log is
 * detected. */
#include "eval/runs/runchart.h"
#include "eval/runs/runlog.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/runlogs.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char *log_path, *backup_path;
static Error error;

static void begin(void)
{
    log_path = scratch_path("log.csv");
    backup_path = scratch_path("log.csv.bak");
}

static void end(void)
{
    unlink(log_path);
    unlink(backup_path);
    ck_assert_uint_eq(scratch_count(), 0); /* no temporary file is left */
}

SUITE("runlog", .folder = true, .set_up = begin, .tear_down = end);

static void write_text(const char *path, const char *text)
{
    scratch_write(path, text, strlen(text));
}

static void check_file(const char *path, const char *expected)
{
    char *bytes;
    size_t size;
    ck_assert_msg(file_read(path, 1 << 20, &bytes, &size, &error), "%s", error.text);
    ck_assert_str_eq(bytes, expected);
    free(bytes);
}

TEST(a_log_is_read_back_exactly)
{
    const RunLogRow rows[] = {
        {.step = 1,
         .epoch = 1.0f / 3,
         .train_loss = 0.1f,
         .lr = FLT_MIN,
         .grad_norm = FLT_MAX,
         .val_accuracy = NAN},
        {.step = 1, .train_loss = NAN, .val_loss = NAN, .has_val_loss = true, .lr = 5e-324},
        {.step = SIZE_MAX,
         .tokens = SIZE_MAX - 1,
         .train_loss = INFINITY,
         .grad_norm = -NAN,
         .val_loss = -INFINITY,
         .has_val_loss = true,
         .seconds = -0.0,
         .peak_mb = NAN,
         .val_bits_per_byte = 1.25,
         .val_tokens = SIZE_MAX,
         .final_val_loss = 3.5,
         .val_accuracy = 0.25},
        {.step = SIZE_MAX, .train_loss = 7, .matches = true, .match_loss = 0}};
    const size_t count = COUNT(rows);
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
    ck_assert(back[1].peak_mb == 0 && isnan(back[2].peak_mb));
    ck_assert(back[2].val_bits_per_byte == 1.25 && back[2].val_tokens == SIZE_MAX);
    ck_assert(back[2].final_val_loss == 3.5 && back[2].val_accuracy == 0.25);
    ck_assert(isnan(back[0].val_accuracy) && back[1].val_accuracy == 0);
    ck_assert(isnan(back[0].val_bits_per_byte) && isnan(back[0].final_val_loss));
    ck_assert(back[0].val_tokens == 0);
    ck_assert(!back[2].matches && isnan(back[2].match_loss));
    ck_assert(back[3].matches && back[3].match_loss == 0 && isnan(back[3].train_loss));
    arrfree(back);
}

TEST(a_log_has_the_expected_bytes)
{
    RunLog log;
    const RunLogRow row = {.val_accuracy = NAN,
                           .step = 7,
                           .epoch = 1.25,
                           .tokens = 700,
                           .seconds = 0.5,
                           .lr = 1e-3,
                           .train_loss = 5.5,
                           .grad_norm = NAN,
                           .tokens_per_second = 1400,
                           .peak_mb = 12.5};
    ck_assert(runlog_create(&log, log_path, &error));
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER "7,1.25,700,0.5,0.001,5.5,,nan,1400,12.5,,,,,\n");
    ck_assert(!runlog_create(&log, log_path, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "there is a log already"));
    check_file(log_path, HEADER "7,1.25,700,0.5,0.001,5.5,,nan,1400,12.5,,,,,\n");
}

TEST(a_log_cut_anywhere_keeps_its_whole_rows)
{
    const char whole[] = HEADER ROW_1 ROW_2 ROW_3;
    for (size_t size = 0; size < sizeof whole; size++) {
        size_t lines = 0;
        for (size_t i = 0; i < size; i++)
            lines += whole[i] == '\n';
        RunLogRow *rows;
        scratch_write(log_path, whole, size);
        ck_assert_msg(runlog_read(log_path, &rows, &error), "%zu: %s", size, error.text);
        ck_assert_uint_eq(arrlenu(rows), lines > 0 ? lines - 1 : 0);
        arrfree(rows);
    }
}

TEST(hostile_logs_are_refused_with_the_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a,b\n1,2\n", ":1: not the log of a run"},
        {"\n" HEADER, ":1: not the log"},
        {HEADER "1,2,3\n", ":2: 3 values"},
        {HEADER "\n", ":2: step: ''"},
        {HEADER ROW_1 "2,1,20,0.5,0.001,3.25,3.125,1,40,9,1,20,3,0.5,,7\n",
         ":3: more than the 15"},
        {HEADER "1.5,1,20,0.5,0.001,3,3,1,40,8\n", ":2: step: '1.5' is not a whole number"},
        {HEADER "-1,1,20,0.5,0.001,3,3,1,40,8\n", ":2: step: '-1'"},
        {HEADER "99999999999999999999999,1,20,0.5,0,3,3,1,40,8\n", ":2: step: '99999"},
        {HEADER "1, 1,20,0.5,0.001,3,3,1,40,8\n", ":2: epoch: ' 1'"},
        {HEADER "1,0x10,20,0.5,0.001,3,3,1,40,8\n", ":2: epoch: '0x10'"},
        {HEADER "1,1,20,0.5,1e999,3,3,1,40,8\n", ":2: lr: '1e999'"},
        {HEADER "1,1,20,0.5,0,infinity,3,1,40,8\n", ":2: train_loss: 'infinity'"},
        {HEADER "1,1,20,0.5,0,nan(7),3,1,40,8\n", ":2: train_loss: 'nan(7)'"},
        {HEADER "1,1,20,0.5,0,-,3,1,40,8\n", ":2: train_loss: '-'"},
        {HEADER "1,1,20,0.5,0,3,3,1,40,8,1,20,3,1\r,\n", ":2: val_accuracy: '1\r'"},
        {HEADER "1,1,20,0.5,0,3,3,1,40,8,1,2.5,3,\n", ":2: val_tokens: '2.5'"},
        {HEADER_BEFORE ROW_1, ":2: more than the 9"},
        {HEADER "1,1,20,0.5,0,3,3,1,40\n", ":2: 9 values"},
        {HEADER ROW_2 ROW_1, ":3: step 1 comes after step 2"},
    };
    RunLogRow *rows;
    for (size_t i = 0; i < COUNT(cases); i++) {
        write_text(log_path, cases[i].text);
        ck_assert(!runlog_read(log_path, &rows, &error));
        ck_assert_ptr_null(rows);
        ck_assert_msg(strstr(error.text, cases[i].message), "%zu: %s", i, error.text);
    }
    scratch_write(log_path, HEADER "1\0\n", sizeof HEADER "1\0\n" - 1);
    ck_assert(!runlog_read(log_path, &rows, &error));
    char *text = text_format(HEADER "%0600d,1,20,0.5,0,3,3,1,40,8\n", 1);
    write_text(log_path, text);
    ck_assert(!runlog_read(log_path, &rows, &error));
    free(text);
    ck_assert_ptr_nonnull(strstr(error.text, ":2: not a row"));
    ck_assert(truncate(log_path, ((off_t)256 << 20) + 1) == 0);
    ck_assert(!runlog_read(log_path, &rows, &error));
    ck_assert(!runlog_read(scratch_folder(), &rows, &error));
    ck_assert(!runlog_read(backup_path, &rows, &error)); /* there is none */
}

static void reopen(size_t step)
{
    RunLog log;
    ck_assert_msg(runlog_reopen(&log, log_path, step, &error), "%s", error.text);
    ck_assert(runlog_close(&log, &error));
}

TEST(a_reopened_log_drops_later_rows)
{
    RunLog log;
    const RunLogRow row = {.step = 2, .val_loss = 9, .has_val_loss = true, .val_accuracy = NAN};
    write_text(log_path, HEADER ROW_1 ROW_2 ROW_3 "4,2,4");
    reopen(3); /* only the incomplete line is removed */
    check_file(log_path, HEADER ROW_1 ROW_2 ROW_3);
    ck_assert(!file_exists(backup_path));
    reopen(1000);
    check_file(log_path, HEADER ROW_1 ROW_2 ROW_3);
    ck_assert(runlog_reopen(&log, log_path, 1, &error));
    check_file(log_path, HEADER ROW_1);
    check_file(backup_path, HEADER ROW_2 ROW_3);
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER ROW_1 "2,0,0,0,0,0,9,0,0,0,0,,,,\n");
    reopen(0); /* a second time appends to the backup */
    check_file(log_path, HEADER);
    check_file(backup_path, HEADER ROW_2 ROW_3 ROW_1 "2,0,0,0,0,0,9,0,0,0,0,,,,\n");
}

/* Logs of earlier versions stay without the columns that they lack. */
TEST(a_log_keeps_its_columns)
{
    static const char *const ends[] = {"", ",peak_mb"}, *const cells[] = {"", ",7"};
    const RunLogRow row = {
        .step = 2, .peak_mb = 7, .val_loss = 3, .has_val_loss = true, .val_tokens = 5};
    for (size_t i = 0; i < COUNT(ends); i++) {
        RunLogRow *rows;
        RunLog log;
        char *header = text_format("%.*s%s\n", (int)strlen(HEADER_BEFORE) - 1, HEADER_BEFORE,
                                   ends[i]);
        char *row_1 = text_format("1,0.5,10,0.25,0.001,3.5,,1,40%s\n", cells[i]);
        char *row_2 = text_format("2,1,20,0.5,0.001,3.25,3.125,1,40%s\n", cells[i]);
        char *text = text_format("%s%s%s3,1", header, row_1, row_2);
        write_text(log_path, text);
        free(text);
        ck_assert_msg(runlog_read(log_path, &rows, &error), "%s", error.text);
        ck_assert_uint_eq(arrlenu(rows), 2);
        ck_assert(rows[1].tokens_per_second == 40 && isnan(rows[1].peak_mb) == (i == 0));
        ck_assert(isnan(rows[1].val_bits_per_byte) && rows[1].val_tokens == 0);
        arrfree(rows);
        ck_assert_msg(runlog_reopen(&log, log_path, 1, &error), "%s", error.text);
        ck_assert(runlog_append(&log, &row, &error));
        ck_assert(runlog_close(&log, &error));
        text = text_format("%s%s2,0,0,0,0,0,3,0,0%s\n", header, row_1, cells[i]);
        check_file(log_path, text);
        free(text);
        text = text_format("%s%s", header, row_2);
        check_file(backup_path, text);
        unlink(backup_path);
        free(text);
        free(row_1);
        free(row_2);
        free(header);
    }
}

TEST(a_damaged_log_begins_again_and_another_file_is_refused)
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

/* Appends on a disk with room for part of the row. */
static bool append_to_full_disk(RunLog *log, const RunLogRow *row)
{
    struct rlimit before, small;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = log->size + 5;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    /* Check writes a file of its own at each assertion: none while the limit is set. */
    bool limited = setrlimit(RLIMIT_FSIZE, &small) == 0;
    bool good = runlog_append(log, row, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    ck_assert(limited);
    return good;
}

TEST(rows_wait_while_the_disk_is_full)
{
    RunLog log;
    RunLogRow row = {.step = 1, .val_accuracy = NAN};
    ck_assert(runlog_create(&log, log_path, &error));
    ck_assert(!append_to_full_disk(&log, &row));
    ck_says(error, "cannot write");
    check_file(log_path, HEADER); /* truncated again; the row is kept for later */
    row.step = 2;
    ck_assert(!append_to_full_disk(&log, &row));
    check_file(log_path, HEADER);
    row.step = 3;
    ck_assert(runlog_append(&log, &row, &error));
    check_file(log_path, HEADER
               "1,0,0,0,0,0,,0,0,0,,,,,\n2,0,0,0,0,0,,0,0,0,,,,,\n3,0,0,0,0,0,,0,0,0,,,,,\n");
    row.step = 4;
    ck_assert(!append_to_full_disk(&log, &row));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER
               "1,0,0,0,0,0,,0,0,0,,,,,\n2,0,0,0,0,0,,0,0,0,,,,,\n3,0,0,0,0,0,,0,0,0,,,,,\n"
               "4,0,0,0,0,0,,0,0,0,,,,,\n");
}

TEST(a_removed_log_is_written_again)
{
    RunLog log;
    RunLogRow row = {.step = 1, .val_accuracy = NAN};
    ck_assert(runlog_create(&log, log_path, &error));
    ck_assert(runlog_append(&log, &row, &error));
    unlink(log_path);
    row.step = 2;
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert_msg(runlog_restore(&log, &error), "%s", error.text);
    row.step = 3;
    ck_assert(runlog_append(&log, &row, &error));
    ck_assert(runlog_close(&log, &error));
    check_file(log_path, HEADER
               "1,0,0,0,0,0,,0,0,0,,,,,\n2,0,0,0,0,0,,0,0,0,,,,,\n3,0,0,0,0,0,,0,0,0,,,,,\n");
}
