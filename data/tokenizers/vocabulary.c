/* The list of tokens. Ids do not depend on the hash table that finds them: they are the order
 * of adding. */
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

/* --- finding tokens --- */

typedef struct Bytes {
    const char *at;
    size_t size;
} Bytes;

static bool is_word(const void *vocabulary, uint32_t id, const void *bytes)
{
    const Vocabulary *v = vocabulary;
    const Bytes *b = bytes;
    return v->lengths[id] == b->size && memcmp(v->words[id], b->at, b->size) == 0;
}

int32_t vocabulary_find_bytes(const Vocabulary *vocabulary, const char *bytes, size_t size)
{
    const Bytes key = {bytes, size};
    uint32_t id = hash_find(&vocabulary->table, hash_bytes(bytes, size), is_word, vocabulary,
                            &key);
    return (int32_t)id; /* HASH_NONE is TOKEN_NONE */
}

int32_t vocabulary_find(const Vocabulary *vocabulary, const char *word)
{
    return vocabulary_find_bytes(vocabulary, word, strlen(word));
}

int32_t vocabulary_append(Vocabulary *vocabulary, const char *bytes, size_t size, bool named)
{
    uint32_t id = (uint32_t)vocabulary->count;
    char *copy = memory_new(size + 1, 1, "the vocabulary");
    memcpy(copy, bytes, size);
    arrput(vocabulary->words, copy);
    arrput(vocabulary->lengths, (uint32_t)size);
    if (named)
        hash_add(&vocabulary->table, hash_bytes(bytes, size), id);
    vocabulary->count++; /* last, as memory may be refused before */
    return (int32_t)id;
}

int32_t vocabulary_add(Vocabulary *vocabulary, const char *word)
{
    int32_t id = vocabulary_append(vocabulary, word, strlen(word), true);
    if (strcmp(word, TOKEN_EOS) == 0)
        vocabulary->eos = id;
    else if (strcmp(word, vocabulary->tokenizer->unknown) == 0)
        vocabulary->unk = id;
    return id;
}

void vocabulary_add_bytes(Vocabulary *vocabulary)
{
    for (int byte = 0; byte < TOKENS_OF_BYTE; byte++)
        vocabulary_append(vocabulary, &(char){(char)byte}, 1, true);
    vocabulary->eos = '\n';
}

/* --- checking and learning --- */

bool tokenizer_check_words(const Tokenizer *tokenizer, const char *name, const char *text,
                           size_t size, size_t *lines, Error *error)
{
    size_t word = 0;
    for (size_t at = 0; tokenizer->longest && at <= size; at++) {
        if (at < size && !utf8_is_space(text[at]))
            continue;
        if (at - word > tokenizer->longest)
            return error_set(error,
                             "%s:%zu: a word is longer than the limit of %zu bytes; train with "
                             "--tokens wordpunct or char for text without spaces",
                             name, *lines + 1, tokenizer->longest);
        *lines += at < size && text[at] == '\n';
        word = at + 1;
    }
    return true;
}

bool tokenizer_check(const Tokenizer *tokenizer, const char *name, const char *text,
                     size_t size, Error *error)
{
    if (!tokenizer->cut)
        return true;
    size_t lines = 0, good = utf8_good(text, size, &lines);
    if (good < size)
        return utf8_refuse(name, lines + 1, good, !text[good], error);
    return tokenizer_check_words(tokenizer, name, text, size, &(size_t){0}, error);
}

void vocabulary_begin(Vocabulary *vocabulary, const Tokenizer *tokenizer)
{
    *vocabulary = (Vocabulary){
        .tokenizer = tokenizer, .eos = TOKEN_NONE, .unk = TOKEN_NONE, .start = TOKEN_NONE};
}

