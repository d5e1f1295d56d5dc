/* The tokenizer of an imported model. */
#include "models/exchange/imported.h"
#include "data/tokenizers/bpe.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

#define COMMON "tokenizer.json"
#define PLAIN  "vocabulary.json"

/* --- byte-pair encoding --- */

static const char *type_of(const json_t *root, const char *part)
{
    const char *type = json_string_value(json_object_get(json_object_get(root, part), "type"));
    return type ? type : "";
}

/* SentencePiece knows words by a mark before them, and other bytes by tokens of their own. */
static bool check_kind(const json_t *root, const char *path, Error *error)
{
    const json_t *fallback = json_object_get(json_object_get(root, "model"), "byte_fallback");
    if (!json_is_true(fallback) && strcmp(type_of(root, "model"), "Unigram") != 0 &&
        strcmp(type_of(root, "pre_tokenizer"), "Metaspace") != 0)
        return true;
    return error_set(
        error,
        "%s: a SentencePiece tokenizer, as Llama 1 and 2 have it; linnet has "
        "byte-level BPE, so choose a model with a tokenizer of that kind, as GPT-2 "
        "and GPT-NeoX have it",
        path);
}

/* Composing characters (NFC) changes few texts, so a model is usable without it. */
static void drop_composing(json_t *root, ImportPlan *plan)
{
    if (strcmp(type_of(root, "normalizer"), "NFC") != 0)
        return;
    json_object_set_new(root, "normalizer", json_null());
    plan_note(plan, "its tokenizer composes characters first (NFC); linnet does not, so text "
                    "with separate accents is encoded differently");
}

/* The number of ids up to the largest. */
static size_t count_ids(const json_t *root)
{
    json_int_t most = -1; /* none */
    const char *text;
    json_t *id, *entry;
    size_t i;
    json_object_foreach(json_object_get(json_object_get(root, "model"), "vocab"), text, id)
        most = json_integer_value(id) > most ? json_integer_value(id) : most;
    json_array_foreach(json_object_get(root, "added_tokens"), i, entry)
    {
        id = json_object_get(entry, "id");
        most = json_integer_value(id) > most ? json_integer_value(id) : most;
    }
    return (size_t)most + 1;
}

/* A special token for each embedding without a token. */
static void add_unused(json_t *root, ImportPlan *plan)
{
    size_t count = count_ids(root), wanted = plan->config.vocabulary;
    if (count >= wanted)
        return;
    if (!json_is_array(json_object_get(root, "added_tokens")))
        json_object_set_new(root, "added_tokens", json_array());
    json_t *added = json_object_get(root, "added_tokens");
    for (size_t id = count; id < wanted; id++) {
        char *name = text_format("<|unused_%zu|>", id);
        json_array_append_new(added, json_pack("{s:o, s:s, s:b}", "id", json_count(id),
                                               "content", name, "special", true));
        free(name);
    }
    plan_note(plan,
              "%zu embedding%s without a token: named <|unused_%zu|>%s, which no text contains",
              wanted - count, text_plural(wanted - count), count,
              wanted - count > 1 ? " and so on" : "");
}

/* The form of tokenizer.json of whatever the directory has; NULL on failure. */
static json_t *read_merges(const char *folder, Error *error)
{
    Vocabulary pair;
    json_error_t ignored;
    size_t size;
    if (file_is_in(folder, COMMON))
        return store_json(folder, COMMON, STORE_LARGE, error);
    if (!bpe_import(&pair, folder, error))
        return NULL;
    char *text = vocabulary_write(&pair, &size);
    json_t *root = json_parse(text, size, &ignored);
    vocabulary_free(&pair);
    free(text);
    return root;
}

