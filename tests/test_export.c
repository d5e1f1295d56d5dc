/* Exports: complete directories or none, JSON settings of the model, and which models GPT-2
 * represents. tests/interop checks that other programs read them. */
#include "models/exchange/forms.h"
#include "models/pass.h"
#include "src/base/file.h"
#include "src/layers/embedding.h"
#include "src/base/text.h"
#include "tests/content.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>

SUITE("export", .folder = true);

/* --- directories --- */

static bool write_folder(const char *path, bool commit, Error *error)
{
    ExportFolder folder;
    if (!export_folder_begin(&folder, path, error))
        return false;
    ck_assert(export_folder_text(&folder, "one", "1", error));
    ck_assert(export_folder_text(&folder, "two", "2", error));
    if (commit)
        return export_folder_commit(&folder, error);
    export_folder_abort(&folder);
    return true;
}

TEST(an_export_directory_is_complete_or_absent)
{
    static const char *const names[] = {"new", "empty", "slashed//"};
    Error error;
    char *empty = scratch_path("empty");
    ck_assert_int_eq(mkdir(empty, 0777), 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = scratch_path(names[i]), *bytes, *two = file_join(path, "two");
        size_t size, before = scratch_count();
        ck_assert(write_folder(path, false, &error));
        ck_assert_uint_eq(scratch_count(), before);
        ck_assert_msg(write_folder(path, true, &error), "%s", error.text);
        ck_assert_uint_eq(scratch_count(), before + 2 + (strcmp(names[i], "empty") != 0));
        ck_assert(file_read(two, 1, &bytes, &size, &error));
        ck_assert_str_eq(bytes, "2");
        free(bytes);
        free(two);
    }
}

TEST(an_existing_directory_is_not_replaced)
{
    Error error;
    char *folder = scratch_path("full"), *file = scratch_path("full/mine");
    ck_assert_int_eq(mkdir(folder, 0777), 0);
    scratch_write(file, "x", 1);
    ck_assert(!write_folder(folder, true, &error));
    support_check_error(&error, folder, "something in it");
    ck_assert(!write_folder(file, true, &error));
    support_check_error(&error, file, "not there yet");
    ck_assert_uint_eq(scratch_count(), 2);
    file = scratch_path("nowhere/folder");
    ck_assert(!write_folder(file, true, &error));
    support_check_error(&error, file, "No such file");
}

TEST(a_directory_made_meanwhile_is_not_replaced)
{
    Error error;
    ExportFolder folder;
    char *path = scratch_path("late"), *file = scratch_path("late/mine");
    ck_assert(export_folder_begin(&folder, path, &error));
    ck_assert(export_folder_text(&folder, "one", "1", &error));
    ck_assert_int_eq(mkdir(path, 0777), 0);
    scratch_write(file, "x", 1);
    ck_assert(!export_folder_commit(&folder, &error));
    support_check_error(&error, path, "another process has made it meanwhile");
    ck_assert(file_exists(file));
    ck_assert_uint_eq(scratch_count(), 2);
}

/* --- which family computes a model --- */

static ModelConfig gpt2(void)
{
    ModelConfig config = content_config;
    config.attention = one_kind(0);
    config.tied = true;
    return config;
}

static void check_lacking(const ModelConfig *config, const char *phrase)
{
    Error lacks;
    ck_assert_msg(!family_of(config, &lacks), "a family is said to have it: %s", phrase);
    ck_says(lacks, phrase);
}

TEST(families_have_softmax_attention_only)
{
    ck_assert_str_eq(attention_find(0)->name, "softmax");
    for (size_t kind = 1; attention_find(kind); kind++) {
        ModelConfig config = gpt2();
        config.attention = one_kind(kind);
        check_lacking(&config, attention_find(kind)->name);
        config.attention = (Choices){2, {0, kind}};
        check_lacking(&config, attention_find(kind)->name);
    }
}

#define LLAMA "pos = rotary\nrms-norm = yes\nact = swiglu\n"
#define NEOX  "pos = rotary\n"

