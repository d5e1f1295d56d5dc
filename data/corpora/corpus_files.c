/* People type `train ptb.txt` in bin/ or above it, and data/get writes three files to data/. So
 * a name is tried in two places, in each as one file and as a triple. A sentence says which
 * files were found, and errors say where they were searched: a silent search finds the wrong
 * file. */
#include "data/corpora/corpus_parts.h"
#include "data/corpora/reader.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

#define TOY    "toy"
#define PACKED ".gz"
#define IDS    "train.bin" /* as nanoGPT calls it; val.bin and test.bin lie beside it */

static bool is_file(const char *path)
{
    return file_exists(path) && !file_is_folder(path);
}

static bool is_given(const char *path)
{
    return path && *path;
}

/* Finds a file in a directory, or as named if that is NULL. Absolute names are never searched
 * in a directory. Returns NULL if there is no such file. */
static char *find_file(const char *folder, const char *name)
{
    if (folder && name[0] == '/')
        return NULL;
    char *path = folder ? file_join(folder, name) : memory_copy_text(name);
    if (is_file(path))
        return path;
    free(path);
    return NULL;
}

/* "dir/ptb.txt.gz" and "valid" make "dir/ptb.valid.txt". */
static char *triple_name(const char *name, const char *split)
{
    size_t length = strlen(name) - (text_ends_in(name, PACKED) ? strlen(PACKED) : 0);
    size_t stem = length;
    for (size_t i = (size_t)(basename(name) - name) + 1; i < length; i++)
        if (name[i] == '.')
            stem = i;
    return text_format("%.*s.%s%.*s", (int)stem, name, split, (int)(length - stem),
                       name + stem);
}

static char *find_member(const char *folder, const char *name, const char *split)
{
    char *plain = triple_name(name, split);
    char *path = find_file(folder, plain);
    if (!path) {
        char *packed = text_format("%s" PACKED, plain);
        path = find_file(folder, packed);
        free(packed);
    }
    free(plain);
    return path;
}

/* For messages: " in dir", or "" for a plain name in the current directory. */
static char *place_of(const char *folder, const char *name)
{
    int length = (int)(basename(name) - name);
    if (folder && length)
        return text_format(" in %.*s of the data folder", length - 1, name);
    if (folder)
        return memory_copy_text(" in the data folder");
    return length ? text_format(" in %.*s", length > 1 ? length - 1 : 1, name)
                  : memory_copy_text("");
}

/* The search, and what it has found. */
typedef struct Search {
    const char *name, *valid, *test, *data_folder;
    CorpusFiles *files;
} Search;

static bool missing_member(const Search *search, const char *folder, const char *split,
                           Error *error)
{
    char *member = triple_name(search->name, split), *place = place_of(folder, search->name);
    error_set(error, "%s: not found%s, though %s is; put it there, or use --%s FILE",
              basename(member), place, basename(search->files->train), split);
    free(member);
    free(place);
    return false;
}

static void add_member(const Search *search, const char *folder, const char *split, char **path)
{
    *path = find_member(folder, search->name, split);
    if (*path)
        text_append(&search->files->title, "%s%s", search->files->title ? ", " : "",
                    basename(*path));
}

static void add_beside(const Search *search, const char *given, const char *name, char **path)
{
    const char *train = search->files->train;
    char *beside = text_format("%.*s%s", (int)(basename(train) - train), train, name);
    if (!is_given(given) && is_file(beside)) {
        *path = memory_copy_text(beside);
        text_append(&search->files->title, ", %s", name);
    }
    free(beside);
}

/* Whether the directory has the corpus. An incomplete triple ends the search with an error
 * (*good is false): finding another corpus elsewhere would hide the mistake. */
static bool find_in(const Search *search, const char *folder, bool *good, Error *error)
{
    CorpusFiles *files = search->files;
    files->train = find_file(folder, search->name);
    if (files->train) {
        files->title = memory_copy_text(basename(files->train));
        if (strcmp(files->title, IDS) == 0) {
            add_beside(search, search->valid, "val.bin", &files->valid);
            add_beside(search, search->test, "test.bin", &files->test);
        }
    } else {
        add_member(search, folder, "train", &files->train);
        if (!files->train)
            return false;
        if (!is_given(search->valid))
            add_member(search, folder, "valid", &files->valid);
        if (!is_given(search->test))
            add_member(search, folder, "test", &files->test);
        if (!files->valid && !is_given(search->valid))
            *good = missing_member(search, folder, "valid", error);
        else if (!files->test && !is_given(search->test))
            *good = missing_member(search, folder, "test", error);
    }
    char *place = place_of(folder, search->name);
    text_append(&files->title, "%s", place);
    free(place);
    return true;
}

