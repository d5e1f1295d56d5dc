/* The log-likelihood of a text, token by token.
 *
 * The protocol is that of score.h with a stride equal to the window: the start token precedes
 * the text, and the context starts anew with every window, unless the model carries its state.
 * Tokens are read one by one, as in generation, so that all logits and the rank among them are
 * available. */
#ifndef LINNET_TOKEN_SCORE_H
#define LINNET_TOKEN_SCORE_H

#include "models/generator.h"

typedef struct TokenScore {
    double nats;
    size_t rank; /* 1: the likeliest; ties go to the first */
} TokenScore;

/* Calls `tell` for each token; returns the total loss in nats. */
double token_score_text(const Model *model, const int32_t *ids, size_t count, int32_t prime,
                        void (*tell)(void *listener, size_t at, TokenScore score),
                        void *listener);

#endif
