/* What a new run takes over from another: train --init. */
#include "models/adopt.h"
#include "src/text.h"
#include "train/loop/trainer.h"

#include <stdlib.h>

const Vocabulary *trainer_init_vocabulary(const Trainer *t, const Checkpoint *init)
{
    return init && t->settings.train.init_tokens == INIT_TOKENS_RUN ? &init->vocabulary : NULL;
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
        if (progress.last_step == progress.step && progress.last_loss > 0)
            text_append(&text, ", validation loss %.4f", progress.last_loss);
    }
    const char *crc = checkpoint_extra(init, "crc32");
    text_append(&text, ", crc32 %s", crc ? crc : "unknown");
    char *origin = text_one_line(text);
    free(text);
    return origin;
}

static void append_tokens(Trainer *t, size_t shared)
{
    size_t count = t->corpus.vocabulary.count;
    if (t->init_ids)
        text_append(
            &t->start,
            "  vocabulary of its own: %zu of %zu tokens are also the run's and keep their "
            "embeddings, %zu are new",
            shared, count, count - shared);
    else
        text_append(&t->start, "  tokenizer of that run");
}

bool trainer_plan_init(Trainer *t, const Checkpoint *init, Error *error)
{
    size_t shared = 0;
    if (!adopt_check(&t->model.config, init, error) ||
        !adopt_verify(&t->model.config, init, error))
        return false;
    t->init = init;
    if (!trainer_init_vocabulary(t, init))
        t->init_ids = adopt_ids(&t->corpus.vocabulary, &init->vocabulary, &shared);
    t->history.origin = origin_of(init);
    t->start = memory_copy_text(t->history.origin);
    append_tokens(t, shared);
    if (t->init_ids)
        text_append(&t->history.origin, ", %zu of %zu tokens shared", shared,
                    t->corpus.vocabulary.count);
    char *differences = adopt_differences(&t->model.config, init);
    text_append(&t->start, "%s%s", *differences ? "  " : "", differences);
    free(differences);
    return true;
}