/* For messages; the caller frees. */
static char *how_to_get(const char *file)
{
    static const char *const published[] = {"ptb",    "wikitext-2",      "text8",
                                            "enwik8", "tinyshakespeare", "tinystories"};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        size_t length = strlen(published[i]);
        if (strncmp(file, published[i], length) == 0 && strcmp(file + length, ".txt") == 0)
            return text_format("to download it: data/get %s", published[i]);
    }
    return memory_copy_text("the corpus '" TOY
                            "' is built in, and so are synthetic tasks: toy --tasks");
}

static bool find_train(const Search *search, Error *error)
{
    const char *name = search->name;
    bool good = true;
    /* First of all: in bin/, a file of that name is a program. */
    if (strcmp(name, TOY) == 0) {
        search->files->title = memory_copy_text("the built-in toy language");
        return true;
    }
    if (find_in(search, NULL, &good, error) ||
        find_in(search, search->data_folder, &good, error))
        return good;
    if (file_is_folder(name))
        return error_set(error, "%s: is a directory without " IDS "; name a text file in it",
                         name);
    char *triple = triple_name(name, "train");
    const char *elsewhere = name[0] == '/' ? NULL : search->data_folder;
    char *hint = how_to_get(basename(name));
    error_set(error, "%s: no such file, nor %s%s%s (%s)", name, triple,
              elsewhere ? "; looked for both as given and in " : "", elsewhere ? elsewhere : "",
              hint);
    free(hint);
    free(triple);
    return false;
}

/* Finds a file given by an option in the same places. */
static bool find_given(const Search *search, const char *given, const char *option, char **path,
                       Error *error)
{
    if (!is_given(given))
        return true;
    if (strcmp(given, READER_STANDARD_INPUT) == 0 || file_is_folder(given))
        *path = memory_copy_text(given); /* the reader has an error message for directories */
    else if (!(*path = find_file(NULL, given)))
        *path = find_file(search->data_folder, given);
    return *path || error_set(error, "--%s %s: no such file, neither as given nor in %s",
                              option, given, search->data_folder);
}

static bool check_standard_input(const CorpusFiles *files, Error *error)
{
    int times = 0;
    const char *paths[] = {files->train, files->valid, files->test};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        times += paths[i] && strcmp(paths[i], READER_STANDARD_INPUT) == 0;
    return times <= 1 ||
           error_usage(error, "standard input can be read only once, not %d times", times);
}

/* "NAME/train.bin" if there is such a file, and none called NAME; else NAME. The caller frees.
 */
static char *whole_name(const char *name, const char *data_folder)
{
    char *as_given = find_file(NULL, name);
    if (as_given || !*name)
        return as_given ? as_given : memory_copy_text(name);
    char *inside = file_join(name, IDS), *path = find_file(NULL, inside);
    if (!path)
        path = find_file(data_folder, inside);
    bool found = path && strcmp(name, TOY) != 0;
    free(path);
    if (found)
        return inside;
    free(inside);
    return memory_copy_text(name);
}

bool corpus_files_find(CorpusFiles *files, const char *name, const char *valid,
                       const char *test, const char *data_folder, Error *error)
{
    *files = (CorpusFiles){0};
    char *whole = whole_name(name, data_folder);
    Search search = {whole, valid, test, data_folder, files};
    bool good = true;
    if (strcmp(name, READER_STANDARD_INPUT) == 0) {
        files->train = memory_copy_text(name);
        files->title = memory_copy_text(reader_name(name));
    } else {
        good = find_train(&search, error);
    }
    free(whole);
    return good && find_given(&search, valid, "valid", &files->valid, error) &&
           find_given(&search, test, "test", &files->test, error) &&
           check_standard_input(files, error);
}

void corpus_files_free(CorpusFiles *files)
{
    free(files->train);
    free(files->valid);
    free(files->test);
    free(files->title);
    *files = (CorpusFiles){0};
}
