#include "train/loop/folder.h"
#include "data/corpora/tasks.h"
#include "data/tokenizers/tokenizers.h"
#include "eval/runs/rundata.h"
#include "models/pass.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "train/loop/lock.h"
#include "train/loop/trainer.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NEXT    "next.safetensors" /* being written */
#define DAMAGED CHECKPOINT_LAST ".damaged"

/* The newest first. */
static const char *const names[] = {CHECKPOINT_LAST, NEXT, CHECKPOINT_PREVIOUS};
enum { NAMES = sizeof names / sizeof *names };

/* --- checkpoints --- */

static bool rename_in(const char *folder, const char *from, const char *to, Error *error)
{
    char *old = file_join(folder, from), *new = file_join(folder, to);
    bool good = file_rename(old, new, error);
    free(old);
    free(new);
    return good;
}

bool folder_turn(const RunFolder *folder, bool replace, Error *error)
{
    return (replace || !file_is_in(folder->path, CHECKPOINT_LAST) ||
            rename_in(folder->path, CHECKPOINT_LAST, CHECKPOINT_PREVIOUS, error)) &&
           rename_in(folder->path, NEXT, CHECKPOINT_LAST, error);
}

bool folder_keep(const RunFolder *folder, size_t step, Error *error)
{
    char *name = text_format("step-%zu.safetensors", step);
    bool good = !file_is_in(folder->path, CHECKPOINT_PREVIOUS) ||
                rename_in(folder->path, CHECKPOINT_PREVIOUS, name, error);
    free(name);
    return good;
}

char *folder_newest_checkpoint(const char *folder)
{
    return file_first_in(folder, names, NAMES);
}

/* Settings that this program does not know, perhaps from another version, are an error of the
 * file, not of the command line. */
static bool check_stored_settings(const Checkpoint *checkpoint, Error *error)
{
    Settings stored = {0};
    const Options options = settings_options(&stored);
    const char *text = checkpoint_extra(checkpoint, TRAINING_KEY);
    options_set_defaults(&options);
    bool good = text && checkpoint_extra(checkpoint, STEP_KEY) && checkpoint->has_moments
                    ? options_read_text(&options, text, checkpoint->file.path, error)
                    : error_set(error, "%s: it has no optimizer state to continue from",
                                checkpoint->file.path);
    options_free_texts(&options);
    return good;
}

static bool open_one(Checkpoint *checkpoint, const char *path, Error *error)
{
    if (!file_exists(path))
        return error_set(error, "%s: missing", path);
    if (!checkpoint_open(checkpoint, path, error))
        return false;
    bool good = check_stored_settings(checkpoint, error);
    if (!good)
        checkpoint_close(checkpoint);
    return good;
}

bool folder_open_checkpoint(Checkpoint *checkpoint, const char *folder, Error *error)
{
    Error first, why;
    bool good = false, found = false;
    for (size_t i = 0; !good && i < NAMES; i++) {
        char *path = file_join(folder, names[i]);
        bool exists = file_exists(path);
        good = open_one(checkpoint, path, &why);
        if (!good && (i == 0 || (exists && !found)))
            first = why; /* of the newest one that exists */
        found |= exists;
        if (good && i > 0 && ranks_first())
            print_warning("%s; resuming from step %s in %s instead", first.text,
                          checkpoint_extra(checkpoint, STEP_KEY), path);
        free(path);
    }
    if (!good && found)
        *error = first;
    else if (!good && file_is_in(folder, CHECKPOINT_BEST))
        error_set(error,
                  "--resume %s: it holds only the weights, " CHECKPOINT_BEST
                  ", and nothing to continue "
                  "from; --init %s starts a new run from them",
                  folder, folder);
    else if (!good)
        error_set(error,
                  "--resume %s: there is no checkpoint in this directory; if it is a run that "
                  "ended before its first one, delete the directory and start again",
                  folder);
    return good;
}

