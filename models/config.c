#include "models/config.h"

#include <stdlib.h>
#include <string.h>

const AttentionKind *config_kind(const ModelConfig *config, size_t layer)
{
    return attention_find(config->attention.index[layer % config->attention.count]);
}

const LayerParts *config_parts(const ModelConfig *config, size_t layer)
{
    return config->parts == PARTS_COMMON ? &attention_common_parts
                                         : &config_kind(config, layer)->parts;
}

char *config_attention(const ModelConfig *config)
{
    const Options options = {{config_group(config)}};
    return option_value(&options, option_find(&options, "attn"));
}

static bool enabled(size_t part, bool kind_wants)
{
    return part == TRISTATE_AUTO ? kind_wants : part != TRISTATE_NO;
}

size_t config_rotating_pairs(const ModelConfig *config, size_t width)
{
    const double rounding = 1e-9; /* 0.3 of 10 pairs are 3 */
    return (size_t)(config->rope_share * (double)(width / 2) + rounding);
}

bool config_convolves(const ModelConfig *config, size_t layer)
{
    return enabled(config->convolution, config_parts(config, layer)->convolution);
}

bool config_norms_heads(const ModelConfig *config, size_t layer)
{
    return enabled(config->head_norm, config_parts(config, layer)->norm);
}

bool config_gates_output(const ModelConfig *config, size_t layer)
{
    return enabled(config->gate, config_parts(config, layer)->gate);
}

bool config_mixes_values(const ModelConfig *config, size_t layer)
{
    return layer > 0 &&
           (config->value_residual ||
            attention_has(&config_parts(config, layer)->value_mix.count)) &&
           config_value_width(config, layer) == config_value_width(config, 0);
}

/* QK-norm, of queries and keys. */
bool config_norms_queries(const ModelConfig *config, size_t layer)
{
    return config->qk_norm && !config_parts(config, layer)->keeps_lengths;
}

static bool all_encode_positions(const ModelConfig *config)
{
    bool all = true;
    for (size_t k = 0; k < config->attention.count; k++)
        all = all && config_kind(config, k)->encodes_positions;
    return all;
}

bool config_rotates(const ModelConfig *config, size_t layer)
{
    return config->positions == POSITIONS_ROTARY &&
           (!config_kind(config, layer)->encodes_positions || all_encode_positions(config));
}

AttentionSizes config_attention_sizes(const ModelConfig *config, size_t layer)
{
    return (AttentionSizes){.kind = config_kind(config, layer),
                            .heads = config->heads,
                            .dim = config_head_width(config),
                            .layer = layer,
                            .layers = config->layers,
                            .parts = config_parts(config, layer),
                            .options = &config->kind_options};
}

AttentionHead config_head(const ModelConfig *config, size_t layer)
{
    const AttentionSizes sizes = config_attention_sizes(config, layer);
    return attention_head(&sizes, 0);
}

size_t config_key_width(const ModelConfig *config, size_t layer)
{
    return config_head(config, layer).width;
}

size_t config_value_width(const ModelConfig *config, size_t layer)
{
    return config_head(config, layer).out_stride;
}

/* --- checking --- */

bool config_has_option(const ModelConfig *config, const Option *option)
{
    bool has = !option->owner;
    for (size_t k = 0; k < config->attention.count; k++)
        has = has || config_kind_uses(config_kind(config, k), option->name);
    return has;
}

/* Refuses an option that none of the model's attention kinds can use. */
static bool kinds_cannot(const ModelConfig *config, const char *option, const char *what,
                         Error *error)
{
    char *kinds = config_attention(config);
    error_set(error, "--%s: '%s' attention does not %s", option, kinds, what);
    free(kinds);
    return false;
}

bool config_check_kind_options(const ModelConfig *config, Error *error)
{
    const Options options = {{config_group(config)}};
    const Option *option;
    for (size_t i = 0; (option = option_at(&options, i)); i++) {
        if (!config_has_option(config, option) && !option_has_default(&options, option))
            return kinds_cannot(config, option->name, "use it", error);
    }
    return true;
}

/* None if all kinds encode positions themselves; otherwise RoPE, or learned where a kind or the
 * head dimension rules it out. */
