#include "models/config.h"

static const char *position_name(size_t index)
{
    static const char *const names[] = {"learned", "sinusoidal", "rotary", "none"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const char *norm_name(size_t index)
{
    static const char *const names[] = {"pre", "post"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

#define FIELD(name) offsetof(ModelConfig, name)

/* clang-format off */
const Option model_option_rows[] = {
    {.name = "attn", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(attention), .fallback = "softmax", .choice = attention_name,
     .stored = true, .fixed = true,
     .help = "attention kind; 'help' tells about each"},
    {.name = "layers", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(layers), .low = 1, .high = 256, .fallback = "4", .stored = true,
     .fixed = true,
     .help = "blocks of attention and feed-forward"},
    {.name = "dim", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(dim), .low = 1, .high = 65536, .fallback = "128", .stored = true,
     .fixed = true,
     .help = "width of the model"},
    {.name = "heads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(heads), .low = 1, .high = 4096, .fallback = "4", .stored = true,
     .fixed = true,
     .help = "attention heads; they divide the width among them"},
    {.name = "ffn", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(ffn), .low = 0, .high = 1048576, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "width inside the feed-forward layer; 0 is four times --dim"},
    {.name = "context", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(context), .low = 1, .high = 65536, .fallback = "128", .stored = true,
     .fixed = true,
     .help = "tokens in a training window"},
    {.name = "pos", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(positions), .fallback = "rotary", .choice = position_name,
     .stored = true, .fixed = true,
     .help = "how positions are told apart"},
    {.name = "norm", .argument = "PLACE", .type = OPTION_CHOICE,
     .offset = FIELD(norm), .fallback = "pre", .choice = norm_name, .stored = true,
     .fixed = true,
     .help = "layer norm before each sublayer, or after its residual sum"},
    {.name = "act", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(activation), .fallback = "gelu", .choice = activation_name,
     .stored = true, .fixed = true,
     .help = "activation of the feed-forward layer"},
    {.name = "tied", .type = OPTION_FLAG,
     .offset = FIELD(tied), .fallback = "yes", .stored = true, .fixed = true,
     .help = "the output head uses the token embedding"},
    {.name = "head-bias", .type = OPTION_FLAG,
     .offset = FIELD(head_bias), .fallback = "no", .stored = true, .fixed = true,
     .help = "a bias for every token of the vocabulary"},
    {.name = "dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(dropout), .low = 0, .high = 0.95, .fallback = "0.15", .stored = true,
     .fixed = true,
     .help = "dropped share of the embedding and of both branches of a block"},
    {.name = "attn-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(attention_dropout), .low = 0, .high = 0.95, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "dropped share of the attention weights, for kinds that have them"},
};
/* clang-format on */
const size_t model_option_count = sizeof model_option_rows / sizeof *model_option_rows;

bool config_check(ModelConfig *config, Error *error)
{
    const AttentionKind *kind = config_kind(config);
    if (config->ffn == 0)
        config->ffn = 4 * config->dim;
    if (config->dim % config->heads != 0)
        return error_set(error, "--heads %zu does not divide --dim %zu", config->heads,
                         config->dim);
    if (config->positions == POSITIONS_ROTARY && config_head_width(config) % 2 != 0)
        return error_set(error,
                         "--pos rotary turns pairs of features, but --dim %zu over --heads %zu "
                         "leaves an odd %zu for each head",
                         config->dim, config->heads, config_head_width(config));
    if (config->attention_dropout > 0 && !kind->has_weights)
        return error_set(error,
                         "--attn-dropout: '%s' attention has no weights to drop; use "
                         "--dropout",
                         kind->name);
    return true;
}
