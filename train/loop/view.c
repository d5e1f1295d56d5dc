#include "train/loop/view.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"

#include <math.h>

void view_begin(RunView *run)
{
    run->session = run->logged = *run->progress;
}

/* Dividing by the sum of the weights, as Adam does, keeps the first steps from biasing the
 * smoothed loss. */
void view_count_step(RunView *run)
{
    const double kept = 0.95;
    const Progress *progress = run->progress;
    const Progress *began = &run->session;
    if (progress->step == run->match_steps + 1) /* losses of another kind begin */
        run->loss_sum = run->loss_weight = 0;
    if (!run->last.skipped) {
        double loss = run->last.nats / (double)run->last.tokens;
        run->loss_sum = kept * run->loss_sum + (1 - kept) * loss;
        run->loss_weight = kept * run->loss_weight + (1 - kept);
    }
    run->smoothed_loss = run->loss_sum / run->loss_weight;
    run->tokens_per_second = (double)(progress->tokens - began->tokens) /
                             progress->training_seconds;
    run->seconds_left = (progress->seconds - began->seconds) /
                        (double)(progress->step - began->step) *
                        (double)(run->steps - progress->step);
}

void view_make_row(RunView *run, bool validated)
{
    const Progress *progress = run->progress;
    const Step *step = &run->last;
    const CorpusSplit *valid = &run->corpus->valid;
    bool matches = view_matches(run);
    double seconds = progress->training_seconds - run->logged.training_seconds;
    double mean = step->skipped ? (double)NAN : loss_mean(progress->log);
    run->row = (RunLogRow){
        .step = progress->step,
        .epoch = view_epochs(run, progress->step),
        .tokens = progress->tokens,
        .seconds = progress->seconds,
        .lr = step->lr,
        .matches = matches,
        .train_loss = matches ? (double)NAN : mean,
        .match_loss = matches ? mean : (double)NAN,
        .val_loss = progress->last.loss,
        .has_val_loss = validated,
        .grad_norm = step->skipped ? (double)NAN : step->gradient_norm,
        .tokens_per_second = (double)(progress->tokens - run->logged.tokens) / seconds,
        .peak_mb = memory_peak_megabytes(),
        .val_bits_per_byte = split_bits_per_byte(valid, progress->last.loss),
        .val_tokens = !validated             ? 0
                      : run->part_tokens > 0 ? run->part_tokens
                                             : split_scored(valid),
        .final_val_loss = progress->final.loss,
        .val_accuracy = validated && valid->labels.data ? progress->last.accuracy
                                                        : (double)NAN};
    run->logged = *progress;
}

/* --- observers --- */

void observers_add(Observers *observers, const ObserverCalls *calls, void *self)
{
    arrput(observers->list, ((Observer){.calls = calls, .self = self}));
}

void observers_free(Observers *observers)
{
    arrfree(observers->list);
}

/* Whether the observer succeeds or ignores the event. */
static bool tell(const Observer *observer, RunEvent event, const RunView *run, Error *error)
{
    const ObserverCalls *calls = observer->calls;
    return !calls->on[event] || calls->on[event](observer->self, run, error);
}

bool observers_started(const Observers *observers, const RunView *run, Error *error)
{
    for (size_t i = 0; i < arrlenu(observers->list); i++)
        if (!tell(&observers->list[i], RUN_STARTED, run, error))
            return false;
    return true;
}

/* One warning for a failure, however long it lasts. */
void observers_tell(const Observers *observers, RunEvent event, const RunView *run)
{
    for (size_t i = 0; i < arrlenu(observers->list); i++) {
        Observer *observer = &observers->list[i];
        Error why;
        if (!observer->calls->on[event])
            continue;
        bool good = tell(observer, event, run, &why);
        if (!good && !observer->failing)
            observers_warned(observers, why.text);
        if (!good)
            observer->why = why;
        observer->failing = !good;
    }
}

void observers_warned(const Observers *observers, const char *text)
{
    bool shown = false;
    for (size_t i = 0; i < arrlenu(observers->list); i++) {
        const Observer *observer = &observers->list[i];
        if (!observer->calls->warned)
            continue;
        observer->calls->warned(observer->self, text);
        shown = true;
    }
    if (!shown && ranks_first())
        print_warning("%s", text);
}

bool observers_ended(const Observers *observers, const RunView *run, Error *error)
{
    bool good = true;
    for (size_t i = arrlenu(observers->list); i-- > 0;) {
        Error later = {0};
        const Observer *observer = &observers->list[i];
        bool ends = tell(observer, RUN_ENDED, run, &later);
        if (!observer->calls->on[RUN_ENDED] && observer->failing) {
            later = observer->why; /* nothing at its end can make up for it */
            ends = false;
        }
        if (good && !ends)
            *error = later;
        good &= ends;
        if (observer->calls->free)
            observer->calls->free(observer->self);
    }
    return good;
}
