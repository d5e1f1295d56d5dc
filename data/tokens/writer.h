/* Writes a file of token ids that can be continued after an interruption.
 *
 * The ids go to TARGET.part. From time to time this is synced, and TARGET.progress says how far
 * the text was encoded; whoever begins again cuts TARGET.part there. At the end it gets its
 * name. So a file with the target's name is complete. */
#ifndef LINNET_TOKEN_WRITER_H
#define LINNET_TOKEN_WRITER_H

#include "data/corpora/token_file.h"

typedef struct TokenWriter {
    char *path, *partial, *progress;
    const Vocabulary *vocabulary;
    uint32_t vocabulary_crc;
    int fd;
    bool temporary; /* without notes of how far the text was encoded: removed in the end */
    void *narrow;   /* room for ids on their way out */
    size_t room;    /* in ids */
} TokenWriter;

/* Says in *facts and *lines how far an earlier writer came. On failure nothing is left to
 * free. */
bool token_writer_open(TokenWriter *writer, const char *path, const Vocabulary *vocabulary,
                       TokenFacts *facts, size_t *lines, Error *error);
bool token_writer_append(TokenWriter *writer, const int32_t *ids, size_t count, Error *error);
/* Makes sure of all that has been appended. */
bool token_writer_save(TokenWriter *writer, const TokenFacts *facts, size_t lines,
                       Error *error);
/* Gives the file its name. */
bool token_writer_finish(TokenWriter *writer, size_t count, Error *error);
/* Leaves an unfinished file if it can be continued. */
void token_writer_close(TokenWriter *writer);

#endif
