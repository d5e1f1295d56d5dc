/* Which files the name of a corpus means. Nothing is opened here. */
#ifndef LINNET_CORPUS_FILES_H
#define LINNET_CORPUS_FILES_H

#include "src/error.h"

typedef struct CorpusFiles {
    char *train;        /* NULL: the built-in toy */
    char *valid, *test; /* NULL: to be split off what train is */
    char *title;        /* what people call the corpus: its file or files, and their folder */
} CorpusFiles;

/* Finds NAME as given, or else in the data folder (which messages and title call ../data, as
 * it is seen from the program); there the file NAME, or else the triple NAME.train.EXT,
 * NAME.valid.EXT, NAME.test.EXT, each of which may be followed by .gz. valid and test, unless
 * NULL or "", are files that take the place of the found ones. The caller frees, also after a
 * failure. */
bool corpus_files_find(CorpusFiles *files, const char *name, const char *valid,
                       const char *test, const char *data_folder, Error *error);
void corpus_files_free(CorpusFiles *files);

/* The folder data/ beside the folder of the running program; the caller frees. */
char *corpus_data_folder(void);

#endif
