#include "train/loop/folder.h"
#include "eval/runs/rundata.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"
#include "train/loop/checkpoints.h"
#include "train/loop/lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void folder_name(RunFolder *folder, const char *path)
{
    *folder = (RunFolder){.path = memory_copy_text(path),
                          .best = file_join(path, "best.safetensors"),
                          .log = {.fd = -1}};
}

void folder_free(RunFolder *folder)
{
    free(folder->path);
    free(folder->best);
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
    if (errno == EEXIST)
        return error_set(error,
                         "--run %s: this directory exists; choose another name, or continue "
                         "the run in it with --resume %s",
                         path, path);
    return error_set(error, "--run %s: cannot make this directory: %s", path, strerror(errno));
}

char *folder_stem(const char *corpus)
{
    const char *slash = strrchr(corpus, '/');
    char *stem = memory_copy_text(slash ? slash + 1 : corpus);
    stem[strcspn(stem, ".")] = '\0';
    if (!*stem || strcmp(stem, "-") == 0) {
        free(stem);
        return memory_copy_text("text");
    }
    return stem;
}

static char *make_free_name(const Trainer *trainer, Error *error)
{
    if (mkdir("runs", 0777) != 0 && errno != EEXIST) {
        error_set(error,
                  "runs: cannot make this directory: %s; use --run DIR for another place",
                  strerror(errno));
        return NULL;
    }
    char *stem = folder_stem(trainer->settings.train.corpus), *path = NULL;
    char *attention = model_attention(&trainer->model);
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

static bool write_settings(const Trainer *trainer, const char *folder, Error *error)
{
    char *settings = settings_text(&trainer->settings);
    char *text = text_format("# parameters: %zu\n", trainer->model.table.parameters);
    if (trainer->corpus.entropy_floor > 0)
        text_append(&text, "# entropy floor: %.9g nats\n", trainer->corpus.entropy_floor);
    text_append(&text, "%s", settings);
    char *path = file_join(folder, RUN_SETTINGS);
    bool good = file_replace_text(path, text, error);
    free(path);
    free(text);
    free(settings);
    return good;
}

bool folder_create(RunFolder *folder, const Trainer *trainer, Error *error)
{
    const char *wanted = trainer->settings.session.run;
    char *path;
    *folder = (RunFolder){.log = {.fd = -1}};
    if (wanted)
        path = make(wanted, error) ? memory_copy_text(wanted) : NULL;
    else
        path = make_free_name(trainer, error);
    if (!path)
        return false;
    folder_name(folder, path);
    free(path);
    char *log = file_join(folder->path, RUN_LOG);
    bool good = lock_take(folder->path, error) &&
                write_settings(trainer, folder->path, error) &&
                runlog_create(&folder->log, log, error);
    free(log);
    return good;
}

/* The clock continues from the last row of the log up to the checkpoint. */
static bool read_seconds(const char *log, Progress *progress, Error *error)
{
    RunLogRow *rows;
    if (!runlog_read(log, &rows, error))
        return false;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].step <= progress->step)
            progress->seconds = rows[i].seconds;
    arrfree(rows);
    return true;
}

bool folder_reopen(RunFolder *folder, const char *path, Trainer *trainer,
                   const Checkpoint *checkpoint, Error *error)
{
    folder_name(folder, path);
    file_remove_leftovers(path);
    char *log = file_join(path, RUN_LOG);
    bool good = checkpoints_settle(checkpoint, path, error) &&
                read_seconds(log, &trainer->progress, error) &&
                runlog_reopen(&folder->log, log, trainer->progress.step, error) &&
                write_settings(trainer, path, error);
    free(log);
    return good;
}

bool folder_restore(RunFolder *folder, const Trainer *trainer, bool *again, Error *error)
{
    *again = !file_exists(folder->log.path);
    if (!*again)
        return true;
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST)
        return error_set(error, "%s: the run directory is gone and cannot be made again: %s",
                         folder->path, strerror(errno));
    return lock_take(folder->path, error) && write_settings(trainer, folder->path, error) &&
           runlog_restore(&folder->log, error);
}
