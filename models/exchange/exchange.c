#include "models/exchange/exchange.h"

#include <string.h>

/* --- Hugging Face transformers --- */

static bool check_layer(const ModelConfig *config, size_t layer, Error *lacks)
{
    const char *kind = config_kind(config, layer)->name;
    if (strcmp(kind, "softmax") != 0)
        return error_set(lacks, "%s attention", kind);
    if (config_convolves(config, layer))
        return error_set(lacks, "convolution before the attention (--conv)");
    if (config_norms_heads(config, layer))
        return error_set(lacks, "norm of a head's output (--head-norm)");
    if (config_gates_output(config, layer))
        return error_set(lacks, "gate on the attention's output (--out-gate)");
    return true;
}

typedef struct Part {
    bool has;
    const char *what;
} Part;

static bool has_none(const Part *parts, size_t count, Error *lacks)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].has)
            return error_set(lacks, "%s", parts[i].what);
    return true;
}

bool exchange_is_plain(const ModelConfig *config, Error *lacks)
{
    for (size_t layer = 0; layer < config->layers; layer++)
        if (!check_layer(config, layer, lacks))
            return false;
    const Part parts[] = {
        {config->norm != NORM_PRE, "norms behind the sublayers (--norm post)"},
        {config->qk_norm, "norm of queries and keys (--qk-norm)"},
        {config->value_residual, "values of the first layer in others (--value-residual)"},
        {config->head_gate, "gates on the output of heads (--head-gate)"},
        {config->ngrams > 1, "embeddings of n-grams (--ngrams)"},
        {config->logit_cap > 0, "cap on its logits (--logit-cap)"},
        {config->head_bias, "biases in its output head (--head-bias)"},
    };
    return has_none(parts, sizeof parts / sizeof *parts, lacks);
}

bool exchange_is_gpt2(const ModelConfig *config, Error *lacks)
{
    const Part parts[] = {
        {config->parallel, "parallel residual (--parallel)"},
        {config->rms_norm, "RMSNorm (--rms-norm)"},
        {config->positions == POSITIONS_ROTARY, "rotary positions (--pos rotary)"},
    };
    if (!exchange_is_plain(config, lacks) ||
        !has_none(parts, sizeof parts / sizeof *parts, lacks))
        return false;
    return activation_find(config->activation)->inputs == 1 ||
           error_set(lacks, "activation %s", activation_name(config->activation));
}

/* --- llama.cpp --- */

static const LlamaCppArchitecture architectures[] = {
    {.name = "gpt2", .activation = "gelu", .needs_biases = true},
    {.name = "gptneox",
     .activation = "gelu",
     .rotary = true,
     .parallel = true,
     .needs_biases = true,
     .needs_head = true},
    {.name = "llama",
     .activation = "swiglu",
     .rms_norm = true,
     .rotary = true,
     .whole_rotary = true,
     .splits = true},
};

/* The one with these norms and positions; RMSNorm without RoPE is refused later. */
static const LlamaCppArchitecture *architecture_of(const ModelConfig *config)
{
    bool rotary = config->positions == POSITIONS_ROTARY;
    return &architectures[!rotary ? 0 : config->rms_norm ? 2 : 1];
}

static size_t activation_called(const char *name)
{
    size_t index = 0;
    while (strcmp(activation_name(index), name) != 0)
        index++;
    return index;
}

/* The model with GPT-2's parts in place of those that other architectures have. */
static ModelConfig as_gpt2(const ModelConfig *config)
{
    ModelConfig gpt2 = *config;
    gpt2.positions = POSITIONS_LEARNED;
    gpt2.rms_norm = gpt2.parallel = false;
    gpt2.activation = activation_called("gelu");
    return gpt2;
}

static bool has_all(const LlamaCppArchitecture *a, const ModelConfig *config, Error *lacks)
{
    const ModelConfig gpt2 = as_gpt2(config);
    const char *activation = activation_name(config->activation);
    bool whole = config_rotating_pairs(config) == config_head_width(config) / 2;
    if (!exchange_is_gpt2(&gpt2, lacks))
        return false;
    if (config->rms_norm && !a->rms_norm)
        return error_set(lacks, "RMSNorm (--rms-norm) without --pos rotary");
    if (config->parallel && !a->parallel)
        return error_set(lacks, "parallel residual (--parallel) in its architecture %s",
                         a->name);
    if (!whole && a->whole_rotary)
        return error_set(
            lacks, "RoPE of a share of the features (--rope-share) in its architecture %s",
            a->name);
    return strcmp(activation, a->activation) == 0 ||
           error_set(lacks, "activation %s (--act) in its architecture %s, which has %s",
                     activation, a->name, a->activation);
}

const LlamaCppArchitecture *exchange_llama_cpp(const ModelConfig *config, Error *lacks)
{
    const LlamaCppArchitecture *a = architecture_of(config);
    return has_all(a, config, lacks) ? a : NULL;
}
