/* Writes BPE vocabularies, and reads and writes those of other programs: tokenizer.json of
 * Python's "tokenizers", and GPT-2's pair of vocab.json and merges.txt. */
#include "data/tokenizers/bpe.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/json.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

#define TOKENIZER_FILE "tokenizer.json"
#define IDS_FILE       "vocab.json"
#define MERGES_FILE    "merges.txt"
#define MERGES_TITLE   "#version: 0.2"

enum { MOST_BYTES = 1 << 28 }; /* of each file */

/* --- spelling --- */

/* Bytes of visible Latin-1 characters stand for themselves, and come first in the order of the
 * characters; the stand-ins of the others follow in the order of the bytes. */
static bool is_visible(int byte)
{
    return (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
}

void bpe_add_bytes(Vocabulary *vocabulary)
{
    for (int visible = 1; visible >= 0; visible--)
        for (int byte = 0; byte < BPE_BYTES; byte++)
            if (is_visible(byte) == visible) {
                char one = (char)byte;
                vocabulary_append(vocabulary, &one, 1, true);
            }
}

enum { FIRST_STAND_IN = 0x100, SPELLINGS = 0x144 };

/* The byte that each character stands for, or -1; and the other way round. */
static int bytes_of[SPELLINGS], characters_of[BPE_BYTES];

__attribute__((constructor)) static void make_spellings(void)
{
    memset(bytes_of, 0xff, sizeof bytes_of);
    for (int byte = 0, stand_in = FIRST_STAND_IN; byte < BPE_BYTES; byte++) {
        characters_of[byte] = is_visible(byte) ? byte : stand_in++;
        bytes_of[characters_of[byte]] = byte;
    }
}

char *bpe_spell_bytes(const char *bytes, size_t size)
{
    char *spelling = memory_new(2 * size + 1, 1, "a token"), *to = spelling;
    for (size_t i = 0; i < size; i++)
        to += utf8_encode((uint32_t)characters_of[(unsigned char)bytes[i]], to);
    *to = '\0';
    return spelling;
}

char *bpe_spell(const Vocabulary *vocabulary, uint32_t id)
{
    const char *word = vocabulary->words[id];
    return bpe_added(vocabulary->bpe, id) ? memory_copy_text(word)
                                          : bpe_spell_bytes(word, vocabulary->lengths[id]);
}

size_t bpe_unspell(char *bytes, const char *text)
{
    size_t size = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        int character = *c;
        if (character >= 0x80) {
            if (character >= 0xe0 || !c[1])
                return 0;
            character = (character & 0x1f) << 6 | (*++c & 0x3f);
        }
        if (character >= SPELLINGS || bytes_of[character] < 0)
            return 0;
        bytes[size++] = (char)bytes_of[character];
    }
    return size;
}

/* --- writing --- */

static json_t *ids_json(const Vocabulary *vocabulary)
{
    json_t *ids = json_object();
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        char *text = bpe_spell(vocabulary, id);
        json_object_set_new(ids, text, json_integer(id));
        free(text);
    }
    return ids;
}

char *bpe_spell_merge(const Vocabulary *vocabulary, size_t rank)
{
    const BpeMerge *merge = &vocabulary->bpe->merges[rank];
    char *left = bpe_spell(vocabulary, merge->left),
         *right = bpe_spell(vocabulary, merge->right), *text = NULL;
    text_append(&text, "%s %s", left, right);
    free(left);
    free(right);
    return text;
}

static json_t *merges_json(const Vocabulary *vocabulary)
{
    json_t *merges = json_array();
    for (size_t i = 0; i < arrlenu(vocabulary->bpe->merges); i++) {
        char *text = bpe_spell_merge(vocabulary, i);
        json_array_append_new(merges, json_string(text));
        free(text);
    }
    return merges;
}

static json_t *added_json(const Vocabulary *vocabulary)
{
    json_t *all = json_array();
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        const BpeAdded *added = bpe_added(vocabulary->bpe, id);
        if (added)
            json_array_append_new(all, json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id",
                                                 (int)id, "content", vocabulary->words[id],
                                                 "single_word", false, "lstrip", false,
                                                 "rstrip", false, "normalized",
                                                 added->normalized, "special", added->special));
    }
    return all;
}

static json_t *byte_level(void)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", false,
                     "trim_offsets", false, "use_regex", true);
}

static json_t *model_json(json_t *ids, json_t *merges)
{
    return json_pack("{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:o, s:o}", "type", "BPE", "dropout",
                     "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix", "",
                     "fuse_unk", false, "byte_fallback", false, "vocab", ids, "merges", merges);
}

/* tokenizer.json; takes over the values. */
static json_t *tokenizer_json(json_t *added, json_t *ids, json_t *merges)
{
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:n, s:o, s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added, "normalizer",
                     "pre_tokenizer", byte_level(), "post_processor", "decoder", byte_level(),
                     "model", model_json(ids, merges));
}

char *bpe_write(const Vocabulary *vocabulary, size_t *size)
{
    json_t *all = tokenizer_json(added_json(vocabulary), ids_json(vocabulary),
                                 merges_json(vocabulary));
    char *text;
    FILE *stream = memory_text_open(&text, size, "the vocabulary");
    json_print_lines(stream, all);
    memory_text_close(stream, "the vocabulary");
    json_decref(all);
    return text;
}

static void print_ids(FILE *out, const void *vocabulary)
{
    json_print(out, ids_json(vocabulary));
}

