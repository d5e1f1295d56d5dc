/* Extending a run; the rule is in extension.h. */
#include "src/optim/schedule.h"
#include "src/base/text.h"
#include "train/loop/trainer.h"

#include <stdlib.h>

static bool check_length(const Trainer *t, const Extension *extension, Error *error)
{
    const Length *length = &t->settings.train.length;
    size_t done = extension->step;
    if (extension->to == extension->from)
        return error_usage(error,
                           "the run has %zu steps already: --lr, --lr-floor, --schedule and "
                           "--cycles may change only with the length (--epochs, --steps)",
                           extension->to);
    if (extension->to > done)
        return true;
    return error_usage(error,
                       "--%s %zu: that is %zu steps, and this run has done %zu (%.4g epochs) "
                       "already; give more, or start a new run from its weights with --init",
                       length->steps ? "steps" : "epochs",
                       length->steps ? length->steps : length->epochs, extension->to, done,
                       (double)done / (double)t->steps_per_epoch);
}

/* --steps may name the length that the epochs have. */
static bool is_the_same(const Trainer *t)
{
    const Length *length = &t->settings.train.length, *before = &t->settings.before.length;
    return trainer_length(t, before) == t->steps && before->lr == length->lr &&
           before->lr_floor == length->lr_floor && before->schedule == length->schedule &&
           before->cycles == length->cycles;
}

/* The step after which weights are averaged. */
static double average_start(const Trainer *t)
{
    const TrainOptions *train = &t->settings.train;
    size_t matching = t->match_steps;
    if (train->average != AVERAGE_NONE)
        return (double)matching + train->average_from * (double)(t->steps - matching);
    return (double)trainer_cycle_end(t, 0) - 1;
}

bool trainer_plan_extension(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    const TrainOptions *train = &t->settings.train;
    const LengthBefore *before = &t->settings.before;
    Progress progress = {0};
    if (!before->changed || is_the_same(t))
        return true;
    if (!trainer_read_progress(&progress, checkpoint, error))
        return false;
    size_t step = progress.step, from = trainer_length(t, &before->length);
    double start = average_start(t);
    Extension *extension = &t->extension;
    *extension = (Extension){.planned = true,
                             .finished = step - progress.due >= from ||
                                         (before->patience > 0 && step > t->match_steps &&
                                          progress.stale >= before->patience),
                             .restarts_average = trainer_averages(train) &&
                                                 progress.averaged > 0 && (double)step <= start,
                             .step = step,
                             .from = from,
                             .to = t->steps,
                             .lr_from = step ? trainer_rate(t, &before->length, step - 1) : 0,
                             .lr_to = trainer_rate(t, &train->length, step),
                             .average_from = start};
    return check_length(t, extension, error);
}

/* "step 2270: 2270 to 5448 steps, lr 0.003 to 0.001" */
static void record(Trainer *t)
{
    const Length *length = &t->settings.train.length, *before = &t->settings.before.length;
    const Extension *extension = &t->extension;
    char **text = &t->history.extended;
    text_append(text, "%sstep %zu: %zu to %zu steps", *text ? "; " : "", extension->step,
                extension->from, extension->to);
    if (before->lr != length->lr)
        text_append(text, ", lr %g to %g", before->lr, length->lr);
    if (before->lr_floor != length->lr_floor)
        text_append(text, ", lr-floor %g to %g", before->lr_floor, length->lr_floor);
    if (before->schedule != length->schedule)
        text_append(text, ", schedule %s to %s", schedule_name(before->schedule),
                    schedule_name(length->schedule));
    if (before->cycles != length->cycles)
        text_append(text, ", cycles %zu to %zu", before->cycles, length->cycles);
}

void trainer_extend(Trainer *t)
{
    if (!t->extension.planned)
        return;
    t->progress.stale = 0;
    if (t->extension.restarts_average)
        t->progress.averaged = 0;
    if (t->progress.averaged == 0 && trainer_ends_cycle(t, t->progress.step))
        trainer_take_average(t); /* of a finished schedule, which gets cycles */
    record(t);
}
