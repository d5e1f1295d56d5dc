/* How likely a model holds a text, token by token.
 *
 * The protocol is that of score.h with a stride as long as the window: the text begins behind a
 * single line end, and what a token may look back on begins anew with every window, unless the
 * model carries its state on. The tokens are read one after the other, as in generating: all
 * logits are there then, and the rank among them can be told. */
#ifndef LINNET_TOKEN_SCORE_H
#define LINNET_TOKEN_SCORE_H

#include "eval/write/generator.h"

typedef struct TokenScore {
    double nats;
    size_t rank; /* 1: the likeliest; of equals the first comes first */
} TokenScore;

/* Calls `tell` for each token in turn; returns the sum of the losses in nats. */
double token_score_text(const Model *model, const int32_t *ids, size_t count, int32_t prime,
                        void (*tell)(void *listener, size_t at, TokenScore score),
                        void *listener);

#endif
