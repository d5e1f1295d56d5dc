#include "models/exchange/family.h"
#include "src/base/text.h"

#include <string.h>

/* --- tensors --- */

#define WHOLE 0, 1

static const FamilyPart neox_parts[] = {
    {"wte", "embed_in", FAMILY_PLAIN, WHOLE},
    {"ln_1", "input_layernorm", FAMILY_PLAIN, WHOLE},
    {"attn.c_attn", "attention.query_key_value", FAMILY_FUSED, WHOLE},
    {"attn.c_proj", "attention.dense", FAMILY_TRANSPOSED, WHOLE},
    {"ln_2", "post_attention_layernorm", FAMILY_PLAIN, WHOLE},
    {"mlp.c_fc", "mlp.dense_h_to_4h", FAMILY_TRANSPOSED, WHOLE},
    {"mlp.c_proj", "mlp.dense_4h_to_h", FAMILY_TRANSPOSED, WHOLE},
    {"ln_f", "final_layer_norm", FAMILY_PLAIN, WHOLE},
    {"lm_head", "embed_out", FAMILY_PLAIN, WHOLE},
    {0},
};

static const FamilyPart llama_parts[] = {
    {"wte", "embed_tokens", FAMILY_PLAIN, WHOLE},
    {"ln_1", "input_layernorm", FAMILY_PLAIN, WHOLE},
    {"attn.c_attn", "self_attn.q_proj", FAMILY_TRANSPOSED, 0, 3},
    {"attn.c_attn", "self_attn.k_proj", FAMILY_GROUPED, 1, 3},
    {"attn.c_attn", "self_attn.v_proj", FAMILY_GROUPED, 2, 3},
    {"attn.c_proj", "self_attn.o_proj", FAMILY_TRANSPOSED, WHOLE},
    {"ln_2", "post_attention_layernorm", FAMILY_PLAIN, WHOLE},
    {"mlp.c_fc", "mlp.gate_proj", FAMILY_TRANSPOSED, 0, 2},
    {"mlp.c_fc", "mlp.up_proj", FAMILY_TRANSPOSED, 1, 2},
    {"mlp.c_proj", "mlp.down_proj", FAMILY_TRANSPOSED, WHOLE},
    {"ln_f", "norm", FAMILY_PLAIN, WHOLE},
    {"lm_head", "lm_head", FAMILY_PLAIN, WHOLE},
    {0},
};

/* In llama.cpp's files. */
#define GGUF_COMMON                                                                            \
    {"wte", "token_embd", FAMILY_PLAIN, WHOLE}, {"wpe", "position_embd", FAMILY_PLAIN, WHOLE}, \
        {"ln_1", "attn_norm", FAMILY_PLAIN, WHOLE},                                            \
        {"attn.c_proj", "attn_output", FAMILY_TRANSPOSED, WHOLE},                              \
        {"ln_2", "ffn_norm", FAMILY_PLAIN, WHOLE},                                             \
        {"mlp.c_proj", "ffn_down", FAMILY_TRANSPOSED, WHOLE},                                  \
        {"ln_f", "output_norm", FAMILY_PLAIN, WHOLE},                                          \
    {                                                                                          \
        "lm_head", "output", FAMILY_PLAIN, WHOLE                                               \
    }

static const FamilyPart gguf_parts[] = {
    GGUF_COMMON,
    {"attn.c_attn", "attn_qkv", FAMILY_ROTATED, WHOLE},
    {"mlp.c_fc", "ffn_up", FAMILY_TRANSPOSED, WHOLE},
    {0},
};

static const FamilyPart gguf_llama_parts[] = {
    GGUF_COMMON,
    {"attn.c_attn", "attn_q", FAMILY_PAIRED, 0, 3},
    {"attn.c_attn", "attn_k", FAMILY_PAIRED, 1, 3},
    {"attn.c_attn", "attn_v", FAMILY_TRANSPOSED, 2, 3},
    {"mlp.c_fc", "ffn_gate", FAMILY_TRANSPOSED, 0, 2},
    {"mlp.c_fc", "ffn_up", FAMILY_TRANSPOSED, 1, 2},
    {0},
};

const FamilyForm family_plain_form = {.prefix = "", .layer = "h.", .head = "lm_head."};

/* --- families --- */

/* The names in linnet are GPT-2's. */
const Family family_linnet = {
    .type = "linnet",
    .class = "LinnetForCausalLM",
    .form = {.prefix = "transformer.", .layer = "h.", .head = "lm_head."},
};

