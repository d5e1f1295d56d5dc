/* A pass that scores texts, with its memory and protocol. */
#ifndef LINNET_SCORER_H
#define LINNET_SCORER_H

#include "models/score.h"

/* The protocol. */
typedef struct Protocol {
    size_t window, stride, batch;
    int32_t prime; /* the token before the first */
} Protocol;

static inline Windows protocol_windows(const Protocol *protocol, const CorpusSplit *split)
{
    return (Windows){split->ids, split->count, protocol->window, protocol->stride,
                     protocol->prime};
}

typedef struct Scorer {
    Protocol protocol;
    Pass pass;
    int32_t *buffer;
} Scorer;

/* The model must outlive it. */
void scorer_make(Scorer *scorer, const Model *model, const Protocol *protocol);
void scorer_free(Scorer *scorer);

/* Scores a text from its beginning and calls the listeners after each batch. */
Score scorer_score(Scorer *scorer, const CorpusSplit *split, const ScoreListener *listeners,
                   size_t listener_count);

#endif
