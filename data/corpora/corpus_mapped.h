/* Corpora whose parts are files of token ids, and tokenizers that come from files. */
#ifndef LINNET_CORPUS_MAPPED_H
#define LINNET_CORPUS_MAPPED_H

#include "data/corpora/corpus.h"
#include "data/corpora/corpus_files.h"

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
bool corpus_take_vocabulary(Corpus *corpus, const char *path, const CorpusOptions *options,
                            Error *error);

#endif