static const Family families[] = {
    {.type = "gpt2",
     .class = "GPT2LMHeadModel",
     .llama_cpp = "gpt2",
     .form = {"transformer.", "h.", "lm_head.", NULL, .positions = true, .biases = true},
     .gguf = {"", "blk.", "output.", gguf_parts, .positions = true, .biases = true},
     .buffers = {".attn.bias", ".attn.masked_bias"},
     .keys = {{"n_layer", "layers", NULL},
              {"n_embd", "dim", NULL},
              {"n_head", "heads", NULL},
              {"n_positions", "context", NULL},
              {"n_inner", "ffn", "0"},
              {"activation_function", "act", "gelu_new"},
              {"layer_norm_epsilon", "norm-eps", "1e-05"},
              {"tie_word_embeddings", "tied", "yes"},
              {"embd_pdrop", "input-dropout", "0.1"},
              {"resid_pdrop", "dropout", "0.1"},
              {"attn_pdrop", "attn-dropout", "0.1"}},
     .musts = {{"scale_attn_weights", true,
                "linnet always scales attention scores by 1/sqrt(head size)"},
               {"scale_attn_by_inverse_layer_idx", false,
                "linnet does not scale attention scores by the layer"},
               {"add_cross_attention", false, "linnet has no cross-attention"}}},
    {.type = "gpt_neox",
     .class = "GPTNeoXForCausalLM",
     .llama_cpp = "gptneox",
     .form = {"gpt_neox.", "layers.", "embed_out.", neox_parts, .biases = true},
     .gguf = {"", "blk.", "output.", gguf_parts, .biases = true, .untied = true},
     .buffers = {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"},
     .rotary = true,
     .parallel = true,
     .keys = {{"num_hidden_layers", "layers", NULL},
              {"hidden_size", "dim", NULL},
              {"num_attention_heads", "heads", NULL},
              {"intermediate_size", "ffn", NULL},
              {"max_position_embeddings", "context", NULL},
              {"hidden_act", "act", "gelu"},
              {"layer_norm_eps", "norm-eps", "1e-05"},
              {"tie_word_embeddings", "tied", "no"},
              {"use_parallel_residual", "parallel", "yes"},
              {"hidden_dropout", "input-dropout", "0"},
              {"hidden_dropout", "dropout", "0"},
              {"attention_dropout", "attn-dropout", "0"}},
     .rope_base = "rotary_emb_base",
     .rope_share = "rotary_pct",
     .usual_share = 0.25},
    {.type = "llama",
     .class = "LlamaForCausalLM",
     .llama_cpp = "llama",
     .form = {"model.", "layers.", "lm_head.", llama_parts, .biases = false},
     .gguf = {"", "blk.", "output.", gguf_llama_parts, .biases = false},
     .buffers = {".rotary_emb.inv_freq"},
     .rotary = true,
     .whole_rotary = true,
     .rms_norm = true,
     .gated = true,
     .grouped = true,
     .keys = {{"num_hidden_layers", "layers", NULL},
              {"hidden_size", "dim", NULL},
              {"num_attention_heads", "heads", NULL},
              {"intermediate_size", "ffn", NULL},
              {"max_position_embeddings", "context", NULL},
              {"hidden_act", "act", "silu"},
              {"rms_norm_eps", "norm-eps", "1e-06"},
              {"tie_word_embeddings", "tied", "no"},
              {"attention_dropout", "attn-dropout", "0"}},
     .rope_base = "rope_theta",
     .rope_share = "partial_rotary_factor",
     .usual_share = 1},
};

const Family *family_at(size_t index)
{
    return index < sizeof families / sizeof *families ? &families[index] : NULL;
}

const Family *family_find(const char *type)
{
    for (size_t i = 0; family_at(i); i++)
        if (strcmp(family_at(i)->type, type) == 0)
            return family_at(i);
    return NULL;
}

bool family_is_buffer(const Family *family, const char *name)
{
    for (const char *const *ending = family->buffers; *ending; ending++)
        if (text_ends_in(name, *ending))
            return true;
    return false;
}

/* --- activations --- */

/* The first of several names in config.json is the one that is written. */
static const struct {
    const char *linnet, *foreign;
    bool gated;
} activations[] = {{"gelu", "gelu_new", false},  {"gelu", "gelu_pytorch_tanh", false},
                   {"gelu", "gelu_fast", false}, {"relu", "relu", false},
                   {"relu2", "relu2", false},    {"gelu-erf", "gelu", false},
                   {"swiglu", "silu", true}};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

const char *family_activation_foreign(const Family *family, const char *linnet)
{
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (strcmp(activations[i].linnet, linnet) == 0 && activations[i].gated == family->gated)
            return activations[i].foreign;
    return NULL;
}

const char *family_activation_linnet(const Family *family, const char *foreign)
{
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (strcmp(activations[i].foreign, foreign) == 0 &&
            activations[i].gated == family->gated)
            return activations[i].linnet;
    return NULL;
}

/* --- which family computes a model --- */

typedef struct Part {
    bool has;
    const char *what;
} Part;

static bool has_none(const Part *parts, size_t count, const char *where, const char *name,
                     Error *lacks)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].has)
            return error_set(lacks, "%s%s%s", parts[i].what, where, name);
    return true;
}

