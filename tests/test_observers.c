/* The order in which observers are called, the observers of samples and curves, and the words
 * on the screen. */
#include "eval/runs/rundata.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "train/observers/observers.h"

#include <stdlib.h>
#include <string.h>

SUITE("observers", .folder = true);

/* --- list --- */

static char *story;

/* An observer's data is its name; those in capitals fail. */
static bool tell(const char *name, const char *what, Error *error)
{
    text_append(&story, "%s %s, ", name, what);
    return *name >= 'a' || error_set(error, "%s failed", name);
}

static bool started(void *self, const RunView *run, Error *error)
{
    (void)run;
    return tell(self, "started", error);
}

static bool ended(void *self, const RunView *run, Error *error)
{
    (void)run;
    return tell(self, "ended", error);
}

static bool stepped(void *self, const RunView *run, Error *error)
{
    (void)run;
    return tell(self, "stepped", error);
}

static void warned(void *self, const char *text)
{
    text_append(&story, "%s hears '%s', ", (const char *)self, text);
}

static const ObserverCalls stepping = {.on = {[RUN_STEPPED] = stepped}},
                           hearing = {.warned = warned},
                           both = {.on = {[RUN_STARTED] = started, [RUN_ENDED] = ended}},
                           end_only = {.on = {[RUN_ENDED] = ended}};
static const RunView nothing;

TEST(observers_are_called_in_order_until_one_fails)
{
    Observers observers = {0};
    Error error;
    story = NULL;
    observers_add(&observers, &both, "a");
    observers_add(&observers, &end_only, "b");
    observers_add(&observers, &both, "c");
    ck_assert(observers_started(&observers, &nothing, &error) &&
              observers_ended(&observers, &nothing, &error));
    ck_assert_str_eq(story, "a started, c started, c ended, b ended, a ended, ");
    observers_add(&observers, &both, "D");
    observers_add(&observers, &both, "e");
    free(story);
    story = NULL;
    ck_assert(!observers_started(&observers, &nothing, &error));
    ck_says(error, "D failed");
    ck_assert_str_eq(story, "a started, c started, D started, ");
    free(story);
    observers_free(&observers);
}

TEST(every_observer_is_called_at_the_end)
{
    Observers observers = {0};
    Error error;
    story = NULL;
    observers_add(&observers, &both, "a");
    observers_add(&observers, &both, "B");
    observers_add(&observers, &both, "C");
    ck_assert(!observers_ended(&observers, &nothing, &error));
    ck_says(error, "C failed");
    ck_assert_str_eq(story, "C ended, B ended, a ended, ");
    free(story);
    observers_free(&observers);
}

/* A failed observer may succeed the next time, and does not affect the others. */
TEST(a_failed_observer_is_still_called)
{
    Observers observers = {0};
    Error error;
    char name[] = "a";
    story = NULL;
    observers_add(&observers, &stepping, name);
    observers_add(&observers, &hearing, "b");
    observers_add(&observers, &stepping, "c");
    observers_tell(&observers, RUN_STEPPED, &nothing);
    *name = 'A';
    observers_tell(&observers, RUN_STEPPED, &nothing);
    observers_tell(&observers, RUN_STEPPED, &nothing);
    ck_assert_str_eq(story, "a stepped, c stepped, A stepped, b hears 'A failed', c stepped, "
                            "A stepped, c stepped, ");
    ck_assert(!observers_ended(&observers, &nothing, &error));
    ck_says(error, "A failed");
    *name = 'a';
    observers_tell(&observers, RUN_STEPPED, &nothing);
    ck_assert(observers_ended(&observers, &nothing, &error));
    free(story);
    observers_free(&observers);
}

/* --- samples --- */

static char *contents(void)
{
    char *path = scratch_path("samples.txt"), *bytes;
    size_t size;
    Error error;
    ck_assert_msg(file_read(path, 10000, &bytes, &size, &error), "%s", error.text);
    return bytes;
}

/* A run of ten steps an epoch, after this step. */
static RunView run_at(Progress *progress, size_t step)
{
    *progress = (Progress){.step = step};
    return (RunView){.progress = progress, .folder = scratch_folder(), .steps_per_epoch = 10};
}

static void start(Samples *samples, size_t step)
{
    Progress progress;
    RunView run = run_at(&progress, step);
    Error error;
    *samples = (Samples){0};
    ck_assert_msg(samples_calls.on[RUN_STARTED](samples, &run, &error), "%s", error.text);
}