bool vocabulary_check_limits(const Tokenizer *tokenizer, const VocabularyLimits *limits,
                             Error *error)
{
    if (limits->lowercase && !tokenizer->cut)
        return error_usage(
            error,
            "--lowercase is for --tokens word, wordpunct and char; %s keeps every "
            "byte",
            tokenizer->name);
    if (limits->special_tokens && *limits->special_tokens && !tokenizer->form)
        return error_usage(error, "--special-tokens are for --tokens bpe; %s has none",
                           tokenizer->name);
    return true;
}

bool vocabulary_learn(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                      size_t size, const VocabularyLimits *limits, Error *error)
{
    vocabulary_begin(vocabulary, tokenizer);
    vocabulary->lowercase = limits->lowercase;
    return vocabulary_check_limits(tokenizer, limits, error) &&
           tokenizer->learn(vocabulary, text, size, limits, error);
}

void vocabulary_copy(Vocabulary *copy, const Vocabulary *vocabulary)
{
    vocabulary_begin(copy, vocabulary->tokenizer);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const char *word = vocabulary->words[i];
        size_t size = vocabulary->lengths[i];
        bool named = vocabulary_find_bytes(vocabulary, word, size) == (int32_t)i;
        vocabulary_append(copy, word, size, named);
    }
    copy->lowercase = vocabulary->lowercase;
    copy->eos = vocabulary->eos;
    copy->unk = vocabulary->unk;
    copy->start = vocabulary->start;
    if (vocabulary->bpe)
        vocabulary->tokenizer->form->copy(copy, vocabulary);
}

void vocabulary_free(Vocabulary *vocabulary)
{
    if (vocabulary->bpe)
        vocabulary->tokenizer->form->free(vocabulary);
    for (size_t i = 0; i < arrlenu(vocabulary->words); i++)
        free(vocabulary->words[i]);
    arrfree(vocabulary->words);
    arrfree(vocabulary->lengths);
    hash_free(&vocabulary->table);
    *vocabulary = (Vocabulary){0};
}

bool vocabulary_encode(const Vocabulary *vocabulary, const char *name, const char *text,
                       size_t size, int32_t **ids, size_t *unknown, Error *error)
{
    if (!tokenizer_check(vocabulary->tokenizer, name, text, size, error))
        return false;
    *unknown = vocabulary->tokenizer->encode(vocabulary, text, size, ids);
    return true;
}

const char *vocabulary_separator(const Vocabulary *vocabulary, int32_t before, int32_t id)
{
    bool at_line_end = before == vocabulary->eos || id == vocabulary->eos;
    return at_line_end ? "" : vocabulary->tokenizer->separator;
}

size_t vocabulary_piece(const Vocabulary *vocabulary, int32_t id, const char **piece)
{
    bool line_end = id == vocabulary->eos;
    *piece = line_end ? "\n" : vocabulary->words[id];
    return line_end ? 1 : vocabulary->lengths[id];
}

size_t vocabulary_completes(const Vocabulary *vocabulary, const int32_t *ids, size_t at,
                            char character[UTF8_LONGEST + 1])
{
    const char *piece;
    size_t size = vocabulary_piece(vocabulary, ids[at], &piece), length = 0;
    while (length < size && length < UTF8_LONGEST && utf8_is_inner(piece[length]))
        length++;
    if (length == 0 || *vocabulary->tokenizer->separator)
        return 0;
    char bytes[UTF8_LONGEST]; /* filled from its end */
    size_t from = UTF8_LONGEST - length;
    memcpy(bytes + from, piece, length);
    bool begun = false;
    while (!begun && at-- > 0) {
        size_t left = vocabulary_piece(vocabulary, ids[at], &piece);
        while (!begun && left-- > 0 && from > 0) {
            bytes[--from] = piece[left];
            begun = !utf8_is_inner(piece[left]);
        }
        if (from == 0)
            break;
    }
    size_t whole = UTF8_LONGEST - from;
    if (!begun || utf8_length(bytes + from, whole) != whole)
        return 0;
    memcpy(character, bytes + from, whole);
    character[whole] = '\0';
    return whole;
}