static bool import_merges(Vocabulary *vocabulary, ImportPlan *plan, const char *folder,
                          const char *path, Error *error)
{
    if (file_is_in(folder, "tokenizer.model") && !file_is_in(folder, COMMON))
        return error_set(error,
                         "%s: a SentencePiece tokenizer (tokenizer.model), and linnet has "
                         "byte-level BPE; choose a model with a tokenizer of that kind",
                         folder);
    json_t *root = read_merges(folder, error);
    if (!root)
        return false;
    bool good = check_kind(root, path, error);
    if (good) {
        Error why;
        drop_composing(root, plan);
        add_unused(root, plan);
        good = bpe_read_json(vocabulary, root, &why) ||
               error_set(error, "%s: %s", path, why.text);
    }
    json_decref(root);
    return good;
}

/* --- linnet's own lists of words --- */

/* The words by id, from an object of ids; NULL if these are not 0, 1, 2 ... */
static json_t *sorted(json_t *ids)
{
    size_t count = json_object_size(ids);
    const char **words = memory_new(count, sizeof *words, "the vocabulary");
    const char *word;
    json_t *id;
    bool good = true;
    json_object_foreach(ids, word, id)
    {
        size_t at = json_is_integer(id) ? (size_t)json_integer_value(id) : count;
        good = good && at < count && !words[at];
        if (good)
            words[at] = word;
    }
    json_t *list = good ? json_array() : NULL;
    for (size_t i = 0; good && i < count; i++)
        json_array_append_new(list, json_string(words[i]));
    free(words);
    return list;
}

/* The words in the stored form; the caller frees. */
static char *stored_form(const json_t *words, const Tokenizer *tokenizer)
{
    Vocabulary vocabulary;
    size_t size;
    vocabulary_begin(&vocabulary, tokenizer);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        vocabulary_add(&vocabulary, !word ? "" : strcmp(word, "\n") == 0 ? TOKEN_EOS : word);
    }
    char *text = vocabulary_write(&vocabulary, &size);
    vocabulary_free(&vocabulary);
    return text;
}

static json_t *read_words(const char *folder, Error *error)
{
    bool plain = file_is_in(folder, PLAIN);
    json_t *root = store_json(folder, plain ? PLAIN : COMMON, STORE_LARGE, error);
    if (!root)
        return NULL;
    json_t *words = plain ? json_incref(json_object_get(root, "words"))
                          : sorted(json_object_get(json_object_get(root, "model"), "vocab"));
    json_decref(root);
    if (!json_is_array(words)) {
        error_set(error, "%s/%s: no list of tokens", folder, plain ? PLAIN : COMMON);
        json_decref(words);
        return NULL;
    }
    return words;
}

static bool import_words(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *folder,
                         Error *error)
{
    Error why;
    json_t *words = read_words(folder, error);
    if (!words)
        return false;
    char *text = stored_form(words, tokenizer);
    bool good = vocabulary_read(vocabulary, tokenizer, text, strlen(text), &why) ||
                error_set(error, "%s: %s", folder, why.text);
    free(text);
    json_decref(words);
    return good;
}

bool import_vocabulary(Vocabulary *vocabulary, ImportPlan *plan, const char *folder,
                       Error *error)
{
    const Tokenizer *tokenizer = tokenizer_find(plan->corpus.tokenizer);
    char *path = file_join(folder, COMMON);
    bool good = tokenizer->form  ? import_merges(vocabulary, plan, folder, path, error)
                : tokenizer->cut ? import_words(vocabulary, tokenizer, folder, error)
                                 : vocabulary_read(vocabulary, tokenizer, "", 0, error);
    free(path);
    if (!good)
        return false;
    Error why;
    if (plan->corpus.lowercase && !vocabulary_lower(vocabulary, &why)) {
        error_set(error, "%s: %s", folder, why.text);
        vocabulary_free(vocabulary);
        return false;
    }
    if (vocabulary->count == plan->config.vocabulary)
        return true;
    error_set(error, "%s: the tokenizer has %zu tokens, but the model has %zu embeddings",
              folder, vocabulary->count, plan->config.vocabulary);
    vocabulary_free(vocabulary);
    return false;
}
