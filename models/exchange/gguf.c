/* Exports a model as a GGUF file (version 3) for llama.cpp: pairs of keys and values, then
 * tensors of single precision.
 *
 * Three of llama.cpp's architectures have blocks that linnet can make:
 *
 *   gpt2      LayerNorm, GELU, a table of positions (sinusoidal ones, and none, are written as
 *             if learned)
 *   gptneox   LayerNorm, GELU, RoPE, sequential or parallel residual
 *   llama     RMSNorm, SwiGLU, RoPE of all features
 *
 * Biases that an architecture requires and the model lacks are written as zeros. RoPE pairs
 * features (i, i + D/2) in linnet, of which the first n pairs rotate. gptneox rotates features
 * (i, i + n), llama (2i, 2i + 1): rows of queries and keys are put in that order, which leaves
 * their dot products the same. */
#include "data/tokenizers/bpe.h"
#include "models/exchange/forms.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION   ((uint32_t)3)
#define ALIGNMENT ((size_t)32) /* of the data of each tensor */
#define F32       ((uint32_t)0)

typedef struct Gguf {
    char *pairs; /* as in the file; an stb_ds array */
    size_t pair_count;
} Gguf;

/* Numbers are little-endian, as those of all processors that linnet is built for. */
typedef enum ValueType {
    VALUE_UINT32 = 4,
    VALUE_INT32 = 5,
    VALUE_FLOAT32 = 6,
    VALUE_BOOL = 7,
    VALUE_STRING = 8,
    VALUE_ARRAY = 9
} ValueType;

/* --- bytes --- */

static void append(char **bytes, const void *from, size_t size)
{
    if (size > 0)
        memcpy(arraddnptr(*bytes, size), from, size);
}

static void append_32(char **bytes, uint32_t value)
{
    append(bytes, &value, sizeof value);
}

static void append_64(char **bytes, uint64_t value)
{
    append(bytes, &value, sizeof value);
}

static void append_string(char **bytes, const char *text)
{
    append_64(bytes, strlen(text));
    append(bytes, text, strlen(text));
}

/* --- keys and values --- */

static void begin_pair(Gguf *gguf, const char *key, ValueType type)
{
    append_string(&gguf->pairs, key);
    append_32(&gguf->pairs, type);
    gguf->pair_count++;
}

static void begin_array(Gguf *gguf, const char *key, ValueType type, size_t count)
{
    begin_pair(gguf, key, VALUE_ARRAY);
    append_32(&gguf->pairs, type);
    append_64(&gguf->pairs, count);
}

static void add_text(Gguf *gguf, const char *key, const char *value)
{
    begin_pair(gguf, key, VALUE_STRING);
    append_string(&gguf->pairs, value);
}

static void add_count(Gguf *gguf, const char *key, size_t value)
{
    assert(value <= UINT32_MAX);
    begin_pair(gguf, key, VALUE_UINT32);
    append_32(&gguf->pairs, (uint32_t)value);
}

static void add_number(Gguf *gguf, const char *key, double value)
{
    float number = (float)value;
    begin_pair(gguf, key, VALUE_FLOAT32);
    append(&gguf->pairs, &number, sizeof number);
}

static void add_flag(Gguf *gguf, const char *key, bool value)
{
    char byte = value;
    begin_pair(gguf, key, VALUE_BOOL);
    append(&gguf->pairs, &byte, sizeof byte);
}

static void add_texts(Gguf *gguf, const char *key, char *const *values, size_t count)
{
    begin_array(gguf, key, VALUE_STRING, count);
    for (size_t i = 0; i < count; i++)
        append_string(&gguf->pairs, values[i]);
}

static void add_numbers(Gguf *gguf, const char *key, const int32_t *values, size_t count)
{
    begin_array(gguf, key, VALUE_INT32, count);
    append(&gguf->pairs, values, count * sizeof *values);
}

/* --- the vocabulary --- */

/* As llama.cpp numbers them. */
enum { TOKEN_NORMAL = 1, TOKEN_CONTROL = 3, TOKEN_USER_DEFINED = 4 };

static int32_t type_of(const Vocabulary *vocabulary, uint32_t id)
{
    const BpeAdded *added = vocabulary->bpe ? bpe_added(vocabulary->bpe, id) : NULL;
    return !added ? TOKEN_NORMAL : added->special ? TOKEN_CONTROL : TOKEN_USER_DEFINED;
}