TEST(models_have_their_family_or_a_part_that_it_lacks)
{
    static const struct {
        const char *settings, *family, *lacks;
    } cases[] = {{"", "gpt2", NULL},
                 {"norm = post\n", NULL, "--norm post"},
                 {"head-bias = unigram\n", NULL, "--head-bias"},
                 {"qk-norm = yes\n", NULL, "--qk-norm"},
                 {"value-residual = yes\n", NULL, "--value-residual"},
                 {"conv = yes\n", NULL, "--conv"},
                 {"head-norm = yes\n", NULL, "--head-norm"},
                 {"out-gate = yes\n", NULL, "--out-gate"},
                 {"head-gate = yes\n", NULL, "--head-gate"},
                 {"ngrams = 2\n", NULL, "--ngrams"},
                 {"logit-cap = 30\n", NULL, "--logit-cap"},
                 {"parallel = yes\n", NULL, "--parallel"},
                 {"rms-norm = yes\n", NULL, "--rms-norm"},
                 {"act = swiglu\n", NULL, "swiglu (--act) in its class GPT2LMHeadModel"},
                 {NEOX "parallel = yes\n", "gpt_neox", NULL},
                 /* heads of 10, of which a GPT-NeoX would rotate two and a half pairs */
                 {NEOX "dim = 20\nrope-share = 0.4\n", "gpt_neox", NULL},
                 {NEOX "dim = 20\nrope-share = 0.5\n", NULL, "--rope-share"},
                 {LLAMA, "llama", NULL},
                 {LLAMA "rope-share = 0.5\n", NULL, "--rope-share"},
                 {LLAMA "parallel = yes\n", NULL, "--parallel"},
                 {LLAMA "act = gelu\n", NULL, "gelu (--act) in its class LlamaForCausalLM"},
                 {LLAMA "head-gate = yes\n", NULL, "--head-gate"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        ModelConfig config = gpt2();
        const Options group = {{config_group(&config)}};
        Error error;
        ck_assert(options_read_text(&group, cases[i].settings, "a case", &error));
        ck_assert_msg(support_check_config(&config, &error), "%s", error.text);
        if (cases[i].lacks)
            check_lacking(&config, cases[i].lacks);
        else
            ck_assert_ptr_eq(family_of(&config, &error), family_find(cases[i].family));
    }
}

/* --- files of a model --- */

static json_t *read_json(const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    json_error_t where;
    json_t *tree = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
    ck_assert_msg(tree != NULL, "%s:%d: %s", name, where.line, where.text);
    free(path);
    return tree;
}

/* An open checkpoint of such a model, and an export directory in the scratch directory. */
typedef struct Exported {
    Content content;
    LoadedModel loaded;
    ExportFolder folder;
} Exported;

static void exported_begin(Exported *exported, ModelConfig config)
{
    Error error;
    content_make(&exported->content, config);
    content_save(&exported->content, exported->content.path, true);
    ck_assert_msg(loaded_open(&exported->loaded, exported->content.path, &error), "%s",
                  error.text);
    char *path = scratch_path("out");
    ck_assert(export_folder_begin(&exported->folder, path, &error));
}

static void exported_end(Exported *exported)
{
    export_folder_abort(&exported->folder);
    loaded_close(&exported->loaded);
    content_free(&exported->content);
}

/* Opens model.safetensors in the directory. */
static SafetensorsFile open_tensors(const Exported *exported)
{
    SafetensorsFile file;
    Error error;
    char *path = file_join(exported->folder.temporary, "model.safetensors");
    ck_assert_msg(safetensors_open(&file, path, &error), "%s", error.text);
    free(path);
    return file;
}

/* Every tensor of the model must be there, and `extra` others. */
static void check_tensors(const Exported *exported, const char *prefix, size_t extra)
{
    const Model *model = &exported->content.small.model;
    SafetensorsFile file = open_tensors(exported);
    ck_assert_uint_eq(file.header.tensor_count, model->table.count + extra);
    ck_assert_str_eq(safetensors_metadata(&file, "format"), "pt");
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        char name[sizeof row->name + 16];
        bool head = strncmp(row->name, "lm_head", strlen("lm_head")) == 0;
        snprintf(name, sizeof name, "%s%s", head ? "" : prefix, row->name);
        real *values = malloc(row->count * sizeof *values);
        Error error;
        ck_assert_msg(
            safetensors_load(&file, name, TENSOR_REAL, row->rank, row->shape, values, &error),
            "%s", error.text);
        ck_assert_mem_eq(values, model->base + row->offset, row->count * sizeof *values);
        free(values);
    }
    safetensors_close(&file);
}