static size_t suitable_positions(const ModelConfig *config)
{
    bool rotates = config_head_width(config) % 2 == 0;
    for (size_t k = 0; k < config->attention.count; k++) {
        const AttentionKind *kind = config_kind(config, k);
        rotates = rotates && (kind->encodes_positions || !kind->no_rotary);
    }
    return all_encode_positions(config) ? POSITIONS_NONE
           : rotates                    ? POSITIONS_ROTARY
                                        : POSITIONS_LEARNED;
}

static bool check_kind(const ModelConfig *config, size_t layer, Error *error)
{
    const AttentionKind *kind = config_kind(config, layer);
    const size_t width = config_key_width(config, layer);
    if (config_rotates(config, layer) && config_rotating_pairs(config, width) == 0)
        return error_set(error, "--rope-share %g of a head dimension of %zu rotates nothing",
                         config->rope_share, width);
    if (config_rotates(config, layer) && kind->no_rotary)
        return error_set(error,
                         "--pos rotary: '%s' attention does not work with rotated queries and "
                         "keys; use learned, sinusoidal or none",
                         kind->name);
    if (kind->alternates && config->heads < 2)
        return error_set(error,
                         "--heads 1: the heads of '%s' attention alternate between two "
                         "patterns; use at least 2",
                         kind->name);
    return true;
}

bool config_check_carrying(const ModelConfig *config, Error *error)
{
    for (size_t k = 0; k < config->attention.count; k++) {
        const AttentionKind *kind = config_kind(config, k);
        if (kind->engine->carry == CARRY_NEVER)
            return error_set(error,
                             "--carry-state: '%s' attention has no state that can continue in "
                             "the next context window",
                             kind->name);
        if (kind->engine->carry == CARRY_DIVERGES)
            return error_set(
                error,
                "--carry-state: the state of '%s' attention is a sum without decay; "
                "it would grow until the loss diverges. Use a kind with decay or "
                "the delta rule",
                kind->name);
    }
    if (config->positions == POSITIONS_LEARNED)
        return error_set(error, "--carry-state: learned positions end at --context; use --pos "
                                "rotary, sinusoidal or none");
    return true;
}

static bool check_value_residual(const ModelConfig *config, Error *error)
{
    bool mixes = !config->value_residual || config->layers == 1;
    for (size_t layer = 0; layer < config->layers; layer++)
        mixes = mixes || config_mixes_values(config, layer);
    return mixes || error_set(error, "--value-residual: no later layer has values as wide as "
                                     "those of the first; use --no-value-residual or "
                                     "--parts common");
}

bool config_check(ModelConfig *config, Error *error)
{
    if (config->ffn == 0)
        config->ffn = 4 * config->dim;
    if (config->dim % config->heads != 0)
        return error_set(error, "--heads %zu does not divide --dim %zu", config->heads,
                         config->dim);
    if (config->attention.count > config->layers)
        return error_set(error, "--attn joins %zu kinds, but --layers is only %zu",
                         config->attention.count, config->layers);
    if (config->positions == POSITIONS_AUTO)
        config->positions = suitable_positions(config);
    if (config->positions == POSITIONS_ROTARY && config_head_width(config) % 2 != 0)
        return error_set(error,
                         "--pos rotary needs an even head dimension, but --dim %zu over "
                         "--heads %zu gives %zu",
                         config->dim, config->heads, config_head_width(config));
    if (config->parallel && config->norm != NORM_PRE)
        return error_set(error, "--parallel needs --norm pre");
    if (!check_value_residual(config, error))
        return false;
    if (config->kind_options.buckets % 2 != 0)
        return error_set(error, "--buckets %zu: must be even", config->kind_options.buckets);
    bool has_weights = false;
    for (size_t k = 0; k < config->attention.count; k++) {
        if (!check_kind(config, k, error))
            return false;
        has_weights = has_weights || config_kind(config, k)->has_weights;
    }
    if (config->attention_dropout > 0 && !has_weights)
        return kinds_cannot(config, "attn-dropout", "support it; use --dropout", error);
    return !config->carry_state || config_check_carrying(config, error);
}
