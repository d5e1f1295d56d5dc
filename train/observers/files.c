/* The observers that write files of the run directory: log.csv, samples.txt, curves.svg,
 * TensorBoard's event files. */
#include "train/observers/observers.h"
#include "eval/runs/runchart.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- log.csv --- */

static bool append_row(void *log, const RunView *run, Error *error)
{
    return runlog_append(log, &run->row, error);
}

static bool close_log(void *log, const RunView *run, Error *error)
{
    (void)run;
    return runlog_close(log, error);
}

const ObserverCalls log_calls = {.on = {[RUN_LOGGED] = append_row, [RUN_ENDED] = close_log}};

/* --- samples.txt --- */

#define MOST_BYTES ((size_t)256 << 20)

/* Cuts off the samples after a step, which will be generated again. */
static void cut_behind(char *text, size_t step)
{
    for (char *line = text; *line;) {
        size_t of_line;
        if (sscanf(line, "# step %zu,", &of_line) == 1 && of_line > step) {
            *line = '\0';
            return;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* A resumed run keeps its earlier samples. */
static bool start_samples(void *self, const RunView *run, Error *error)
{
    Samples *samples = self;
    size_t size, step = view_complete(run);
    samples->path = file_join(run->folder, "samples.txt");
    if (step == 0 || !file_exists(samples->path))
        return true;
    if (!file_read(samples->path, MOST_BYTES, &samples->text, &size, error))
        return false;
    cut_behind(samples->text, step);
    return file_replace_text(samples->path, samples->text, error);
}

static bool append_sample(void *self, const RunView *run, Error *error)
{
    Samples *samples = self;
    size_t step = run->progress->step;
    text_append(&samples->text, "# step %zu, epoch %.4g\n", step, view_epochs(run, step));
    for (const char *line = run->sample; *line;) {
        size_t length = strcspn(line, "\n");
        text_append(&samples->text, "%s%.*s\n", *line == '#' ? " " : "", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return file_replace_text(samples->path, samples->text, error);
}

static void free_samples(void *self)
{
    Samples *samples = self;
    free(samples->path);
    free(samples->text);
    *samples = (Samples){0};
}

const ObserverCalls samples_calls = {
    .on = {[RUN_STARTED] = start_samples, [RUN_SAMPLED] = append_sample}, .free = free_samples};

/* --- curves.svg --- */

Chart curves_chart(const Curves *curves, const RunView *run, size_t points)
{
    const RunChartAxes axes = {.train = true}; /* loss over epochs */
    double floor = run->corpus->entropy_floor;
    RunData drawn = {.name = curves->name,
                     .part_tokens = run->part_tokens,
                     .rows = runchart_thin(curves->rows, points)};
    RunGroup *groups = groups_make(&drawn, 1, false);
    Chart chart = runchart_make(groups, floor > 0 ? floor : (double)NAN, &axes);
    groups_free(groups);
    arrfree(drawn.rows);
    return chart;
}

enum { POINTS = 1000 };

/* Thins the rows as the log grows, row by row, so that a resumed run keeps the same ones. */
static void keep(Curves *curves, const RunLogRow *row)
{
    enum { MOST = 4 * POINTS };
    arrput(curves->rows, *row);
    if (arrlenu(curves->rows) < MOST)
        return;
    RunLogRow *fewer = runchart_thin(curves->rows, POINTS);
    arrfree(curves->rows);
    curves->rows = fewer;
}

static bool start_curves(void *self, const RunView *run, Error *error)
{
    Curves *curves = self;
    const char *slash = strrchr(run->folder, '/');
    char *log = file_join(run->folder, RUN_LOG);
    RunLogRow *rows;
    curves->picture = file_join(run->folder, "curves.svg");
    curves->name = memory_copy_text(slash && slash[1] ? slash + 1 : run->folder);
    bool good = runlog_read(log, &rows, error);
    for (size_t i = 0; good && i < arrlenu(rows); i++)
        keep(curves, &rows[i]);
    arrfree(rows);
    free(log);
    return good;
}

static bool draw_curves(void *self, const RunView *run, Error *error)
{
    Curves *curves = self;
    keep(curves, &run->row);
    if (!run->row.has_val_loss)
        return true;
    Chart chart = curves_chart(curves, run, POINTS);
    bool good = svg_write(curves->picture, &chart, curves->name, error);
    chart_free(&chart);
    return good;
}

static void free_curves(void *self)
{
    Curves *curves = self;
    free(curves->picture);
    free(curves->name);
    arrfree(curves->rows);
    *curves = (Curves){0};
}

const ObserverCalls curves_calls = {
    .on = {[RUN_STARTED] = start_curves, [RUN_LOGGED] = draw_curves}, .free = free_curves};

/* --- event files --- */

/* As code, so that Markdown shows the text as it is. */
static void append_code(unsigned char **bytes, size_t step, const char *tag, const char *text)
{
    char *code = words_indented(text);
    events_append_text(bytes, events_now(), step, tag, code);
    free(code);
}

static bool start_events(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    size_t step = view_complete(run);
    if (!events_create(file, run->folder, error))
        return false;
    unsigned char *bytes = NULL;
    if (step > 0)
        events_append_restart(&bytes, events_now(), step + 1);
    char *settings = settings_text(run->settings);
    append_code(&bytes, step, "settings", settings);
    events_append_settings(&bytes, events_now(), settings);
    free(settings);
    return events_write(file, &bytes, error);
}

static bool log_events(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    const RunLogRow *row = &run->row;
    const EventScalar loss = row->matches ? (EventScalar){"train/match_loss", row->match_loss}
                                          : (EventScalar){"train/loss", row->train_loss};
    const EventScalar scalars[] = {loss,
                                   {"train/lr", row->lr},
                                   {"train/grad_norm", row->grad_norm},
                                   {"perf/tokens_per_s", row->tokens_per_second},
                                   {"val/loss", row->val_loss},
                                   {"val/perplexity", exp(row->val_loss)},
                                   {"val/bits_per_byte", row->val_bits_per_byte},
                                   {"val/loss_final", row->final_val_loss}};
    enum { ALL = sizeof scalars / sizeof *scalars, OF_STEP = 4, OF_VALIDATION = 3, OF_END = 1 };
    size_t count = row->final_val_loss > 0 ? ALL
                   : row->has_val_loss     ? ALL - OF_END
                                           : ALL - OF_END - OF_VALIDATION;
    size_t first = row->step == 0 ? OF_STEP : 0; /* before the first step */
    unsigned char *bytes = NULL;
    events_append_scalars(&bytes, events_now(), row->step, scalars + first, count - first);
    const EventScalar accuracy = {"val/accuracy", row->val_accuracy};
    if (!isnan(row->val_accuracy))
        events_append_scalars(&bytes, events_now(), row->step, &accuracy, 1);
    return events_write(file, &bytes, error);
}

static bool sample_event(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    unsigned char *bytes = NULL;
    append_code(&bytes, run->progress->step, "sample", run->sample);
    return events_write(file, &bytes, error);
}

static bool close_events(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    (void)run;
    return events_close(file, error);
}

const ObserverCalls events_calls = {.on = {[RUN_STARTED] = start_events,
                                           [RUN_LOGGED] = log_events,
                                           [RUN_SAMPLED] = sample_event,
                                           [RUN_ENDED] = close_events}};
