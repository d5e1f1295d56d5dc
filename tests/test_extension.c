/* Extending a run: what the plan says, and what a checkpoint keeps of it. */
#include "src/base/memory.h"
#include "src/optim/schedule.h"
#include "src/base/text.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "train/loop/trainer.h"

#include <stdlib.h>
#include <string.h>

SUITE("extension", .folder = true);

#define RECIPE                                                                           \
    "layers = 1\ndim = 8\nheads = 2\ncontext = 8\nbatch = 4\nlr = 0.1\nlr-floor = 0.1\n" \
    "warmup = 2\ncorpus = toy\nsteps = 10\n"

/* A trainer with its corpus. */
static void plan(Trainer *trainer, const char *more)
{
    Error error;
    char *text = text_format("%s%s", RECIPE, more);
    *trainer = (Trainer){0};
    support_settle(&trainer->settings, text);
    ck_assert_msg(trainer_plan(trainer, NULL, &error), "%s", error.text);
    free(text);
}

/* A checkpoint of such a run after some steps; the caller frees its path. */
static char *save_after(size_t step, const char *more)
{
    Trainer trainer;
    Error error;
    char *path = scratch_path("last.safetensors");
    plan(&trainer, more);
    trainer_allocate(&trainer);
    ck_assert(trainer_start(&trainer, &error));
    trainer.progress.step = step;
    trainer.progress.stale = 3;
    trainer.progress.averaged = trainer.average && step > 5 ? step - 5 : 0;
    ck_assert_msg(trainer_save(&trainer, path, true, &error), "%s", error.text);
    trainer_free(&trainer);
    return path;
}

/* Loads the checkpoint into a run of another length. */
static bool extend(Trainer *trainer, const char *path, size_t steps, const char *more,
                   Error *error)
{
    Checkpoint checkpoint;
    ck_assert_msg(checkpoint_open(&checkpoint, path, error), "%s", error->text);
    plan(trainer, more);
    TrainOptions *train = &trainer->settings.train;
    trainer->settings.before = (LengthBefore){.changed = true, .length = train->length};
    train->length.steps = trainer->steps = steps;
    trainer_allocate(trainer);
    bool good = trainer_plan_extension(trainer, &checkpoint, error) &&
                trainer_load(trainer, &checkpoint, error);
    checkpoint_close(&checkpoint);
    return good;
}

TEST(the_learning_rate_is_that_of_the_new_length)
{
    char *path = save_after(10, "");
    for (size_t kind = 0; schedule_name(kind); kind++) {
        Trainer trainer;
        Error error;
        char *more = text_format("schedule = %s\n", schedule_name(kind));
        ck_assert_msg(extend(&trainer, path, 40, more, &error), "%s", error.text);
        const Extension *extension = &trainer.extension;
        ck_assert(extension->planned && extension->finished);
        ck_assert(extension->step == 10 && extension->from == 10 && extension->to == 40);
        Schedule schedule = {.shape = kind, .warmup = 2, .steps = 10, .floor = 0.1};
        ck_assert(extension->lr_from == 0.1 * schedule_factor(&schedule, 9));
        schedule.steps = 40;
        ck_assert(extension->lr_to == 0.1 * schedule_factor(&schedule, 10));
        ck_assert_uint_eq(trainer.progress.stale, 0);
        ck_assert_str_eq(trainer.history[HISTORY_EXTENDED], "step 10: 10 to 40 steps");
        free(more);
        trainer_free(&trainer);
    }
    free(path);
}

TEST(an_average_of_the_old_length_is_dropped_if_the_new_one_begins_later)
{
    static const struct {
        size_t steps;
        size_t averaged;
    } cases[] = {{12, 5}, {19, 5}, {20, 0}, {40, 0}};
    char *path = save_after(10, "average = tail\naverage-from = 0.5\n");
    for (size_t i = 0; i < COUNT(cases); i++) {
        Trainer trainer;
        Error error;
        ck_assert_msg(extend(&trainer, path, cases[i].steps,
                             "average = tail\naverage-from = 0.5\n", &error),
                      "%s", error.text);
        ck_assert_uint_eq(trainer.progress.averaged, cases[i].averaged);
        ck_assert(trainer.extension.restarts_average == (cases[i].averaged == 0));
        trainer_free(&trainer);
    }
    free(path);
}

TEST(a_length_that_is_done_is_refused)
{
    char *path = save_after(7, "");
    for (size_t steps = 5; steps <= 12; steps++) {
        Trainer trainer;
        Error error;
        bool good = extend(&trainer, path, steps, "", &error);
        ck_assert(good == (steps > 7));
        ck_assert(trainer.extension.planned == (steps != 10)); /* the same is no extension */
        if (!good)
            ck_says(error, "has done 7");
        trainer_free(&trainer);
    }
    free(path);
}

/* settings.conf has it in a comment: a line end would begin a setting. */
TEST(a_history_of_several_lines_becomes_one)
{
    static const char *const keys[] = {"origin", "extended"};
    static const char *const values[] = {"a\nlr = 9", "\x1b[31m"};
    Content content;
    content_make(&content, content_config);
    for (size_t k = 0; k < COUNT(keys); k++)
        for (size_t v = 0; v < COUNT(values); v++) {
            const MetadataPair extra = {keys[k], values[v]};
            CheckpointContent saved = {.model = &content.small.model,
                                       .vocabulary = &content.vocabulary,
                                       .corpus = &content_corpus,
                                       .extra = &extra,
                                       .extra_count = 1};
            Checkpoint checkpoint;
            char *history[HISTORY_LINES] = {NULL};
            Error error;
            ck_assert_msg(checkpoint_save(content.path, &saved, &error), "%s", error.text);
            ck_assert_msg(checkpoint_open(&checkpoint, content.path, &error), "%s", error.text);
            trainer_read_history(history, &checkpoint);
            char **line = &history[k == 0 ? HISTORY_ORIGIN : HISTORY_EXTENDED];
            ck_assert(*line && strcspn(*line, "\n\x1b") == strlen(*line));
            free(*line);
            checkpoint_close(&checkpoint);
        }
    content_free(&content);
}