/* The biases that GPT-2 has and the model lacks are zeros. */
static void check_zero_biases(const Exported *exported)
{
    static const char *const names[] = {"ln_1", "attn.c_attn", "attn.c_proj",
                                        "ln_2", "mlp.c_fc",    "mlp.c_proj"};
    const ModelConfig *config = &exported->content.small.model.config;
    const size_t widths[] = {config->dim, 3 * config->dim, config->dim,
                             config->dim, config->ffn,     config->dim};
    SafetensorsFile file = open_tensors(exported);
    for (size_t i = 0; i < config->layers * COUNT(names); i++) {
        char name[64];
        real values[64];
        Error error;
        size_t which = i % COUNT(names);
        snprintf(name, sizeof name, "transformer.h.%zu.%s.bias", i / COUNT(names),
                 names[which]);
        ck_assert_msg(
            safetensors_load(&file, name, TENSOR_REAL, 1, &widths[which], values, &error), "%s",
            error.text);
        for (size_t k = 0; k < widths[which]; k++)
            ck_assert(values[k] == 0);
    }
    safetensors_close(&file);
}

static void check_positions(const Exported *exported)
{
    const ModelConfig *config = &exported->content.small.model.config;
    size_t shape[] = {config->context, config->dim};
    real *rows = malloc(config->context * config->dim * sizeof *rows);
    real *expected = calloc(config->dim, sizeof *expected);
    SafetensorsFile file = open_tensors(exported);
    Error error;
    ck_assert(
        safetensors_load(&file, "transformer.wpe.weight", TENSOR_REAL, 2, shape, rows, &error));
    for (size_t i = 0; i < config->context; i++) {
        if (config->positions == POSITIONS_SINUSOIDAL)
            embedding_sinusoids(expected, i, config->dim);
        ck_assert_mem_eq(rows + i * config->dim, expected, config->dim * sizeof *expected);
    }
    safetensors_close(&file);
    free(expected);
    free(rows);
}

static void check_integer(const json_t *object, const char *key, size_t value)
{
    const json_t *number = json_object_get(object, key);
    ck_assert_msg(json_is_integer(number), "%s", key);
    ck_assert_int_eq(json_integer_value(number), (json_int_t)value);
}

static void check_config(const Exported *exported, const char *activation)
{
    const ModelConfig *config = &exported->content.small.model.config;
    size_t eos = (size_t)exported->content.vocabulary.eos;
    json_t *tree = read_json(exported->folder.temporary, "config.json");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "model_type")), "gpt2");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "activation_function")),
                     activation);
    check_integer(tree, "vocab_size", config->vocabulary);
    check_integer(tree, "n_positions", config->context);
    check_integer(tree, "n_embd", config->dim);
    check_integer(tree, "n_layer", config->layers);
    check_integer(tree, "n_head", config->heads);
    check_integer(tree, "n_inner", config->ffn);
    check_integer(tree, "eos_token_id", eos);
    ck_assert(json_is_boolean(json_object_get(tree, "tie_word_embeddings")));
    ck_assert(json_is_true(json_object_get(tree, "tie_word_embeddings")) == config->tied);
    json_decref(tree);
    tree = read_json(exported->folder.temporary, "generation_config.json");
    check_integer(tree, "bos_token_id", eos);
    ck_assert_ptr_null(json_object_get(tree, "pad_token_id"));
    json_decref(tree);
    tree = read_json(exported->folder.temporary, "tokenizer_config.json");
    check_integer(tree, "model_max_length", config->context);
    ck_assert_uint_eq(json_array_size(json_object_get(tree, "model_input_names")), 2);
    json_decref(tree);
}

TEST(gpt2_models_are_exported_for_transformers)
{
    static const Positions positions[] = {POSITIONS_LEARNED, POSITIONS_SINUSOIDAL,
                                          POSITIONS_NONE, POSITIONS_LEARNED};
    static const char *const activations[] = {"gelu_new", "gelu", "relu", "relu2"};
    for (size_t i = 0; i < COUNT(positions); i++) {
        Exported exported;
        Error error;
        ModelConfig config = gpt2();
        config.positions = positions[i];
        config.activation = i;
        config.tied = i != 1;
        config.bias = i != 2;
        exported_begin(&exported, config);
        ck_assert_msg(export_transformers(&exported.folder, &exported.loaded, &error), "%s",
                      error.text);
        bool learned = positions[i] == POSITIONS_LEARNED;
        size_t biases = config.bias ? 0 : 6 * config.layers + 1;
        check_tensors(&exported, "transformer.", !learned + biases);
        if (!config.bias)
            check_zero_biases(&exported);
        if (!learned)
            check_positions(&exported);
        check_config(&exported, activations[i]);
        exported_end(&exported);
    }
}