static void add_tokens(Gguf *gguf, const Vocabulary *vocabulary)
{
    char **texts = NULL;
    int32_t *types = NULL;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        char *text = vocabulary->bpe ? bpe_spell(vocabulary, id)
                                     : bpe_spell_bytes(vocabulary->words[id], 1);
        arrput(texts, text);
        arrput(types, type_of(vocabulary, id));
    }
    add_texts(gguf, "tokenizer.ggml.tokens", texts, arrlenu(texts));
    add_numbers(gguf, "tokenizer.ggml.token_type", types, arrlenu(types));
    text_lines_free(texts);
    arrfree(types);
}

static void add_merges(Gguf *gguf, const Vocabulary *vocabulary)
{
    char **merges = NULL;
    for (size_t i = 0; vocabulary->bpe && i < arrlenu(vocabulary->bpe->merges); i++)
        arrput(merges, bpe_spell_merge(vocabulary, i));
    add_texts(gguf, "tokenizer.ggml.merges", merges, arrlenu(merges));
    text_lines_free(merges);
}

/* Byte-pair encoding is GPT-2's in llama.cpp too: the tokens in GPT-2's alphabet, the merges,
 * and the same splitter, called "gpt-2". Bytes are an encoding of that kind without merges.
 * Texts begin after the start token, as in sample: that token is both the first and the last.
 *
 * llama.cpp has none of the other tokenizers: then the file says that it has no vocabulary, and
 * the result is false. */
static bool add_vocabulary(Gguf *gguf, const Vocabulary *vocabulary)
{
    if (vocabulary->tokenizer->cut) {
        add_text(gguf, "tokenizer.ggml.model", "none");
        return false;
    }
    add_text(gguf, "tokenizer.ggml.model", "gpt2");
    add_text(gguf, "tokenizer.ggml.pre", "gpt-2");
    add_tokens(gguf, vocabulary);
    add_merges(gguf, vocabulary);
    add_count(gguf, "tokenizer.ggml.bos_token_id", (size_t)vocabulary_start(vocabulary));
    add_count(gguf, "tokenizer.ggml.eos_token_id", (size_t)vocabulary_start(vocabulary));
    add_flag(gguf, "tokenizer.ggml.add_bos_token", true);
    add_flag(gguf, "tokenizer.ggml.add_eos_token", false);
    return true;
}

/* --- the model --- */

static void add_general(Gguf *gguf, const Family *family, const LoadedModel *loaded)
{
    enum { ALL_F32 = 0 };
    char *name = text_format("linnet, %zu parameters", loaded->model.table.parameters);
    add_text(gguf, "general.architecture", family->llama_cpp);
    add_text(gguf, "general.type", "model");
    add_text(gguf, "general.name", name);
    add_count(gguf, "general.file_type", ALL_F32);
    add_count(gguf, "general.alignment", ALIGNMENT);
    add_text(gguf, "linnet.version", LINNET_VERSION);
    add_text(gguf, "linnet.settings",
             safetensors_metadata(&loaded->checkpoint.file, SETTINGS_KEY));
    free(name);
}

static void add_sizes(Gguf *gguf, const Family *family, const ModelConfig *config)
{
    const struct {
        const char *key;
        size_t value;
    } sizes[] = {
        {"vocab_size", config->vocabulary},
        {"context_length", config->context},
        {"embedding_length", config->dim},
        {"feed_forward_length", config->ffn},
        {"block_count", config->layers},
        {"attention.head_count", config->heads},
        {"attention.head_count_kv", config->heads},
        {"rope.dimension_count", 2 * config_rotating_pairs(config, config_head_width(config))}};
    char key[64];
#define KEY(word) (snprintf(key, sizeof key, "%s.%s", family->llama_cpp, word), key)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (family->rotary || strcmp(sizes[i].key, "rope.dimension_count") != 0)
            add_count(gguf, KEY(sizes[i].key), sizes[i].value);
    add_number(gguf,
               KEY(family->rms_norm ? "attention.layer_norm_rms_epsilon"
                                    : "attention.layer_norm_epsilon"),
               config->norm_eps);
    if (family->rotary)
        add_number(gguf, KEY("rope.freq_base"), config->rope_base);
    if (family->parallel)
        add_flag(gguf, KEY("use_parallel_residual"), config->parallel);
#undef KEY
}