static void print_merges(FILE *out, const void *content)
{
    const Vocabulary *vocabulary = content;
    fprintf(out, MERGES_TITLE "\n");
    for (size_t i = 0; i < arrlenu(vocabulary->bpe->merges); i++) {
        char *text = bpe_spell_merge(vocabulary, i);
        fprintf(out, "%s\n", text);
        free(text);
    }
}

static void print_tokenizer(FILE *out, const void *vocabulary)
{
    size_t size;
    char *text = bpe_write(vocabulary, &size);
    fwrite(text, 1, size, out);
    free(text);
}

static bool write_file(const Vocabulary *vocabulary, const char *folder, const char *name,
                       void (*print)(FILE *out, const void *vocabulary), Error *error)
{
    char *path = file_join(folder, name);
    bool good = file_replace_printed(path, print, vocabulary, error);
    free(path);
    return good;
}

bool bpe_export(const Vocabulary *vocabulary, const char *folder, Error *error)
{
    if (!vocabulary->bpe)
        return error_set(error, "tokens of the kind %s cannot be written as a BPE vocabulary",
                         vocabulary->tokenizer->name);
    return write_file(vocabulary, folder, TOKENIZER_FILE, print_tokenizer, error) &&
           write_file(vocabulary, folder, IDS_FILE, print_ids, error) &&
           write_file(vocabulary, folder, MERGES_FILE, print_merges, error);
}

/* --- reading --- */

/* Puts the file's name before an error. */
static bool name_error(Error *error, const char *path)
{
    Error why = *error;
    return error_set(error, "%s: %s", path, why.text);
}

static bool read_tokenizer(Vocabulary *vocabulary, const char *path, Error *error)
{
    char *text;
    size_t size;
    if (!file_read(path, MOST_BYTES, &text, &size, error))
        return false;
    bool good = bpe_read(vocabulary, text, size, error);
    free(text);
    return good || name_error(error, path);
}

static json_t *read_ids(const char *path, Error *error)
{
    char *text;
    size_t size;
    if (!file_read(path, MOST_BYTES, &text, &size, error))
        return NULL;
    json_error_t where;
    json_t *ids = json_parse(text, size, &where);
    if (!ids)
        error_set(error, "%s:%d: not JSON: %s", path, where.line, where.text);
    free(text);
    return ids;
}

/* The lines of merges.txt as strings. */
static json_t *read_lines(const char *path, Error *error)
{
    char *text;
    size_t size;
    if (!file_read(path, MOST_BYTES, &text, &size, error))
        return NULL;
    json_t *lines = json_array();
    bool good = true;
    for (const char *line = text, *end = text + size; good && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        size_t length = (size_t)(stop - line);
        length -= length && line[length - 1] == '\r';
        bool title = line == text && strncmp(line, "#version", 8) == 0;
        if (!title && length)
            good = json_array_append_new(lines, json_stringn(line, length)) == 0;
        line = stop + 1;
    }
    free(text);
    if (good)
        return lines;
    error_set(error, "%s: a line is not UTF-8", path);
    json_decref(lines);
    return NULL;
}

/* A token of several characters that no merge makes can only be meant as a special one, such
 * as GPT-2's "<|endoftext|>". */
static json_t *special_tokens(json_t *ids, const json_t *merges)
{
    json_t *made = json_object(), *special = json_array(), *id;
    for (size_t i = 0; i < json_array_size(merges); i++) {
        char *text = memory_copy_text(json_string_value(json_array_get(merges, i)));
        char *blank = strchr(text, ' ');
        if (blank)
            memmove(blank, blank + 1, strlen(blank));
        json_object_set_new(made, text, json_true());
        free(text);
    }
    const char *text;
    json_object_foreach(ids, text, id)
    {
        char *bytes = memory_new(strlen(text) + 1, 1, "a token");
        if (bpe_unspell(bytes, text) != 1 && !json_object_get(made, text))
            json_array_append_new(special, json_pack("{s:s, s:O, s:b}", "content", text, "id",
                                                     id, "special", true));
        free(bytes);
    }
    json_decref(made);
    return special;
}

static bool read_pair(Vocabulary *vocabulary, const char *folder, Error *error)
{
    char *ids_path = file_join(folder, IDS_FILE), *merges_path = file_join(folder, MERGES_FILE);
    json_t *ids = read_ids(ids_path, error), *merges = NULL;
    if (ids)
        merges = read_lines(merges_path, error);
    bool good = false;
    if (merges) {
        json_t *all = tokenizer_json(special_tokens(ids, merges), json_incref(ids),
                                     json_incref(merges));
        good = bpe_read_json(vocabulary, all, error) || name_error(error, folder);
        json_decref(all);
    }
    json_decref(ids);
    json_decref(merges);
    free(ids_path);
    free(merges_path);
    return good;
}

bool bpe_import(Vocabulary *vocabulary, const char *path, Error *error)
{
    if (!file_is_folder(path))
        return read_tokenizer(vocabulary, path, error);
    char *whole = file_join(path, TOKENIZER_FILE), *ids = file_join(path, IDS_FILE);
    bool good;
    if (file_exists(whole))
        good = read_tokenizer(vocabulary, whole, error);
    else if (file_exists(ids))
        good = read_pair(vocabulary, path, error);
    else
        good = error_set(
            error,
            "%s: no tokenizer in this directory: neither vocabulary.txt nor " TOKENIZER_FILE
            " nor " IDS_FILE " and " MERGES_FILE "; name another with --tokenizer-file",
            path);
    free(whole);
    free(ids);
    return good;
}