static void check_layer(const json_t *layer, const ModelConfig *config, size_t index)
{
    const AttentionKind *kind = config_kind(config, index);
    const AttentionSizes sizes = config_attention_sizes(config, index);
    ck_assert_str_eq(json_string_value(json_object_get(layer, "attn")), kind->name);
    ck_assert((strcmp(json_string_value(json_object_get(layer, "conv")), "no") != 0) ==
              config_convolves(config, index));
    ck_assert(json_is_true(json_object_get(layer, "head-norm")) ==
              config_norms_heads(config, index));
    ck_assert((strcmp(json_string_value(json_object_get(layer, "out-gate")), "no") != 0) ==
              config_gates_output(config, index));
    const AttentionHead head = attention_head(&sizes, 0);
    check_integer(layer, "key-heads", head.key_heads);
    check_integer(layer, "gates", head.gates_stride / config->heads);
    check_integer(layer, "rates", head.rates_stride / config->heads);
    check_integer(layer, "own", attention_param_count(&sizes) / config->heads);
}

/* The names of transformers, and all of settings.json. */
static void check_linnet_config(const Exported *exported)
{
    const ModelConfig *config = &exported->content.small.model.config;
    json_t *tree = read_json(exported->folder.temporary, "config.json");
    json_t *settings = export_settings_json(&exported->loaded);
    const json_t *layers = json_object_get(tree, "layers");
    check_integer(tree, "vocab_size", config->vocabulary);
    check_integer(tree, "hidden_size", config->dim);
    check_integer(tree, "num_hidden_layers", config->layers);
    check_integer(tree, "num_attention_heads", config->heads);
    check_integer(tree, "max_position_embeddings", config->context);
    check_integer(tree, "eos_token_id", (size_t)exported->content.vocabulary.eos);
    ck_assert(json_equal(json_object_get(tree, "linnet"), settings));
    ck_assert_uint_eq(json_array_size(layers), config->layers);
    for (size_t i = 0; i < config->layers; i++)
        check_layer(json_array_get(layers, i), config, i);
    json_decref(settings);
    json_decref(tree);
}

/* modeling_linnet.py has rows for these; tests/interop runs it. */
static void check_module(const Exported *exported, const char *kind, const char *activation)
{
    char *path = file_join(exported->folder.temporary, "modeling_linnet.py"), *bytes;
    char *rows[] = {text_format("    \"%s\": ", kind), text_format("    \"%s\": ", activation)};
    size_t size;
    Error error;
    ck_assert_msg(file_read(path, SIZE_MAX / 2, &bytes, &size, &error), "%s", error.text);
    for (size_t i = 0; i < COUNT(rows); i++) {
        ck_assert_msg(strstr(bytes, rows[i]) != NULL, "no%s", rows[i]);
        free(rows[i]);
    }
    free(bytes);
    free(path);
}

TEST(any_model_is_exported_for_transformers)
{
    size_t activations = 0;
    while (activation_find(activations))
        activations++;
    for (size_t kind = 1; attention_find(kind); kind++) {
        Exported exported;
        Error error;
        ModelConfig config = content_config;
        config.attention = (Choices){2, {0, kind}};
        const size_t width = config_head_width(&config);
        config.value_residual = attention_value_width(&attention_find(kind)->parts, width) ==
                                width;
        config.activation = kind % activations;
        exported_begin(&exported, config);
        ck_assert_msg(export_transformers(&exported.folder, &exported.loaded, &error), "%s",
                      error.text);
        check_tensors(&exported, "transformer.", 0);
        check_linnet_config(&exported);
        check_module(&exported, attention_name(kind), activation_name(config.activation));
        exported_end(&exported);
    }
}

