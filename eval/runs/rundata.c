#include "eval/runs/rundata.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/options.h"
#include "src/base/text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- settings --- */

/* The value of a comment "# key: value", NULL if it is another comment. */
static char *comment_value(char *comment, const char *key)
{
    char *text = text_trim(comment + 1);
    size_t length = strlen(key);
    if (strncmp(text, key, length) != 0 || text[length] != ':')
        return NULL;
    return text_trim(text + length + 1);
}

/* The N of "N unit" in a list such as "9 tokens, 40 bytes"; 0: none. */
static size_t count_of(const char *list, const char *unit)
{
    char *copy = memory_copy_text(list), *rest = copy;
    size_t count = 0;
    for (char *item; (item = strsep(&rest, ","));) {
        item = text_trim(item);
        char *blank = strchr(item, ' ');
        if (!blank || strcmp(blank + 1, unit) != 0)
            continue;
        *blank = '\0';
        if (!text_to_size(item, &count))
            count = 0;
    }
    free(copy);
    return count;
}

double rundata_bits_of_nat(size_t tokens, size_t bytes)
{
    return tokens > 0 && bytes > 0 ? (double)tokens / (log(2) * (double)bytes) : NAN;
}

static double bits_of_nat(const char *list)
{
    return rundata_bits_of_nat(count_of(list, "tokens"), count_of(list, "bytes"));
}

void rundata_add_setting(RunData *run, const char *name, const char *value)
{
    RunSetting setting = {memory_copy_text(name), memory_copy_text(value)};
    arrput(run->settings, setting);
}

/* Runs of different histories differ like runs of different settings; the machine, which does
 * not make another group, is read like them. */
static const char *const history[] = {RUN_ORIGIN, RUN_TEACHER, RUN_EXTENDED, RUN_MATCHED,
                                      RUN_MACHINE};
enum { HISTORY = sizeof history / sizeof *history };

static void read_history(RunData *run, char *comment)
{
    for (size_t i = 0; i < HISTORY; i++) {
        char *value = comment_value(comment, history[i]);
        if (value)
            rundata_add_setting(run, history[i], value);
    }
}

/* Comments hold facts about a run that are not settings. Unknown comments are ignored. */
static void read_comment(RunData *run, char *comment)
{
    static const char unit[] = " nats";
    read_history(run, comment);
    char *value = comment_value(comment, "parameters");
    if (value && !text_to_size(value, &run->parameters))
        run->parameters = 0;
    if ((value = comment_value(comment, "length")))
        run->steps = count_of(value, "steps");
    if ((value = comment_value(comment, "stopped")) &&
        sscanf(value, "%zu steps, %lf seconds", &run->stop_step, &run->stop_seconds) != 2)
        run->stop_step = 0;
    if ((value = comment_value(comment, "state")))
        run->state = count_of(value, "bytes");
    if ((value = comment_value(comment, "training text")))
        run->train_bits = bits_of_nat(value);
    if ((value = comment_value(comment, "vocabulary")) && !run->vocabulary)
        run->vocabulary = memory_copy_text(value);
    if ((value = comment_value(comment, "validation part")))
        run->part_tokens = count_of(value, "tokens");
    if ((value = comment_value(comment, "validation text"))) {
        run->val_bits = bits_of_nat(value);
        run->valid_tokens = count_of(value, "tokens");
        run->valid_bytes = count_of(value, "bytes");
        run->unknown = (double)count_of(value, "unknown") / (double)run->valid_tokens;
    }
    value = comment_value(comment, "entropy floor");
    if (value && text_ends_in(value, unit)) {
        value[strlen(value) - strlen(unit)] = '\0';
        if (!text_to_double(text_trim(value), &run->entropy_floor))
            run->entropy_floor = NAN;
    }
}

static bool read_line(void *self, char *name, char *value, const char *where, Error *error)
{
    (void)where, (void)error;
    RunData *run = self;
    if (value)
        rundata_add_setting(run, name, value);
    else
        read_comment(run, name);
    return true;
}

