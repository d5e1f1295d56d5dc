/* Reading a run directory, which may be hostile. */
#include "eval/compare/compare.h"
#include "eval/runs/gridfile.h"
#include "eval/runs/rundata.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/runlogs.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SUITE("rundata", .folder = true);

static Error error;

TEST(a_run_directory_is_read)
{
    RunData run;
    scratch_put(
        RUN_SETTINGS,
        "# parameters: 1234567\n# state: 77 bytes\n# entropy floor: 1.5 nats\r\n# hello\n\n"
        "# training text: 90 tokens, 360 bytes\n"
        "# validation text: 50 tokens, 200 bytes, 4 unknown, 7 things\n"
        " attn=linear \ncorpus = a = b\ndim = 64");
    scratch_put(RUN_LOG, HEADER ROW_1 ROW_2 ROW_3 "9,2,90,1.5,0,nan,inf,1,50,,,,,,\n"
                                                  "9,2,90,1.5,0,nan,3.5,1,nan,7,,,,,\n");
    ck_assert_msg(rundata_read(&run, scratch_folder(), &error), "%s", error.text);
    ck_assert_str_eq(run.name, strrchr(scratch_folder(), '/') + 1);
    ck_assert_str_eq(run.attn, "linear");
    ck_assert_str_eq(run.corpus, "a = b");
    ck_assert_uint_eq(run.parameters, 1234567);
    ck_assert_uint_eq(run.state, 77);
    ck_assert(run.entropy_floor == 1.5);
    ck_assert_uint_eq(run.validations, 3);
    ck_assert(run.best_val_loss == 3.125 && run.best_epoch == 1 && run.best_step == 2);
    ck_assert(isnan(run.final_train_loss) && run.seconds == 1.5);
    ck_assert(run.peak_mb == 9);
    ck_assert(run.tokens_per_second == 45); /* between 40 and 50; NaN is skipped */
    json_t *json = compare_run_json(&run);
    json_t *expected = json_loads(
        "{\"attn\": \"linear\", \"parameters\": 1234567, \"diverged\": true, "
        "\"final_train_loss\": null, \"peak_mb\": 9.0, "
        "\"settings\": {\"attn\": \"linear\", \"corpus\": \"a = b\", \"dim\": \"64\"}, "
        "\"scores\": [], \"best_val_loss\": 3.125, \"best_step\": 2}",
        0, NULL);
    const char *key;
    json_t *value;
    json_object_foreach(expected, key, value)
        ck_assert_msg(json_equal(json_object_get(json, key), value), "%s", key);
    json_t *points = json_object_get(json, "points");
    json_t *best = json_loads(
        "{\"step\": 2, \"epoch\": 1.0, \"tokens\": 20, \"seconds\": 0.5, "
        "\"val_loss\": 3.125, \"val_bits_per_byte\": 0.0, \"val_accuracy\": null}",
        0, NULL);
    ck_assert_double_eq_tol(run.val_bits, 50 / (200 * log(2)), 1e-12);
    ck_assert_double_eq_tol(run.train_bits, 90 / (360 * log(2)), 1e-12);
    ck_assert(run.unknown == 0.08 && run.valid_tokens == 50 && run.part_tokens == 0);
    json_object_set_new(best, "val_bits_per_byte", json_real(3.125 * run.val_bits));
    ck_assert_uint_eq(json_array_size(points), 3);
    ck_assert(json_equal(json_array_get(points, 0), best));
    json_decref(best);
    json_decref(expected);
    json_decref(json);
    rundata_free(&run);
}

/* The best loss of a run that validates on a part of the text: whole is whether it is that of
 * the whole text. */
static void check_part(const char *part, const char *end, double best, bool whole)
{
    RunData run;
    char *settings = text_format("# validation text: 50 tokens, 200 bytes\n%s", part);
    char *log = text_format("%s" ROW_1 ROW_2 "%s", HEADER, end);
    scratch_put(RUN_SETTINGS, settings);
    scratch_put(RUN_LOG, log);
    ck_assert_msg(rundata_read(&run, scratch_folder(), &error), "%s", error.text);
    ck_assert(run.best_val_loss == best && run.best_is_part == !whole);
    rundata_free(&run);
    free(settings);
    free(log);
}

TEST(the_whole_text_counts_for_the_last_weights)
{
    static const char part[] = "# validation part: 20 tokens\n";
    check_part("", "", 3.125, true);
    check_part(part, "", 3.125, false);
    check_part(part, "3,1.5,30,0.75,0.001,3,3,1,60,9,0.5,20,,,\n", 3, false);
    check_part(part, "3,1.5,30,0.75,0.001,3,3,1,60,9,0.5,20,3.0625,,\n", 3.0625, true);
    check_part(part, "3,1.5,30,0.75,0.001,3,3.5,1,60,9,0.5,20,3.0625,,\n", 3.125, false);
    check_part("# validation part: x tokens\n", "", 3.125, true);
}

#define MATCHED "3,1.5,30,0.75,0.01,,3.5,1,60,9,0.5,20,,,0.25\n"

/* Reads a log with these rows; `matched` is the last step that matched attention outputs. */
static void check_matching(const char *rows, size_t matched, bool diverged)
{
    RunData run;
    char *log = text_format("%s%s", HEADER, rows);
    scratch_put(RUN_SETTINGS, "attn = linear\n");
    scratch_put(RUN_LOG, log);
    ck_assert_msg(rundata_read(&run, scratch_folder(), &error), "%s", error.text);
    const RunLogRow *last = rundata_last_match(&run);
    ck_assert_uint_eq(last ? last->step : 0, matched);
    ck_assert(rundata_diverged(&run) == diverged);
    rundata_free(&run);
    free(log);
}

