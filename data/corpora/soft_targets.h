/* Soft targets: for each token of a text, what a teacher predicts in its place, in a file.
 *
 * The file begins with a SoftHeader. A record for each token follows (src/layers/head.h),
 * whose unigram is that of the text. Numbers are little-endian. */
#ifndef LINNET_SOFT_TARGETS_H
#define LINNET_SOFT_TARGETS_H

#include "data/corpora/corpus.h"
#include "src/base/file.h"
#include "src/layers/head.h"

enum { SOFT_MOST_TOKENS = 65536 };

typedef struct SoftHeader {
    char magic[8];
    uint32_t version, listed; /* tokens of a record */
    uint32_t vocabulary;
    uint32_t text_crc, records_crc; /* of the ids as CorpusSplit has it; of what follows */
    uint32_t unused;
    uint64_t tokens;
} SoftHeader;

typedef struct SoftTargets {
    Mapping *mapping; /* NULL: none */
    size_t listed;
    const uint16_t *records; /* (tokens, 2 listed) */
    uint32_t crc;            /* of the records */
    size_t vocabulary;
    real *unigram; /* (vocabulary) the share of each token in the text */
} SoftTargets;

/* Opens the file and checks that it is whole and belongs to this text. */
bool soft_targets_open(SoftTargets *soft, const char *path, const CorpusSplit *split,
                       size_t vocabulary, Error *error);
void soft_targets_close(SoftTargets *soft);

/* The record of a token; zeros if its ids are no longer in the vocabulary, since somebody has
 * written to the file. */
const uint16_t *soft_targets_at(const SoftTargets *soft, size_t place);
/* As corpus_check. */
bool soft_targets_check(const SoftTargets *soft, Error *error);

/* The share of each token in a text; the caller frees it. */
real *soft_targets_unigram(const CorpusSplit *split, size_t vocabulary);

/* Writes a file, atomically: only a part of the records is in memory. Zeros are one that has
 * not begun. */
typedef struct SoftWriter {
    FileReplacement file;
    SoftHeader header;
} SoftWriter;

/* Each of the following aborts the file if it fails. */
bool soft_writer_begin(SoftWriter *writer, const char *path, size_t listed,
                       const CorpusSplit *split, size_t vocabulary, Error *error);
/* Some records from a place on, read again and put. All are put in order, or several times in
 * order, each time from the first to the last. */
bool soft_writer_get(SoftWriter *writer, size_t place, uint16_t *records, size_t count,
                     Error *error);
bool soft_writer_put(SoftWriter *writer, size_t place, const uint16_t *records, size_t count,
                     Error *error);
bool soft_writer_end(SoftWriter *writer, Error *error);
void soft_writer_abort(SoftWriter *writer);

#endif
