/* Directories with a model: config.json, tokenizer.json, an index of shards, the header of a
 * tensor file, each up to a zero byte, and the numbers. An empty part is a missing file, but
 * the tokenizer is then one with the 256 bytes. */
#include "data/tokenizers/bpe.h"
#include "models/exchange/imported.h"
#include "models/checkpoint.h"
#include "src/base/file.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *tokenizer_of_bytes(void)
{
    Vocabulary vocabulary;
    size_t size;
    bpe_begin(&vocabulary);
    bpe_add_bytes(&vocabulary);
    FUZZ_HOLDS(bpe_finish(&vocabulary) == BPE_NONE);
    char *text = vocabulary_write(&vocabulary, &size);
    vocabulary_free(&vocabulary);
    return text;
}

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
    char *path = file_join(folder, name);
    if (size)
        fuzz_scratch_put(path, bytes, size);
    else
        unlink(path);
    free(path);
}

static void fill(const char *folder, const uint8_t *data, size_t size)
{
    char *config = fuzz_next_text(&data, &size), *tokenizer = fuzz_next_text(&data, &size),
         *index = fuzz_next_text(&data, &size);
    if (!*tokenizer) {
        free(tokenizer);
        tokenizer = tokenizer_of_bytes();
    }
    size_t framed;
    char *tensors = fuzz_frame(data, size, &framed);
    put(folder, "config.json", config, strlen(config));
    put(folder, "tokenizer.json", tokenizer, strlen(tokenizer));
    put(folder, "model.safetensors.index.json", index, strlen(index));
    put(folder, "model.safetensors", tensors, *index ? 0 : framed);
    put(folder, "part.safetensors", tensors, *index ? framed : 0);
    free(config);
    free(tokenizer);
    free(index);
    free(tensors);
}

static void remove_run(const char *run)
{
    put(run, "best.safetensors", "", 0);
    put(run, "settings.conf", "", 0);
    FUZZ_HOLDS(rmdir(run) == 0);
}

static void save_and_open(const ImportedModel *imported, const char *run)
{
    const Model *model = &imported->model;
    LoadedModel loaded;
    Error error = {0};
    FUZZ_HOLDS(imported_save(imported, "a directory", run, &error));
    FUZZ_HOLDS(loaded_open(&loaded, run, &error));
    FUZZ_HOLDS(loaded.model.table.total == model->table.total);
    FUZZ_HOLDS(memcmp(loaded.model.base, model->base, model->table.total * sizeof(real)) == 0);
    FUZZ_HOLDS(loaded.checkpoint.vocabulary.count == imported->vocabulary.count);
    FUZZ_HOLDS(loaded.checkpoint.vocabulary.start == imported->vocabulary.start);
    loaded_close(&loaded);
    remove_run(run);
}

void fuzz_import(const uint8_t *data, size_t size)
{
    char *folder = fuzz_scratch("model"), *run = fuzz_scratch("run");
    ImportedModel imported;
    Error error = {0};
    mkdir(folder, 0700);
    fill(folder, data, size);
    if (imported_open(&imported, folder, &error)) {
        save_and_open(&imported, run);
        imported_close(&imported);
    } else {
        fuzz_check_reason(&error); /* whoever prints it escapes control characters */
    }
    FUZZ_HOLDS(!file_exists(run));
    free(folder);
    free(run);
}
