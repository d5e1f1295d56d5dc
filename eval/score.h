/* How well a model predicts a text.
 *
 * The text is one stream, primed with a single line end, so that every token is scored. It is
 * read through windows that each move on by a stride and score their last `stride` tokens (the
 * first window: all of them); with the stride as long as the window, windows do not overlap.
 * A smaller stride gives every token more context, costs more, and gives a lower loss: a
 * figure means something only together with its window and stride.
 *
 * Where the pass carries a state, the text is cut into as many streams as the pass has rows,
 * and each window goes on where the one before it in its stream ended; the stride is the
 * window. */
#ifndef LINNET_SCORE_H
#define LINNET_SCORE_H

#include "data/corpus.h"
#include "models/pass.h"

typedef struct Score {
    double nats; /* summed over all tokens, in double */
    size_t tokens;
} Score;

static inline double score_loss(Score score)
{
    return score.nats / (double)score.tokens;
}

/* The window is the pass's length, the prime the vocabulary's <eos>. The buffer is work memory
 * for score_buffer_size(pass) ids. */
size_t score_buffer_size(const Pass *pass);
Score score_text(Pass *pass, const int32_t *ids, size_t count, int32_t prime, size_t stride,
                 int32_t *buffer);

/* --- the parts of it, for those who score in other ways --- */

typedef struct Windows {
    const int32_t *ids;
    size_t count, window, stride;
    int32_t prime;
} Windows;

size_t windows_number(const Windows *windows);
/* What a window reads, and the targets that it scores, -1 where it scores none. */
void windows_fill(const Windows *windows, size_t index, int32_t *inputs, int32_t *targets);

/* Hears of each batch when it has been scored. Without a carried state, or with one stream, the
 * tokens of pass->scored follow on those of the batch before in the order of the text. */
typedef struct ScoreListener {
    void (*hear)(void *context, Pass *pass);
    void *context;
} ScoreListener;

/* The windows are as long as the pass. */
Score score_windows(Pass *pass, const Windows *windows, const ScoreListener *listeners,
                    size_t listener_count, int32_t *buffer);

#endif
