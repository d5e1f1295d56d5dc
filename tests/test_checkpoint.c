/* Checkpoints: round trips are exact, damaged files are rejected. */
#include "src/base/file.h"
#include "src/base/memory.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

SUITE("checkpoint", .folder = true);

/* --- round trip --- */

static void check_round_trip(ModelConfig config, bool with_moments)
{
    Content content;
    Checkpoint checkpoint;
    Error error;
    content_make(&content, config);
    content_save(&content, content.path, with_moments);
    ck_assert_msg(checkpoint_open(&checkpoint, content.path, &error), "%s", error.text);
    ck_assert_mem_eq(&checkpoint.config, &content.small.model.config, sizeof config);
    ck_assert_uint_eq(checkpoint.corpus.vocab_size, content_corpus.vocab_size);
    ck_assert_uint_eq(checkpoint.vocabulary.count, content.vocabulary.count);
    for (size_t i = 0; i < content.vocabulary.count; i++)
        ck_assert_str_eq(checkpoint.vocabulary.words[i], content.vocabulary.words[i]);
    ck_assert_int_eq(checkpoint.vocabulary.eos, content.vocabulary.eos);
    ck_assert_int_eq(checkpoint.vocabulary.unk, content.vocabulary.unk);
    ck_assert_str_eq(checkpoint_extra(&checkpoint, "step"), "12");
    ck_assert_str_eq(checkpoint_extra(&checkpoint, "note"), "two\nlines \"\\");
    ck_assert_ptr_null(checkpoint_extra(&checkpoint, "nothing"));
    ck_assert(checkpoint.has_moments == with_moments);

    size_t total = content.small.model.table.total;
    real *loaded = memory_new(3 * total, sizeof *loaded, "a test");
    real *m = with_moments ? loaded + total : NULL, *v = with_moments ? m + total : NULL;
    ck_assert_msg(checkpoint_load(&checkpoint, loaded, m, v, NULL, &error), "%s", error.text);
    ck_assert_mem_eq(loaded, content.small.model.base, total * sizeof(real));
    if (with_moments) {
        ck_assert_mem_eq(m, content.m, total * sizeof(real));
        ck_assert_mem_eq(v, content.v, total * sizeof(real));
    }
    free(loaded);
    checkpoint_close(&checkpoint);
    content_free(&content);
}

TEST(round_trip_is_bit_identical)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (int bits = 0; bits < 16; bits++) {
            ModelConfig config = content_config;
            config.attention = one_kind(kind);
            config.tied = bits & 1;
            config.head_bias = bits & 2;
            config.norm = bits & 4 ? NORM_POST : NORM_PRE;
            config.positions = positions_for(kind,
                                             bits & 4 ? POSITIONS_ROTARY : POSITIONS_LEARNED);
            config.activation = bits & 1;
            config.rms_norm = bits & 2;
            config.bias = bits & 4;
            config.parallel = config.norm == NORM_PRE;
            config.norm_eps = 1e-6;
            config.dropout = 0.1 + 0.2; /* no short decimal */
            check_round_trip(config, bits & 8);
        }
}

TEST(same_content_gives_same_bytes)
{
    Content content;
    content_make(&content, content_config);
    char *again = scratch_path("again.safetensors");
    content_save(&content, content.path, true);
    content_save(&content, again, true);
    ck_assert(support_same_files(content.path, again));
    content_free(&content);
}

TEST(weights_only_checkpoint_cannot_resume)
{
    Content content;
    Checkpoint checkpoint;
    Error error;
    content_make(&content, content_config);
    content_save(&content, content.path, false);
    ck_assert(checkpoint_open(&checkpoint, content.path, &error));
    size_t total = checkpoint.table.total;
    real *loaded = memory_new(3 * total, sizeof *loaded, "a test");
    ck_assert(!checkpoint_load(&checkpoint, loaded, loaded + total, loaded + 2 * total, NULL,
                               &error));
    support_check_error(&error, content.path, "weights only");
    free(loaded);
    checkpoint_close(&checkpoint);
    content_free(&content);
}

TEST(nan_weights_are_not_saved)
{
    Content content;
    content_make(&content, content_config);
    content_save(&content, content.path, false);
    content.small.model.base[3] = (real)NAN;
    CheckpointContent saved = {.model = &content.small.model,
                               .vocabulary = &content.vocabulary,
                               .corpus = &content_corpus};
    Error error;
    ck_assert(!checkpoint_save(content.path, &saved, &error));
    support_check_error(&error, content.path, "NaN or infinity");
    Checkpoint before;
    ck_assert_msg(checkpoint_open(&before, content.path, &error), "%s", error.text);
    checkpoint_close(&before);
    content_free(&content);
}

/* --- damage --- */

TEST(other_files_are_rejected)
{
    static const struct {
        const char *bytes;
        size_t size;
    } files[] = {{"", 0},
                 {"{", 1},
                 {"Once upon a time there was a linnet.\n", 37},
                 {"\2\0\0\0\0\0\0\0{}", 10},
                 {"PK\3\4 a zip archive", 18},
                 {"\377\377\377\377\377\377\377\377{}", 10}};
    char *path = scratch_path("file");
    Error error;
    for (size_t i = 0; i < COUNT(files); i++) {
        scratch_write(path, files[i].bytes, files[i].size);
        ck_assert(!content_use(path, &error));
        support_check_error(&error, path, "");
    }
}

TEST(damaged_checkpoint_is_rejected)
{
    Content content;
    Error error;
    char *bytes, *path = scratch_path("broken.safetensors");
    size_t size;
    content_make(&content, content_config);
    content_save(&content, content.path, true);
    ck_assert(file_read(content.path, SIZE_MAX / 2, &bytes, &size, &error));
    for (size_t i = 0; i < 40; i++) {
        size_t cut = i < 20 ? size * i / 20 : i < 30 ? size - 1 - (i - 20) : i - 25;
        scratch_write(path, bytes, cut);
        ck_assert_msg(!content_use(path, &error), "cut to %zu of %zu bytes, it was taken", cut,
                      size);
        support_check_error(&error, path, "");
    }
    for (size_t i = 0; i < 60; i++) {
        size_t at = size * i / 60;
        bytes[at] ^= 4;
        scratch_write(path, bytes, size);
        ck_assert_msg(!content_use(path, &error), "with byte %zu changed it was taken", at);
        support_check_error(&error, path, "");
        bytes[at] ^= 4;
    }
    scratch_write(path, bytes, size);
    ck_assert_msg(content_use(path, &error), "%s", error.text);
    free(bytes);
    content_free(&content);
}

TEST(run_directory_resolves_to_best_checkpoint)
{
    char *folder = scratch_path("run"), *best = scratch_path("run/best.safetensors");
    char *last = scratch_path("run/last.safetensors"), *found;
    Error error;
    ck_assert_ptr_null(checkpoint_path(folder, &error));
    support_check_error(&error, folder, "no such run directory");
    mkdir(folder, 0700);
    ck_assert_ptr_null(checkpoint_path(folder, &error));
    support_check_error(&error, folder, "no checkpoint in this directory");
    scratch_write(last, "x", strlen("x"));
    found = checkpoint_path(folder, &error);
    ck_assert_str_eq(found, last);
    free(found);
    scratch_write(best, "x", strlen("x"));
    found = checkpoint_path(folder, &error);
    ck_assert_str_eq(found, best);
    free(found);
    found = checkpoint_path(last, &error);
    ck_assert_str_eq(found, last);
    free(found);
}
