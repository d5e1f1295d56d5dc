/* Checkpoints: a header, a zero, and the weights. This target writes the length of the header
 * itself, so that inputs can grow, and there are no checksums, so that every mutation is read.
 */
#include "models/checkpoint.h"
#include "src/base/memory.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* All numbers of a checkpoint; missing ones are NULL. */
typedef struct Numbers {
    real *weights, *m, *v, *average;
} Numbers;

static bool load(const Checkpoint *checkpoint, Numbers *numbers)
{
    size_t total = checkpoint->table.total;
    *numbers = (Numbers){.weights = memory_new(total, sizeof(real), "an input")};
    if (checkpoint->has_moments) {
        numbers->m = memory_new(total, sizeof(real), "an input");
        numbers->v = memory_new(total, sizeof(real), "an input");
    }
    if (checkpoint->has_average)
        numbers->average = memory_new(total, sizeof(real), "an input");
    Error error = {0};
    bool good = checkpoint_load(checkpoint, numbers->weights, numbers->m, numbers->v,
                                numbers->average, &error);
    if (!good)
        fuzz_check_reason(&error);
    return good;
}

static void numbers_free(Numbers *numbers)
{
    free(numbers->weights);
    free(numbers->m);
    free(numbers->v);
    free(numbers->average);
}

static char *settings_of(const Checkpoint *checkpoint)
{
    const Options options = checkpoint_options(&checkpoint->config, &checkpoint->corpus);
    return options_write_text(&options);
}

static bool same(const real *a, const real *b, size_t count)
{
    return !a || !b ? a == b : memcmp(a, b, count * sizeof *a) == 0;
}

static void check_same(const Checkpoint *checkpoint, const Numbers *numbers,
                       const Checkpoint *back)
{
    Numbers again;
    size_t total = checkpoint->table.total;
    char *settings = settings_of(checkpoint), *settings_back = settings_of(back);
    FUZZ_HOLDS(strcmp(settings, settings_back) == 0);
    FUZZ_HOLDS(back->vocabulary.count == checkpoint->vocabulary.count);
    for (size_t i = 0; i < back->vocabulary.count; i++)
        FUZZ_HOLDS(strcmp(back->vocabulary.words[i], checkpoint->vocabulary.words[i]) == 0);
    FUZZ_HOLDS(back->table.total == total && load(back, &again));
    FUZZ_HOLDS(same(again.weights, numbers->weights, total));
    FUZZ_HOLDS(same(again.m, numbers->m, total) && same(again.v, numbers->v, total));
    FUZZ_HOLDS(same(again.average, numbers->average, total));
    numbers_free(&again);
    free(settings);
    free(settings_back);
}

static void save_again(const Checkpoint *checkpoint, const Numbers *numbers)
{
    Model model;
    model_make(&model, &checkpoint->config);
    model.base = numbers->weights;
    CheckpointContent content = {.model = &model,
                                 .vocabulary = &checkpoint->vocabulary,
                                 .corpus = &checkpoint->corpus,
                                 .m = numbers->m,
                                 .v = numbers->v,
                                 .average = numbers->average};
    char *path = fuzz_scratch("checkpoint.safetensors");
    Checkpoint back;
    Error error = {0};
    FUZZ_HOLDS(checkpoint_save(path, &content, &error));
    FUZZ_HOLDS(checkpoint_open(&back, path, &error));
    check_same(checkpoint, numbers, &back);
    checkpoint_close(&back);
    model_free(&model);
    free(path);
}

void fuzz_checkpoint(const uint8_t *data, size_t size)
{
    Checkpoint checkpoint;
    Error error = {0};
    size_t framed;
    char *file = fuzz_frame(data, size, &framed);
    if (checkpoint_open(&checkpoint, fuzz_file(file, framed), &error)) {
        Numbers numbers;
        if (load(&checkpoint, &numbers))
            save_again(&checkpoint, &numbers);
        numbers_free(&numbers);
        checkpoint_close(&checkpoint);
    } else {
        fuzz_check_reason(&error);
    }
    free(file);
}
