#include "eval/score.h"

#include <assert.h>

size_t score_buffer_size(const Pass *pass)
{
    return 2 * pass->rows;
}

typedef struct Windows {
    const int32_t *ids;
    size_t count, window, stride;
    int32_t prime;
} Windows;

/* Window w reads up to its end and scores what no window before it has. */
static size_t window_end(const Windows *w, size_t index)
{
    size_t end = w->window + index * w->stride;
    return end < w->count ? end : w->count;
}

static void fill_window(const Windows *w, size_t index, int32_t *inputs, int32_t *targets)
{
    size_t start = index * w->stride, end = window_end(w, index);
    size_t scored_from = index ? window_end(w, index - 1) : 0;
    for (size_t i = 0; i < w->window; i++) {
        size_t at = start + i;
        bool inside = at < end;
        inputs[i] = !inside ? 0 : at ? w->ids[at - 1] : w->prime;
        targets[i] = inside && at >= scored_from ? w->ids[at] : -1;
    }
}

Score score_text(Pass *pass, const int32_t *ids, size_t count, int32_t prime, size_t stride,
                 int32_t *buffer)
{
    Windows w = {ids, count, pass->length, stride, prime};
    int32_t *inputs = buffer, *targets = buffer + pass->rows;
    size_t windows = count <= w.window ? 1 : 1 + (count - w.window + stride - 1) / stride;
    Score score = {.tokens = count};
    assert(stride >= 1 && stride <= w.window);
    for (size_t first = 0; first < windows; first += pass->batch) {
        for (size_t b = 0; b < pass->batch; b++) {
            int32_t *in = inputs + b * w.window, *out = targets + b * w.window;
            if (first + b < windows)
                fill_window(&w, first + b, in, out);
            else
                for (size_t i = 0; i < w.window; i++) {
                    in[i] = 0;
                    out[i] = -1;
                }
        }
        score.nats += pass_loss(pass, inputs, targets);
    }
    return score;
}
