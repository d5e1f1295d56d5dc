#include "train/observers/observers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static bool started(void *self, const RunView *run, Error *error)
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

static bool sampled(void *self, const RunView *run, Error *error)
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

const ObserverCalls samples_calls = {.at = {[RUN_STARTED] = started, [RUN_SAMPLED] = sampled},
                                     .free = free_samples};
