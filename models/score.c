#include "models/score.h"
#include "src/base/memory.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"

#include <assert.h>
#include <stdlib.h>

/* Window w scores the tokens that no earlier window has scored. */
static size_t window_end(const Windows *w, size_t index)
{
    size_t end = w->window + index * w->stride;
    return end < w->count ? end : w->count;
}

size_t windows_number(const Windows *w)
{
    return w->count <= w->window ? 1 : 1 + team_tiles(w->count - w->window, w->stride);
}

void windows_fill(const Windows *w, size_t index, int32_t *inputs, int32_t *targets)
{
    size_t start = index * w->stride, end = window_end(w, index);
    size_t scored_from = index ? window_end(w, index - 1) : 0;
    size_t length = start < end ? end - start : 0;
    inputs[0] = length ? w->prime : 0;
    if (length && start)
        tokens_read(w->ids, start - 1, 1, inputs);
    tokens_read(w->ids, start, length, targets);
    for (size_t i = 1; i < w->window; i++)
        inputs[i] = i < length ? targets[i - 1] : 0;
    if (w->labels.data)
        tokens_read(w->labels, start, length, targets);
    for (size_t i = 0; i < w->window; i++)
        if (i >= length || start + i < scored_from)
            targets[i] = -1;
}

/* The number of windows to score. */
static size_t part_of(const Windows *w)
{
    size_t all = windows_number(w);
    return w->part > 0 && w->part < all ? w->part : all;
}

/* The window of a row: the rows of a pass read consecutive windows. With carried states each
 * row reads a stream of its own, and consecutive batches continue it. */
static size_t window_of(const Pass *pass, const Windows *w, size_t batch, size_t row)
{
    size_t all = windows_number(w), part = part_of(w), slot = batch * pass->batch + row;
    if (pass->carries)
        return row * team_tiles(all, pass->batch) + batch;
    return slot < part ? slot * all / part : all;
}

size_t windows_tokens(const Windows *w, const Pass *pass)
{
    size_t tokens = 0, all = windows_number(w);
    if (part_of(w) == all)
        return w->count;
    for (size_t batch = 0; batch < team_tiles(part_of(w), pass->batch); batch++)
        for (size_t row = 0; row < pass->batch; row++) {
            size_t index = window_of(pass, w, batch, row);
            if (index < all)
                tokens += window_end(w, index) - (index ? window_end(w, index - 1) : 0);
        }
    return tokens;
}

static Score score_batch(Pass *pass, const Windows *w, size_t batch, int32_t *buffer)
{
    int32_t *inputs = buffer, *targets = buffer + pass->rows;
    for (size_t row = 0; row < pass->batch; row++)
        windows_fill(w, window_of(pass, w, batch, row), inputs + row * w->window,
                     targets + row * w->window);
    double nats = pass_loss(pass, inputs, targets);
    return (Score){.nats = nats, .tokens = pass->scored.count, .right = pass->scored.right};
}

/* Ranks share the batches, unless states are carried or there are listeners. */
Score score_windows(Pass *pass, const Windows *w, const ScoreListener *listeners,
                    size_t listener_count)
{
    assert(w->window == pass->length && w->stride >= 1 && w->stride <= w->window);
    assert(!pass->carries || w->stride == w->window);
    Score score = {0};
    size_t batches = team_tiles(part_of(w), pass->batch), ranks = ranks_count();
    bool shared = ranks > 1 && !pass->carries && listener_count == 0;
    Score *scores = memory_new(batches, sizeof *scores, "scoring");
    int32_t *buffer = memory_new(2 * pass->rows, sizeof *buffer, "scoring");
    size_t first = shared ? share_start(batches, ranks, ranks_index()) : 0;
    size_t end = shared ? share_start(batches, ranks, ranks_index() + 1) : batches;
    if (pass->carries)
        pass_restart(pass);
    bool stops = false;
    for (size_t batch = first; batch < end; batch++) {
        stops = stops || (w->stops && w->stops() != 0);
        if (stops) {
            scores[batch].is_partial = true;
            continue;
        }
        scores[batch] = score_batch(pass, w, batch, buffer);
        for (size_t i = 0; i < listener_count; i++)
            listeners[i].add_batch(listeners[i].context, pass);
    }
    if (shared)
        ranks_collect_shares(scores, sizeof *scores, batches);
    for (size_t batch = 0; batch < batches; batch++) {
        score.nats += scores[batch].nats;
        score.tokens += scores[batch].tokens;
        score.right += scores[batch].right;
        score.is_partial |= scores[batch].is_partial;
    }
    free(scores);
    free(buffer);
    return score;
}

size_t score_usual_batch(const ModelConfig *config)
{
    enum { USUAL = 16 };
    return config->carry_state ? 1 : USUAL;
}

void scorer_make(Scorer *scorer, const Model *model, const Protocol *protocol)
{
    *scorer = (Scorer){.protocol = *protocol};
    pass_make(&scorer->pass, model, protocol->batch, protocol->window, PASS_EVALUATE);
    pass_allocate(&scorer->pass, "scoring");
}

void scorer_free(Scorer *scorer)
{
    pass_free(&scorer->pass);
}

Score scorer_score(Scorer *scorer, const CorpusSplit *split, const ScoreListener *listeners,
                   size_t listener_count)
{
    Windows windows = protocol_windows(&scorer->protocol, split);
    return score_windows(&scorer->pass, &windows, listeners, listener_count);
}
