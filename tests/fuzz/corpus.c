/* Texts: readers, tokenizers and vocabularies. */
#include "data/corpora/corpus.h"
#include "data/corpora/reader.h"
#include "data/corpora/tokens.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <zlib.h>

/* Uses the next byte as a choice; 0 after the end. */
static size_t next_choice(const uint8_t **data, size_t *size)
{
    if (!*size)
        return 0;
    --*size;
    return *(*data)++;
}

/* --- reader: one byte, odd to pack the rest first --- */

static char *pack(const uint8_t *data, size_t size, size_t *packed_size)
{
    enum { GZIP = 16, MEMORY = 8, LEVEL = 1 };
    z_stream stream = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
    FUZZ_HOLDS(deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, 0) == Z_OK);
    size_t most = deflateBound(&stream, size);
    char *packed = memory_new(most, 1, "an input");
    stream.next_out = (Bytef *)packed;
    stream.avail_out = (uInt)most;
    FUZZ_HOLDS(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    *packed_size = stream.total_out;
    deflateEnd(&stream);
    return packed;
}

/* zlib's own reader must agree on an accepted file. */
static void check_unpacked(const char *path, const char *bytes, size_t size)
{
    gzFile file = gzopen(path, "rb");
    char *expected = memory_new(size + 1, 1, "an input");
    FUZZ_HOLDS(file);
    FUZZ_HOLDS(gzread(file, expected, (unsigned)size + 1) == (int)size);
    FUZZ_HOLDS(memcmp(expected, bytes, size) == 0);
    FUZZ_HOLDS(gzclose(file) == Z_OK);
    free(expected);
}

void fuzz_reader(const uint8_t *data, size_t size)
{
    bool packs = next_choice(&data, &size) % 2 == 1;
    size_t file_size = size, read_size;
    char *packed = packs ? pack(data, size, &file_size) : NULL, *bytes;
    bool gzip = size >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
    const char *path = fuzz_file(packs ? (const void *)packed : data, file_size);
    Error error = {0};
    if (reader_read(path, true, 1, NULL, &bytes, &read_size, &error)) {
        FUZZ_HOLDS(bytes[read_size] == '\0');
        if (packs || !gzip)
            FUZZ_HOLDS(read_size == size && (!size || memcmp(bytes, data, size) == 0));
        else
            check_unpacked(path, bytes, read_size);
        free(bytes);
    } else {
        FUZZ_HOLDS(gzip && !packs && !bytes);
        fuzz_check_reason(&error);
    }
    free(packed);
}

/* --- corpora: three bytes for the tokenizer and its limits, then the text --- */

static const Tokenizer *choose_tokenizer(size_t choice, size_t *index)
{
    *index = choice % (TOKENIZER_BYTE + 1);
    return tokenizer_find(*index);
}

static int32_t *encode(const Vocabulary *vocabulary, const char *text, size_t size)
{
    int32_t *ids = NULL;
    vocabulary->tokenizer->encode(vocabulary, text, size, &ids);
    return ids;
}

static bool same_ids(const int32_t *a, const CorpusSplit *split)
{
    for (size_t i = 0; i < split->count; i++)
        if (a[i] != tokens_at(split->ids, i))
            return false;
    return true;
}

/* The three splits together are the text, except that a byte order mark at the start of each is
 * skipped, and that a long line may be split inside a word. */
static void check_splits(const Corpus *corpus, const char *path)
{
    char *text;
    size_t size;
    Error error = {0};
    FUZZ_HOLDS(
        reader_read(path, corpus->vocabulary.tokenizer->raw, 1, NULL, &text, &size, &error));
    if (memmem(text, size, UTF8_BYTE_ORDER_MARK, strlen(UTF8_BYTE_ORDER_MARK)) ||
        !strstr(corpus->source, "split by lines")) {
        free(text);
        return;
    }
    if (text[size - 1] != '\n')
        text[size++] = '\n'; /* in the place of its zero */
    const CorpusSplit *splits[] = {&corpus->train, &corpus->valid, &corpus->test};
    int32_t *ids = encode(&corpus->vocabulary, text, size);
    size_t count = 0, characters = 0;
    for (size_t s = 0; s < 3; s++) {
        FUZZ_HOLDS(count + splits[s]->count <= arrlenu(ids));
        FUZZ_HOLDS(same_ids(ids + count, splits[s]));
        count += splits[s]->count;
        characters += splits[s]->characters;
    }
    FUZZ_HOLDS(count == arrlenu(ids));
    FUZZ_HOLDS(characters == utf8_count(text, size));
    arrfree(ids);
    free(text);
}

/* The text of these ids; the caller frees. */
static char *write_text(const Vocabulary *vocabulary, const CorpusSplit *split, size_t *size)
{
    char *text = NULL;
    for (size_t i = 0; i < split->count; i++) {
        int32_t id = tokens_at(split->ids, i);
        FUZZ_HOLDS(id >= 0 && (size_t)id < vocabulary->count);
        const char *piece, *between = i ? vocabulary->tokenizer->separator : "\n";
        size_t length = vocabulary_piece(vocabulary, id, &piece);
        FUZZ_HOLDS(length > 0);
        memcpy(arraddnptr(text, strlen(between)), between, strlen(between));
        memcpy(arraddnptr(text, length), piece, length);
    }
    *size = arrlenu(text);
    return text;
}

/* The text of the ids gives the same ids again, after a line end that keeps a byte order mark
 * from the start. Characters with carriage returns are skipped: a single one becomes part of
 * the line end after it. */
