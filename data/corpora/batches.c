/* A window is a run of targets; its inputs are shifted by one token. The order is shuffled only
 * when the epoch changes, which takes a few milliseconds for a million tokens. */
#include "data/corpora/batches.h"
#include "data/tokenizers/vocabulary.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/math/team.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void draw(Batches *batches, size_t epoch)
{
    enum { OFFSET, ORDER };
    RandomKey key = random_key(batches->options.seed, RANDOM_WINDOWS, epoch);
    batches->offset = batches->options.labels.data
                          ? 0
                          : (size_t)random_below(random_subkey(key, OFFSET), 0, batches->count);
    random_permutation(random_subkey(key, ORDER), batches->order, batches->windows);
    batches->epoch = epoch;
}

void batches_init(Batches *batches, Tokens ids, size_t count, const BatchOptions *options)
{
    size_t context = options->context;
    assert(count > 0 && context > 0 && options->batch > 0);
    size_t windows = team_tiles(count, context);
    assert(windows <= UINT32_MAX);
    assert(!options->labels.data || count % context == 0);
    *batches = (Batches){.ids = ids, .count = count, .options = *options, .windows = windows};
    batches->order = memory_new(windows, sizeof *batches->order, "the order of the windows");
    draw(batches, 0);
}

void batches_free(Batches *batches)
{
    free(batches->order);
    *batches = (Batches){0};
}

size_t batches_per_epoch(const Batches *batches)
{
    return team_tiles(batches->windows, batches->options.batch);
}

/* The window in a row of a batch; past the last one if the row has none. */
static size_t window_of(const Batches *batches, size_t index, size_t row)
{
    if (batches->options.streams)
        return row * batches_per_epoch(batches) + index;
    size_t slot = index * batches->options.batch + row;
    return slot < batches->windows ? batches->order[slot] : batches->windows;
}

/* Where a window begins, relative to the first one; past the last window, the end of the text.
 */
static size_t window_begin(const Batches *batches, size_t window)
{
    return window < batches->windows ? window * batches->options.context : batches->count;
}

/* Reads from the circle. */
static void read_ids(const Batches *batches, size_t at, size_t count, int32_t *to)
{
    size_t left = batches->count - at, first = count < left ? count : left;
    tokens_read(batches->ids, at, first, to);
    tokens_read(batches->ids, 0, count - first, to + first);
}

/* Replaces the targets of a window by its labels; returns how many there are. */
static size_t read_labels(const Batches *batches, size_t at, size_t length, int32_t *targets)
{
    if (!batches->options.labels.data)
        return length;
    size_t count = 0;
    tokens_read(batches->options.labels, at, length, targets);
    for (size_t t = 0; t < length; t++)
        count += targets[t] != TOKEN_NONE;
    return count;
}

BatchCount batches_fill(Batches *batches, size_t epoch, size_t index, size_t first, size_t rows,
                        int32_t *inputs, int32_t *targets)
{
    assert(index < batches_per_epoch(batches) && first + rows <= batches->options.batch);
    if (epoch != batches->epoch)
        draw(batches, epoch);
    BatchCount total = {0};
    size_t count = batches->count, context = batches->options.context;
    for (size_t row = first; row < first + rows; row++) {
        size_t window = window_of(batches, index, row), begin = window_begin(batches, window);
        size_t length = window_begin(batches, window + 1) - begin;
        size_t at = (batches->offset + begin) % count;
        if (length > 0) { /* the token before the window, then all but its last */
            read_ids(batches, at, length, targets);
            read_ids(batches, (at ? at : count) - 1, 1, inputs);
            memcpy(inputs + 1, targets, (length - 1) * sizeof *inputs);
            total.targets += read_labels(batches, at, length, targets);
        }
        for (size_t t = length; t < context; t++) {
            inputs[t] = 0;
            targets[t] = TOKEN_NONE;
        }
        inputs += context;
        targets += context;
        total.read += length;
    }
    return total;
}
