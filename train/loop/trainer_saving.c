/* Saving and resuming a training run. */
#include "src/ranks/ranks.h"
#include "src/base/text.h"
#include "train/loop/trainer.h"

#include <stdlib.h>
#include <string.h>

/* The fields of Progress under their names in a checkpoint. Times are left out, so that two
 * runs with the same settings write identical checkpoints; they are in the log. */
#define FIELD(name) offsetof(Progress, name)
static const struct {
    const char *name;
    size_t offset;
    bool is_size;
    bool rare; /* omitted while it is zero, and may be missing */
} fields[] = {
    {STEP_KEY, FIELD(step), true, false},
    {"tokens", FIELD(tokens), true, false},
    {"best_loss", FIELD(best.loss), false, false},
    {"best_step", FIELD(best.step), true, false},
    {"last_loss", FIELD(last.loss), false, false},
    {"last_step", FIELD(last.step), true, false},
    {"last_accuracy", FIELD(last.accuracy), false, true},
    {"best_accuracy", FIELD(best.accuracy), false, true},
    {"validation_due", FIELD(due), true, true},
    {"validation_due_norm", FIELD(due_norm), false, true},
    {"stale", FIELD(stale), true, false},
    {"final_loss", FIELD(final.loss), false, true},
    {"final_accuracy", FIELD(final.accuracy), false, true},
    {"log_nats", FIELD(log.nats), false, false},
    {"log_tokens", FIELD(log.tokens), true, false},
    {"round_nats", FIELD(round.nats), false, true},
    {"round_tokens", FIELD(round.tokens), true, true},
    {"averaged", FIELD(averaged), true, false},
    {"skipped", FIELD(skipped), true, true},
    {"skipped_in_row", FIELD(skipped_in_row), true, true},
    {"skipped_in_stage", FIELD(skipped_in_stage), true, true},
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* NULL for a field that is omitted. */
static char *field_text(const Progress *progress, size_t i)
{
    const char *at = (const char *)progress + fields[i].offset;
    if (fields[i].is_size) {
        size_t value = *(const size_t *)(const void *)at;
        return fields[i].rare && value == 0 ? NULL : text_format("%zu", value);
    }
    double value = *(const double *)(const void *)at;
    return fields[i].rare && value == 0 ? NULL : text_format("%a", value); /* exact */
}

void trainer_gather(Trainer *t)
{
    ranks_collect(t->m, sizeof *t->m, t->shards.bounds);
    ranks_collect(t->v, sizeof *t->v, t->shards.bounds);
    if (t->pass.carries)
        ranks_collect_shares(t->carried, t->pass.states_reals * sizeof *t->carried,
                             t->shards.count);
}

bool trainer_save(const Trainer *t, const char *path, bool with_moments, Error *error)
{
    char *training = settings_text(&t->settings);
    const ChecksumText train = checksum_text(t->corpus.train.crc),
                       valid = checksum_text(t->corpus.valid.crc),
                       test = checksum_text(t->corpus.test.crc);
    enum { OWN = 4 };
    MetadataPair extra[OWN + HISTORY_FIELDS + FIELDS] = {{TRAINING_KEY, training},
                                                         {TRAIN_CRC_KEY, train.digits},
                                                         {VALID_CRC_KEY, valid.digits},
                                                         {TEST_CRC_KEY, test.digits}};
    size_t count = OWN;
    count += history_metadata(&t->history, extra + count);
    char *texts[FIELDS] = {NULL};
    for (size_t i = 0; i < FIELDS; i++) {
        texts[i] = field_text(&t->progress, i);
        if (texts[i])
            extra[count++] = (MetadataPair){fields[i].name, texts[i]};
    }
    real *average = t->progress.averaged > 0 ? t->average : NULL;
    Model model = t->model;
    if (trainer_average(t) && !with_moments) /* a model to use, not to resume from */
        model.base = average;
    CheckpointContent content = {.model = &model,
                                 .vocabulary = &t->corpus.vocabulary,
                                 .corpus = &t->settings.corpus,
                                 .m = with_moments ? t->m : NULL,
                                 .v = with_moments ? t->v : NULL,
                                 .average = with_moments ? average : NULL,
                                 .carried = with_moments && t->pass.carries ? t->carried : NULL,
                                 .carried_reals = t->shards.count * t->pass.states_reals,
                                 .extra = extra,
                                 .extra_count = count};
    bool good = checkpoint_save(path, &content, error);
    for (size_t i = 0; i < FIELDS; i++)
        free(texts[i]);
    free(training);
    return good;
}

bool trainer_read_progress(Progress *progress, const Checkpoint *checkpoint, Error *error)
{
    for (size_t i = 0; i < FIELDS; i++) {
        const char *text = checkpoint_extra(checkpoint, fields[i].name);
        char *at = (char *)progress + fields[i].offset, *end;
        if (!text && fields[i].rare)
            continue;
        bool good = text != NULL;
        if (good && fields[i].is_size) {
            good = text_to_size(text, (size_t *)(void *)at);
        } else if (good) {
            *(double *)(void *)at = strtod(text, &end);
            good = end != text && !*end;
        }
        if (progress->due > 1 || progress->due > progress->step)
            good = false;
        if (!good)
            return error_set(error,
                             "%s: cannot read its '%s'; training cannot continue from it",
                             checkpoint->file.path, fields[i].name);
    }
    return true;
}

/* Restores the carried states of the streams. */
static bool load_carried(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    if (!t->pass.carries)
        return true;
    return checkpoint_load_carried(checkpoint, t->carried,
                                   t->shards.count * t->pass.states_reals, error);
}

static bool load_numbers(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    if (!t->average)
        t->progress.averaged = 0;
    real *average = t->progress.averaged > 0 ? t->average : NULL;
    return checkpoint_load(checkpoint, t->model.base, t->m, t->v, average, error);
}

static bool check_split(const CorpusSplit *split, const char *path, const char *what,
                        const char *of_run, Error *error)
{
    const ChecksumText crc = checksum_text(split->crc);
    return strcmp(crc.digits, of_run) == 0 ||
           error_set(error,
                     "%s: this is not the %s text of the run: its checksum is %s, the run's %s",
                     path, what, crc.digits, of_run);
}

bool trainer_check_text(const Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    const char *train = checkpoint_extra(checkpoint, TRAIN_CRC_KEY),
               *valid = checkpoint_extra(checkpoint, VALID_CRC_KEY); /* older runs have none */
    const char *corpus = t->settings.train.corpus, *file = t->settings.corpus.valid;
    return check_split(&t->corpus.train, corpus, "training", train ? train : "missing",
                       error) &&
           (!valid || check_split(&t->corpus.valid, file && *file ? file : corpus, "validation",
                                  valid, error));
}

bool trainer_load(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    if (!trainer_check_text(t, checkpoint, error) ||
        !trainer_read_progress(&t->progress, checkpoint, error) ||
        !history_read(&t->history, checkpoint, error) || !load_numbers(t, checkpoint, error) ||
        !load_carried(t, checkpoint, error))
        return false;
    trainer_extend(t);
    return true;
}
