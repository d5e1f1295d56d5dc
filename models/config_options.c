/* The option rows of a model. */
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

static const OptionOwners owners = {owner_name};

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
     .help = "attention kind; several joined by + take the layers in turn; --attn help "
             "lists them",
     .also = "attention attention-kind attn-type",
     .common = true},
    {.name = "layers", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(layers), .low = 1, .high = 256, .fallback = "4", .stored = true,
     .fixed = true,
     .help = "number of layers (Transformer blocks)",
     .also = "n-layer n-layers num-layers num-hidden-layers depth nlayers",
     .common = true},
    {.name = "dim", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(dim), .low = 1, .high = 65536, .fallback = "128", .stored = true,
     .fixed = true,
     .help = "model (embedding) dimension",
     .also = "n-embd d-model hidden-size embed-dim emb-dim embedding-dim model-dim width "
             "emsize",
     .common = true},
    {.name = "heads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(heads), .low = 1, .high = 4096, .fallback = "4", .stored = true,
     .fixed = true,
     .help = "number of attention heads; they split --dim evenly",
     .also = "n-head n-heads num-heads num-attention-heads nhead",
     .common = true},
    {.name = "ffn", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(ffn), .low = 0, .high = 1048576, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "hidden dimension of the MLP (feed-forward); 0: 4 x --dim",
     .also = "intermediate-size ffn-dim d-ff mlp-dim n-inner nhid"},
    {.name = "context", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(context), .low = 1, .high = 65536, .fallback = "128", .stored = true,
     .fixed = true,
     .help = "context length (block size) in tokens",
     .also = "block-size seq-len sequence-length context-length max-seq-len seq-length ctx "
             "n-ctx n-positions bptt window-size",
     .common = true},
    {.name = "pos", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(positions), .fallback = "auto", .choice = position_name,
     .stored = true, .fixed = true,
     .help = "position encoding; rotary is RoPE; auto: what suits the attention kind",
     .also = "position position-encoding positional-encoding rope position-embedding-type",
     .section = "Architecture variants"},
    {.name = "norm", .argument = "PLACE", .type = OPTION_CHOICE,
     .offset = FIELD(norm), .fallback = "pre", .choice = norm_name, .stored = true,
     .fixed = true,
     .help = "layer norm before each sublayer (pre) or after its residual sum (post)",
     .also = "norm-type normalization",
     .section = "Architecture variants"},
    {.name = "act", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(activation), .fallback = "relu2", .choice = activation_name,
     .stored = true, .fixed = true,
     .help = "activation function of the MLP",
     .also = "activation activation-function hidden-act act-fn",
     .section = "Architecture variants"},
    {.name = "tied", .type = OPTION_FLAG,
     .offset = FIELD(tied), .fallback = "yes", .stored = true, .fixed = true,
     .help = "tie input and output embeddings",
     .also = "tie-weights tie-word-embeddings weight-tying tie-embeddings",
     .section = "Architecture variants"},
    {.name = "head-bias", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(head_bias), .fallback = "unigram", .choice = head_bias_name, .stored = true,
     .fixed = true,
     .help = "bias of the output logits; unigram: initialised from the token frequencies",
     .also = "bias output-bias lm-head-bias",
     .section = "Architecture variants"},
    {.name = "logit-cap", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(logit_cap), .low = 0, .high = 40, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "logit soft-capping: X tanh(logit / X); 0: off",
     .also = "logit-softcap softcap final-logit-softcapping logit-soft-cap",
     .section = "Architecture variants"},
    {.name = "zero-init", .type = OPTION_FLAG,
     .offset = FIELD(zero_init), .fallback = "yes", .stored = true, .fixed = true,
     .help = "zero-initialise the output projections of attention and MLP",
     .section = "Architecture variants"},
    {.name = "qk-norm", .type = OPTION_FLAG,
     .offset = FIELD(qk_norm), .fallback = "yes", .stored = true, .fixed = true,
     .help = "QK-norm: layer norm of each head's queries and keys, with a learned gain",
     .also = "qk-layernorm qk-layer-norm",
     .section = "Architecture variants"},
    {.name = "value-residual", .type = OPTION_FLAG,
     .offset = FIELD(value_residual), .fallback = "no", .stored = true, .fixed = true,
     .help = "value residual (ResFormer): mix the first layer's values into later layers",
     .also = "resformer",
     .section = "Architecture variants"},
    {.name = "word-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(word_dropout), .low = 0, .high = 0.95, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "embedding dropout by word type (AWD-LSTM): zero these words for a whole "
             "batch",
     .also = "embedding-dropout dropoute",
     .section = "Regularisation"},
    {.name = "input-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(input_dropout), .low = 0, .high = 0.95, .fallback = "0.1",
     .stored = true, .fixed = true,
     .help = "dropout probability of the embeddings",
     .also = "embd-pdrop emb-dropout dropouti",
     .section = "Regularisation"},
    {.name = "dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(dropout), .low = 0, .high = 0.95, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "dropout probability of both residual branches, attention and MLP",
     .also = "resid-pdrop residual-dropout hidden-dropout",
     .section = "Regularisation",
     .common = true},
    {.name = "attn-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(attention_dropout), .low = 0, .high = 0.95, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "dropout probability of the attention weights; for kinds that have weights",
     .also = "attn-pdrop attention-dropout",
     .section = "Regularisation"},
    {.name = "output-dropout", .argument = "P", .type = OPTION_REAL,
     .offset = FIELD(output_dropout), .low = 0, .high = 0.95, .fallback = "0.1",
     .stored = true, .fixed = true,
     .help = "dropout probability before the output head",
     .section = "Regularisation"},
    {.name = "penalty", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(output_penalty), .low = 0, .high = 1000, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "activation regularisation (AR, AWD-LSTM): weight of the mean squared output "
             "of the last layer in the loss",
     .also = "alpha activation-regularization",
     .section = "Regularisation"},
    {.name = "change-penalty", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(change_penalty), .low = 0, .high = 1000, .fallback = "0",
     .stored = true, .fixed = true,
     .help = "temporal activation regularisation (TAR, AWD-LSTM): weight of the mean "
             "squared change of that output from one position to the next",
     .also = "temporal-activation-regularization",
     .section = "Regularisation"},
    {.name = "conv", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(convolution), .fallback = "auto", .choice = convolution_name,
     .stored = true, .fixed = true,
     .help = "causal depthwise convolution of width 4 on queries, keys and values, then "
             "SiLU; residual: added to its input, without SiLU",
     .also = "short-conv use-short-conv conv-size",
     .section = "Architecture variants"},
    {.name = "head-norm", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(head_norm), .fallback = "auto", .choice = wish_name, .stored = true,
     .fixed = true,
     .help = "normalise each head's output (group norm)",
     .also = "group-norm output-norm",
     .section = "Architecture variants"},
    {.name = "out-gate", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(gate), .fallback = "auto", .choice = wish_name, .stored = true,
     .fixed = true,
     .help = "gate the attention output",
     .also = "gate output-gate use-gate",
     .section = "Architecture variants"},
    {.name = "carry-state", .type = OPTION_FLAG,
     .offset = FIELD(carry_state), .fallback = "no", .stored = true, .fixed = true,
     .help = "carry the recurrent state from one context window to the next (truncated "
             "BPTT); for kinds whose state decays or is bounded (see --attn help)",
     .also = "stateful tbptt",
     .section = "Order of the text and stateful training"},
    {.name = "window", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.window), .low = 1, .high = 65536, .fallback = "64", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "sliding-window size, including the current token",
     .also = "sliding-window attention-window window-size",
     .section = "Options of single attention kinds"},
    {.name = "period", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.period), .low = 1, .high = 65536, .fallback = "16", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "stride of the visible positions, or block length",
     .also = "stride block-length",
     .section = "Options of single attention kinds"},
    {.name = "summary", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.summary), .low = 1, .high = 65536, .fallback = "4", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "number of positions at the end of each block visible to all later "
             "positions",
     .section = "Options of single attention kinds"},
    {.name = "segment", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.segment), .low = 1, .high = 65536, .fallback = "32", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "block size for compression, in positions",
     .also = "chunk-size compress-block",
     .section = "Options of single attention kinds"},
    {.name = "rank", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.rank), .low = 1, .high = 65536, .fallback = "4", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "compressed positions per block",
     .also = "linformer-k projection-rank",
     .section = "Options of single attention kinds"},
    {.name = "features", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.features), .low = 0, .high = 65536, .fallback = "0", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "number of random features; 0: twice the head dimension",
     .also = "n-features nb-features random-features",
     .section = "Options of single attention kinds"},
    {.name = "redraw", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.redraw), .low = 0, .high = 1e9, .fallback = "0", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "draw new random features every N steps, except in the last fifth of training; "
             "0: never",
     .also = "redraw-interval feature-redraw-interval",
     .section = "Options of single attention kinds"},
    {.name = "hashes", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.hashes), .low = 1, .high = 64, .fallback = "2", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "LSH rounds",
     .also = "n-hashes num-hashes",
     .section = "Options of single attention kinds"},
    {.name = "buckets", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.buckets), .low = 2, .high = 4096, .fallback = "8", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "LSH buckets per round, an even number",
     .also = "n-buckets num-buckets",
     .section = "Options of single attention kinds"},
    {.name = "near", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(own.near), .low = 1, .high = 65536, .fallback = "32", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "visible positions in the same bucket",
     .section = "Options of single attention kinds"},
    {.name = "tau", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(own.tau), .low = 0.01, .high = 1, .fallback = "0.95", .stored = true,
     .fixed = true, .owners = &owners,
     .help = "slope of the kernel 1 + tau q.k",
     .section = "Options of single attention kinds"},
    {.name = "sink", .type = OPTION_FLAG,
     .offset = FIELD(own.sink), .fallback = "no", .stored = true, .fixed = true,
     .owners = &owners,
     .help = "learned attention sink: the logit of the extra 1 in the denominator",
     .also = "attention-sink",
     .section = "Options of single attention kinds"},
};
/* clang-format on */
const size_t model_option_count = sizeof model_option_rows / sizeof *model_option_rows;

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