static void add_sample(Samples *samples, size_t step, const char *text)
{
    Progress progress;
    RunView run = run_at(&progress, step);
    Error error;
    run.sample = text;
    ck_assert(samples_calls.on[RUN_SAMPLED](samples, &run, &error));
}

TEST(samples_are_kept)
{
    Samples samples;
    start(&samples, 0);
    ck_assert_uint_eq(scratch_count(), 0);
    add_sample(&samples, 5, "a text\nof two lines\n");
    add_sample(&samples, 10, "# step 1, epoch 9\n");
    char *text = contents();
    ck_assert_str_eq(text, "# step 5, epoch 0.5\na text\nof two lines\n"
                           "# step 10, epoch 1\n # step 1, epoch 9\n");
    free(text);
    samples_calls.free(&samples);
}

TEST(a_resumed_run_drops_samples_it_writes_again)
{
    static const char before[] = "# step 5, epoch 0.5\none\n# step 10, epoch 1\n # step 99, x\n"
                                 "# step 15, epoch 1.5\nthree\n# step 20, epoch 2\nfour\n";
    const size_t steps[] = {4, 5, 14, 20};
    const char *kept[] = {"", "# step 5, epoch 0.5\none\n",
                          "# step 5, epoch 0.5\none\n# step 10, epoch 1\n # step 99, x\n",
                          before};
    for (size_t i = 0; i < 4; i++) {
        Samples samples;
        scratch_put("samples.txt", before);
        start(&samples, steps[i]);
        char *text = contents();
        ck_assert_str_eq(text, kept[i]);
        free(text);
        add_sample(&samples, 30, "new\n");
        text = contents();
        ck_assert(strncmp(text, kept[i], strlen(kept[i])) == 0);
        ck_assert_str_eq(text + strlen(kept[i]), "# step 30, epoch 3\nnew\n");
        free(text);
        samples_calls.free(&samples);
    }
}

/* --- words --- */

/* Lines break between items only; one that is too long has a line of its own. */
TEST(items_fill_lines)
{
    static const struct {
        size_t width;
        const char *lines;
    } cases[] = {{8, "a b  cd|efghijklmn|op|"},
                 {100, "a b  cd  efghijklmn  op|"},
                 {0, "a b|cd|efghijklmn|op|"},
                 {14, "a b  cd|efghijklmn  op|"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char **lines = words_filled("a b  cd  efghijklmn  op", cases[i].width), *all = NULL;
        for (size_t n = 0; n < arrlenu(lines); n++)
            text_append(&all, "%s|", lines[n]);
        ck_assert_str_eq(all, cases[i].lines);
        free(all);
        text_lines_free(lines);
    }
}

/* --- curves --- */

/* A log of any length is drawn from a limited number of rows, and a resumed run draws the same
 * rows. */
TEST(long_logs_need_no_more_memory)
{
    enum { ROWS = 20000, MOST = 4000 };
    RunView run = {.folder = scratch_folder()};
    char *path = scratch_path(RUN_LOG);
    Curves whole = {0}, resumed = {0};
    RunLog log;
    Error error;
    ck_assert_msg(runlog_create(&log, path, &error), "%s", error.text);
    ck_assert_msg(curves_calls.on[RUN_STARTED](&whole, &run, &error), "%s", error.text);
    for (size_t step = 1; step <= ROWS; step++) {
        run.row = (RunLogRow){.step = step,
                              .train_loss = step % 1000 == 7 ? 99 : 1.0 / (double)step};
        ck_assert(runlog_append(&log, &run.row, &error));
        ck_assert(curves_calls.on[RUN_LOGGED](&whole, &run, &error));
        ck_assert_uint_lt(arrlenu(whole.rows), MOST);
    }
    ck_assert(runlog_close(&log, &error));
    ck_assert_msg(curves_calls.on[RUN_STARTED](&resumed, &run, &error), "%s", error.text);
    ck_assert_uint_eq(arrlenu(whole.rows), arrlenu(resumed.rows));
    size_t peaks = 0;
    for (size_t i = 0; i < arrlenu(whole.rows); i++) {
        ck_assert_uint_eq(whole.rows[i].step, resumed.rows[i].step);
        peaks += whole.rows[i].train_loss == 99;
    }
    ck_assert_uint_eq(peaks, ROWS / 1000);
    curves_calls.free(&whole);
    curves_calls.free(&resumed);
}
