/* Byte-pair encoding: tokenizer.json, and texts of any bytes. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/containers.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Encoded and decoded, the text is the same. */
static void check_text(const Vocabulary *vocabulary, const char *text, size_t size)
{
    int32_t *ids = NULL;
    FUZZ_HOLDS(vocabulary->tokenizer->encode(vocabulary, text, size, &ids) == 0);
    size_t at = 0;
    for (size_t i = 0; i < arrlenu(ids); i++) {
        const char *piece;
        FUZZ_HOLDS(ids[i] >= 0 && (size_t)ids[i] < vocabulary->count);
        size_t length = vocabulary_piece(vocabulary, ids[i], &piece);
        FUZZ_HOLDS(length > 0 && length <= size - at && memcmp(piece, text + at, length) == 0);
        at += length;
    }
    FUZZ_HOLDS(at == size);
    arrfree(ids);
}

/* Written and read again, the vocabulary is the same. */
static void check_stored(const Vocabulary *vocabulary, const char *text, size_t size)
{
    size_t stored_size, again_size;
    char *stored = vocabulary_write(vocabulary, &stored_size);
    Vocabulary again;
    Error error = {0};
    FUZZ_HOLDS(bpe_read(&again, stored, stored_size, &error));
    char *stored_again = vocabulary_write(&again, &again_size);
    FUZZ_HOLDS(again_size == stored_size && memcmp(stored, stored_again, stored_size) == 0);
    FUZZ_HOLDS(again.eos == vocabulary->eos);
    check_text(&again, text, size);
    vocabulary_free(&again);
    free(stored_again);
    free(stored);
}

/* A file up to the first zero byte, then a text, which is also learned from. */
void fuzz_bpe(const uint8_t *data, size_t size)
{
    enum { TOKENS = 300 };
    char *file = fuzz_next_text(&data, &size);
    const char *text = (const char *)data;
    Vocabulary vocabulary;
    Error error = {0};
    if (bpe_read(&vocabulary, file, strlen(file), &error)) {
        check_text(&vocabulary, text, size);
        check_stored(&vocabulary, text, size);
        vocabulary_free(&vocabulary);
    } else {
        fuzz_check_reason(&error);
    }
    free(file);
    VocabularyLimits limits = {.size = TOKENS, .min_count = 1};
    FUZZ_HOLDS(bpe_learn(&vocabulary, text, size, &limits, &error));
    FUZZ_HOLDS(vocabulary.count <= TOKENS);
    check_text(&vocabulary, text, size);
    check_stored(&vocabulary, text, size);
    vocabulary_free(&vocabulary);
}
