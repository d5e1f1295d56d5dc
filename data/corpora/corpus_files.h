/* Finds the files of a corpus by its name, without opening them. */
#ifndef LINNET_CORPUS_FILES_H
#define LINNET_CORPUS_FILES_H

#include "src/base/error.h"

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

#endif
