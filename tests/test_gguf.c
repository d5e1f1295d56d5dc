/* GGUF files: which models llama.cpp computes, and the bytes. tests/interop/gguf.sh compares
 * what llama.cpp computes. */
#include "models/exchange/forms.h"
#include "src/base/file.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>

SUITE("gguf", .folder = true);

static ModelConfig shaped(const char *settings)
{
    ModelConfig config = content_config;
    const Options group = {{config_group(&config)}};
    Error error;
    config.attention = one_kind(0);
    config.tied = true;
    ck_assert_msg(options_read_text(&group, settings, "a shape", &error), "%s", error.text);
    ck_assert_msg(support_check_config(&config, &error), "%s", error.text);
    return config;
}

#define LLAMA "pos = rotary\nrms-norm = yes\nact = swiglu\n"
#define NEOX  "pos = rotary\nact = gelu\n"

TEST(models_that_llama_cpp_does_not_compute_are_refused)
{
    static const struct {
        const char *settings, *phrase;
    } cases[] = {{"attn = linear\n", "linear attention"},
                 {"head-gate = yes\n", "--head-gate"},
                 {"act = gelu-erf\n", "gelu-erf (--act) in its architecture gpt2"},
                 {"rms-norm = yes\n", "RMSNorm (--rms-norm) without --pos rotary"},
                 {"parallel = yes\n", "--parallel"},
                 {"pos = rotary\nact = swiglu\n", "swiglu (--act) in its architecture gptneox"},
                 {LLAMA "act = gelu\n", "gelu (--act) in its architecture llama"},
                 {LLAMA "parallel = yes\n", "--parallel"},
                 {LLAMA "rope-share = 0.5\n", "--rope-share"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const ModelConfig config = shaped(cases[i].settings);
        Error lacks;
        ck_assert_msg(!family_of_llama_cpp(&config, &lacks), "not refused: %s",
                      cases[i].phrase);
        ck_says(lacks, cases[i].phrase);
    }
}

/* --- the bytes, read with the code of this test alone --- */

typedef struct Bytes {
    char *data;
    size_t size, place;
} Bytes;

static uint64_t number(Bytes *bytes, size_t size)
{
    uint64_t value = 0;
    ck_assert_uint_le(bytes->place + size, bytes->size);
    for (size_t i = size; i-- > 0;)
        value = value << 8 | (unsigned char)bytes->data[bytes->place + i];
    bytes->place += size;
    return value;
}

static bool is_string(Bytes *bytes, const char *text)
{
    size_t size = number(bytes, 8);
    ck_assert_uint_le(size, bytes->size - bytes->place);
    const char *at = bytes->data + bytes->place;
    bytes->place += size;
    return size == strlen(text) && memcmp(at, text, size) == 0;
}

static void skip_value(Bytes *bytes, uint64_t type)
{
    enum { NUMBER_FIRST = 4, NUMBER_LAST = 6, BOOL, STRING, ARRAY };
    ck_assert(type >= NUMBER_FIRST && type <= ARRAY);
    if (type == ARRAY) {
        uint64_t of = number(bytes, 4), count = number(bytes, 8);
        for (uint64_t i = 0; i < count; i++)
            skip_value(bytes, of);
    } else if (type == STRING) {
        is_string(bytes, "");
    } else {
        bytes->place += type == BOOL ? 1 : 4;
    }
}

/* Tensors follow each other, each at a multiple of 32; returns the place of the first, which
 * must be that of the tokens. */
static size_t check_tensors(Bytes *bytes, uint64_t tensors)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < tensors; i++) {
        ck_assert(is_string(bytes, "token_embd.weight") == (i == 0));
        uint64_t rank = number(bytes, 4), elements = 1;
        for (uint64_t axis = 0; axis < rank; axis++)
            elements *= number(bytes, 8);
        ck_assert_uint_eq(number(bytes, 4), 0);
        ck_assert_uint_eq(number(bytes, 8), next);
        next += (elements * 4 + 31) / 32 * 32;
    }
    size_t data = (bytes->place + 31) / 32 * 32;
    ck_assert_uint_eq(data + next, bytes->size);
    return data;
}

static void check_file(const char *settings, const char *architecture, size_t tensors)
{
    Content content;
    LoadedModel loaded;
    Error error;
    Bytes bytes = {0};
    char *path = scratch_path("model.gguf"), *said = NULL;
    content_make(&content, shaped(settings));
    content_save(&content, content.path, true);
    ck_assert_msg(loaded_open(&loaded, content.path, &error), "%s", error.text);
    ck_assert_msg(export_gguf(&loaded, path, &said, &error), "%s", error.text);
    ck_assert_msg(strstr(said, architecture) && strstr(said, "no word tokenizer"), "%s", said);
    ck_assert(file_read(path, 1 << 20, &bytes.data, &bytes.size, &error));
    ck_assert_mem_eq(bytes.data, "GGUF\3\0\0\0", 8);
    bytes.place = 8;
    ck_assert_uint_eq(number(&bytes, 8), tensors);
    for (uint64_t pairs = number(&bytes, 8); pairs > 0; pairs--) {
        is_string(&bytes, "");
        skip_value(&bytes, number(&bytes, 4));
    }
    const float *tokens = (const float *)(bytes.data + check_tensors(&bytes, tensors));
    for (size_t i = 0; i < content_config.vocabulary * content_config.dim; i++)
        ck_assert(tokens[i] == (float)loaded.model.params.wte[i]);
    ck_assert(!export_gguf(&loaded, path, &said, &error));
    support_check_error(&error, path, "there is a file already");
    free(bytes.data);
    free(said);
    loaded_close(&loaded);
    content_free(&content);
    scratch_empty();
}

TEST(gguf_files_have_aligned_tensors)
{
    size_t layers = content_config.layers;
    check_file("act = gelu\n", "gpt2", 12 * layers + 4);
    check_file("pos = none\nbias = no\ntied = no\n", "gpt2", 12 * layers + 5);
    check_file(NEOX "bias = no\nrope-share = 0.5\n", "gptneox", 12 * layers + 4);
    check_file(LLAMA "bias = no\n", "llama", 9 * layers + 2);
    check_file(LLAMA "tied = no\n", "llama", 16 * layers + 3);
}

TEST(a_refused_model_leaves_no_file)
{
    Content content;
    LoadedModel loaded;
    Error error;
    char *path = scratch_path("model.gguf"), *said = NULL;
    content_make(&content, shaped(LLAMA "act = relu\n"));
    content_save(&content, content.path, true);
    ck_assert_msg(loaded_open(&loaded, content.path, &error), "%s", error.text);
    ck_assert(!export_gguf(&loaded, path, &said, &error));
    support_check_error(&error, content.path, "no activation relu");
    ck_assert(!file_exists(path) && !said);
    loaded_close(&loaded);
    content_free(&content);
}