TEST(matching_attention_outputs_is_a_stage_of_its_own)
{
    check_matching(ROW_1 ROW_2, 0, false);
    check_matching(ROW_1 ROW_2 MATCHED, 3, false);
    check_matching(MATCHED "4,2,40,1,0.01,3,3.5,1,60,9,0.5,20,,,\n", 3, false);
    check_matching(MATCHED "4,2,40,1,0.01,,3.5,1,60,9,0.5,20,,,25\n", 4, false);
    check_matching(MATCHED "4,2,40,1,0.01,,3.5,1,60,9,0.5,20,,,nan\n", 4, true);
    check_matching(ROW_1 "2,2,40,1,0.01,inf,3.5,1,60,9,0.5,20,,,0.5\n", 2, false);
    check_matching(MATCHED "4,2,40,1,0.01,nan,3.5,1,60,9,0.5,20,,,\n", 3, true);
}

static void check_no_run(const char *path, const char *message)
{
    RunData run;
    ck_assert(!rundata_read(&run, path, &error));
    ck_assert_msg(strstr(error.text, message), "%s", error.text);
    rundata_free(&run);
}

TEST(other_directories_are_refused_with_a_reason)
{
    check_no_run("/nowhere/at/all", "No such file");
    check_no_run(scratch_folder(), "not a run directory: it has no settings.conf");
    scratch_put(RUN_SETTINGS, "attn = linear\n# parameters: many\n# entropy floor: nan nats\n");
    check_no_run(scratch_folder(), "not a run directory: it has no log.csv");
    char *settings = scratch_path(RUN_SETTINGS);
    check_no_run(settings, "a file; give the folder");
    scratch_put(RUN_LOG, HEADER);
    RunData run;
    ck_assert(rundata_read(&run, scratch_folder(), &error));
    ck_assert(run.parameters == 0 && isnan(run.entropy_floor) && isnan(run.best_val_loss));
    rundata_free(&run);
    scratch_put(RUN_SETTINGS, "attn = linear\nfoo\n");
    check_no_run(scratch_folder(), "settings.conf:2: 'foo'");
    scratch_put_bytes(RUN_SETTINGS, "a\0", 2);
    check_no_run(scratch_folder(), "zero bytes");
}

/* --- grids --- */

TEST(the_file_of_a_grid_names_its_runs_and_its_command)
{
    char **texts;
    ck_assert_ptr_null(gridfile_find(scratch_folder()));
    char *path = scratch_put(GRID_FILE, "{\"command\": [\"train\", \"--seed=1,2\"], \"runs\": "
                                        "[{\"run\": \"seed1\", \"state\": \"finished\"}, "
                                        "{\"run\": \"seed2\"}]}");
    char *found = gridfile_find(scratch_folder()), *itself = gridfile_find(path);
    ck_assert_str_eq(found, path);
    ck_assert_str_eq(itself, path);
    ck_assert(gridfile_command(path, &texts, &error));
    ck_assert_uint_eq(arrlenu(texts), 2);
    ck_assert_str_eq(texts[1], "--seed=1,2");
    text_lines_free(texts);
    GridProgress progress = {0};
    ck_assert(gridfile_progress(path, &progress, &error));
    ck_assert_uint_eq(progress.runs, 2);
    ck_assert_uint_eq(progress.finished, 1);
    ck_assert_double_nan(progress.seconds_left);
    ck_assert(gridfile_runs(path, &texts, &error));
    ck_assert_uint_eq(arrlenu(texts), 2);
    char *second = scratch_path("seed2");
    ck_assert_str_eq(texts[1], second);
    text_lines_free(texts);
    free(found);
    free(itself);
}

static bool is_second(const char *folder)
{
    return strcmp(folder, scratch_path("seed2")) == 0;
}

static bool is_none(const char *folder)
{
    (void)folder;
    return false;
}

TEST(a_grid_stands_for_its_runs_that_have_begun)
{
    char **runs = NULL, *second = scratch_path("seed2");
    size_t missing;
    char *path = scratch_put(GRID_FILE,
                             "{\"runs\": [{\"run\": \"seed1\"}, {\"run\": \"seed2\"}]}");
    gridfile_add_run(&runs, second);
    ck_assert(gridfile_add_runs(&runs, path, is_second, &missing, &error));
    ck_assert_uint_eq(missing, 1);
    ck_assert_uint_eq(arrlenu(runs), 1); /* once, though both name it */
    ck_assert_str_eq(runs[0], second);
    ck_assert(!gridfile_add_runs(&runs, path, is_none, &missing, &error));
    ck_assert_ptr_nonnull(strstr(error.text, "no run of this grid has begun"));
    gridfile_add_run(&runs, "runs/other//");
    ck_assert_str_eq(runs[1], "runs/other");
    text_lines_free(runs);
}

TEST(damaged_files_of_grids_are_refused)
{
    static const char *const damaged[] = {"",
                                          "[]",
                                          "{",
                                          "{\"runs\": 1}",
                                          "{\"runs\": [1]}",
                                          "{\"runs\": [{\"run\": null}]}",
                                          "{\"runs\": [{\"run\": \"a\"}, {}]}",
                                          "{\"runs\": [{\"run\": \"\xff\"}]}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        char **texts, *path = scratch_put(GRID_FILE, damaged[i]);
        ck_assert_msg(!gridfile_runs(path, &texts, &error), "%s", damaged[i]);
        ck_assert_ptr_null(texts);
        ck_assert_ptr_nonnull(strstr(error.text, "not the description of a grid"));
        ck_assert(!gridfile_command(path, &texts, &error));
    }
}