const RunSetting *rundata_find(const RunData *run, const char *name)
{
    for (size_t i = arrlenu(run->settings); i-- > 0;)
        if (strcmp(run->settings[i].name, name) == 0)
            return &run->settings[i];
    return NULL;
}

const char *rundata_setting(const RunData *run, const char *name)
{
    const RunSetting *setting = rundata_find(run, name);
    return setting ? setting->value : NULL;
}

const char *rundata_apart(const RunData *run)
{
    return run->apart ? run->apart->value : "";
}

void rundata_settings_read(RunData *run)
{
    run->attn = rundata_setting(run, "attn");
    run->corpus = rundata_setting(run, "corpus");
}

/* Reads lines of settings, which it changes. */
static bool read_lines(RunData *run, char *lines, const char *path, Error *error)
{
    bool good = options_read_lines(lines, path, read_line, run, error);
    rundata_settings_read(run);
    return good;
}

static bool read_settings(RunData *run, const char *path, Error *error)
{
    const size_t most = (size_t)1 << 20;
    char *bytes;
    size_t size;
    if (!file_read(path, most, &bytes, &size, error))
        return false;
    bool good = memchr(bytes, '\0', size)
                    ? error_set(error, "%s: holds zero bytes, so it is not a file of settings",
                                path)
                    : read_lines(run, bytes, path, error);
    free(bytes);
    return good;
}

/* --- the log --- */

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median_speed(const RunLogRow *rows)
{
    double *speeds = NULL, median = NAN;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (isfinite(rows[i].tokens_per_second))
            arrput(speeds, rows[i].tokens_per_second);
    size_t count = arrlenu(speeds);
    if (count > 0) {
        qsort(speeds, count, sizeof *speeds, ascending);
        median = speeds[(count - 1) / 2] / 2 + speeds[count / 2] / 2;
    }
    arrfree(speeds);
    return median;
}

static void summarise(RunData *run)
{
    for (size_t i = 0; i < arrlenu(run->rows); i++) {
        const RunLogRow *row = &run->rows[i];
        run->validations += row->has_val_loss;
        run->peak_mb = fmax(run->peak_mb, row->peak_mb); /* ignores NaN */
        if (!row->has_val_loss || !isfinite(row->val_loss) ||
            row->val_loss >= run->best_val_loss)
            continue;
        run->best_val_loss = row->val_loss;
        run->best_epoch = row->epoch;
        run->best_step = row->step;
        run->best_accuracy = row->val_accuracy;
    }
    const RunLogRow *last = arrlenu(run->rows) > 0 ? &arrlast(run->rows) : NULL;
    run->best_is_part = run->part_tokens > 0;
    if (run->best_is_part && last && last->final_val_loss > 0 && last->step == run->best_step) {
        run->best_val_loss = last->final_val_loss;
        run->best_is_part = false;
    }
    if (last) {
        run->final_train_loss = last->train_loss;
        run->seconds = last->seconds;
        run->tokens = (double)last->tokens;
    }
    run->tokens_per_second = median_speed(run->rows);
}

/* --- the folder --- */

static char *folder_name(const char *path)
{
    char *resolved = realpath(path, NULL); /* so that "." has a name too */
    const char *slash = resolved ? strrchr(resolved, '/') : NULL;
    char *name = memory_copy_text(slash && slash[1] ? slash + 1 : path);
    free(resolved);
    return name;
}

static bool check_folder(const char *path, const char *settings, const char *log, Error *error)
{
    if (!file_exists(path))
        return error_set(error, "%s: %s", path, strerror(errno));
    if (!file_is_folder(path))
        return error_set(error, "%s: a file; give the folder of a run, such as runs/linear",
                         path);
    if (!file_exists(settings) || !file_exists(log))
        return error_set(error, "%s: not a run directory: it has no %s", path,
                         file_exists(settings) ? RUN_LOG : RUN_SETTINGS);
    return true;
}

RunData rundata_unknown(const char *path)
{
    return (RunData){.path = memory_copy_text(path),
                     .name = folder_name(path),
                     .entropy_floor = NAN,
                     .train_bits = NAN,
                     .val_bits = NAN,
                     .unknown = NAN,
                     .best_val_loss = NAN,
                     .best_epoch = NAN,
                     .best_accuracy = NAN,
                     .final_train_loss = NAN,
                     .tokens_per_second = NAN,
                     .seconds = NAN,
                     .tokens = NAN,
                     .peak_mb = NAN};
}

