#include "models/config.h"

#include <stdlib.h>
#include <string.h>

static const char *position_name(size_t index)
{
    static const char *const names[] = {"learned", "sinusoidal", "rotary", "none", "auto"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

const char *wish_name(size_t index)
{
    static const char *const names[] = {"auto", "no", "yes"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const char *convolution_name(size_t index)
{
    return index == CONVOLUTION_RESIDUAL ? "residual" : wish_name(index);
}

static const char *norm_name(size_t index)
{
    static const char *const names[] = {"pre", "post"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const char *owner_name(const Option *option, size_t index)
{
    for (size_t i = 0; attention_find(i); i++)
        if (config_kind_uses(attention_find(i), option->name) && index-- == 0)
            return attention_name(i);
    return NULL;
}

static const OptionOwners owners = {"Options that only some attention kinds have", owner_name};

static const char *head_bias_name(size_t index)
{
    static const char *const names[] = {"no", "yes", "unigram"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

#define FIELD(name) offsetof(ModelConfig, name)

/* clang-format off */
const Option model_option_rows[] = {
    {.name = "attn", .argument = "KIND", .type = OPTION_CHOICES,
     .offset = FIELD(attention), .fallback = "softmax", .choice = attention_name,
     .stored = true, .fixed = true,
     .help = "attention kind, several joined by + for layers in turn; 'help' tells about each"},
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
     .offset = FIELD(positions), .fallback = "auto", .choice = position_name,
     .stored = true, .fixed = true,
     .help = "how positions are told apart; auto: what suits the attention kind"},
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
    {.name = "head-bias", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(head_bias), .fallback = "no", .choice = head_bias_name, .stored = true,
     .fixed = true,
     .help = "a bias for every token of the vocabulary; unigram: that starts with how often "
             "each comes"},
    {.name = "logit-cap", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(logit_cap), .low = 0, .high = 40, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "bend logits so that none is larger than X; 0: as they are"},
    {.name = "zero-init", .type = OPTION_FLAG,
     .offset = FIELD(zero_init), .fallback = "no", .stored = true, .fixed = true,
     .help = "both branches of a block start at zero"},
    {.name = "qk-norm", .type = OPTION_FLAG,
     .offset = FIELD(qk_norm), .fallback = "no", .stored = true, .fixed = true,
     .help = "a norm of each head's queries and keys, with a gain"},
    {.name = "value-residual", .type = OPTION_FLAG,
     .offset = FIELD(value_residual), .fallback = "no", .stored = true, .fixed = true,
     .help = "the values of each layer are mixed with those of the first"},
    {.name = "word-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(word_dropout), .low = 0, .high = 0.95, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "share of the words of the vocabulary that a batch reads as zeros"},
    {.name = "input-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(input_dropout), .low = 0, .high = 0.95, .fallback = "0.15",
     .stored = true, .fixed = true,
     .help = "dropped share of the embedding"},
    {.name = "dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(dropout), .low = 0, .high = 0.95, .fallback = "0.15", .stored = true,
     .fixed = true,
     .help = "dropped share of both branches of a block"},
    {.name = "attn-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(attention_dropout), .low = 0, .high = 0.95, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "dropped share of the attention weights, for kinds that have them"},
    {.name = "output-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(output_dropout), .low = 0, .high = 0.95, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "dropped share of what goes into the output head"},
    {.name = "locked", .type = OPTION_FLAG,
     .offset = FIELD(locked), .fallback = "no", .stored = true, .fixed = true,
     .help = "input, branches and output drop a feature for a whole window, not a position"},
    {.name = "penalty", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(output_penalty), .low = 0, .high = 1000, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "activation regularisation: the mean square of the last layer's output counts "
             "so much in the loss"},
    {.name = "change-penalty", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(change_penalty), .low = 0, .high = 1000, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "temporal activation regularisation: the same for its change from a position to "
             "the next"},
    {.name = "conv", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(convolution), .fallback = "auto", .choice = convolution_name,
     .stored = true, .fixed = true,
     .help = "a convolution over 4 positions before the attention, with SiLU behind it; "
             "residual: added to what it reads, without SiLU"},
    {.name = "head-norm", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(head_norm), .fallback = "auto", .choice = wish_name, .stored = true,
     .fixed = true,
     .help = "a norm of each head's output"},
    {.name = "out-gate", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(gate), .fallback = "auto", .choice = wish_name, .stored = true,
     .fixed = true,
     .help = "a gate on the attention's output"},
    {.name = "carry-state", .type = OPTION_FLAG,
     .offset = FIELD(carry_state), .fallback = "no", .stored = true, .fixed = true,
     .help = "read the text in streams, each window going on from the state that the one "
             "before it left; for kinds that forget"},
    {.name = "window", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.window), .low = 1, .high = 65536, .fallback = "64", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "positions that are seen, the own one included"},
    {.name = "period", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.period), .low = 1, .high = 65536, .fallback = "16", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "distance of the positions that are seen, or length of a block"},
    {.name = "summary", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.summary), .low = 1, .high = 65536, .fallback = "4", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "positions at a block's end that are seen by all later ones"},
    {.name = "segment", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.segment), .low = 1, .high = 65536, .fallback = "32", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "positions that are compressed together"},
    {.name = "rank", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.rank), .low = 1, .high = 65536, .fallback = "4", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "what a segment is compressed to"},
    {.name = "features", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.features), .low = 0, .high = 65536, .fallback = "0", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "random features; 0: twice the width of a head"},
    {.name = "redraw", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.redraw), .low = 0, .high = 1e9, .fallback = "0", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "draw them again every so many steps; 0: never"},
    {.name = "hashes", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.hashes), .low = 1, .high = 64, .fallback = "2", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "rounds of hashing"},
    {.name = "buckets", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.buckets), .low = 2, .high = 4096, .fallback = "8", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "buckets of a round, an even number"},
    {.name = "near", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.near), .low = 1, .high = 65536, .fallback = "32", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "positions of the own bucket that are seen"},
    {.name = "tau", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(own.tau), .low = 0.01, .high = 1, .fallback = "0.95", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "slope of the kernel 1 + tau q.k"},
    {.name = "sink", .type = OPTION_FLAG,
     .offset = FIELD(own.sink), .fallback = "no", .stored = true, .fixed = true,
     .owners = &owners,
     .help = "learn the size of the escape hatch"},
};
/* clang-format on */
const size_t model_option_count = sizeof model_option_rows / sizeof *model_option_rows;