TEST(any_model_has_a_plain_export)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        Exported exported;
        Error error;
        ModelConfig config = content_config;
        config.attention = one_kind(kind);
        config.head_bias = HEAD_BIAS_YES;
        config.dropout = 0.25;
        exported_begin(&exported, config);
        ck_assert_msg(export_plain(&exported.folder, &exported.loaded, &error), "%s",
                      error.text);
        check_tensors(&exported, "", 0);
        json_t *tree = read_json(exported.folder.temporary, "settings.json");
        ck_assert_str_eq(json_string_value(json_object_get(tree, "attn")),
                         attention_find(kind)->name);
        check_integer(tree, "dim", content_config.dim);
        ck_assert_str_eq(json_string_value(json_object_get(tree, "head-bias")), "yes");
        bool has_window = config_kind_uses(attention_find(kind), "window");
        ck_assert((json_object_get(tree, "window") != NULL) == has_window);
        ck_assert_double_eq(json_real_value(json_object_get(tree, "dropout")), 0.25);
        json_decref(tree);
        tree = read_json(exported.folder.temporary, "metadata.json");
        ck_assert_str_eq(json_string_value(json_object_get(tree, "note")), "two\nlines \"\\");
        ck_assert_ptr_null(json_object_get(tree, "crc32"));
        json_decref(tree);
        exported_end(&exported);
    }
}

TEST(the_vocabulary_and_settings_are_readable)
{
    Exported exported;
    Error error;
    exported_begin(&exported, gpt2());
    ck_assert(export_plain(&exported.folder, &exported.loaded, &error));
    char *bytes, *path = file_join(exported.folder.temporary, "vocabulary.txt");
    size_t size;
    ck_assert(file_read(path, SIZE_MAX / 2, &bytes, &size, &error));
    ck_assert_str_eq(bytes,
                     "# linnet tokenizer word\nthe\nlinnet\n<eos>\nsings\n\xc3\xa9\n<unk>\n");
    free(bytes);
    free(path);
    path = file_join(exported.folder.temporary, "settings.conf");
    ck_assert(file_read(path, SIZE_MAX / 2, &bytes, &size, &error));
    ck_assert_ptr_nonnull(strstr(bytes, "attn = softmax\n"));
    free(bytes);
    free(path);
    exported_end(&exported);
}

/* --- vocabularies --- */

static void check_token(const json_t *tokens, const char *token, size_t id)
{
    ck_assert_msg(json_object_get(tokens, token) != NULL, "no token '%s'", token);
    check_integer(tokens, token, id);
}

/* Writes all forms of a vocabulary; *text gets vocabulary.txt (the caller frees). */
static void write_vocabulary(const Vocabulary *vocabulary, json_t **tokenizer, json_t **list,
                             char **text)
{
    ExportFolder folder;
    Error error;
    size_t size;
    char *path = scratch_path("words"), *lines;
    ck_assert(export_folder_begin(&folder, path, &error));
    ck_assert(export_tokenizer(&folder, vocabulary, &error));
    ck_assert(export_vocabulary_json(&folder, vocabulary, &error));
    ck_assert(export_vocabulary_text(&folder, vocabulary, &error));
    *tokenizer = read_json(folder.temporary, "tokenizer.json");
    *list = read_json(folder.temporary, "vocabulary.json");
    lines = file_join(folder.temporary, "vocabulary.txt");
    ck_assert(file_read(lines, SIZE_MAX / 2, text, &size, &error));
    export_folder_abort(&folder);
    free(lines);
}

static const json_t *vocabulary_in(const json_t *tokenizer)
{
    return json_object_get(json_object_get(tokenizer, "model"), "vocab");
}

TEST(every_token_has_its_id)
{
    static const char text[] = "a\\b \"c\" \x01\x7f\t\r \xf0\x9f\x90\xa6 \xef\xbb\xbf!\n<eos>";
    for (size_t kind = TOKENIZER_WORD; kind <= TOKENIZER_CHAR; kind++) {
        Vocabulary vocabulary = vocabulary_of(kind, text, 0, 1);
        json_t *tokenizer, *list;
        char *lines;
        write_vocabulary(&vocabulary, &tokenizer, &list, &lines);
        const json_t *tokens = vocabulary_in(tokenizer);
        ck_assert_uint_eq(json_object_size(tokens), vocabulary.count);
        const json_t *words = json_object_get(list, "words");
        ck_assert_uint_eq(json_array_size(words), vocabulary.count);
        for (size_t i = 0; i < vocabulary.count; i++) {
            bool line_end = kind == TOKENIZER_CHAR && (int32_t)i == vocabulary.eos;
            check_token(tokens, line_end ? "\n" : vocabulary.words[i], i);
            ck_assert_str_eq(json_string_value(json_array_get(words, i)), vocabulary.words[i]);
        }
        check_integer(list, "eos", (size_t)vocabulary.eos);
        check_integer(list, "unk", (size_t)vocabulary.unk);
        Vocabulary again;
        Error error;
        const char *first = strchr(lines, '\n') + 1;
        ck_assert(vocabulary_read(&again, vocabulary.tokenizer, first, strlen(first), &error));
        ck_assert_uint_eq(again.count, vocabulary.count);
        vocabulary_free(&again);
        vocabulary_free(&vocabulary);
        json_decref(tokenizer);
        json_decref(list);
        free(lines);
    }
}

