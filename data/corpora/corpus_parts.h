/* The parts of corpus_load: finding the files of a corpus by its name, without opening them;
 * corpora whose parts are files of token ids; corpora of synthetic tasks. */
#ifndef LINNET_CORPUS_PARTS_H
#define LINNET_CORPUS_PARTS_H

#include "data/corpora/corpus.h"

typedef struct CorpusFiles {
    char *train;        /* NULL: the built-in toy */
    char *valid, *test; /* NULL: to be split off the training text */
    char *title;        /* for people: the file or files, and their directory */
} CorpusFiles;

/* Finds NAME as given, or else in the data directory (../data in messages and the title, as
 * seen from the program). In each place this is the file NAME, or else the triple
 * NAME.train.EXT, NAME.valid.EXT, NAME.test.EXT, each optionally with .gz. A directory stands
 * for its file train.bin, and beside that val.bin and test.bin are found. valid and test,
 * unless NULL or "", replace the found files. The caller frees, also after a failure. */
bool corpus_files_find(CorpusFiles *files, const char *name, const char *valid,
                       const char *test, const char *data_folder, Error *error);
void corpus_files_free(CorpusFiles *files);

/* Whether the training text is a file of ids. */
bool corpus_is_mapped(const CorpusFiles *files);

/* Maps the files and checks all ids. Without a validation file, the last 5 % of the training
 * ids are the test text and the 5 % before them the validation text; with one, a missing test
 * text stays empty. The vocabulary is that of the corpus, if it has one already, or else that
 * of --tokenizer-file, or of the file beside the ids. Sets the source. On failure the caller
 * frees the corpus. */
bool corpus_map(Corpus *corpus, const CorpusFiles *files, const CorpusOptions *options,
                Error *error);

/* Loads the vocabulary from a file, unless an option contradicts it. */
bool corpus_load_vocabulary(Corpus *corpus, const char *path, const CorpusOptions *options,
                            Error *error);

/* Makes the token ids and labels of a task (task_is_named), each split from another seed. The
 * vocabulary is that of the corpus, if it has one already, or else the task's symbols. On
 * failure the caller frees the corpus. */
bool corpus_make_task(Corpus *corpus, const char *name, const CorpusOptions *options,
                      Error *error);

#endif