bool folder_settle(const Checkpoint *opened, const char *folder, Error *error)
{
    const char *name = file_base_name(opened->file.path);
    if (strcmp(name, CHECKPOINT_LAST) == 0)
        return true;
    if (file_is_in(folder, CHECKPOINT_LAST) &&
        !rename_in(folder, CHECKPOINT_LAST, DAMAGED, error))
        return false;
    return strcmp(name, NEXT) != 0 || rename_in(folder, NEXT, CHECKPOINT_LAST, error);
}

/* --- making and opening the directory --- */

static void set_paths(RunFolder *folder, const char *path)
{
    *folder = (RunFolder){.path = memory_copy_text(path),
                          .best = file_join(path, CHECKPOINT_BEST),
                          .next = file_join(path, NEXT),
                          .log = {.fd = -1}};
}

void folder_free(RunFolder *folder)
{
    free(folder->path);
    free(folder->best);
    free(folder->next);
    Error error;
    runlog_close(&folder->log, &error); /* unless its observer did, which reports errors */
    *folder = (RunFolder){0};
}

static bool make(const char *path, Error *error)
{
    if (!file_make_parents(path, error))
        return false;
    if (mkdir(path, 0777) == 0)
        return true;
    if (errno == EEXIST) {
        bool in_use = file_is_in(path, "lock") && !lock_acquire(LOCK_RUN, path, error);
        lock_release(LOCK_RUN);
        if (in_use)
            return false;
        char *newest = folder_newest_checkpoint(path);
        error_set(error,
                  newest ? "--run %s: this directory exists; choose another name, or continue "
                           "the run in it with --resume %s"
                         : "--run %s exists and is not a run to continue; choose another name, "
                           "or delete it",
                  path, path);
        free(newest);
        return false;
    }
    return error_set(error, "--run %s: cannot make this directory: %s", path, strerror(errno));
}

char *folder_stem(const char *corpus)
{
    if (task_is_named(corpus)) { /* "recall-pairs16-keys64" for recall:pairs=16,keys=64 */
        char *stem = NULL;
        for (const char *c = corpus; *c; c++)
            if (*c != '=')
                text_append(&stem, "%c", *c == ':' || *c == ',' ? '-' : *c);
        return stem;
    }
    char *path = memory_copy_text(corpus);
    file_trim_slashes(path); /* of a directory */
    char *stem = memory_copy_text(file_base_name(path));
    free(path);
    stem[strcspn(stem, ".")] = '\0';
    if (!*stem || strcmp(stem, "-") == 0) {
        free(stem);
        return memory_copy_text("text");
    }
    return stem;
}

static char *make_free_name(const RunView *run, Error *error)
{
    if (mkdir("runs", 0777) != 0 && errno != EEXIST) {
        error_set(error,
                  "runs: cannot make this directory: %s; use --run DIR for another place",
                  strerror(errno));
        return NULL;
    }
    char *stem = folder_stem(run->settings->train.corpus), *path = NULL;
    char *attention = config_attention(&run->model->config);
    for (size_t number = 1;; number++) {
        path = text_format("runs/%s-%s", attention, stem);
        if (number > 1)
            text_append(&path, "-%zu", number);
        if (mkdir(path, 0777) == 0)
            break;
        int reason = errno;
        if (reason != EEXIST) {
            error_set(error, "%s: cannot make this directory: %s", path, strerror(reason));
            free(path);
            path = NULL;
            break;
        }
        free(path);
    }
    free(stem);
    free(attention);
    return path;
}

/* The recurrent state or KV cache of a sequence of the context length. */
static size_t state_bytes(const Model *model)
{
    Pass pass;
    Arena measured = {0};
    pass_make_decoder(&pass, model, 1, model->config.context);
    pass_layout(&pass, &measured);
    size_t bytes = pass.states_reals * sizeof(real);
    pass_free(&pass);
    return bytes;
}

/* The name of the processor, or its architecture. The caller's. */
static char *machine_name(void)
{
    struct utsname system;
    char line[256] = "", *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !name && fgets(line, sizeof line, file))
        if (strncmp(line, "model name", strlen("model name")) == 0 && strchr(line, ':'))
            name = memory_copy_text(text_trim(strchr(line, ':') + 1));
    if (file)
        fclose(file);
    if (!name)
        name = memory_copy_text(uname(&system) == 0 ? system.machine : "unknown");
    return name;
}