/* Whether the model has only parts that all families have. */
static bool is_common(const ModelConfig *config, Error *lacks)
{
    for (size_t layer = 0; layer < config->layers; layer++) {
        const char *kind = config_kind(config, layer)->name;
        if (strcmp(kind, "softmax") != 0)
            return error_set(lacks, "%s attention", kind);
        const Part parts[] = {
            {config_convolves(config, layer), "convolution before the attention (--conv)"},
            {config_norms_heads(config, layer), "norm of a head's output (--head-norm)"},
            {config_gates_output(config, layer), "gate on the attention's output (--out-gate)"},
        };
        if (!has_none(parts, sizeof parts / sizeof *parts, "", "", lacks))
            return false;
    }
    const Part parts[] = {
        {config->norm != NORM_PRE, "norms behind the sublayers (--norm post)"},
        {config_norms_queries(config, 0), "norm of queries and keys (--qk-norm)"},
        {config->value_residual, "values of the first layer in others (--value-residual)"},
        {config->head_gate, "gates on the output of heads (--head-gate)"},
        {config->ngrams > 1, "embeddings of n-grams (--ngrams)"},
        {config->logit_cap > 0, "cap on its logits (--logit-cap)"},
        {config->head_bias, "biases in its output head (--head-bias)"},
    };
    return has_none(parts, sizeof parts / sizeof *parts, "", "", lacks);
}

/* The family with these norms and positions; RMSNorm without RoPE is refused later. */
static const Family *nearest(const ModelConfig *config)
{
    return family_find(config->positions != POSITIONS_ROTARY ? "gpt2"
                       : config->rms_norm                    ? "llama"
                                                             : "gpt_neox");
}

/* Whether the family has the parts in which families differ, but for the activation. */
static bool has_parts(const Family *family, const ModelConfig *config, const char *where,
                      const char *name, Error *lacks)
{
    size_t width = config_head_width(config);
    size_t rotating = 2 * config_rotating_pairs(config, width);
    const Part parts[] = {
        {config->rms_norm && !family->rms_norm, "RMSNorm (--rms-norm) without --pos rotary"},
        {config->parallel && !family->parallel, "parallel residual (--parallel)"},
        {rotating != width && family->whole_rotary,
         "RoPE of a share of the features (--rope-share)"},
    };
    return is_common(config, lacks) &&
           has_none(parts, sizeof parts / sizeof *parts, where, name, lacks);
}

const Family *family_of(const ModelConfig *config, Error *lacks)
{
    static const char where[] = " in its class ";
    const Family *family = nearest(config);
    const char *activation = activation_name(config->activation);
    /* GPT-NeoX rotates a share of the features, rounded down, and cannot if their number is
     * odd. */
    size_t width = config_head_width(config);
    size_t rotating = (size_t)(config->rope_share * (double)width);
    if (!has_parts(family, config, where, family->class, lacks))
        return NULL;
    if (family->rotary && rotating != 2 * config_rotating_pairs(config, width)) {
        error_set(lacks, "RoPE of an odd number of features (--rope-share)%s%s", where,
                  family->class);
        return NULL;
    }
    if (family_activation_foreign(family, activation))
        return family;
    error_set(lacks, "activation %s (--act)%s%s", activation, where, family->class);
    return NULL;
}

const Family *family_of_llama_cpp(const ModelConfig *config, Error *lacks)
{
    const Family *family = nearest(config);
    const char *activation = activation_name(config->activation),
               *only = family->gated ? "swiglu" : "gelu";
    if (!has_parts(family, config, " in its architecture ", family->llama_cpp, lacks))
        return NULL;
    if (strcmp(activation, only) == 0)
        return family;
    error_set(lacks, "activation %s (--act) in its architecture %s, which has %s", activation,
              family->llama_cpp, only);
    return NULL;
}
