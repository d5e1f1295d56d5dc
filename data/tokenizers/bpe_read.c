/* Reads tokenizer.json, the file of Python's "tokenizers".
 *
 * The file may be forged, and it may describe a tokenizer of another kind. What would be
 * encoded differently here is refused by name: normalizers, other splitters, a blank in front
 * of the text. So is everything that contradicts itself. */
#include "data/tokenizers/bpe.h"
#include "src/base/json.h"

#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

/* --- the kind of tokenizer --- */

static const char *text_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Whether a value is missing, null, false, zero or "". */
static bool is_off(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return !value || json_is_null(value) || json_is_false(value) ||
           (json_is_number(value) && !(json_number_value(value) > 0) &&
            !(json_number_value(value) < 0)) ||
           (json_is_string(value) && !*json_string_value(value));
}

/* Whether a part of the tokenizer is of GPT-2's kind, or missing where it may be. */
static bool check_part(const json_t *root, const char *key, const char *type, bool needed,
                       Error *error)
{
    const json_t *part = json_object_get(root, key);
    if (!needed && (!part || json_is_null(part)))
        return true;
    if (json_is_object(part) && strcmp(text_in(part, "type"), type) == 0)
        return true;
    const char *name = json_is_object(part) ? text_in(part, "type") : "";
    return error_set(error, "its %s is \"%.60s\"; linnet encodes only as GPT-2 does: %s%s", key,
                     name, needed ? "" : "none, or ", *type ? type : "none");
}

/* Whether a post_processor adds no token to a single text: that is how transformers 5 writes
 * none. linnet encodes no pairs of texts. */
static bool adds_nothing(const json_t *part)
{
    const json_t *single = json_object_get(part, "single"), *piece = json_array_get(single, 0);
    return strcmp(text_in(part, "type"), "TemplateProcessing") == 0 &&
           json_array_size(single) == 1 && json_object_size(piece) == 1 &&
           strcmp(text_in(json_object_get(piece, "Sequence"), "id"), "A") == 0;
}

static bool check_post_processor(const json_t *root, Error *error)
{
    static const char key[] = "post_processor";
    const json_t *part = json_object_get(root, key);
    if (adds_nothing(part))
        return true;
    if (strcmp(text_in(part, "type"), "TemplateProcessing") == 0)
        return error_set(error, "its post_processor adds tokens to a text; linnet encodes only "
                                "as GPT-2 does, without them");
    return check_part(root, key, "ByteLevel", false, error);
}

static bool check_off(const json_t *object, const char *where, const char *const *keys,
                      Error *error)
{
    for (; *keys; keys++)
        if (!is_off(object, *keys))
            return error_set(error,
                             "\"%s\" is set in %s; linnet encodes only as GPT-2 does, "
                             "without it",
                             *keys, where);
    return true;
}

static bool check_kind(const json_t *root, Error *error)
{
    static const char *const blank[] = {"add_prefix_space", NULL};
    static const char *const extras[] = {"dropout",
                                         "continuing_subword_prefix",
                                         "end_of_word_suffix",
                                         "byte_fallback",
                                         "ignore_merges",
                                         NULL};
    if (!json_is_object(root))
        return error_set(error, "no tokenizer: it is not a JSON object");
    const json_t *model = json_object_get(root, "model"),
                 *splitter = json_object_get(root, "pre_tokenizer");
    if (!json_is_object(model))
        return error_set(error, "no tokenizer: it has no \"model\"");
    bool untyped = !json_object_get(model, "type"); /* early versions of the library */
    if (!(untyped || check_part(root, "model", "BPE", true, error)) ||
        !check_part(root, "pre_tokenizer", "ByteLevel", true, error) ||
        !check_post_processor(root, error) ||
        !check_part(root, "decoder", "ByteLevel", false, error))
        return false;
    const json_t *normalizer = json_object_get(root, "normalizer");
    if (normalizer && !json_is_null(normalizer))
        return error_set(error,
                         "it has the normalizer \"%.60s\"; linnet encodes only as GPT-2 "
                         "does, without one",
                         text_in(normalizer, "type"));
    if (json_is_false(json_object_get(splitter, "use_regex")))
        return error_set(error, "its pre_tokenizer has \"use_regex\": false; linnet encodes "
                                "only as GPT-2 does, with the words of its pattern");
    return check_off(splitter, "its pre_tokenizer", blank, error) &&
           check_off(model, "its model", extras, error);
}