/* The facts before the settings are what bits per byte are computed from, what the losses are
 * of, and where the run comes from. */
bool folder_write_settings(const RunFolder *folder, const RunView *run, Error *error)
{
    const Corpus *corpus = run->corpus;
    const CorpusSplit *train = &corpus->train, *valid = &corpus->valid;
    char *settings = settings_text(run->settings);
    char *text = text_format("# parameters: %zu\n", run->model->table.parameters);
    text_append(&text, "# state: %zu bytes\n", state_bytes(run->model));
    text_append(&text, "# length: %zu steps\n", run->steps);
    const Progress *progress = run->progress;
    if (progress->step > 0 && progress->step < run->steps)
        text_append(&text, "# stopped: %zu steps, %.9g seconds\n", progress->step,
                    progress->seconds);
    char *machine = machine_name();
    text_append(&text, "# " RUN_MACHINE ": %s\n", machine);
    free(machine);
    if (corpus->entropy_floor > 0 || corpus->line > 0)
        text_append(&text, "# entropy floor: %.9g nats\n", corpus->entropy_floor);
    text_append(&text, "# training text: %zu tokens, %zu bytes\n", split_scored(train),
                train->bytes);
    text_append(&text, "# validation text: %zu tokens, %zu bytes, %zu unknown\n",
                split_scored(valid), valid->bytes, valid->unknown);
    text_append(&text, "# vocabulary: %zu tokens, crc32 %08x\n", corpus->vocabulary.count,
                (unsigned)vocabulary_crc(&corpus->vocabulary));
    if (run->part_tokens > 0)
        text_append(&text, "# validation part: %zu tokens\n", run->part_tokens);
    for (size_t i = 0; i < HISTORY_LINES; i++)
        if (run->history[i])
            text_append(&text, "# %s: %s\n", history_key(i), run->history[i]);
    text_append(&text, "%s", settings);
    char *path = file_join(folder->path, RUN_SETTINGS);
    bool good = file_replace_text(path, text, error);
    free(path);
    free(text);
    free(settings);
    return good;
}

/* Whether a run without a checkpoint to continue from may have left this file. */
static bool is_left(const char *name)
{
    static const char *const files[] = {RUN_SETTINGS, RUN_LOG,       RUN_LOG ".bak",
                                        "curves.svg", "samples.txt", CHECKPOINT_BEST,
                                        NULL};
    return text_is_among(name, files) || strncmp(name, "events.out.tfevents.", 20) == 0;
}

/* Removes a directory without a checkpoint, so that the same command can try again. */
static void remove_left(const char *folder)
{
    file_remove_leftovers(folder);
    DIR *files = opendir(folder);
    for (const struct dirent *entry; files && (entry = readdir(files));)
        if (is_left(entry->d_name))
            unlinkat(dirfd(files), entry->d_name, 0);
    if (files)
        closedir(files);
    lock_release(LOCK_RUN);
    rmdir(folder);
}

void folder_abandon(const RunFolder *folder)
{
    if (folder->path)
        remove_left(folder->path);
}

bool folder_discard(const char *path, Error *error)
{
    if (!lock_acquire(LOCK_RUN, path, error))
        return false;
    if (folder_standing(path).state == RUN_MISSING) /* still, now that no other trains it */
        remove_left(path);
    lock_release(LOCK_RUN);
    return true;
}

bool folder_forget(const char *path, Error *error)
{
    if (!lock_acquire(LOCK_RUN, path, error))
        return false;
    DIR *files = opendir(path);
    for (const struct dirent *entry; files && (entry = readdir(files));)
        if (text_ends_in(entry->d_name, ".safetensors"))
            unlinkat(dirfd(files), entry->d_name, 0);
    if (files)
        closedir(files);
    lock_release(LOCK_RUN);
    return true;
}

