/* What a run takes from another: its weights at the start (train --init), its predictions
 * (train --distill). */
#include "data/tokenizers/tokenizers.h"
#include "eval/runs/rundata.h"
#include "models/adopt.h"
#include "src/base/text.h"
#include "train/loop/trainer.h"

#include <stdlib.h>
#include <string.h>

const Vocabulary *trainer_init_vocabulary(const Trainer *t)
{
    bool kept = t->init && t->settings.train.init_tokens == INIT_TOKENS_RUN;
    return kept ? &t->init->vocabulary : NULL;
}

/* "runs/book/best.safetensors, step 2270, validation loss 4.5296, crc32 1a2b3c4d": the file may
 * change later, but not what these say. Names of files may contain line ends; this may not. */
static char *origin_of(const Checkpoint *init)
{
    Progress progress = {0};
    Error ignored;
    char *text = text_format("%s", init->file.path);
    if (trainer_read_progress(&progress, init, &ignored)) {
        text_append(&text, ", step %zu", progress.step);
        if (progress.validated && progress.last.step == progress.step)
            text_append(&text, ", validation loss %.4f", progress.last.loss);
    }
    const char *crc = checkpoint_extra(init, "crc32");
    text_append(&text, ", crc32 %s", crc ? crc : "unknown");
    char *origin = text_one_line(text);
    free(text);
    return origin;
}

bool trainer_plan_init(Trainer *t, Error *error)
{
    const Checkpoint *init = t->init;
    size_t shared, count = t->corpus.vocabulary.count;
    LoadedModel probe; /* so that nothing is begun with weights that cannot be loaded */
    if (!adopt_check(&t->model.config, init, error) ||
        !loaded_open(&probe, init->file.path, error))
        return false;
    loaded_close(&probe);
    t->history[HISTORY_ORIGIN] = origin_of(init);
    t->start = memory_copy_text(t->history[HISTORY_ORIGIN]);
    if (trainer_init_vocabulary(t)) {
        text_append(&t->start, "  tokenizer of that run");
    } else {
        t->init_ids = adopt_ids(&t->corpus.vocabulary, &init->vocabulary, &shared);
        text_append(&t->start,
                    "  vocabulary of its own: %zu of %zu tokens are also the run's and keep "
                    "their embeddings, %zu are new%s",
                    shared, count, count - shared,
                    t->model.config.ngrams > 1 && init->config.ngrams > 1
                        ? ", n-gram embeddings start anew"
                        : "");
        text_append(&t->history[HISTORY_ORIGIN], ", %zu of %zu tokens shared", shared, count);
    }
    char *differences = adopt_differences(&t->model.config, init);
    text_append(&t->start, "%s%s", *differences ? "  " : "", differences);
    free(differences);
    return true;
}

/* --- the teacher --- */

bool trainer_open_teacher(Trainer *t, Error *error)
{
    const char *name = t->settings.train.distill;
    const Checkpoint *teacher = &t->teacher.checkpoint;
    const ModelConfig *config = &teacher->config;
    size_t context = t->settings.model.context;
    Error why;
    if (!loaded_open(&t->teacher, name, &why))
        return error_set(error, "--distill: %s; %s", why.text,
                         t->settings.session.resume
                             ? "resuming needs the teacher; if it was moved, give its new path "
                               "with --distill"
                             : "name the run or checkpoint to learn from");
    if (!vocabulary_equal(&t->corpus.vocabulary, &teacher->vocabulary))
        return error_set(
            error,
            "--distill %s: its vocabulary of %zu tokens is not that of this run, "
            "of %zu; train on the same text with the same tokenizer, or start from "
            "its weights with --init",
            name, teacher->vocabulary.count, t->corpus.vocabulary.count);
    if (config->positions == POSITIONS_LEARNED && config->context < context)
        return error_usage(
            error,
            "--context %zu: the teacher %s has learned positions for %zu tokens; "
            "give --context %zu or less",
            context, name, config->context, config->context);
    t->history[HISTORY_TEACHER] = origin_of(teacher);
    pass_make(&t->teacher_pass, &t->teacher.model, t->pass.batch, t->pass.length,
              PASS_EVALUATE);
    t->teacher_pass.carries = false; /* it reads every window from its beginning */
    t->pass.teacher_dim = config->dim;
    return true;
}

/* The checksum at the end of an origin. */
static const char *checksum_of(const char *origin)
{
    const char *blank = origin ? strrchr(origin, ' ') : NULL;
    return blank ? blank + 1 : "none";
}

bool trainer_check_teacher(const Trainer *t, const Checkpoint *checkpoint, Error *error)
{
    const char *recorded = checkpoint_extra(checkpoint, RUN_TEACHER);
    const char *now = checksum_of(t->history[HISTORY_TEACHER]), *before = checksum_of(recorded);
    const char *given = t->settings.train.distill;
    if (strcmp(now, before) == 0)
        return true;
    if (!recorded)
        return error_set(error,
                         "--distill %s: this run began without a teacher; start a new run to "
                         "distill",
                         given);
    return error_set(error,
                     "--distill %s: this is not the teacher that the run began with: its "
                     "checksum is %s, not %s; if it was moved, give its new path, or start a "
                     "new run",
                     given, now, before);
}
