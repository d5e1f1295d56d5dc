/* What a session says before it trains, about settings that do not suit its text, and at its
 * end. */
#ifndef LINNET_ADVICE_H
#define LINNET_ADVICE_H

#include "train/loop/folder.h"
#include "train/loop/loop.h"
#include "train/observers/observers.h"

/* Warns of what a new run may want to change: tokenizer, warmup, precision. */
void advise(const RunView *run);

/* One line that says why the tokenizer does not suit the text and which options would; NULL if
 * all is well. The parameters are those of the model. The caller frees. */
char *hint_about_tokens(const Corpus *corpus, const ModelConfig *config, size_t parameters);
/* The same for a run that took over the tokenizer of another; `bound` if a teacher needs it. */
char *hint_about_shared_tokens(const Corpus *corpus, bool bound);

/* Prints how the session ended, the best loss, and how to continue; returns the exit status. */
int farewell(LoopEnd end, const RunView *run, const RunFolder *folder, Screen *screen,
             const Error *error);

#endif
