#include "tests/content.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>
#include <string.h>

const ModelConfig content_config = {
    .layers = 2,
    .dim = 8,
    .heads = 2,
    .ffn = 12,
    .context = 5,
    .bias = true,
    .norm_eps = 1e-5,
    .rope_base = 10000,
    .rope_share = 1,
    .vocabulary = 6,
};
const CorpusOptions content_corpus = {.vocab_size = 6, .min_count = 1};

void content_make(Content *content, ModelConfig config)
{
    static const char text[] = "the linnet sings\nthe linnet \xc3\xa9\n";
    VocabularyLimits limits = {.min_count = 1};
    Error error;
    ck_assert_msg(vocabulary_learn(&content->vocabulary, tokenizer_find(TOKENIZER_WORD), text,
                                   strlen(text), &limits, &error),
                  "%s", error.text);
    ck_assert_uint_eq(content->vocabulary.count, config.vocabulary);
    small_model_make(&content->small, config, 0.1);
    size_t total = content->small.model.table.total;
    content->m = memory_new(total, sizeof *content->m, "a test");
    content->v = memory_new(total, sizeof *content->v, "a test");
    for (size_t r = 0; r < content->small.model.table.count; r++) {
        const ParamRow *row = &content->small.model.table.rows[r];
        for (size_t i = row->offset; i < row->offset + row->count; i++) {
            content->m[i] = (real)random_normal(random_key(1, RANDOM_TEST, 1), i);
            content->v[i] = (real)random_uniform(random_key(1, RANDOM_TEST, 2), i);
        }
    }
    content->path = scratch_path("model.safetensors");
}

void content_free(Content *content)
{
    small_model_free(&content->small);
    vocabulary_free(&content->vocabulary);
    free(content->m);
    free(content->v);
}

void content_save(const Content *content, const char *path, bool with_moments)
{
    static const MetadataPair extra[] = {{"step", "12"}, {"note", "two\nlines \"\\"}};
    CheckpointContent saved = {.model = &content->small.model,
                               .vocabulary = &content->vocabulary,
                               .corpus = &content_corpus,
                               .m = with_moments ? content->m : NULL,
                               .v = with_moments ? content->v : NULL,
                               .extra = extra,
                               .extra_count = COUNT(extra)};
    Error error;
    ck_assert_msg(checkpoint_save(path, &saved, &error), "%s", error.text);
}

bool content_use(const char *path, Error *error)
{
    Checkpoint checkpoint;
    if (!checkpoint_open(&checkpoint, path, error))
        return false;
    size_t total = checkpoint.table.total;
    real *loaded = memory_new(3 * total, sizeof *loaded, "a test");
    bool moments = checkpoint.has_moments;
    bool good = checkpoint_load(&checkpoint, loaded, moments ? loaded + total : NULL,
                                moments ? loaded + 2 * total : NULL, NULL, error);
    free(loaded);
    checkpoint_close(&checkpoint);
    return good;
}