/* --- the file --- */

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t element_count(const TensorRecord *tensor)
{
    return memory_product(tensor->shape[0], tensor->rank == 2 ? tensor->shape[1] : 1,
                          tensor->name);
}

static size_t data_bytes(const TensorRecord *tensor)
{
    return memory_product(element_count(tensor), sizeof(float), tensor->name);
}

/* The file's dimensions begin with the number of columns. */
static void append_tensor(char **bytes, const TensorRecord *tensor, size_t offset)
{
    append_string(bytes, tensor->name);
    append_32(bytes, (uint32_t)tensor->rank);
    for (size_t axis = tensor->rank; axis-- > 0;)
        append_64(bytes, tensor->shape[axis]);
    append_32(bytes, F32);
    append_64(bytes, offset);
}

/* All that precedes the data, an stb_ds array; *data gets the bytes of the data. */
static char *header_of(const Gguf *gguf, const ExportTensors *tensors, size_t *data)
{
    char *bytes = NULL;
    append(&bytes, "GGUF", 4);
    append_32(&bytes, VERSION);
    append_64(&bytes, arrlenu(tensors->records));
    append_64(&bytes, gguf->pair_count);
    append(&bytes, gguf->pairs, arrlenu(gguf->pairs));
    *data = 0;
    for (size_t i = 0; i < arrlenu(tensors->records); i++) {
        append_tensor(&bytes, &tensors->records[i], *data);
        *data += aligned(data_bytes(&tensors->records[i]));
    }
    while (arrlenu(bytes) % ALIGNMENT != 0)
        arrput(bytes, 0);
    return bytes;
}

static bool write_tensor(FileReplacement *file, const TensorRecord *tensor, Error *error)
{
    static const char zeros[ALIGNMENT];
    size_t count = element_count(tensor), bytes = data_bytes(tensor);
    const real *values = tensor->data;
    float *floats = memory_new(count, sizeof *floats, "a tensor");
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)values[i];
    bool good = file_replace_write(file, floats, bytes, error) &&
                file_replace_write(file, zeros, aligned(bytes) - bytes, error);
    free(floats);
    return good;
}

/* Writes the file, which appears whole or not at all; *size gets its bytes. */
static bool write_file(const Gguf *gguf, const ExportTensors *tensors, const char *path,
                       size_t *size, Error *error)
{
    size_t data;
    char *header = header_of(gguf, tensors, &data);
    *size = arrlenu(header) + data;
    FileReplacement file;
    bool good = file_replace_begin(&file, path, error) &&
                file_replace_reserve(&file, *size, error) &&
                file_replace_write(&file, header, arrlenu(header), error);
    for (size_t i = 0; good && i < arrlenu(tensors->records); i++)
        good = write_tensor(&file, &tensors->records[i], error);
    arrfree(header);
    return good && file_replace_commit(&file, error);
}

bool export_gguf(const LoadedModel *loaded, const char *path, char **said, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    Error lacks;
    const Family *family = family_of_llama_cpp(&loaded->model.config, &lacks);
    if (!family)
        return error_set(error, "%s: llama.cpp has no %s", loaded->checkpoint.file.path,
                         lacks.text);
    if (file_exists(path))
        return error_set(error, "%s: there is a file already; name a new one", path);
    Gguf gguf = {0};
    ExportTensors tensors;
    size_t size;
    add_general(&gguf, family, loaded);
    add_sizes(&gguf, family, &loaded->model.config);
    bool has_tokens = add_vocabulary(&gguf, vocabulary);
    export_tensors_make(&tensors, &loaded->model, &family->gguf);
    bool good = write_file(&gguf, &tensors, path, &size, error);
    if (good)
        text_append(said, "  %-24s %9.1f kB\n", family->llama_cpp, (double)size / 1e3);
    if (good && !has_tokens)
        text_append(said,
                    "llama.cpp has no %s tokenizer, so the file contains none: give it token "
                    "ids.\n",
                    vocabulary->tokenizer->name);
    export_tensors_free(&tensors);
    arrfree(gguf.pairs);
    return good;
}