const AttentionKind *config_kind(const ModelConfig *config, size_t layer)
{
    return attention_find(config->attention.at[layer % config->attention.count]);
}

static bool granted(size_t wish, bool kind_wants)
{
    return wish == WISH_AUTO ? kind_wants : wish != WISH_NO;
}

bool config_convolves(const ModelConfig *config, size_t layer)
{
    return granted(config->convolution, config_kind(config, layer)->wants_convolution);
}

bool config_norms_heads(const ModelConfig *config, size_t layer)
{
    return granted(config->head_norm, config_kind(config, layer)->wants_norm);
}

bool config_gates_output(const ModelConfig *config, size_t layer)
{
    return granted(config->gate, config_kind(config, layer)->wants_gate);
}

/* --- checking --- */

bool config_is_own(const Option *option)
{
    return option->owners == &owners;
}

bool config_kind_uses(const AttentionKind *kind, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = kind->uses; at && (at = strstr(at, name)); at += length)
        if ((at == kind->uses || at[-1] == ' ') && (!at[length] || at[length] == ' '))
            return true;
    return false;
}

bool config_has_option(const ModelConfig *config, const Option *option)
{
    bool has = !config_is_own(option);
    for (size_t k = 0; k < config->attention.count; k++)
        has = has || config_kind_uses(config_kind(config, k), option->name);
    return has;
}

/* Options of their own that the kinds at hand do not have would be promises not kept. */
bool config_check_own(const ModelConfig *config, Error *error)
{
    const OptionGroup group = {NULL, model_option_rows, model_option_count, (void *)config};
    for (size_t i = 0; i < model_option_count; i++) {
        const Option *option = &model_option_rows[i];
        char *value = option_value(&group, option);
        bool changed = strcmp(value, option->fallback) != 0;
        free(value);
        if (changed && !config_has_option(config, option))
            return error_set(error, "--%s: '%s' attention does not use it", option->name,
                             config_kind(config, 0)->name);
    }
    return true;
}