bool folder_create(RunFolder *folder, const RunView *run, Error *error)
{
    const char *wanted = run->settings->session.run;
    *folder = (RunFolder){.log = {.fd = -1}};
    char *path = wanted ? memory_copy_text(wanted) : make_free_name(run, error);
    if (wanted)
        file_trim_slashes(path);
    if (!path || (wanted && !make(path, error))) {
        free(path);
        return false;
    }
    set_paths(folder, path);
    free(path);
    char *log = file_join(folder->path, RUN_LOG);
    bool good = lock_acquire(LOCK_RUN, folder->path, error) &&
                folder_write_settings(folder, run, error) &&
                runlog_create(&folder->log, log, error);
    if (!good)
        folder_abandon(folder);
    free(log);
    return good;
}

/* The clock continues from where the run was stopped; if it was killed, from the last row of
 * the log up to the checkpoint. */
static bool read_seconds(double *seconds, const char *folder, const char *log, size_t step,
                         Error *error)
{
    RunData run;
    Error ignored;
    RunLogRow *rows;
    if (!runlog_read(log, &rows, error))
        return false;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].step <= step && rows[i].seconds >= 0 && isfinite(rows[i].seconds))
            *seconds = rows[i].seconds;
    arrfree(rows);
    if (rundata_read(&run, folder, &ignored) && run.stop_step == step &&
        run.stop_seconds > *seconds)
        *seconds = run.stop_seconds;
    rundata_free(&run);
    return true;
}

bool folder_reopen(RunFolder *folder, const char *path, const RunView *run,
                   const Checkpoint *checkpoint, double *seconds, Error *error)
{
    set_paths(folder, path);
    file_remove_leftovers(path);
    char *log = file_join(path, RUN_LOG);
    size_t step = view_complete(run);
    bool good = folder_settle(checkpoint, path, error);
    if (good && file_exists(log)) {
        good = read_seconds(seconds, path, log, step, error) &&
               runlog_reopen(&folder->log, log, step, error);
    } else if (good) {
        print_warning("%s: missing; a new one begins", log);
        good = runlog_create(&folder->log, log, error);
    }
    good = good && folder_write_settings(folder, run, error);
    free(log);
    return good;
}

/* --- how far a run is --- */

/* The log knows its time; the newest checkpoint, which may be of an earlier step, what is done.
 * A finished run whose checkpoints to continue from were deleted still has its best model. */
RunStanding folder_standing(const char *path)
{
    RunStanding standing = {.seconds = NAN};
    RunData run;
    Checkpoint checkpoint;
    Progress progress = {0};
    Error ignored;
    size_t patience = 0;
    char *newest = folder_newest_checkpoint(path);
    bool read = rundata_read(&run, path, &ignored);
    const char *text = read ? rundata_setting(&run, "patience") : NULL;
    const RunLogRow *last = read && run.rows ? &arrlast(run.rows) : NULL;
    if (text && !text_to_size(text, &patience))
        patience = 0;
    if (run.stop_step > 0)
        standing.seconds = run.stop_seconds / (double)run.stop_step * (double)run.steps;
    else if (last && last->step > 0 && run.steps > 0)
        standing.seconds = last->seconds / (double)last->step * (double)run.steps;
    if (newest && checkpoint_open(&checkpoint, newest, &ignored)) {
        trainer_read_progress(&progress, &checkpoint, &ignored);
        checkpoint_close(&checkpoint);
    } else if (!newest && last && last->step == run.steps &&
               file_is_in(path, CHECKPOINT_BEST)) {
        progress.step = last->step;
    }
    bool over = (run.steps > 0 && progress.step >= run.steps) ||
                (patience > 0 && progress.stale >= patience);
    standing.state = over && !progress.due ? RUN_FINISHED : newest ? RUN_OPEN : RUN_MISSING;
    if (standing.state != RUN_MISSING && run.steps > 0)
        standing.share = over ? 1 : (double)progress.step / (double)run.steps;
    rundata_free(&run);
    free(newest);
    return standing;
}

bool folder_restore(RunFolder *folder, const RunView *run, bool *recreated, Error *error)
{
    *recreated = !file_exists(folder->log.path);
    if (!*recreated)
        return true;
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        return error_set(error, "%s: the run directory is gone and cannot be made again: %s",
                         folder->path, strerror(errno));
    return lock_acquire(LOCK_RUN, folder->path, error) &&
           folder_write_settings(folder, run, error) && runlog_restore(&folder->log, error);
}