bool rundata_read(RunData *run, const char *path, Error *error)
{
    *run = rundata_unknown(path);
    char *settings = file_join(path, RUN_SETTINGS), *log = file_join(path, RUN_LOG),
         *scores = file_join(path, RUN_SCORES);
    bool good = check_folder(path, settings, log, error) &&
                read_settings(run, settings, error) && runlog_read(log, &run->rows, error) &&
                (!file_exists(scores) || scores_read(scores, &run->scores, error));
    if (good)
        summarise(run);
    free(settings);
    free(log);
    free(scores);
    return good;
}

bool rundata_read_checkpoint(RunData *run, const char *path, const Checkpoint *checkpoint,
                             Error *error)
{
    *run = rundata_unknown(path);
    run->parameters = checkpoint->table.total;
    const char *training = checkpoint_extra(checkpoint, TRAINING_KEY);
    char *lines = memory_copy_text(training ? training : "");
    bool good = read_lines(run, lines, path, error);
    for (size_t i = 0; training && i < HISTORY; i++) {
        const char *value = checkpoint_extra(checkpoint, history[i]);
        if (value)
            rundata_add_setting(run, history[i], value);
    }
    free(lines);
    return good;
}

void rundata_free(RunData *run)
{
    free(run->path);
    free(run->name);
    free(run->vocabulary);
    for (size_t i = 0; i < arrlenu(run->settings); i++) {
        free(run->settings[i].name);
        free(run->settings[i].value);
    }
    arrfree(run->settings);
    arrfree(run->rows);
    arrfree(run->scores);
    *run = (RunData){0};
}

const RunLogRow *rundata_last_match(const RunData *run)
{
    size_t i = arrlenu(run->rows);
    while (i > 0 && !run->rows[i - 1].matches)
        i--;
    return i > 0 ? &run->rows[i - 1] : NULL;
}

const char *rundata_divergence(const RunData *run, double *loss)
{
    const double largest = 16; /* a perplexity of nine million, more than any vocabulary */
    const size_t count = arrlenu(run->rows);
    if (count == 0)
        return NULL;
    const RunLogRow *last = &run->rows[count - 1];
    if (last->step == 0)
        return NULL; /* the weights that --init took over: nothing is trained yet */
    const struct {
        const char *name;
        double loss, most;
        bool present;
    } losses[] = {
        {"matching error", last->match_loss, DBL_MAX, last->matches}, /* of no known scale */
        {"training loss", last->train_loss, largest, !last->matches},
        {"validation loss", last->val_loss, largest, last->has_val_loss},
        {"best validation loss", run->best_val_loss, largest, !isnan(run->best_val_loss)},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].present && !(losses[i].loss <= losses[i].most)) {
            *loss = losses[i].loss;
            return losses[i].name;
        }
    return NULL;
}

bool rundata_diverged(const RunData *run)
{
    double loss;
    return rundata_divergence(run, &loss) != NULL;
}

/* --- scores --- */

const RunScore *rundata_score(const RunData *run, const RunScore *protocol, ScoreUnit unit)
{
    for (size_t i = 0; i < arrlenu(run->scores); i++)
        if (score_same_protocol(&run->scores[i], protocol, unit) &&
            run->scores[i].step == run->best_step)
            return &run->scores[i];
    return NULL;
}

const RunScore *rundata_shared_test(const RunData *runs, size_t count, ScoreUnit unit)
{
    const RunScore *best = NULL;
    size_t most = 0;
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < arrlenu(runs[r].scores); i++) {
            const RunScore *score = &runs[r].scores[i];
            size_t having = 0;
            for (size_t other = 0; other < count; other++)
                having += rundata_score(&runs[other], score, unit) != NULL;
            if (!score_is_plain(score) || strcmp(score->split, "test") != 0 || having <= most)
                continue;
            best = score;
            most = having;
        }
    return best;
}
