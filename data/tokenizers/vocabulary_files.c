#include "data/tokenizers/vocabulary_files.h"
#include "src/base/file.h"
#include "src/base/text.h"

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

/* --- loading --- */

static bool starts_as_own(const char *path)
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
    for (size_t i = 0; tokenizer_name(i); i++)
        if (strcmp(tokenizer_name(i), name) == 0)
            return tokenizer_find(i);
    return NULL;
}

static bool load_own(Vocabulary *vocabulary, const char *path, Error *error)
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
        char *own = file_join(path, OWN);
        bool good = starts_as_own(own)
                        ? load_own(vocabulary, own, error)
                        : error_set(error, "%s: does not begin with '" HEADING "'", own);
        free(own);
        return good;
    }
    return starts_as_own(path) ? load_own(vocabulary, path, error)
                               : vocabulary_import(vocabulary, path, error);
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

bool vocabulary_store_own(const Vocabulary *vocabulary, const char *path, Error *error)
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
    Vocabulary there = {0};
    if (!vocabulary_load(&there, folder, error))
        return false;
    bool equal = vocabulary_equal(vocabulary, &there);
    vocabulary_free(&there);
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
        return vocabulary_export(vocabulary, folder, error);
    char *path = file_join(folder, OWN);
    bool good = vocabulary_store_own(vocabulary, path, error);
    free(path);
    return good;
}
