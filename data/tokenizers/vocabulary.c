/* The list of tokens, and its stored form in a checkpoint.
 *
 * The stored form is plain lines, for people and other programs. Characters that would break
 * lines or a terminal are escaped: the char tokenizer has tokens such as a tab. Reading accepts
 * only what writing produces, because checkpoints may be forged and printing relies on it.
 *
 * An stb_ds map with hashes as keys finds words. stb_ds's own hash for strings is weak, so
 * words are hashed by data/tokenizers/hash.h. Ids do not depend on the hashes: they are the
 * order of adding. */
#include "data/tokenizers/vocabulary.h"
#include "data/tokenizers/utf8.h"
#include "data/tokenizers/hash.h"
#include "data/tokenizers/unicode.h"
#include "src/base/containers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- finding words --- */

/* Entries stay in the order of adding, so that a word's index is its id. */
typedef struct WordEntry {
    uint32_t key; /* the word's hash, or the first free number after it */
} WordEntry;

/* stb_ds would shift the highest bit of a key into the sign of an int. */
#define KEY_BITS 0x7fffffffu

/* The word's id, or TOKEN_NONE; *entry is then the entry to add. */
static int32_t find(const Vocabulary *vocabulary, const char *word, WordEntry *entry)
{
    WordEntry *map = vocabulary->map; /* the macro assigns to it */
    ptrdiff_t id = TOKEN_NONE;
    entry->key = (uint32_t)hash_bytes(word, strlen(word)) & KEY_BITS;
    for (;; entry->key = (entry->key + 1) & KEY_BITS) {
        if (map)
            (void)hmgeti_ts(map, entry->key, id); /* without scratch in the map */
        if (id < 0 || strcmp(vocabulary->words[id], word) == 0)
            return (int32_t)id;
    }
}

int32_t vocabulary_add(Vocabulary *vocabulary, const char *word)
{
    int32_t id = (int32_t)vocabulary->count;
    WordEntry entry;
    find(vocabulary, word, &entry);
    hmputs(vocabulary->map, entry);
    char *copy = memory_copy_text(word);
    arrput(vocabulary->words, copy);
    vocabulary->count++;
    if (strcmp(word, TOKEN_EOS) == 0)
        vocabulary->eos = id;
    else if (strcmp(word, vocabulary->tokenizer->unknown) == 0)
        vocabulary->unk = id;
    return id;
}

void vocabulary_add_bytes(Vocabulary *vocabulary)
{
    for (int byte = 0; byte < TOKENS_OF_BYTE; byte++) {
        char *word = memory_take(2, 1, "the vocabulary");
        word[0] = (char)byte;
        arrput(vocabulary->words, word);
    }
    vocabulary->count = TOKENS_OF_BYTE;
    vocabulary->eos = '\n';
}

/* --- checking and learning --- */