/* --- tokens --- */

typedef struct Token {
    const char *text;
    const json_t *added; /* its entry in added_tokens, or NULL */
    bool listed;         /* in the vocabulary proper */
} Token;

typedef struct TokenList {
    Token *by_id; /* room for most */
    size_t most, count;
} TokenList;

/* The entry of an id, which must lie among as many as there are tokens at most. */
static Token *token_of(const TokenList *tokens, const json_t *id, const char *text,
                       Error *error)
{
    if (!json_is_integer(id) || json_integer_value(id) < 0 ||
        (size_t)json_integer_value(id) >= tokens->most) {
        error_set(error, "the id of the token \"%.60s\" is not between 0 and %zu", text,
                  tokens->most - 1);
        return NULL;
    }
    return &tokens->by_id[json_integer_value(id)];
}

static bool list_vocabulary(TokenList *tokens, json_t *ids, Error *error)
{
    const char *text;
    json_t *id;
    json_object_foreach(ids, text, id)
    {
        Token *token = token_of(tokens, id, text, error);
        if (!token)
            return false;
        if (token->text)
            return error_set(error, "the tokens \"%.60s\" and \"%.60s\" have the same id",
                             token->text, text);
        *token = (Token){.text = text, .listed = true};
        tokens->count++;
    }
    return true;
}

/* names: the added tokens so far. */
static bool list_added(TokenList *tokens, const json_t *ids, const json_t *added, json_t *names,
                       Error *error)
{
    static const char *const rules[] = {"single_word", "lstrip", "rstrip", NULL};
    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *entry = json_array_get(added, i), *id = json_object_get(entry, "id");
        const char *text = text_in(entry, "content");
        if (!*text)
            return error_set(error, "number %zu of its added_tokens has no \"content\"", i + 1);
        if (!check_off(entry, "one of its added_tokens", rules, error))
            return false;
        Token *token = token_of(tokens, id, text, error);
        if (!token)
            return false;
        const json_t *other = json_object_get(ids, text);
        bool same = token->text && strcmp(token->text, text) == 0 && !token->added;
        if (((token->text || other) && !same) || json_object_get(names, text))
            return error_set(error,
                             "the added token \"%.60s\" contradicts the vocabulary or "
                             "another added token: one id, one token",
                             text);
        json_object_set_new(names, text, json_true());
        tokens->count += !same;
        token->text = text;
        token->added = entry;
    }
    return true;
}

