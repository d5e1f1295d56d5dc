/* A hint, before training, that a text does not suit its tokenizer. */
#ifndef LINNET_HINTS_H
#define LINNET_HINTS_H

#include "data/corpora/corpus.h"
#include "models/config.h"

/* One line that says what is the case and which options would suit; NULL if all is well. The
 * parameters are those of the model. The caller frees. */
char *hint_about_tokens(const Corpus *corpus, const ModelConfig *config, size_t parameters);

/* The same for a run that took over the tokenizer of another; `bound` if a teacher needs it. */
char *hint_about_shared_tokens(const Corpus *corpus, bool bound);

#endif
