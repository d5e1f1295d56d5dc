/* Taking over weights: rows of tokens and positions, new parts without effect, refused shapes.
 */
#include "models/adopt.h"
#include "src/base/memory.h"
#include "tests/content.h"
#include "tests/rig.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("adopt", .folder = true);

/* The model that weights come from, in a checkpoint. */
static void save_model(ModelConfig config, Checkpoint *from)
{
    Content content;
    Error error;
    content_make(&content, config);
    content_save(&content, content.path, true);
    ck_assert_msg(checkpoint_open(from, content.path, &error), "%s", error.text);
    content_free(&content);
}

static ModelConfig bare(size_t kind)
{
    ModelConfig config = content_config;
    config.attention = one_kind(kind);
    config.positions = POSITIONS_NONE;
    config.kind_options.steps = 2;
    config.tied = true;
    config.convolution = CONVOLUTION_NO;
    config.head_norm = config.gate = TRISTATE_NO;
    return config;
}

static size_t kind_named(const char *name)
{
    size_t kind = 0;
    while (strcmp(attention_name(kind), name) != 0)
        kind++;
    return kind;
}

/* The mean loss of a model with this configuration that takes the weights over, or of the
 * checkpoint's model if the configuration is its own. */
static double loss_after(const Checkpoint *from, ModelConfig config)
{
    Rig rig;
    Error error;
    config.vocabulary = content_config.vocabulary;
    rig_make_for(&rig, config, 3, 0.1, PASS_EVALUATE);
    params_initialise(&rig.model.table, &rig.model.config, rig.model.base, 7);
    ck_assert_msg(adopt_check(&rig.model.config, from, &error), "%s", error.text);
    ck_assert_msg(adopt_weights(&rig.model, from, NULL, &error), "%s", error.text);
    double loss = pass_loss(&rig.pass, rig.inputs, rig.targets) / (double)rig.pass.rows;
    rig_free(&rig);
    return loss;
}

static void expect_difference(const Checkpoint *from, const ModelConfig *config,
                              const char *expected)
{
    char *text = adopt_differences(config, from);
    ck_assert_msg(strstr(text, expected), "'%s' lacks '%s'", text, expected);
    free(text);
}

/* --- new parts --- */

static void untie(ModelConfig *config)
{
    config->tied = false;
}
static void add_bias(ModelConfig *config)
{
    config->head_bias = HEAD_BIAS_YES;
}
static void mix_values(ModelConfig *config)
{
    config->value_residual = true;
}
static void add_gate(ModelConfig *config)
{
    config->gate = TRISTATE_YES;
}
static void convolve(ModelConfig *config)
{
    config->convolution = CONVOLUTION_RESIDUAL;
}
static void learn_positions(ModelConfig *config)
{
    config->positions = POSITIONS_LEARNED;
}
static void gate_heads(ModelConfig *config)
{
    config->head_gate = true;
}
static void embed_bigrams(ModelConfig *config)
{
    config->ngrams = 2;
}
static void drop_more(ModelConfig *config)
{
    config->dropout = 0.3;
}
static void add_all(ModelConfig *config)
{
    untie(config);
    add_bias(config);
    mix_values(config);
    convolve(config);
    learn_positions(config);
}

static const struct {
    void (*change)(ModelConfig *config);
    const char *title;
} neutral[] = {{untie, "output head of its own"},
               {add_bias, "head bias"},
               {mix_values, "value residual"},
               {convolve, "convolution"},
               {learn_positions, "learned positions"},
               {gate_heads, "head gate"},
               {embed_bigrams, "n-gram embeddings"},
               {drop_more, ""},
               {add_all, "output head of its own, head bias"}};

TEST(new_parts_leave_the_function_unchanged)
{
    const double near = sizeof(real) == sizeof(double) ? 1e-12 : 2e-6;
    for (size_t kind = 0; attention_find(kind); kind++) {
        Checkpoint from;
        save_model(bare(kind), &from);
        double before = loss_after(&from, bare(kind));
        for (size_t i = 0; i < COUNT(neutral); i++) {
            ModelConfig config = bare(kind);
            neutral[i].change(&config);
            double after = loss_after(&from, config);
            ck_assert_msg(fabs(after - before) < near * before, "%s, %s: %.12g was %.12g",
                          attention_name(kind), neutral[i].title, after, before);
            config.vocabulary = content_config.vocabulary;
            /* a kind's own value residual stays */
            const bool same = neutral[i].change == mix_values &&
                              attention_has(&attention_find(kind)->parts.value_mix.count);
            expect_difference(&from, &config, same ? "" : neutral[i].title);
        }
        checkpoint_close(&from);
    }
}

