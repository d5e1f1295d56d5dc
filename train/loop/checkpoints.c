#include "train/loop/checkpoints.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

#define LAST     "last.safetensors"
#define NEXT     "next.safetensors"
#define PREVIOUS "previous.safetensors"
#define DAMAGED  "last.safetensors.damaged"

/* The newest first. */
static const char *const names[] = {LAST, NEXT, PREVIOUS};
enum { NAMES = sizeof names / sizeof *names };

/* --- saving --- */

static bool rename_in(const char *folder, const char *from, const char *to, Error *error)
{
    char *old = file_join(folder, from), *new = file_join(folder, to);
    bool good = file_rename(old, new, error);
    free(old);
    free(new);
    return good;
}

static bool is_in(const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    bool there = file_exists(path);
    free(path);
    return there;
}

bool checkpoints_save(const char *folder, const Trainer *trainer, Error *error)
{
    char *next = file_join(folder, NEXT);
    bool good = trainer_save(trainer, next, true, error);
    free(next);
    return good && (!is_in(folder, LAST) || rename_in(folder, LAST, PREVIOUS, error)) &&
           rename_in(folder, NEXT, LAST, error);
}

/* --- opening --- */

char *checkpoints_newest(const char *folder)
{
    for (size_t i = 0; i < NAMES; i++) {
        char *path = file_join(folder, names[i]);
        if (file_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

/* Settings that this program does not know, perhaps from another version, are an error of the
 * file, not of the command line. */
static bool check_stored_settings(const Checkpoint *checkpoint, Error *error)
{
    Settings stored = {0};
    OptionGroup groups[GROUP_COUNT];
    const char *text = checkpoint_extra(checkpoint, TRAINING_KEY);
    settings_groups(&stored, groups);
    options_set_defaults(groups, GROUP_COUNT);
    bool good = text && checkpoint_extra(checkpoint, STEP_KEY) && checkpoint->has_moments
                    ? options_read_text(groups, GROUP_COUNT, text, checkpoint->file.path, error)
                    : error_set(error, "%s: it has no optimizer state to continue from",
                                checkpoint->file.path);
    options_free_texts(groups, GROUP_COUNT);
    return good;
}

static bool open_one(Checkpoint *checkpoint, const char *path, Error *error)
{
    if (!file_exists(path))
        return error_set(error, "%s: missing", path);
    if (!checkpoint_open(checkpoint, path, error))
        return false;
    bool good = check_stored_settings(checkpoint, error);
    if (!good)
        checkpoint_close(checkpoint);
    return good;
}

bool checkpoints_open(Checkpoint *checkpoint, const char *folder, Error *error)
{
    Error first;
    bool good = false;
    for (size_t i = 0; !good && i < NAMES; i++) {
        char *path = file_join(folder, names[i]);
        good = open_one(checkpoint, path, i == 0 ? &first : error);
        if (good && i > 0)
            print_warning("%s; resuming from step %s in %s instead", first.text,
                          checkpoint_extra(checkpoint, STEP_KEY), path);
        free(path);
    }
    char *newest = good ? NULL : checkpoints_newest(folder);
    if (newest)
        *error = first; /* the newest checkpoint's */
    else if (!good)
        error_set(error, "--resume %s: there is no checkpoint in this directory yet", folder);
    free(newest);
    return good;
}

bool checkpoints_settle(const Checkpoint *opened, const char *folder, Error *error)
{
    const char *slash = strrchr(opened->file.path, '/');
    const char *name = slash ? slash + 1 : opened->file.path;
    if (strcmp(name, LAST) == 0)
        return true;
    if (is_in(folder, LAST) && !rename_in(folder, LAST, DAMAGED, error))
        return false;
    return strcmp(name, NEXT) != 0 || rename_in(folder, NEXT, LAST, error);
}
