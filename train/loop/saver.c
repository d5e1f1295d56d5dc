#include "train/loop/saver.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/ranks/ranks.h"

#include <math.h>
#include <stdlib.h>

Saver saver_make(Trainer *trainer, RunFolder *folder, const RunView *view,
                 const Observers *observers)
{
    const Progress *progress = &trainer->progress;
    return (Saver){.trainer = trainer,
                   .folder = folder,
                   .view = view,
                   .observers = observers,
                   .saved_step = SIZE_MAX,
                   .awaiting_step = progress->due ? progress->step : 0,
                   .tried_at = progress->seconds,
                   .keep_finished = trainer->extension.finished};
}

static void note(const Saver *saver, SaveAttempt *attempt, bool good, const char *next)
{
    attempt->failed = !good;
    if (good)
        return;
    char *text = text_format("%s. The training continues; %s", attempt->why.text, next);
    observers_warned(saver->observers, text);
    free(text);
}

static bool write_run(Saver *saver, Error *error)
{
    bool recreated;
    RunFolder *folder = saver->folder;
    Progress *progress = &saver->trainer->progress;
    if (!folder_restore(folder, saver->view, &recreated, error))
        return false;
    if (recreated && !file_exists(folder->best))
        progress->best.loss = INFINITY; /* the file is gone */
    /* A resumed run does not repeat the rows before the checkpoint, so they are synced first.
     * If that fails, the checkpoint is written all the same: it is worth more. */
    if (!runlog_sync(&folder->log, error))
        observers_warned(saver->observers, error->text);
    if (!trainer_save(saver->trainer, folder->next, true, error) ||
        !folder_turn(folder, saver->awaiting_step == progress->step, error))
        return false;
    /* The checkpoint of a finished run that is extended stays beside those of the longer run.
     */
    Error why;
    if (saver->keep_finished && !folder_keep(folder, saver->trainer->extension.step, &why))
        observers_warned(saver->observers, why.text);
    saver->keep_finished = false;
    return true;
}

/* The first rank writes; all ranks learn whether it succeeded. */
static bool try_save(Saver *saver, Error *error)
{
    Progress *progress = &saver->trainer->progress;
    trainer_gather(saver->trainer);
    bool good = ranks_agree(!ranks_first() || write_run(saver, error), error);
    ranks_share(progress, sizeof *progress, 0);
    if (good) {
        saver->saved_step = progress->step;
        saver->awaiting_step = progress->due ? progress->step : 0;
    }
    return good;
}

void saver_save(Saver *saver)
{
    saver->tried_at = saver->trainer->progress.seconds;
    bool good = try_save(saver, &saver->last.why);
    note(saver, &saver->last, good, "the next checkpoint is the next attempt");
}

/* All ranks decide together, as their clocks differ. */
bool saver_is_due(const Saver *saver)
{
    double minutes = saver->trainer->settings.session.save_minutes;
    double age = saver->trainer->progress.seconds - saver->tried_at;
    return ranks_most(minutes > 0 && age >= 60 * minutes) > 0;
}

void saver_save_best(Saver *saver, Validation on_disk)
{
    Error *why = &saver->best.why;
    bool good = !ranks_first() || trainer_save(saver->trainer, saver->folder->best, false, why);
    good = ranks_agree(good, why);
    if (!good)
        saver->trainer->progress.best = on_disk;
    note(saver, &saver->best, good, "the next improvement is the next attempt");
}

bool saver_end(Saver *saver, Error *error)
{
    SaveAttempt *last = &saver->last;
    last->failed = saver->saved_step != saver->trainer->progress.step &&
                   !try_save(saver, &last->why);
    Error why; /* of what only the clock needs */
    if (ranks_first() && !last->failed &&
        !folder_write_settings(saver->folder, saver->view, &why))
        observers_warned(saver->observers, why.text);
    const SaveAttempt *failed = last->failed ? last : &saver->best;
    if (failed->failed)
        *error = failed->why;
    return !failed->failed;
}