TEST(every_byte_has_its_character)
{
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_BYTE, "x", 0, 1);
    json_t *tokenizer, *list;
    char *lines;
    write_vocabulary(&vocabulary, &tokenizer, &list, &lines);
    const json_t *tokens = vocabulary_in(tokenizer);
    ck_assert_uint_eq(json_object_size(tokens), TOKENS_OF_BYTE);
    check_token(tokens, "A", 'A');
    check_token(tokens, "\xc4\xa0", ' ');  /* U+0120 */
    check_token(tokens, "\xc4\x8a", '\n'); /* U+010A */
    check_token(tokens, "\xc5\x83", 0xad); /* U+0143, the last one */
    check_token(tokens, "\xc3\xbf", 0xff); /* U+00FF */
    ck_assert(json_is_null(json_object_get(list, "words")));
    check_integer(list, "count", TOKENS_OF_BYTE);
    ck_assert_str_eq(lines, "# linnet tokenizer byte\n");
    vocabulary_free(&vocabulary);
    json_decref(tokenizer);
    json_decref(list);
    free(lines);
}

/* --- examples --- */

/* The logits after these tokens, by a parallel forward pass. */
static void expect_logits(const Model *model, const int32_t *ids, size_t count,
                          const json_t *logits)
{
    Pass pass;
    size_t width = model->config.dim;
    pass_make(&pass, model, 1, count, PASS_EVALUATE);
    pass_allocate(&pass, "a test");
    const real *last = pass_forward(&pass, ids, NULL) + (count - 1) * width;
    ck_assert_uint_eq(json_array_size(logits), model->config.vocabulary);
    for (size_t i = 0; i < model->config.vocabulary; i++) {
        double expected = 0;
        for (size_t k = 0; k < width; k++)
            expected += (double)last[k] * (double)model->params.wte[i * width + k];
        ck_assert_double_eq_tol(json_real_value(json_array_get(logits, i)), expected, 1e-5);
    }
    pass_free(&pass);
}

TEST(an_example_ends_with_the_next_logits)
{
    static const char text[] = "the linnet sings loudly\nsings \xc3\xa9 linnet\n";
    static const int32_t ids[] = {0, 1, 3, 5, 2, 3, 4, 1, 2};
    Exported exported;
    Error error;
    exported_begin(&exported, gpt2());
    const Model *model = &exported.loaded.model;
    ck_assert_msg(export_example(&exported.folder, &exported.loaded, "a text", text,
                                 strlen(text), &error),
                  "%s", error.text);
    json_t *tree = read_json(exported.folder.temporary, "example.json");
    ck_assert_str_eq(json_string_value(json_object_get(tree, "text")), text);
    const json_t *got = json_object_get(tree, "ids");
    ck_assert_uint_eq(json_array_size(got), COUNT(ids));
    for (size_t i = 0; i < COUNT(ids); i++)
        ck_assert_int_eq(json_integer_value(json_array_get(got, i)), ids[i]);
    size_t read = model->config.context;
    check_integer(tree, "tokens_read", read);
    expect_logits(model, ids + COUNT(ids) - read, read, json_object_get(tree, "logits"));
    json_decref(tree);
    exported_end(&exported);
}

TEST(an_example_must_be_valid_text)
{
    static const struct {
        const char *text;
        size_t size;
        const char *phrase;
    } cases[] = {{"", 0, "at least one token"},
                 {"  ", 2, "at least one token"},
                 {"a\0b", 3, "byte 1 is not UTF-8"},
                 {"ab\xff", 3, "byte 2 is not UTF-8"}};
    Exported exported;
    exported_begin(&exported, gpt2());
    for (size_t i = 0; i < COUNT(cases); i++) {
        Error error;
        ck_assert(!export_example(&exported.folder, &exported.loaded, "a text", cases[i].text,
                                  cases[i].size, &error));
        support_check_error(&error, "a text", cases[i].phrase);
    }
    exported_end(&exported);
}
