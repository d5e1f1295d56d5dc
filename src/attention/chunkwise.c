#include "src/attention/chunkwise.h"
#include "src/attention/rows.h"

ChunkWalk chunkwise_take(const ChunkEngine *engine, Arena *arena, const AttentionHead *head)
{
    size_t state = engine->state_reals(head);
    ChunkWalk walk = {.engine = engine, .head = head};
    walk.dstate = arena_reals(arena, state);
    walk.states = arena_reals(arena, engine->span * state);
    return walk;
}

void chunkwise_product(bool zero, size_t m, size_t n, size_t k, Factor a, Factor b, real *c,
                       size_t c_stride)
{
    if (zero)
        rows_zero(c, c_stride, m, n);
    else
        gemm(m, n, k, 1, a, b, GEMM_SET, c, c_stride);
}

/* --- places --- */

static size_t rows_at(const ChunkWalk *walk, size_t start)
{
    size_t left = walk->head->length - start;
    return left < walk->engine->chunk ? left : walk->engine->chunk;
}

static ChunkPlace place_at(const ChunkWalk *walk, size_t start, size_t slot, size_t next)
{
    const AttentionHead *head = walk->head;
    ChunkPlace place = {.start = start, .rows = rows_at(walk, start), .next = next};
    place.next_rows = rows_at(walk, next);
    place.slot = slot;
    place.state = walk->states + slot * walk->engine->state_reals(head);
    place.from_zeros = start == 0 && !head->carries;
    place.unread = start + place.rows == head->length;
    return place;
}

static ChunkPlace place_upwards(const ChunkWalk *walk, size_t start, size_t slot)
{
    return place_at(walk, start, slot, start + rows_at(walk, start));
}

static ChunkPlace place_downwards(const ChunkWalk *walk, size_t start, size_t slot)
{
    size_t next = start > 0 ? start - walk->engine->chunk : walk->head->length;
    return place_at(walk, start, slot, next);
}

ChunkPlace chunkwise_step(const ChunkWalk *walk)
{
    return place_upwards(walk, 0, 0);
}

/* --- saved states --- */

static size_t span_positions(const ChunkEngine *engine)
{
    return engine->chunk * engine->span;
}

static size_t span_count(const ChunkEngine *engine, const AttentionHead *head)
{
    return (head->length + span_positions(engine) - 1) / span_positions(engine);
}

/* The state at the start of the sequence is saved only if it can differ from zero. */
size_t chunkwise_saved_reals(const ChunkEngine *engine, const AttentionHead *head)
{
    size_t states = span_count(engine, head) - (head->carries ? 0 : 1);
    return states * engine->state_reals(head);
}

static size_t saved_at(const ChunkWalk *walk, size_t span)
{
    return (span - (walk->head->carries ? 0 : 1)) * walk->engine->state_reals(walk->head);
}

static void save(const ChunkWalk *walk, const ChunkPlace *place, real *saved)
{
    size_t positions = span_positions(walk->engine);
    if (place->start % positions == 0 && !place->from_zeros)
        memcpy(saved + saved_at(walk, place->start / positions), place->state,
               walk->engine->state_reals(walk->head) * sizeof(real));
}

/* --- forward --- */

void chunkwise_forward(const ChunkWalk *walk, void *work, real *saved, real *carry)
{
    const ChunkEngine *engine = walk->engine;
    const AttentionHead *head = walk->head;
    size_t bytes = engine->state_reals(head) * sizeof(real);
    if (head->carries)
        memcpy(walk->states, carry, bytes);
    else
        memset(walk->states, 0, bytes);
    for (size_t start = 0; start < head->length; start += engine->chunk) {
        ChunkPlace place = place_upwards(walk, start, 0);
        save(walk, &place, saved);
        engine->load(work, &place, false);
        engine->read(work);
        if (head->carries || !place.unread)
            engine->advance(work, place.state);
    }
    if (head->carries)
        memcpy(carry, walk->states, bytes);
}

/* --- backward --- */

/* Recomputes the states at the starts of a span's chunks from the first one. */
static void recompute_states(const ChunkWalk *walk, void *work, size_t first, size_t chunks)
{
    const ChunkEngine *engine = walk->engine;
    size_t size = engine->state_reals(walk->head);
    for (size_t slot = 0; slot + 1 < chunks; slot++) {
        ChunkPlace place = place_upwards(walk, first + slot * engine->chunk, slot);
        engine->load(work, &place, false);
        memcpy(place.state + size, place.state, size * sizeof(real));
        engine->advance(work, place.state + size);
    }
}

static void span_backward(const ChunkWalk *walk, void *work, size_t first)
{
    const ChunkEngine *engine = walk->engine;
    size_t left = walk->head->length - first, chunk = engine->chunk;
    size_t chunks = left < span_positions(engine) ? (left + chunk - 1) / chunk : engine->span;
    recompute_states(walk, work, first, chunks);
    for (size_t slot = chunks; slot-- > 0;) {
        ChunkPlace place = place_downwards(walk, first + slot * chunk, slot);
        engine->load(work, &place, slot + 1 < chunks);
        engine->backward(work, walk->dstate);
    }
}

void chunkwise_backward(const ChunkWalk *walk, void *work, const real *saved)
{
    size_t size = walk->engine->state_reals(walk->head);
    vector_zero(walk->dstate, size);
    for (size_t span = span_count(walk->engine, walk->head); span-- > 0;) {
        if (span == 0 && !walk->head->carries)
            vector_zero(walk->states, size);
        else
            memcpy(walk->states, saved + saved_at(walk, span), size * sizeof(real));
        span_backward(walk, work, span * span_positions(walk->engine));
    }
}
