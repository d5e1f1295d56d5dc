/* Where a run comes from, beyond its settings: kept in its checkpoints and, as comments, in
 * settings.conf, so that comparisons can tell it from a run without this history. */
#ifndef LINNET_HISTORY_H
#define LINNET_HISTORY_H

#include "models/checkpoint.h"

typedef struct History {
    char *origin;   /* the model that --init took weights from; NULL: none */
    char *teacher;  /* the model or the soft targets that it learns from; NULL: none */
    char *extended; /* each change of the length; NULL: none */
} History;

enum { HISTORY_FIELDS = 3 };

/* Reads what a checkpoint keeps of it. */
bool history_read(History *history, const Checkpoint *checkpoint, Error *error);
void history_free(History *history);

/* Fills in the metadata of a checkpoint; returns how many pairs. */
size_t history_metadata(const History *history, MetadataPair pairs[HISTORY_FIELDS]);
/* Appends lines "# key: value". */
void history_append_comments(char **text, const History *history);

#endif