static bool is_plain(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static void add_added(Vocabulary *vocabulary, const Token *token)
{
    BpeAdded added = {.special = json_is_true(json_object_get(token->added, "special"))};
    const json_t *normalized = json_object_get(token->added, "normalized");
    added.normalized = normalized ? json_is_true(normalized) : !added.special;
    /* Merges may make it, if it is spelled by the bytes that it has. */
    bool named = token->listed && is_plain(token->text);
    added.id = (uint32_t)vocabulary_append(vocabulary, token->text, strlen(token->text), named);
    arrput(vocabulary->bpe->added, added);
}

static bool add_token(Vocabulary *vocabulary, const Token *token, Error *error)
{
    if (!token->text)
        return error_set(error, "no token has the id %zu", vocabulary->count);
    if (token->added) {
        add_added(vocabulary, token);
        return true;
    }
    char *bytes = memory_new(strlen(token->text) + 1, 1, "a token");
    size_t size = bpe_unspell(bytes, token->text);
    if (size)
        vocabulary_append(vocabulary, bytes, size, true);
    free(bytes);
    return size ? true
                : error_set(error,
                            "the token \"%.60s\" is not spelled in GPT-2's characters "
                            "for bytes",
                            token->text);
}

static bool read_tokens(Vocabulary *vocabulary, json_t *ids, const json_t *added, Error *error)
{
    TokenList tokens = {.most = json_object_size(ids) + json_array_size(added)};
    if (!json_is_object(ids) || !tokens.most || tokens.most > INT32_MAX)
        return error_set(error, "its model has no \"vocab\", or a huge one");
    if (added && !json_is_array(added))
        return error_set(error, "its \"added_tokens\" are no list");
    tokens.by_id = memory_new(tokens.most, sizeof *tokens.by_id, "the tokens");
    json_t *names = json_object();
    bool good = list_vocabulary(&tokens, ids, error) &&
                list_added(&tokens, ids, added, names, error);
    json_decref(names);
    for (size_t i = 0; good && i < tokens.count; i++)
        good = add_token(vocabulary, &tokens.by_id[i], error);
    free(tokens.by_id);
    for (int byte = 0; good && byte < BPE_BYTES; byte++) {
        char one = (char)byte;
        if (vocabulary_find_bytes(vocabulary, &one, 1) == TOKEN_NONE)
            good = error_set(error, "the vocabulary has no token for the byte 0x%02x", byte);
    }
    return good;
}

/* --- merges --- */

/* The id of a spelled token; the text has a copy of its own. */
static uint32_t id_of(const Vocabulary *vocabulary, char *text)
{
    size_t size = bpe_unspell(text, text);
    return size ? (uint32_t)vocabulary_find_bytes(vocabulary, text, size) : BPE_NONE;
}

/* A merge is "a b" or ["a", "b"]. Says what is wrong, or NULL. */
static const char *read_merge(Vocabulary *vocabulary, const json_t *value)
{
    const char *first = json_string_value(json_array_get(value, 0)),
               *second = json_string_value(json_array_get(value, 1));
    const char *blank = json_is_string(value) ? strchr(json_string_value(value), ' ') : NULL;
    if (!blank && (json_array_size(value) != 2 || !first || !second))
        return "is not two tokens";
    first = blank ? json_string_value(value) : first;
    char *left = memory_copy_text(first), *right = memory_copy_text(blank ? blank + 1 : second);
    if (blank)
        left[blank - first] = '\0';
    BpeMerge merge = {.left = id_of(vocabulary, left), .right = id_of(vocabulary, right)};
    free(left);
    free(right);
    if (merge.left == BPE_NONE || merge.right == BPE_NONE)
        return "has a part that is not in the vocabulary";
    merge.result = bpe_join(vocabulary, merge.left, merge.right, false);
    if (merge.result == BPE_NONE)
        return "makes a token that is not in the vocabulary";
    arrput(vocabulary->bpe->merges, merge);
    return NULL;
}

static bool read_merges(Vocabulary *vocabulary, const json_t *merges, Error *error)
{
    if (!json_is_array(merges))
        return error_set(error, "its model has no list of \"merges\"");
    for (size_t i = 0; i < json_array_size(merges); i++) {
        const char *fault = read_merge(vocabulary, json_array_get(merges, i));
        if (fault)
            return error_set(error, "merge %zu %s", i + 1, fault);
    }
    uint32_t twice = bpe_finish(vocabulary);
    if (twice != BPE_NONE)
        return error_set(error, "merge %zu merges the same two tokens as an earlier one",
                         (size_t)twice + 1);
    return true;
}

bool bpe_read_json(Vocabulary *vocabulary, const json_t *root, Error *error)
{
    bpe_begin(vocabulary);
    const json_t *model = json_object_get(root, "model");
    if (check_kind(root, error) &&
        read_tokens(vocabulary, json_object_get(model, "vocab"),
                    json_object_get(root, "added_tokens"), error) &&
        read_merges(vocabulary, json_object_get(model, "merges"), error))
        return true;
    vocabulary_free(vocabulary);
    return false;
}

bool bpe_read(Vocabulary *vocabulary, const char *text, size_t size, Error *error)
{
    json_error_t where;
    json_t *root = json_parse(text, size, &where);
    if (!root)
        return error_set(error, "no tokenizer: not JSON in line %d: %s", where.line,
                         where.text);
    bool good = bpe_read_json(vocabulary, root, error);
    json_decref(root);
    return good;
}
