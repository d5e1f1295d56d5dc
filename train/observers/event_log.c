#include "train/observers/event_log.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <string.h>

void event_log_init(EventLog *log, const Trainer *trainer, const char *folder)
{
    *log = (EventLog){.trainer = trainer, .folder = folder, .file = {.fd = -1}};
}

/* Indents every line, so that Markdown shows the text as it is. The caller frees. */
static char *as_code(const char *text)
{
    char *code = NULL;
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        text_append(&code, "    %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return code ? code : memory_copy_text("");
}

static void append_code(unsigned char **bytes, size_t step, const char *tag, const char *text)
{
    char *code = as_code(text);
    events_append_text(bytes, events_now(), step, tag, code);
    free(code);
}

static bool started(void *self, Error *error)
{
    EventLog *log = self;
    const Progress *progress = &log->trainer->progress;
    if (!events_create(&log->file, log->folder, error))
        return false;
    unsigned char *bytes = NULL;
    if (progress->step > 0)
        events_append_restart(&bytes, events_now(), progress->step + 1);
    char *settings = settings_text(&log->trainer->settings);
    append_code(&bytes, progress->step, "settings", settings);
    free(settings);
    return events_write(&log->file, &bytes, error);
}

static bool logged(void *self, const RunLogRow *row, Error *error)
{
    EventLog *log = self;
    const EventScalar scalars[] = {
        {"train/loss", row->train_loss},     {"train/lr", row->lr},
        {"train/grad_norm", row->grad_norm}, {"perf/tokens_per_s", row->tokens_per_second},
        {"val/loss", row->val_loss},         {"val/perplexity", exp(row->val_loss)}};
    enum { ALL = sizeof scalars / sizeof *scalars, OF_VALIDATION = 2 };
    unsigned char *bytes = NULL;
    events_append_scalars(&bytes, events_now(), row->step, scalars,
                          row->has_val_loss ? ALL : ALL - OF_VALIDATION);
    return events_write(&log->file, &bytes, error);
}

static bool sampled(void *self, const SampleNews *news, Error *error)
{
    EventLog *log = self;
    unsigned char *bytes = NULL;
    append_code(&bytes, news->step, "sample", news->text);
    return events_write(&log->file, &bytes, error);
}

static bool ended(void *self, Error *error)
{
    EventLog *log = self;
    return events_close(&log->file, error);
}

const ObserverCalls event_log_calls = {
    .started = started, .logged = logged, .sampled = sampled, .ended = ended};