TEST(a_sink_that_is_learned_now_leaves_the_function_unchanged)
{
    Checkpoint from;
    ModelConfig config = bare(kind_named("softmax1"));
    save_model(config, &from);
    double before = loss_after(&from, config);
    config.kind_options.sink = true;
    ck_assert_double_eq_tol(loss_after(&from, config), before, 1e-7 * before);
    expect_difference(&from, &config, "without effect at the start: parameters of the");
    checkpoint_close(&from);
}

static void norm_queries(ModelConfig *config)
{
    config->qk_norm = true;
}
static void norm_heads(ModelConfig *config)
{
    config->head_norm = TRISTATE_YES;
}
static void convolve_with_silu(ModelConfig *config)
{
    config->convolution = CONVOLUTION_YES;
}
static void another_kind(ModelConfig *config)
{
    config->attention = one_kind(kind_named("gla"));
}

TEST(parts_that_change_the_function_are_named)
{
    static const struct {
        void (*change)(ModelConfig *config);
        const char *says;
    } changes[] = {{add_gate, "changing the function: output gate"},
                   {norm_queries, "changing the function: QK-norm"},
                   {norm_heads, "changing the function: head norm"},
                   {convolve_with_silu, "changing the function: convolution"},
                   {another_kind, "attn gla was softmax: the same weights compute another"},
                   {another_kind, "changing the function: gates of the attention kind"}};
    Checkpoint from;
    save_model(bare(0), &from);
    double before = loss_after(&from, bare(0));
    for (size_t i = 0; i < COUNT(changes); i++) {
        ModelConfig config = bare(0);
        changes[i].change(&config);
        ck_assert_double_gt(fabs(loss_after(&from, config) - before), 1e-6);
        expect_difference(&from, &config, changes[i].says);
    }
    checkpoint_close(&from);
    ModelConfig all = bare(0);
    add_all(&all);
    add_gate(&all);
    save_model(all, &from);
    ModelConfig none = bare(0);
    expect_difference(&from, &none,
                      "dropped: learned positions, convolution, value residual, "
                      "output gate, output head of its own, head bias");
    checkpoint_close(&from);
}

TEST(new_biases_leave_the_function_unchanged)
{
    Checkpoint from;
    ModelConfig config = bare(0);
    config.bias = false;
    save_model(config, &from);
    double before = loss_after(&from, config);
    config.bias = true;
    const double near = sizeof(real) == sizeof(double) ? 1e-12 : 2e-6;
    ck_assert_double_eq_tol(loss_after(&from, config), before, near);
    expect_difference(&from, &config, "without effect at the start: biases");
    checkpoint_close(&from);
    save_model(config, &from);
    config.bias = false;
    expect_difference(&from, &config, "dropped: biases");
    checkpoint_close(&from);
}

TEST(carried_state_is_another_function)
{
    Checkpoint from;
    ModelConfig config = bare(kind_named("gla"));
    save_model(config, &from);
    config.carry_state = true;
    expect_difference(&from, &config, "carry-state yes was no: the same weights compute");
    checkpoint_close(&from);
}

/* --- rows --- */

TEST(tokens_with_the_same_text_are_the_same)
{
    static const struct {
        size_t tokenizer, from_tokenizer;
        const char *text, *from_text;
        size_t shared;
    } cases[] = {
        {TOKENIZER_WORD, TOKENIZER_WORD, "b c d\n", "a b c\n", 4}, /* with <eos> and <unk> */
        {TOKENIZER_CHAR, TOKENIZER_BYTE, "ab \xc3\xa9\n", "x\n",
         4}, /* a, b, the blank, <eos> */
        {TOKENIZER_BYTE, TOKENIZER_BPE, "x\n", "aaab aaab aaab\n", 256},
        {TOKENIZER_WORD, TOKENIZER_CHAR, "a bc\n", "abc\n", 3}, /* a, <eos>, <unk> */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Vocabulary to = vocabulary_of(cases[i].tokenizer, cases[i].text, 0, 1);
        Vocabulary from = vocabulary_of(cases[i].from_tokenizer, cases[i].from_text,
                                        cases[i].from_tokenizer == TOKENIZER_BPE ? 260 : 0, 1);
        size_t shared;
        int32_t *ids = adopt_ids(&to, &from, &shared);
        ck_assert_msg(shared == cases[i].shared, "case %zu: %zu", i, shared);
        ck_assert_int_eq(ids[to.eos], from.eos);
        if (to.unk != TOKEN_NONE && from.unk != TOKEN_NONE)
            ck_assert_int_eq(ids[to.unk], from.unk);
        for (size_t id = 0; id < to.count; id++) {
            const char *piece, *other;
            if (ids[id] == TOKEN_NONE || (int32_t)id == to.unk)
                continue;
            size_t length = vocabulary_piece(&to, (int32_t)id, &piece);
            ck_assert_uint_eq(length, vocabulary_piece(&from, ids[id], &other));
            ck_assert_mem_eq(piece, other, length);
        }
        free(ids);
        vocabulary_free(&to);
        vocabulary_free(&from);
    }
}

