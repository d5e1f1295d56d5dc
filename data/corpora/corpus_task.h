/* Corpora of synthetic tasks: token ids and labels, without a text. */
#ifndef LINNET_CORPUS_TASK_H
#define LINNET_CORPUS_TASK_H

#include "data/corpora/corpus.h"

/* Makes the three splits of a task (task_is_named) from different seeds. The vocabulary is
 * that of the corpus, if it has one already, or else the task's symbols. On failure the
 * caller frees the corpus. */
bool corpus_make_task(Corpus *corpus, const char *name, const CorpusOptions *options,
                      Error *error);

#endif
