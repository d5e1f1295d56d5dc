/* The loss of a model on a text.
 *
 * The text is one stream, preceded by the start token, so that every token is scored. A sliding
 * window moves by a stride and scores its last `stride` tokens (the first window: all of them).
 * If the stride equals the window, windows do not overlap. A smaller stride gives tokens more
 * context, takes longer, and gives a lower loss: quote a loss together with its window and
 * stride.
 *
 * If the pass carries a state, the text is cut into as many streams as the pass has rows. Each
 * window continues where the previous one of its stream ended; the stride is the window.
 *
 * A part of a text is a fixed number of its windows, evenly spread over the text. Each is
 * scored as in the whole text, so its loss is an unbiased estimate. With a carried state the
 * part is the beginning of every stream: states must not skip text. */
#ifndef LINNET_SCORE_H
#define LINNET_SCORE_H

#include "data/corpora/corpus.h"
#include "models/pass.h"

typedef struct Score {
    double nats;     /* summed over all tokens, in double */
    size_t tokens;   /* that were scored */
    size_t right;    /* of these, how many had the largest probability, or one of several */
    bool is_partial; /* broken off: some windows were not read */
} Score;

static inline double score_loss(Score score)
{
    return score.nats / (double)score.tokens;
}

static inline double score_accuracy(Score score)
{
    return (double)score.right / (double)score.tokens;
}

/* Windows that are read side by side, unless somebody asks for another number. A carried state
 * reads one stream. */
size_t score_usual_batch(const ModelConfig *config);

typedef struct Windows {
    Tokens ids;
    size_t count, window, stride;
    int32_t prime;      /* the token before the first */
    size_t part;        /* windows to score; 0: all */
    Tokens labels;      /* as those of a CorpusSplit; at NULL: the tokens themselves */
    int (*stops)(void); /* asked before each batch: not 0 breaks off; NULL: never */
} Windows;

size_t windows_number(const Windows *windows);
/* Tokens that score_windows reads for the first time and, without labels, scores. */
size_t windows_tokens(const Windows *windows, const Pass *pass);
/* The inputs and targets (window) of a window; a target of -1 is not scored. */
void windows_fill(const Windows *windows, size_t index, int32_t *inputs, int32_t *targets);

/* Called after each batch. Without a carried state, or with one stream, the tokens of
 * pass->scored continue those of the batch before in the order of the text. */
typedef struct ScoreListener {
    void (*add_batch)(void *context, Pass *pass);
    void *context;
} ScoreListener;

/* The windows are as long as the pass; listeners (listener_count). */
Score score_windows(Pass *pass, const Windows *windows, const ScoreListener *listeners,
                    size_t listener_count);

/* --- a pass that scores texts by a protocol --- */

typedef struct Protocol {
    size_t window, stride, batch;
    int32_t prime; /* the token before the first */
} Protocol;

static inline Windows protocol_windows(const Protocol *protocol, const CorpusSplit *split)
{
    return (Windows){.ids = split->ids,
                     .count = split->count,
                     .window = protocol->window,
                     .stride = protocol->stride,
                     .prime = protocol->prime,
                     .labels = split->labels};
}

typedef struct Scorer {
    Protocol protocol;
    Pass pass;
} Scorer;

/* The model must outlive it. */
void scorer_make(Scorer *scorer, const Model *model, const Protocol *protocol);
void scorer_free(Scorer *scorer);

/* Scores a text from its beginning and calls the listeners (listener_count) after each batch.
 */
Score scorer_score(Scorer *scorer, const CorpusSplit *split, const ScoreListener *listeners,
                   size_t listener_count);

#endif
