#include "data/corpora/corpus_parts.h"
#include "data/corpora/tokens.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* A file that takes longer than a second or so to check. */
enum { LARGE_CHECKING = 500000000 };

bool corpus_is_mapped(const CorpusFiles *files)
{
    return files->train && text_ends_in(files->train, TOKEN_FILE_ENDING);
}

/* --- the tokenizer --- */

bool corpus_load_vocabulary(Corpus *corpus, const char *path, const CorpusOptions *options,
                            Error *error)
{
    bool special = options->special_tokens && *options->special_tokens;
    if (options->vocab_size || options->min_count > 1 || special)
        return error_usage(error,
                           "%s: a tokenizer from a file learns nothing from the text; drop "
                           "--vocab-size, --min-count and --special-tokens",
                           path);
    if (!vocabulary_load(&corpus->vocabulary, path, error))
        return false;
    const Tokenizer *tokenizer = corpus->vocabulary.tokenizer;
    if (options->lowercase && !corpus->vocabulary.lowercase)
        return error_usage(error, "%s: this tokenizer keeps capital letters; drop --lowercase",
                           path);
    bool wanted = options->tokenizer_given || options->tokenizer != TOKENIZER_WORD;
    if (!wanted || tokenizer_find(options->tokenizer) == tokenizer)
        return true;
    return error_usage(error, "%s: this tokenizer is %s; drop --tokens %s", path,
                       tokenizer->name, tokenizer_name(options->tokenizer));
}

/* Whether the vocabulary of a checkpoint made these ids, as far as one can see. */
static bool check_beside(const Corpus *corpus, const char *folder, const char *path,
                         Error *error)
{
    Vocabulary beside = {0};
    if (!vocabulary_load(&beside, folder, error))
        return false;
    bool equal = vocabulary_equal(&beside, &corpus->vocabulary);
    vocabulary_free(&beside);
    return equal || error_set(error,
                              "%s: the tokenizer beside it is not that of the run; name a text "
                              "instead, or encode it with the tokenizer of the run, which "
                              "export --plain writes",
                              path);
}

static bool find_vocabulary(Corpus *corpus, const char *path, const CorpusOptions *options,
                            Error *error)
{
    const char *given = options->tokenizer_file;
    char *folder = file_folder_of(path);
    bool beside = vocabulary_is_in(folder), good;
    if (corpus->vocabulary.tokenizer)
        good = !beside || check_beside(corpus, folder, path, error);
    else if (given && *given)
        good = corpus_load_vocabulary(corpus, given, options, error);
    else if (beside)
        good = corpus_load_vocabulary(corpus, folder, options, error);
    else
        good = error_set(
            error,
            "%s: which tokenizer made these token ids? Put its tokenizer.json or "
            "vocabulary.txt beside them, or name it with --tokenizer-file (if this "
            "is a text, its name should not end in " TOKEN_FILE_ENDING ")",
            path);
    free(folder);
    return good;
}

/* --- the ids --- */

static bool check_split(CorpusSplit *split, const TokenFile *file, size_t first, size_t count,
                        const Vocabulary *vocabulary, Error *error)
{
    TokenFacts facts;
    if (!token_file_check(file, first, count, vocabulary, &facts, error))
        return false;
    split->ids = tokens_from(file->ids, first);
    split->ids.below = (uint32_t)vocabulary->count;
    split->count = count;
    split->unknown = facts.unknown;
    split->characters = facts.characters;
    split->bytes = facts.bytes;
    split->crc = facts.crc;
    return true;
}

/* Splits a validation and a test text off the end. */
static bool check_parts(Corpus *corpus, const TokenFile *file, Error *error)
{
    enum { PERCENT = 5, WHOLE = 100 };
    const Vocabulary *vocabulary = &corpus->vocabulary;
    size_t tail = file->count / WHOLE * PERCENT + file->count % WHOLE * PERCENT / WHOLE;
    tail = tail ? tail : 1;
    if (file->count < 2 * tail + 1)
        return error_set(
            error,
            "%s: %zu tokens are too few to split a validation and a test text off; "
            "name files with --valid and --test",
            file->mapping->path, file->count);
    size_t valid = file->count - 2 * tail, test = file->count - tail;
    text_append(&corpus->source,
                ", split by tokens: 90 %% training, 5 %% validation, 5 %% test");
    return check_split(&corpus->train, file, 0, valid, vocabulary, error) &&
           check_split(&corpus->valid, file, valid, tail, vocabulary, error) &&
           check_split(&corpus->test, file, test, tail, vocabulary, error);
}

bool corpus_check(const Corpus *corpus, Error *error)
{
    enum { FILES = sizeof corpus->mappings / sizeof *corpus->mappings };
    const CorpusSplit *splits[FILES] = {&corpus->train, &corpus->valid, &corpus->test};
    bool same = true;
    for (size_t i = 0; i < FILES; i++)
        same = same && (!corpus->mappings[i] || mapping_check(corpus->mappings[i], error));
    if (same)
        return true;
    for (size_t i = 0; i < FILES; i++)
        if (corpus->mappings[i])
            mapping_accept(corpus->mappings[i]);
    for (size_t i = 0; i < FILES; i++)
        if (splits[i]->count && tokens_crc(splits[i]->ids, splits[i]->count) != splits[i]->crc)
            mapping_mark_changed(splits[i]->ids.data);
    for (size_t i = 0; i < FILES; i++)
        if (corpus->mappings[i] && !mapping_check(corpus->mappings[i], error))
            return false;
    return true;
}

static bool open_file(Corpus *corpus, size_t place, const char *path, TokenFile *file,
                      Error *error)
{
    if (!text_ends_in(path, TOKEN_FILE_ENDING)) {
        error_set(error,
                  "%s: the training text is a file of token ids, so this must be one too; make "
                  "it with tokens encode",
                  path);
        return false;
    }
    if (!token_file_open(file, path, error))
        return false;
    corpus->mappings[place] = file->mapping;
    return true;
}

static bool check_file(Corpus *corpus, CorpusSplit *split, size_t place, const char *path,
                       Error *error)
{
    TokenFile file = {0};
    return !path || (open_file(corpus, place, path, &file, error) &&
                     check_split(split, &file, 0, file.count, &corpus->vocabulary, error));
}

bool corpus_map(Corpus *corpus, const CorpusFiles *files, const CorpusOptions *options,
                Error *error)
{
    TokenFile file = {0};
    if (options->trim)
        return error_usage(
            error,
            "%s: --trim does not apply to token ids; give the text, or train without "
            "--trim",
            files->train);
    if (!find_vocabulary(corpus, files->train, options, error) ||
        !open_file(corpus, 0, files->train, &file, error))
        return false;
    corpus->source = memory_copy_text(files->title);
    if (options->tell && file.mapping->size >= LARGE_CHECKING) {
        char *what = text_format("checking the ids of %s (%.0f MB)", files->train,
                                 (double)file.mapping->size / 1e6);
        options->tell(what);
        free(what);
    }
    if (!files->valid && !files->test)
        return check_parts(corpus, &file, error);
    if (!files->valid)
        return error_set(error,
                         "%s: a test text without a validation text; name one with "
                         "--valid",
                         files->train);
    return check_split(&corpus->train, &file, 0, file.count, &corpus->vocabulary, error) &&
           check_file(corpus, &corpus->valid, 1, files->valid, error) &&
           check_file(corpus, &corpus->test, 2, files->test, error);
}