/* Row `row` of a tensor of a model. */
static const real *row_at(const Model *model, const char *name, size_t row)
{
    const ParamRow *tensor = param_table_find(&model->table, name);
    size_t width = tensor->rank == 2 ? tensor->shape[1] : 1;
    return model->base + tensor->offset + row * width;
}

static void check_ngrams(const Checkpoint *from, ModelConfig config, const int32_t *ids,
                         bool kept)
{
    SmallModel small;
    Error error;
    small_model_make(&small, config, 0);
    ck_assert_msg(adopt_weights(&small.model, from, ids, &error), "%s", error.text);
    const real *row = row_at(&small.model, "ngrams.weight", 3);
    for (size_t i = 0; i < config.dim; i++)
        ck_assert((row[i] != 0) == kept);
    small_model_free(&small);
}

/* A row has meaning only for the n-grams that are mapped to it. */
TEST(n_gram_embeddings_start_anew_if_their_lengths_or_tokens_are_others)
{
    static const int32_t ids[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    ModelConfig config = bare(0);
    config.ngrams = 2;
    config.ngram_rows = 8;
    Checkpoint from;
    save_model(config, &from);
    config.vocabulary = content_config.vocabulary;
    ck_assert_uint_le(config.vocabulary, COUNT(ids));
    check_ngrams(&from, config, NULL, true);
    check_ngrams(&from, config, ids, false);
    config.ngrams = 3;
    check_ngrams(&from, config, NULL, false);
    expect_difference(&from, &config, "changing the function: n-gram embeddings");
    checkpoint_close(&from);
}

TEST(known_tokens_keep_their_rows_and_new_ones_start_at_the_mean)
{
    static const char *const names[] = {"wte.weight", "lm_head.weight", "lm_head.bias"};
    static const int32_t ids[] = {4, TOKEN_NONE, 0};
    Content content;
    Checkpoint from;
    Error error;
    ModelConfig config = bare(0);
    config.tied = false;
    config.head_bias = HEAD_BIAS_YES;
    content_make(&content, config);
    content_save(&content, content.path, false);
    ck_assert(checkpoint_open(&from, content.path, &error));
    config.vocabulary = COUNT(ids);
    SmallModel small, initial;
    small_model_make(&small, config, 0);
    small_model_make(&initial, config, 0);
    ck_assert_msg(adopt_weights(&small.model, &from, ids, &error), "%s", error.text);
    for (size_t n = 0; n < COUNT(names); n++) {
        size_t width = n < 2 ? config.dim : 1;
        for (size_t i = 0; i < width; i++) {
            double mean = 0;
            for (size_t token = 0; token < content_config.vocabulary; token++)
                mean += (double)row_at(&content.small.model, names[n], token)[i] /
                        (double)content_config.vocabulary;
            ck_assert(row_at(&small.model, names[n], 0)[i] ==
                      row_at(&content.small.model, names[n], 4)[i]);
            ck_assert(row_at(&small.model, names[n], 2)[i] ==
                      row_at(&content.small.model, names[n], 0)[i]);
            ck_assert_double_eq_tol((double)row_at(&small.model, names[n], 1)[i],
                                    mean + (double)row_at(&initial.model, names[n], 1)[i],
                                    1e-6);
        }
    }
    small_model_free(&small);
    small_model_free(&initial);
    checkpoint_close(&from);
    content_free(&content);
}

TEST(learned_positions_are_kept_as_far_as_they_go)
{
    static const size_t contexts[] = {3, 5, 9};
    for (size_t c = 0; c < COUNT(contexts); c++) {
        Content content;
        Checkpoint from;
        Error error;
        ModelConfig config = bare(0);
        config.positions = POSITIONS_LEARNED;
        content_make(&content, config);
        content_save(&content, content.path, false);
        ck_assert(checkpoint_open(&from, content.path, &error));
        config.context = contexts[c];
        SmallModel small, initial;
        small_model_make(&small, config, 0);
        small_model_make(&initial, config, 0);
        ck_assert_msg(adopt_check(&config, &from, &error), "%s", error.text);
        ck_assert_msg(adopt_weights(&small.model, &from, NULL, &error), "%s", error.text);
        for (size_t position = 0; position < config.context; position++) {
            const Model *source = position < content_config.context ? &content.small.model
                                                                    : &initial.model;
            ck_assert_mem_eq(row_at(&small.model, "wpe.weight", position),
                             row_at(source, "wpe.weight", position), config.dim * sizeof(real));
        }
        small_model_free(&small);
        small_model_free(&initial);
        checkpoint_close(&from);
        content_free(&content);
    }
}

/* --- refused --- */

TEST(another_shape_is_refused_by_name)
{
    static const char *const changes[][2] = {
        {"dim", "16"},    {"layers", "1"},   {"heads", "4"},      {"ffn", "24"},
        {"norm", "post"}, {"act", "swiglu"}, {"rms-norm", "yes"}, {"parallel", "yes"}};
    Checkpoint from;
    Error error;
    save_model(bare(0), &from);
    for (size_t i = 0; i < COUNT(changes); i++) {
        ModelConfig config = bare(0);
        const Options group = {{config_group(&config)}};
        ck_assert(options_set(&group, changes[i][0], changes[i][1], "a test", &error));
        ck_assert(!adopt_check(&config, &from, &error));
        ck_says(error, changes[i][0]);
        ck_says(error, "differs from");
    }
    checkpoint_close(&from);
    ModelConfig config = bare(kind_named("linformer"));
    save_model(config, &from);
    config.kind_options = from.config.kind_options;
    config.kind_options.rank += 1;
    ck_assert(!adopt_check(&config, &from, &error));
    ck_says(error, "--rank 5 differs from 4");
    checkpoint_close(&from);
}

/* --- conversion to another kind --- */

static void expect_learning(const Checkpoint *from, const ModelConfig *config, const char *name,
                            bool learns)
{
    ParamTable table;
    param_table_make(&table, config);
    const ParamRow *row = param_table_find(&table, name);
    ck_assert_msg(row != NULL, "%s", name);
    ck_assert_msg(adopt_learns(row, config, from) == learns, "%s", name);
    param_table_free(&table);
}

TEST(only_what_replaces_the_attention_learns_first)
{
    Checkpoint from;
    ModelConfig config = bare(kind_named("softmax"));
    save_model(config, &from);
    ck_assert(adopt_has_same_kinds(&config, &from));
    config.attention = (Choices){2, {kind_named("gated-delta"), kind_named("softmax")}};
    config.convolution = CONVOLUTION_AUTO;
    config.tied = false;
    ck_assert(!adopt_has_same_kinds(&config, &from));
    static const char *const learning[] = {"h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight",
                                           "h.0.attn.conv.weight", "h.0.attn.gate.bias"},
                             *const frozen[] = {"wte.weight",
                                                "lm_head.weight",
                                                "h.0.ln_1.weight",
                                                "h.0.mlp.c_fc.weight",
                                                "h.0.mlp.c_proj.weight",
                                                "h.1.attn.c_attn.weight",
                                                "h.1.attn.c_proj.weight"};
    for (size_t i = 0; i < COUNT(learning); i++)
        expect_learning(&from, &config, learning[i], true);
    for (size_t i = 0; i < COUNT(frozen); i++)
        expect_learning(&from, &config, frozen[i], false);
    config.attention = one_kind(kind_named("performer")); /* draws its features */
    expect_learning(&from, &config, "h.0.attn.own", false);
    expect_learning(&from, &config, "h.0.attn.c_attn.weight", true);
    config.attention = one_kind(kind_named("linformer"));
    config.kind_options.segment = 64; /* enough to do without other projections */
    config.kind_options.rank = 16;
    expect_learning(&from, &config, "h.0.attn.own", true);
    expect_learning(&from, &config, "h.0.attn.c_attn.weight", false);
    checkpoint_close(&from);
}
