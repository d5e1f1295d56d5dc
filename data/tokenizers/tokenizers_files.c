/* The stored form, and files.
 *
 * The stored form is plain lines, for people and other programs. Characters that would break
 * lines or a terminal are escaped: the char tokenizer has tokens such as a tab. Reading accepts
 * only what writing produces, because checkpoints may be forged and printing relies on it. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokenizers.h"
#include "data/tokenizers/unicode.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define OWN     "vocabulary.txt"
#define COMMON  "tokenizer.json"
#define PAIR    "vocab.json" /* with merges.txt */
#define HEADING "# linnet tokenizer "
#define SMALL   " lowercase" /* after the tokenizer's name: it lower-cases */

enum { MOST_BYTES = 1 << 30 };

bool vocabulary_is_in(const char *folder)
{
    return file_is_in(folder, OWN) || file_is_in(folder, COMMON) || file_is_in(folder, PAIR);
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
    size_t most = 1, count = vocabulary->tokenizer->cut ? vocabulary->count : 0;
    for (size_t i = 0; i < count; i++)
        most += LONGEST_ESCAPE * vocabulary->lengths[i] + 1;
    char *text = memory_new(most, 1, "the vocabulary"), *end = text;
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
        memcpy(word, vocabulary->words[i], vocabulary->lengths[i] + 1);
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

/* --- loading --- */

static bool starts_as_linnet(const char *path)
{
    char start[sizeof HEADING] = "";
    FILE *file = file_is_folder(path) ? NULL : fopen(path, "re");
    if (!file)
        return false;
    size_t size = fread(start, 1, sizeof HEADING - 1, file);
    fclose(file);
    return size == sizeof HEADING - 1 && strcmp(start, HEADING) == 0;
}

/* The tokenizer that the first line names, and whether it lower-cases; *rest is the line after
 * it. */
static const Tokenizer *read_heading(char *text, bool *lowercase, char **rest)
{
    char *name = text + sizeof HEADING - 1, *end = strchrnul(name, '\n');
    *rest = *end ? end + 1 : end;
    *end = '\0';
    *lowercase = text_ends_in(name, SMALL);
    if (*lowercase)
        end[1 - (ptrdiff_t)sizeof SMALL] = '\0';
    return tokenizer_find(text_index(name, tokenizer_name));
}

static bool load_linnet(Vocabulary *vocabulary, const char *path, Error *error)
{
    char *text, *rest = NULL;
    size_t size;
    bool lowercase = false;
    Error why;
    if (!file_read(path, MOST_BYTES, &text, &size, error))
        return false;
    if (text[strcspn(text, "\r\n")] == '\r') {
        free(text);
        return error_set(error,
                         "%s:1: its lines end in CR LF, as on Windows, and LF is needed; "
                         "convert it with: sed -i 's/\\r$//' FILE",
                         path);
    }
    const Tokenizer *tokenizer = read_heading(text, &lowercase, &rest);
    if (tokenizer && lowercase && !tokenizer->cut)
        tokenizer = NULL;
    bool good = tokenizer || error_set(error,
                                       "%s:1: no tokenizer that linnet knows; the line should "
                                       "be '" HEADING "word', wordpunct, char or byte",
                                       path);
    if (good) {
        good = vocabulary_read(vocabulary, tokenizer, rest, size - (size_t)(rest - text), &why);
        if (good && lowercase && !(good = vocabulary_lower(vocabulary, &why)))
            vocabulary_free(vocabulary);
        if (!good)
            error_set(error, "%s: %s (lines are counted after the first)", path, why.text);
    }
    free(text);
    return good;
}

bool vocabulary_load(Vocabulary *vocabulary, const char *path, Error *error)
{
    if (file_is_folder(path) && file_is_in(path, OWN)) {
        if (file_is_in(path, COMMON) || file_is_in(path, PAIR))
            return error_set(
                error,
                "%s: has both " OWN
                " and %s; name the one that made the token ids with --tokenizer-file",
                path, file_is_in(path, COMMON) ? COMMON : PAIR);
        char *inner = file_join(path, OWN);
        bool good = starts_as_linnet(inner)
                        ? load_linnet(vocabulary, inner, error)
                        : error_set(error, "%s: does not begin with '" HEADING "'", inner);
        free(inner);
        return good;
    }
    return starts_as_linnet(path) ? load_linnet(vocabulary, path, error)
                                  : bpe_import(vocabulary, path, error);
}

/* --- storing --- */

bool vocabulary_equal(const Vocabulary *a, const Vocabulary *b)
{
    size_t a_size = 0, b_size = 0;
    if (a->tokenizer != b->tokenizer || a->lowercase != b->lowercase)
        return false;
    char *a_text = vocabulary_write(a, &a_size), *b_text = vocabulary_write(b, &b_size);
    bool equal = a_size == b_size && memcmp(a_text, b_text, a_size) == 0;
    free(a_text);
    free(b_text);
    return equal;
}

uint32_t vocabulary_crc(const Vocabulary *vocabulary)
{
    size_t size = 0;
    char *text = vocabulary_write(vocabulary, &size);
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)vocabulary->tokenizer->name,
                                     strlen(vocabulary->tokenizer->name));
    crc = (uint32_t)crc32_z(crc, (const Bytef *)text, size);
    free(text);
    return crc;
}

bool vocabulary_store_linnet(const Vocabulary *vocabulary, const char *path, Error *error)
{
    size_t size;
    char *words = vocabulary_write(vocabulary, &size);
    char *heading = text_format(HEADING "%s%s\n", vocabulary->tokenizer->name,
                                vocabulary->lowercase ? SMALL : "");
    FileReplacement file;
    bool good = file_replace_begin(&file, path, error) &&
                file_replace_write(&file, heading, strlen(heading), error) &&
                file_replace_write(&file, words, size, error) &&
                file_replace_commit(&file, error);
    free(heading);
    free(words);
    return good;
}

static bool check_stored(const Vocabulary *vocabulary, const char *folder, Error *error)
{
    Vocabulary stored = {0};
    if (!vocabulary_load(&stored, folder, error))
        return false;
    bool equal = vocabulary_equal(vocabulary, &stored);
    vocabulary_free(&stored);
    return equal ||
           error_set(error,
                     "%s: has another tokenizer, which belongs to the token ids beside "
                     "it; choose another directory",
                     folder);
}

bool vocabulary_store(const Vocabulary *vocabulary, const char *folder, Error *error)
{
    if (vocabulary_is_in(folder))
        return check_stored(vocabulary, folder, error);
    if (vocabulary->bpe)
        return bpe_export(vocabulary, folder, error);
    char *path = file_join(folder, OWN);
    bool good = vocabulary_store_linnet(vocabulary, path, error);
    free(path);
    return good;
}
