#include "train/loop/history.h"
#include "eval/runs/rundata.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *key;
    size_t offset;
} fields[HISTORY_FIELDS] = {{RUN_ORIGIN, offsetof(History, origin)},
                            {RUN_TEACHER, offsetof(History, teacher)},
                            {RUN_EXTENDED, offsetof(History, extended)}};

static char **field(const History *history, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)history + fields[i].offset);
}

/* A comment of settings.conf is one line. */
static bool is_line(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    return *text != '\0';
}

bool history_read(History *history, const Checkpoint *checkpoint, Error *error)
{
    history_free(history);
    for (size_t i = 0; i < HISTORY_FIELDS; i++) {
        const char *text = checkpoint_extra(checkpoint, fields[i].key);
        if (text && !is_line(text))
            return error_set(error, "%s: its '%s' is not one line of text",
                             checkpoint->file.path, fields[i].key);
        *field(history, i) = text ? memory_copy_text(text) : NULL;
    }
    return true;
}

void history_free(History *history)
{
    for (size_t i = 0; i < HISTORY_FIELDS; i++)
        free(*field(history, i));
    *history = (History){0};
}

size_t history_metadata(const History *history, MetadataPair pairs[HISTORY_FIELDS])
{
    size_t count = 0;
    for (size_t i = 0; i < HISTORY_FIELDS; i++)
        if (*field(history, i))
            pairs[count++] = (MetadataPair){fields[i].key, *field(history, i)};
    return count;
}

void history_append_comments(char **text, const History *history)
{
    for (size_t i = 0; i < HISTORY_FIELDS; i++)
        if (*field(history, i))
            text_append(text, "# %s: %s\n", fields[i].key, *field(history, i));
}
