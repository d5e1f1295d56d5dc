/* Saving, resuming and extending a training run. */
#include "src/base/memory.h"
#include "src/base/text.h"
#include "src/optim/schedule.h"
#include "src/ranks/ranks.h"
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
    MetadataPair extra[OWN + HISTORY_LINES + FIELDS] = {{TRAINING_KEY, training},
                                                        {TRAIN_CRC_KEY, train.digits},
                                                        {VALID_CRC_KEY, valid.digits},
                                                        {TEST_CRC_KEY, test.digits}};
    size_t count = OWN;
    for (size_t i = 0; i < HISTORY_LINES; i++)
        if (t->history[i])
            extra[count++] = (MetadataPair){history_key(i), t->history[i]};
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
                                 .subwords = with_moments ? t->subwords.state : NULL,
                                 .subwords_reals = subwords_state_reals(&t->subwords),
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
    progress->validated = progress->last.step > 0 || progress->last.loss != 0;
    progress->has_final = progress->final.loss != 0;
    return true;
}

void trainer_read_history(char *history[HISTORY_LINES], const Checkpoint *checkpoint)
{
    for (size_t i = 0; i < HISTORY_LINES; i++) {
        const char *text = checkpoint_extra(checkpoint, history_key(i));
        free(history[i]);
        history[i] = text ? text_one_line(text) : NULL; /* for a comment of settings.conf */
    }
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

/* --- extending; the rule is in view.h --- */

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
    char **text = &t->history[HISTORY_EXTENDED];
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

static void extend(Trainer *t)
{
    t->progress.stale = 0;
    if (t->extension.restarts_average)
        t->progress.averaged = 0;
    if (t->progress.averaged == 0 && trainer_ends_cycle(t, t->progress.step))
        trainer_add_to_average(t); /* of a finished schedule, which gets cycles */
    record(t);
}

bool trainer_load(Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    if (!trainer_read_progress(&t->progress, checkpoint, error))
        return false;
    trainer_read_history(t->history, checkpoint);
    if (!t->average)
        t->progress.averaged = 0;
    bool good = checkpoint_load(checkpoint, t->model.base, t->m, t->v,
                                t->progress.averaged > 0 ? t->average : NULL, error) &&
                (!t->pass.carries ||
                 checkpoint_load_array(checkpoint, CARRIED_ARRAY, t->carried,
                                       t->shards.count * t->pass.states_reals, error)) &&
                (!t->settings.train.subwords ||
                 checkpoint_load_array(checkpoint, SUBWORDS_ARRAY, t->subwords.state,
                                       subwords_state_reals(&t->subwords), error));
    if (good && t->extension.planned)
        extend(t);
    return good;
}
