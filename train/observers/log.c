/* The observers that keep the numbers: log.csv, and TensorBoard's event files. */
#include "train/observers/observers.h"
#include "src/base/containers.h"

#include <math.h>

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

const ObserverCalls log_calls = {.at = {[RUN_LOGGED] = append_row, [RUN_ENDED] = close_log}};

/* --- event files --- */

/* As code, so that Markdown shows the text as it is. */
static void append_code(unsigned char **bytes, size_t step, const char *tag, const char *text)
{
    char *code = words_indented(text);
    events_append_text(bytes, events_now(), step, tag, code);
    free(code);
}

static bool started(void *self, const RunView *run, Error *error)
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
    free(settings);
    return events_write(file, &bytes, error);
}

static bool logged(void *self, const RunView *run, Error *error)
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

static bool sampled(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    unsigned char *bytes = NULL;
    append_code(&bytes, run->progress->step, "sample", run->sample);
    return events_write(file, &bytes, error);
}

static bool ended(void *self, const RunView *run, Error *error)
{
    EventFile *file = self;
    (void)run;
    return events_close(file, error);
}

const ObserverCalls events_calls = {.at = {[RUN_STARTED] = started,
                                           [RUN_LOGGED] = logged,
                                           [RUN_SAMPLED] = sampled,
                                           [RUN_ENDED] = ended}};
