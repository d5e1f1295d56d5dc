/* Batches: every token of an epoch is a target once, in an order that depends on the seed. */
#include "data/corpora/batches.h"
#include "data/tokenizers/vocabulary.h"
#include "src/base/memory.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <zlib.h>

SUITE("batches");

#define LARGEST ((size_t)64)

/* Runs an epoch with ids[i] == i, and checks that each id is a target once, with its
 * predecessor (cyclically) as input. Returns a hash of the order. */
static uint32_t play_epoch(Batches *batches, size_t epoch)
{
    size_t places = batches->options.batch * batches->options.context, total = 0;
    int32_t *inputs = memory_new(places, sizeof *inputs, "inputs");
    int32_t *targets = memory_new(places, sizeof *targets, "targets");
    size_t seen[LARGEST] = {0};
    uint32_t crc = 0;
    for (size_t index = 0; index < batches_per_epoch(batches); index++) {
        size_t given = batches_fill(batches, epoch, index, 0, batches->options.batch, inputs,
                                    targets)
                           .targets,
               found = 0;
        for (size_t i = 0; i < places; i++) {
            if (targets[i] == TOKEN_NONE) {
                ck_assert_int_eq(inputs[i], 0);
                continue;
            }
            size_t target = (size_t)targets[i];
            found++;
            seen[target]++;
            ck_assert_uint_eq((size_t)inputs[i],
                              (target + batches->count - 1) % batches->count);
            if (i % batches->options.context) /* a sequence is contiguous */
                ck_assert_int_eq(inputs[i], targets[i - 1]);
        }
        ck_assert_uint_eq(found, given);
        ck_assert_uint_gt(given, 0);
        total += given;
        crc = (uint32_t)crc32(crc, (const Bytef *)targets, (uInt)(places * sizeof *targets));
    }
    ck_assert_uint_eq(total, batches->count);
    for (size_t i = 0; i < batches->count; i++)
        ck_assert_uint_eq(seen[i], 1);
    free(inputs);
    free(targets);
    return crc;
}

/* Each row of a batch continues the same row of the previous batch. */
static void check_streams(Batches *batches, size_t epoch)
{
    size_t context = batches->options.context, places = batches->options.batch * context;
    int32_t *inputs = memory_new(places, sizeof *inputs, "inputs");
    int32_t *targets = memory_new(places, sizeof *targets, "targets");
    int32_t *last = memory_new(batches->options.batch, sizeof *last, "the rows' last targets");
    for (size_t index = 0; index < batches_per_epoch(batches); index++) {
        batches_fill(batches, epoch, index, 0, batches->options.batch, inputs, targets);
        for (size_t row = 0; row < batches->options.batch; row++) {
            if (index > 0 && targets[row * context] != TOKEN_NONE)
                ck_assert_int_eq(inputs[row * context], last[row]);
            for (size_t t = 0; t < context; t++)
                if (targets[row * context + t] != TOKEN_NONE)
                    last[row] = targets[row * context + t];
        }
    }
    free(inputs);
    free(targets);
    free(last);
}

/* Shards fill a batch part by part. */
static void check_parts(Batches *batches, size_t epoch, size_t index)
{
    size_t batch = batches->options.batch, context = batches->options.context;
    size_t places = batch * context, filled = 0;
    int32_t *whole = memory_new(4 * places, sizeof *whole, "tokens"),
            *parts = whole + 2 * places;
    BatchCount all = batches_fill(batches, epoch, index, 0, batch, whole, whole + places);
    for (size_t first = 0, rows; first < batch; first += rows) {
        rows = first + 2 < batch ? 2 : batch - first;
        size_t start = first * context;
        filled += batches_fill(batches, epoch, index, first, rows, parts + start,
                               parts + places + start)
                      .read;
    }
    ck_assert_uint_eq(filled, all.read);
    ck_assert_mem_eq(parts, whole, 2 * places * sizeof *whole);
    free(whole);
}

static void play_three(Tokens ids, size_t count, const BatchOptions *options)
{
    Batches batches;
    batches_init(&batches, ids, count, options);
    for (size_t epoch = 0; epoch < 3; epoch++) {
        play_epoch(&batches, epoch);
        check_parts(&batches, epoch, batches_per_epoch(&batches) - 1);
        if (options->streams)
            check_streams(&batches, epoch);
    }
    batches_free(&batches);
}

TEST(every_token_is_a_target_once_per_epoch)
{
    int32_t ids[LARGEST];
    for (size_t i = 0; i < LARGEST; i++)
        ids[i] = (int32_t)i;
    for (size_t count = 1; count <= LARGEST; count = count * 3 / 2 + 1)
        for (size_t context = 1; context <= 70; context += 1 + context / 2)
            for (size_t batch = 1; batch <= 9; batch += 2) {
                BatchOptions options = {.context = context, .batch = batch, .seed = 7};
                play_three(tokens_plain(ids), count, &options);
                options.streams = true;
                play_three(tokens_plain(ids), count, &options);
            }
}

TEST(batches_depend_only_on_seed_and_epoch)
{
    int32_t ids[LARGEST];
    for (size_t i = 0; i < LARGEST; i++)
        ids[i] = (int32_t)i;
    Batches a, b;
    BatchOptions options = {.context = 5, .batch = 3, .seed = 1};
    batches_init(&a, tokens_plain(ids), LARGEST, &options);
    batches_init(&b, tokens_plain(ids), LARGEST, &options);
    uint32_t first = play_epoch(&a, 0), second = play_epoch(&a, 1);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_eq(play_epoch(&b, 1), second); /* the order of calls does not matter */
    ck_assert_uint_eq(play_epoch(&b, 0), first);
    ck_assert_uint_eq(play_epoch(&a, 0), first);
    batches_free(&b);
    options.seed = 2;
    batches_init(&b, tokens_plain(ids), LARGEST, &options);
    ck_assert_uint_ne(play_epoch(&b, 0), first);

    /* The cuts move: over some epochs, every token starts a sequence at least once. */
    bool begins[LARGEST] = {false};
    int32_t inputs[15], targets[15];
    for (size_t epoch = 0; epoch < 64; epoch++)
        for (size_t index = 0; index < batches_per_epoch(&a); index++) {
            batches_fill(&a, epoch, index, 0, 3, inputs, targets);
            for (size_t row = 0; row < 3; row++)
                if (targets[row * 5] != TOKEN_NONE)
                    begins[targets[row * 5]] = true;
        }
    for (size_t i = 0; i < LARGEST; i++)
        ck_assert(begins[i]);
    batches_free(&a);
    batches_free(&b);
}
