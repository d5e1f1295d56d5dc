/* The loss of a text, in nats for all of it, as the figures that people compare. */
#ifndef LINNET_FIGURES_H
#define LINNET_FIGURES_H

#include "data/corpora/corpus.h"
#include "src/base/json.h"

/* "loss 4.4 nats per token, perplexity ..., ... bits per character, ... per byte"; the caller
 * frees. */
char *figures_text(double nats, const CorpusSplit *split);
/* The same figures, the nats, and the size of the split. */
json_t *figures_json(double nats, const CorpusSplit *split);
/* Prints the size of the split, the protocol, such as "window 128, stride 32", and the nats. */
void figures_print_size(const CorpusSplit *split, const char *protocol, double nats);

#endif
