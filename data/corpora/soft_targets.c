#include "data/corpora/soft_targets.h"
#include "src/base/file.h"
#include "src/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are read as they lie");

static const SoftHeader form = {.magic = "linnetST", .version = 1};

static uint32_t checksum(const void *records, size_t bytes)
{
    return (uint32_t)crc32_z(0, records, bytes);
}

static size_t record_bytes(size_t listed)
{
    return 2 * listed * sizeof(uint16_t);
}

/* --- reading --- */

#define WRITE_AGAIN "write it with eval --split train --soft-targets FILE RUN CORPUS"

static bool check_text(const SoftHeader *header, const char *path, const CorpusSplit *split,
                       size_t vocabulary, Error *error)
{
    if (header->vocabulary == vocabulary && header->tokens == split->count &&
        header->text_crc == split->crc)
        return true;
    return error_set(
        error,
        "%s: these are the soft targets of another text or tokenizer: of %llu tokens, "
        "vocabulary %u; this text has %zu, vocabulary %zu. Give the tokenizer of the runs with "
        "--tokenizer-file (export --plain writes it), or for this text, " WRITE_AGAIN,
        path, (unsigned long long)header->tokens, header->vocabulary, split->count, vocabulary);
}

static const uint16_t *record_of(const SoftTargets *soft, size_t place)
{
    return soft->records + place * 2 * soft->listed;
}

static bool ids_fit(const SoftTargets *soft, const uint16_t *record)
{
    size_t most = 0;
    for (size_t k = 0; k < soft->listed; k++)
        most = record[k] > most ? record[k] : most;
    return most < soft->vocabulary;
}

const uint16_t *soft_targets_at(const SoftTargets *soft, size_t place)
{
    const uint16_t *record = record_of(soft, place);
    static const uint16_t nothing[2 * SOFT_MOST_TOKENS];
    if (ids_fit(soft, record))
        return record;
    mapping_mark_changed(record);
    return nothing;
}

bool soft_targets_check(const SoftTargets *soft, Error *error)
{
    if (!soft->mapping || mapping_check(soft->mapping, error))
        return true;
    mapping_accept(soft->mapping);
    if (checksum(soft->records, soft->mapping->size - sizeof form) != soft->crc)
        mapping_mark_changed(soft->records);
    return mapping_check(soft->mapping, error);
}

/* Whether every id is in the vocabulary and comes once, and no record has more probability
 * than 1. */
static bool check_records(const SoftTargets *soft, const char *path, size_t tokens,
                          Error *error)
{
    size_t *seen = memory_new(soft->vocabulary, sizeof *seen, "the vocabulary");
    bool good = true;
    for (size_t i = 0; good && i < tokens; i++) {
        const uint16_t *record = record_of(soft, i);
        size_t sum = 0;
        good = ids_fit(soft, record);
        for (size_t k = 0; good && k < soft->listed; k++) {
            good = seen[record[k]] != i + 1;
            seen[record[k]] = i + 1;
            sum += record[soft->listed + k];
        }
        good = good && sum <= SOFT_UNIT;
        if (!good)
            error_set(error, "%s: the record of token %zu is no distribution; " WRITE_AGAIN,
                      path, i);
    }
    free(seen);
    return good;
}

static bool read_file(SoftTargets *soft, const char *path, const CorpusSplit *split,
                      size_t vocabulary, Error *error)
{
    SoftHeader header = {0};
    size_t size = soft->mapping->size;
    if (size >= sizeof header)
        memcpy(&header, soft->mapping->data, sizeof header);
    if (memcmp(header.magic, form.magic, sizeof form.magic) != 0 ||
        header.version != form.version || header.listed == 0 ||
        header.listed > SOFT_MOST_TOKENS)
        return error_set(error, "%s: this is no file of soft targets; " WRITE_AGAIN, path);
    if (!check_text(&header, path, split, vocabulary, error))
        return false;
    size_t bytes = split->count * record_bytes(header.listed);
    soft->listed = header.listed;
    soft->vocabulary = vocabulary;
    soft->records = (const uint16_t *)((const char *)soft->mapping->data + sizeof header);
    soft->crc = header.records_crc;
    if (size != sizeof header + bytes || checksum(soft->records, bytes) != soft->crc)
        return error_set(error, "%s: the file is incomplete or damaged; " WRITE_AGAIN, path);
    bool good = check_records(soft, path, split->count, error);
    mapping_end_read(soft->records, bytes);
    return good;
}

real *soft_targets_unigram(const CorpusSplit *split, size_t vocabulary)
{
    size_t *seen = memory_new(vocabulary, sizeof *seen, "the vocabulary");
    real *unigram = memory_new(vocabulary, sizeof *unigram, "the vocabulary");
    tokens_tally(split->ids, split->count, seen);
    for (size_t i = 0; i < vocabulary; i++)
        unigram[i] = (real)((double)seen[i] / (double)split->count);
    free(seen);
    return unigram;
}

bool soft_targets_open(SoftTargets *soft, const char *path, const CorpusSplit *split,
                       size_t vocabulary, Error *error)
{
    *soft = (SoftTargets){.mapping = mapping_open(path, error)};
    if (soft->mapping && read_file(soft, path, split, vocabulary, error)) {
        soft->unigram = soft_targets_unigram(split, vocabulary);
        return true;
    }
    soft_targets_close(soft);
    return false;
}

void soft_targets_close(SoftTargets *soft)
{
    mapping_close(soft->mapping);
    free(soft->unigram);
    *soft = (SoftTargets){0};
}

/* --- writing --- */

static bool seek(SoftWriter *writer, size_t place, Error *error)
{
    return file_replace_seek(
        &writer->file, sizeof writer->header + place * record_bytes(writer->header.listed),
        error);
}

bool soft_writer_begin(SoftWriter *writer, const char *path, size_t listed,
                       const CorpusSplit *split, size_t vocabulary, Error *error)
{
    writer->header = form;
    writer->header.listed = (uint32_t)listed;
    writer->header.vocabulary = (uint32_t)vocabulary;
    writer->header.text_crc = split->crc;
    writer->header.tokens = split->count;
    return file_replace_begin(&writer->file, path, error) &&
           file_replace_reserve(&writer->file,
                                sizeof writer->header + split->count * record_bytes(listed),
                                error);
}

bool soft_writer_get(SoftWriter *writer, size_t place, uint16_t *records, size_t count,
                     Error *error)
{
    return seek(writer, place, error) &&
           file_replace_read(&writer->file, records,
                             count * record_bytes(writer->header.listed), error);
}

bool soft_writer_put(SoftWriter *writer, size_t place, const uint16_t *records, size_t count,
                     Error *error)
{
    size_t bytes = count * record_bytes(writer->header.listed);
    uint32_t before = place > 0 ? writer->header.records_crc : 0;
    writer->header.records_crc = (uint32_t)crc32_z(before, (const Bytef *)records, bytes);
    return seek(writer, place, error) &&
           file_replace_write(&writer->file, records, bytes, error);
}

bool soft_writer_end(SoftWriter *writer, Error *error)
{
    return file_replace_seek(&writer->file, 0, error) &&
           file_replace_write(&writer->file, &writer->header, sizeof writer->header, error) &&
           file_replace_commit(&writer->file, error);
}

void soft_writer_abort(SoftWriter *writer)
{
    file_replace_abort(&writer->file);
}