/* Configs that were not read from options leave zeros. */
static void fill_open(ModelConfig *config)
{
    if (config->attention.count == 0)
        config->attention.count = 1;
    const OptionGroup group = {NULL, model_option_rows, model_option_count, config};
    for (size_t i = 0; i < model_option_count; i++) {
        const Option *option = &model_option_rows[i];
        const void *field = option_field(&group, option);
        bool open = (option->type == OPTION_SIZE && *(const size_t *)field == 0) ||
                    (option->type == OPTION_REAL && *(const double *)field == 0);
        Error error;
        if (config_is_own(option) && open && option->low > 0)
            options_set(&group, 1, option->name, option->fallback, "a default", &error);
    }
}

/* Turned features tell positions apart, and some kinds do so by themselves; one that can do
 * with neither needs them in its input. */
static size_t suitable_positions(const ModelConfig *config)
{
    bool all_know = true;
    for (size_t k = 0; k < config->attention.count; k++) {
        const AttentionKind *kind = config_kind(config, k);
        if (kind->no_rotary && !kind->knows_positions)
            return POSITIONS_LEARNED;
        all_know = all_know && kind->knows_positions;
    }
    bool odd = config_head_width(config) % 2 != 0;
    return all_know ? POSITIONS_NONE : odd ? POSITIONS_LEARNED : POSITIONS_ROTARY;
}

static bool check_kind(const ModelConfig *config, const AttentionKind *kind, Error *error)
{
    if (config->positions == POSITIONS_ROTARY && kind->no_rotary)
        return error_set(error,
                         "--pos rotary: turned features would break what makes '%s' attention "
                         "work; use learned, sinusoidal or none",
                         kind->name);
    if (config->attention_dropout > 0 && !kind->has_weights)
        return error_set(error,
                         "--attn-dropout: '%s' attention has no weights to drop; use "
                         "--dropout",
                         kind->name);
    return true;
}

bool config_check_carrying(const ModelConfig *config, Error *error)
{
    for (size_t k = 0; k < config->attention.count; k++) {
        const AttentionKind *kind = config_kind(config, k);
        if (kind->carry == CARRY_NEVER)
            return error_set(error,
                             "--carry-state: '%s' attention has no state of fixed size that "
                             "could go on into the next window",
                             kind->name);
        if (kind->carry == CARRY_DIVERGES)
            return error_set(error,
                             "--carry-state: the state of '%s' attention is a sum that forgets "
                             "nothing; it grows from window to window until it drowns what is "
                             "new, and the loss diverges. Kinds with a decay or the delta rule "
                             "can be carried",
                             kind->name);
    }
    if (config->positions == POSITIONS_LEARNED)
        return error_set(error, "--carry-state: learned positions end with the window; use "
                                "--pos rotary, sinusoidal or none");
    return true;
}

bool config_check(ModelConfig *config, Error *error)
{
    fill_open(config);
    if (config->ffn == 0)
        config->ffn = 4 * config->dim;
    if (config->dim % config->heads != 0)
        return error_set(error, "--heads %zu does not divide --dim %zu", config->heads,
                         config->dim);
    if (config->attention.count > config->layers)
        return error_set(error, "--attn joins %zu kinds, but there are only %zu layers",
                         config->attention.count, config->layers);
    if (config->positions == POSITIONS_AUTO)
        config->positions = suitable_positions(config);
    if (config->positions == POSITIONS_ROTARY && config_head_width(config) % 2 != 0)
        return error_set(error,
                         "--pos rotary turns pairs of features, but --dim %zu over --heads %zu "
                         "leaves an odd %zu for each head",
                         config->dim, config->heads, config_head_width(config));
    if (config->own.buckets % 2 != 0)
        return error_set(error, "--buckets %zu: an even number is needed", config->own.buckets);
    for (size_t k = 0; k < config->attention.count; k++)
        if (!check_kind(config, config_kind(config, k), error))
            return false;
    return !config->carry_state || config_check_carrying(config, error);
}
