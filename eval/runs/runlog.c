#include "eval/runs/runlog.h"
#include "eval/runs/runlog_format.h"
#include "eval/show/chart.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)256 << 20)

bool runlog_read(const char *path, RunLogRow **rows, Error *error)
{
    char *bytes;
    size_t size;
    *rows = NULL;
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    RunLogText text;
    bool good = runlog_parse(path, bytes, size, &text, error);
    *rows = text.rows;
    free(bytes);
    return good;
}

/* --- thinning --- */

typedef enum Curve { CURVE_TRAIN, CURVE_VALIDATION, CURVE_SPEED, CURVES } Curve;

/* Marks the rows that one curve needs. */
static void keep_curve(bool *kept, const RunLogRow *rows, Curve curve, size_t most)
{
    ChartPoint *points = NULL;
    size_t *of_points = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++) {
        const RunLogRow *row = &rows[i];
        const double y[CURVES] = {row->train_loss, row->val_loss, row->tokens_per_second};
        if (curve == CURVE_VALIDATION && !row->has_val_loss)
            continue;
        arrput(points, ((ChartPoint){(double)row->step, y[curve]}));
        arrput(of_points, i);
    }
    size_t *drawn = chart_thin(points, arrlenu(points), most);
    for (size_t i = 0; i < arrlenu(drawn); i++)
        kept[of_points[drawn[i]]] = true;
    arrfree(drawn);
    arrfree(of_points);
    arrfree(points);
}

RunLogRow *runlog_thin(const RunLogRow *rows, size_t most)
{
    RunLogRow *left = NULL;
    bool *kept = memory_take(arrlenu(rows) + 1, sizeof *kept, "the curves");
    for (Curve curve = 0; curve < CURVES; curve++)
        keep_curve(kept, rows, curve, most);
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (kept[i])
            arrput(left, rows[i]);
    free(kept);
    return left;
}

/* --- writing --- */

static bool open_log(RunLog *log, const char *path, int flags, Error *error)
{
    log->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | flags, 0666);
    if (log->fd < 0 && errno == EEXIST)
        return error_set(error,
                         "%s: there is a log already; resume that run or choose another "
                         "folder",
                         path);
    if (log->fd < 0)
        return error_set(error, "%s: cannot open for writing: %s", path, strerror(errno));
    log->path = memory_copy_text(path);
    return true;
}

/* Writes all waiting rows or none. */
static bool write_waiting(RunLog *log, Error *error)
{
    if (!log->waiting)
        return true;
    if (!file_append(log->fd, log->path, &log->size, log->waiting, strlen(log->waiting), error))
        return false;
    free(log->waiting);
    log->waiting = NULL;
    return true;
}

bool runlog_create(RunLog *log, const char *path, Error *error)
{
    *log = (RunLog){.columns = RUNLOG_COLUMNS};
    if (!open_log(log, path, O_CREAT | O_EXCL, error))
        return false;
    log->waiting = runlog_format_header(log->columns);
    bool good = write_waiting(log, error);
    if (!good) {
        Error second;
        runlog_close(log, &second);
    }
    return good;
}

bool runlog_append(RunLog *log, const RunLogRow *row, Error *error)
{
    char line[RUNLOG_LINE];
    runlog_format_row(row, log->columns, line);
    text_append(&log->waiting, "%s", line);
    return write_waiting(log, error);
}

bool runlog_sync(RunLog *log, Error *error)
{
    return fsync(log->fd) == 0 || errno == EINVAL || errno == ENOTSUP ||
           error_set(error, "%s: cannot sync: %s", log->path, strerror(errno));
}

bool runlog_close(RunLog *log, Error *error)
{
    bool good = log->fd < 0 || write_waiting(log, error);
    if (log->fd >= 0 && close(log->fd) != 0 && good)
        good = error_set(error, "%s: cannot close: %s", log->path, strerror(errno));
    free(log->path);
    free(log->waiting);
    *log = (RunLog){.fd = -1};
    return good;
}

/* The content of the file, which has been unlinked; the caller frees. */
static char *read_nameless(const RunLog *log, Error *error)
{
    char *bytes = memory_take(log->size + 1, 1, log->path);
    for (size_t have = 0; have < log->size;) {
        ssize_t got = pread(log->fd, bytes + have, log->size - have, (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            error_set(error, "%s: is gone, and what it was cannot be read", log->path);
            free(bytes);
            return NULL;
        }
        have += (size_t)got;
    }
    return bytes;
}

bool runlog_restore(RunLog *log, Error *error)
{
    char *bytes = read_nameless(log, error), *path = log->path;
    int nameless = log->fd;
    bool good = bytes && file_replace_text(path, bytes, error) && open_log(log, path, 0, error);
    free(bytes);
    if (!good) {
        log->fd = nameless; /* keep the file that has everything */
        return false;
    }
    close(nameless);
    free(path);
    return true;
}

/* --- going on --- */

/* Appends rows that will be trained again to PATH.bak. */
static bool keep_aside(const char *path, const char *rows, size_t size, size_t columns,
                       Error *error)
{
    char *backup = text_format("%s.bak", path);
    char *before = NULL, *header = runlog_format_header(columns);
    size_t before_size = 0;
    FileReplacement file;
    bool good = !file_exists(backup) ||
                file_read(backup, MOST_BYTES, &before, &before_size, error);
    if (good && !before) {
        before_size = strlen(header);
        before = memory_copy_text(header);
    }
    good = good && file_replace_begin(&file, backup, error) &&
           file_replace_write(&file, before, before_size, error) &&
           file_replace_write(&file, rows, size, error) && file_replace_commit(&file, error);
    free(before);
    free(header);
    free(backup);
    return good;
}

/* The size of the header and the rows up to the given step. */
static size_t bytes_up_to(const char *bytes, const RunLogRow *rows, size_t step)
{
    const char *next = strchr(bytes, '\n') + 1;
    for (size_t i = 0; i < arrlenu(rows) && rows[i].step <= step; i++)
        next = strchr(next, '\n') + 1;
    return (size_t)(next - bytes);
}

/* Truncates the file after the rows up to the step; sets log->size and log->columns. */
static bool cut_back(RunLog *log, const char *path, const char *bytes, size_t size, size_t step,
                     Error *error)
{
    RunLogText text;
    if (!runlog_parse(path, bytes, size, &text, error))
        return false;
    size_t kept = text.whole ? bytes_up_to(bytes, text.rows, step) : 0;
    arrfree(text.rows);
    log->columns = text.columns;
    log->size = kept;
    if (kept < text.whole &&
        !keep_aside(path, bytes + kept, text.whole - kept, text.columns, error))
        return false;
    if (kept > 0 && kept == size)
        return true;
    char *header = runlog_format_header(log->columns);
    if (kept == 0)
        log->size = strlen(header);
    FileReplacement file;
    bool good = file_replace_begin(&file, path, error) &&
                file_replace_write(&file, kept ? bytes : header, log->size, error) &&
                file_replace_commit(&file, error);
    free(header);
    return good;
}

bool runlog_reopen(RunLog *log, const char *path, size_t step, Error *error)
{
    char *bytes;
    size_t size;
    *log = (RunLog){.fd = -1};
    if (!file_read(path, MOST_BYTES, &bytes, &size, error))
        return false;
    bool good = cut_back(log, path, bytes, size, step, error) && open_log(log, path, 0, error);
    free(bytes);
    return good;
}