bool tokenizer_check_words(const Tokenizer *tokenizer, const char *name, const char *text,
                           size_t size, size_t *lines, Error *error)
{
    size_t word = 0;
    for (size_t at = 0; tokenizer == tokenizer_find(TOKENIZER_WORD) && at <= size; at++) {
        if (at < size && !utf8_is_space(text[at]))
            continue;
        if (at - word > TOKEN_LONGEST)
            return error_set(error,
                             "%s:%zu: a word is longer than the limit of %d bytes; train with "
                             "--tokens wordpunct or char for text without spaces",
                             name, *lines + 1, TOKEN_LONGEST);
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
    copy->lowercase = vocabulary->lowercase;
    if (vocabulary->tokenizer->form)
        vocabulary->tokenizer->form->copy(copy, vocabulary);
    else if (!vocabulary->map)
        vocabulary_add_bytes(copy);
    else
        for (size_t i = 0; i < vocabulary->count; i++)
            vocabulary_add(copy, vocabulary->words[i]);
    copy->start = vocabulary->start;
}

void vocabulary_free(Vocabulary *vocabulary)
{
    if (vocabulary->bpe)
        vocabulary->tokenizer->form->free(vocabulary);
    for (size_t i = 0; i < vocabulary->count; i++)
        free(vocabulary->words[i]);
    arrfree(vocabulary->words);
    hmfree(vocabulary->map);
    *vocabulary = (Vocabulary){0};
}

int32_t vocabulary_find(const Vocabulary *vocabulary, const char *word)
{
    if (!vocabulary->words)
        return TOKEN_NONE;
    if (vocabulary->tokenizer->form)
        return vocabulary->tokenizer->form->find(vocabulary, word);
    if (!vocabulary->map) /* bytes */
        return word[0] && !word[1] ? (unsigned char)word[0] : TOKEN_NONE;
    WordEntry ignored;
    return find(vocabulary, word, &ignored);
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
    *piece = id == vocabulary->eos ? "\n" : vocabulary->words[id];
    if (vocabulary->tokenizer->form)
        return vocabulary->tokenizer->form->length(vocabulary, id);
    return vocabulary->map ? strlen(*piece) : 1;
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

/* --- the stored form --- */

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Returns where the escaped word ends. */
static char *escape(char *to, const char *word)
{
    for (const char *c = word; *c; c++) {
        if (*c == '\\') {
            *to++ = '\\';
            *to++ = '\\';
        } else if (is_control(*c)) {
            to += sprintf(to, "\\x%02x", (unsigned)*c);
        } else {
            *to++ = *c;
        }
    }
    return to;
}

char *vocabulary_write(const Vocabulary *vocabulary, size_t *size)
{
    enum { LONGEST_ESCAPE = 4 };
    if (vocabulary->tokenizer->form)
        return vocabulary->tokenizer->form->write(vocabulary, size);
    size_t most = 1, count = vocabulary->map ? vocabulary->count : 0;
    for (size_t i = 0; i < count; i++)
        most += LONGEST_ESCAPE * strlen(vocabulary->words[i]) + 1;
    char *text = memory_take(most, 1, "the vocabulary"), *end = text;
    for (size_t i = 0; i < count; i++) {
        end = escape(end, vocabulary->words[i]);
        *end++ = '\n';
    }
    *size = (size_t)(end - text);
    return text;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads \\ or \xNN; a zero and a line end are never part of a word. Returns its length or 0. */
static size_t unescape(const char *from, size_t left, char *to)
{
    if (left >= 2 && from[1] == '\\') {
        *to = '\\';
        return 2;
    }
    if (left < 4 || from[1] != 'x' || digit(from[2]) < 0 || digit(from[3]) < 0)
        return 0;
    *to = (char)(16 * digit(from[2]) + digit(from[3]));
    return is_control(*to) && *to && *to != '\n' ? 4 : 0;
}

/* One line into word, which holds TOKEN_LONGEST and a zero. Says what is wrong, or NULL. */
static const char *read_word(const char *line, size_t length, char *word)
{
    size_t size = 0;
    for (size_t i = 0, step; i < length; i += step, size++) {
        if (size == TOKEN_LONGEST)
            return "a token is too long";
        if (is_control(line[i]))
            return "a control character";
        word[size] = line[i];
        step = line[i] == '\\' ? unescape(line + i, length - i, &word[size]) : 1;
        if (!step)
            return "an invalid escape";
    }
    word[size] = '\0';
    return size ? NULL : "an empty token";
}

/* A token must be what the tokenizer would cut out of a text, other than at its start, where a
 * byte order mark is skipped. */
static const char *check_word(const Vocabulary *vocabulary, const char *word)
{
    char text[1 + TOKEN_LONGEST];
    size_t size = strlen(word) + 1, at = 1;
    text[0] = '\n';
    memcpy(text + 1, word, size - 1);
    Error ignored;
    const char *token;
    if (!tokenizer_check(vocabulary->tokenizer, "", text, size, &ignored))
        return "invalid UTF-8";
    if (strcmp(word, TOKEN_EOS) != 0 &&
        vocabulary->tokenizer->cut(text, size, &at, &token) != size - 1)
        return "not one token";
    return vocabulary_find(vocabulary, word) == TOKEN_NONE ? NULL : "a token that came before";
}

static bool read_lines(Vocabulary *vocabulary, const char *text, size_t size, Error *error)
{
    char word[TOKEN_LONGEST + 1];
    for (const char *line = text, *last = text + size; line < last;) {
        const char *end = memchr(line, '\n', (size_t)(last - line));
        const char *fault = "no line end after the last line";
        if (end)
            fault = read_word(line, (size_t)(end - line), word);
        if (!fault)
            fault = check_word(vocabulary, word);
        if (fault)
            return error_set(error, "the vocabulary:%zu: %s", vocabulary->count + 1, fault);
        vocabulary_add(vocabulary, word);
        line = end + 1;
    }
    if (vocabulary->eos == TOKEN_NONE || vocabulary->unk == TOKEN_NONE)
        return error_set(error, "the vocabulary: <eos> or <unk> is missing");
    return true;
}

bool vocabulary_read(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                     size_t size, Error *error)
{
    vocabulary_begin(vocabulary, tokenizer);
    if (tokenizer->form)
        return tokenizer->form->read(vocabulary, text, size, error);
    if (!tokenizer->cut) {
        if (size)
            return error_set(error, "the vocabulary: the byte tokenizer needs none, but the "
                                    "file has one");
        vocabulary_add_bytes(vocabulary);
        return true;
    }
    if (read_lines(vocabulary, text, size, error))
        return true;
    vocabulary_free(vocabulary);
    return false;
}

bool vocabulary_lower(Vocabulary *vocabulary, Error *error)
{
    char word[TOKEN_LONGEST +
              1]; /* room for tokens that are cut out of a text, not for others */
    if (!vocabulary->tokenizer->cut)
        return error_set(error, "the tokenizer %s does not lower-case",
                         vocabulary->tokenizer->name);
    for (size_t i = 0; i < vocabulary->count; i++) {
        memcpy(word, vocabulary->words[i], strlen(vocabulary->words[i]) + 1);
        letters_lower(word);
        if (strcmp(word, vocabulary->words[i]) != 0)
            return error_set(error,
                             "the vocabulary:%zu: a capital letter, although the tokenizer "
                             "lower-cases",
                             i + 1);
    }
    vocabulary->lowercase = true;
    return true;
}