static void check_written(const Corpus *corpus, const CorpusSplit *split, bool has_returns)
{
    const Vocabulary *vocabulary = &corpus->vocabulary;
    if (vocabulary->tokenizer == tokenizer_find(TOKENIZER_CHAR) && has_returns)
        return;
    size_t size;
    char *text = write_text(vocabulary, split, &size);
    int32_t *ids = encode(vocabulary, text, size);
    FUZZ_HOLDS(arrlenu(ids) == split->count + (split->count > 0));
    FUZZ_HOLDS(split->count == 0 || same_ids(ids + 1, split));
    arrfree(ids);
    arrfree(text);
}

static void check_vocabulary(const Vocabulary *vocabulary)
{
    size_t size, size_back;
    char *text = vocabulary_write(vocabulary, &size);
    Vocabulary back;
    Error error = {0};
    FUZZ_HOLDS(vocabulary_read(&back, vocabulary->tokenizer, text, size, &error));
    char *text_back = vocabulary_write(&back, &size_back);
    FUZZ_HOLDS(size_back == size && memcmp(text, text_back, size) == 0);
    FUZZ_HOLDS(back.count == vocabulary->count);
    FUZZ_HOLDS(back.eos == vocabulary->eos && back.unk == vocabulary->unk);
    for (size_t i = 0; i < back.count; i++)
        FUZZ_HOLDS(!back.words[i][0] || vocabulary_find(&back, back.words[i]) == (int32_t)i);
    vocabulary_free(&back);
    free(text_back);
    free(text);
}

/* Reading with the learned vocabulary gives the same corpus. */
static void check_known(const Corpus *corpus, const char *path, const CorpusOptions *options)
{
    Corpus again;
    Error error = {0};
    FUZZ_HOLDS(corpus_load(&again, path, options, &corpus->vocabulary, &error));
    FUZZ_HOLDS(again.train.crc == corpus->train.crc && again.valid.crc == corpus->valid.crc);
    FUZZ_HOLDS(again.test.crc == corpus->test.crc);
    FUZZ_HOLDS(again.valid.unknown == corpus->valid.unknown);
    corpus_free(&again);
}

void fuzz_corpus(const uint8_t *data, size_t size)
{
    CorpusOptions options = {.max_input_mb = 1};
    choose_tokenizer(next_choice(&data, &size), &options.tokenizer);
    options.vocab_size = next_choice(&data, &size);
    size_t choice = next_choice(&data, &size);
    options.min_count = 1 + choice % 4;
    options.trim = choice & 4;
    options.lowercase = choice & 8;
    const char *path = fuzz_file(data, size);
    Corpus corpus;
    Error error = {0};
    if (!corpus_load(&corpus, path, &options, NULL, &error)) {
        fuzz_check_reason(&error);
        return;
    }
    bool plain = size < 2 || memcmp(data, "\x1f\x8b", 2) != 0;
    bool has_returns = memchr(data, '\r', size) != NULL;
    if (!options.trim)
        check_splits(&corpus, path);
    const CorpusSplit *splits[] = {&corpus.train, &corpus.valid, &corpus.test};
    for (size_t s = 0; plain && s < 3; s++)
        check_written(&corpus, splits[s], has_returns);
    check_vocabulary(&corpus.vocabulary);
    check_known(&corpus, path, &options);
    corpus_free(&corpus);
}

/* --- files of token ids --- */

/* Bytes as ids: every id is a byte of the text. */
void fuzz_token_file(const uint8_t *data, size_t size)
{
    const Tokenizer *bytes = tokenizer_find(TOKENIZER_BYTE);
    const char *path = fuzz_file(data, size);
    Vocabulary vocabulary;
    TokenFile file;
    TokenFacts facts;
    Error error = {0};
    if (!token_file_open(&file, path, &error)) {
        fuzz_check_reason(&error);
        return;
    }
    FUZZ_HOLDS(file.count > 0 && file.count * file.ids.width <= size);
    FUZZ_HOLDS(vocabulary_read(&vocabulary, bytes, "", 0, &error));
    if (token_file_check(&file, 0, file.count, &vocabulary, &facts, &error)) {
        FUZZ_HOLDS(facts.count == file.count && facts.bytes == file.count);
        FUZZ_HOLDS(facts.characters <= facts.bytes && facts.unknown == 0);
        FUZZ_HOLDS(facts.crc == tokens_crc(file.ids, file.count));
        for (size_t i = 0; i < file.count; i++)
            FUZZ_HOLDS((uint32_t)tokens_at(file.ids, i) < TOKENS_OF_BYTE);
    } else {
        fuzz_check_reason(&error);
    }
    token_file_close(&file);
    vocabulary_free(&vocabulary);
}

/* --- vocabularies: one byte for the tokenizer, then the stored form --- */

void fuzz_vocabulary(const uint8_t *data, size_t size)
{
    size_t index, written;
    const Tokenizer *tokenizer = choose_tokenizer(next_choice(&data, &size), &index);
    Vocabulary vocabulary;
    Error error = {0};
    if (!vocabulary_read(&vocabulary, tokenizer, (const char *)data, size, &error)) {
        fuzz_check_reason(&error);
        return;
    }
    char *text = vocabulary_write(&vocabulary, &written);
    FUZZ_HOLDS(written == size && (!size || memcmp(text, data, size) == 0));
    check_vocabulary(&vocabulary);
    free(text);
    vocabulary_free(&vocabulary);
}
