/* The option rows of a model. */
#include "models/config.h"
#include "src/base/text.h"

static OPTION_NAMES(position_name, "learned", "sinusoidal", "rotary", "none", "auto");
static OPTION_NAMES(parts_name, "authors", "common");
OPTION_NAMES(tristate_name, "auto", "no", "yes");
static OPTION_NAMES(convolution_name, "auto", "no", "yes", "residual");
static OPTION_NAMES(norm_name, "pre", "post");
static OPTION_NAMES(head_bias_name, "no", "yes", "unigram");

static const char *owner_name(const Option *option, size_t index)
{
    for (size_t i = 0; attention_find(i); i++)
        if (config_kind_uses(attention_find(i), option->name) && index-- == 0)
            return attention_name(i);
    return NULL;
}

#define FIELD(name)           offsetof(ModelConfig, name)
#define DROPOUT(at, standard) OPTION_PROBABILITY(at, 0.95, standard)
#define VARIANT               OPTION_FIXED, .section = "Architecture variants"
#define REGULARISATION        OPTION_FIXED, .section = "Regularisation"
/* An option of single attention kinds. */
#define OF_KINDS \
    OPTION_FIXED, .owner = owner_name, .section = "Options of single attention kinds"

/* clang-format off */
static const Option rows[] = {
    {.name = "attn", .argument = "KIND", .type = OPTION_CHOICES,
     .offset = FIELD(attention), .fallback = "softmax", .choice = attention_name,
     OPTION_FIXED,
     .help = "attention kind; several joined by + take the layers in turn, and 3xKIND stands "
             "for KIND+KIND+KIND; --attn help lists them",
     .also = "attention attention-kind attn-type",
     .common = true},
    {.name = "layers", OPTION_WHOLE(FIELD(layers), 1, 256, "4"), OPTION_FIXED,
     .help = "number of layers (Transformer blocks)",
     .also = "n-layer n-layers num-layers num-hidden-layers depth nlayers",
     .common = true},
    {.name = "dim", OPTION_WHOLE(FIELD(dim), 1, 65536, "128"), OPTION_FIXED,
     .help = "model (embedding) dimension",
     .also = "n-embd d-model hidden-size embed-dim emb-dim embedding-dim model-dim width "
             "emsize",
     .common = true},
    {.name = "heads", OPTION_WHOLE(FIELD(heads), 1, 4096, "4"), OPTION_FIXED,
     .help = "number of attention heads; they split --dim evenly",
     .also = "n-head n-heads num-heads num-attention-heads nhead",
     .common = true},
    {.name = "ffn", OPTION_WHOLE(FIELD(ffn), 0, 1048576, "0"), OPTION_FIXED,
     .help = "hidden dimension of the MLP (feed-forward); 0: 4 x --dim",
     .also = "intermediate-size ffn-dim d-ff mlp-dim n-inner nhid"},
    {.name = "context", OPTION_WHOLE(FIELD(context), 1, 65536, "128"), OPTION_FIXED,
     .help = "context length (block size) in tokens",
     .also = "block-size seq-len sequence-length context-length max-seq-len seq-length ctx "
             "n-ctx n-positions bptt window-size",
     .common = true},
    {.name = "pos", OPTION_ONE_OF("KIND", FIELD(positions), position_name, "auto"),
     VARIANT,
     .help = "position encoding; rotary is RoPE, in layers without decay or delta rule; auto: what "
             "suits the attention kind",
     .also = "position position-encoding positional-encoding rope position-embedding-type"},
    {.name = "rope-base", OPTION_NUMBER(FIELD(rope_base), 1, 1e9, "10000"), VARIANT,
     .help = "base of RoPE's frequencies",
     .also = "rope-theta rotary-base rotary-emb-base"},
    {.name = "rope-share", OPTION_NUMBER(FIELD(rope_share), 0.001, 1, "1"), VARIANT,
     .help = "share of each head's features that RoPE rotates; the others pass unrotated",
     .also = "rotary-pct partial-rotary-factor rotary-dim rope-fraction"},
    {.name = "norm", OPTION_ONE_OF("PLACE", FIELD(norm), norm_name, "pre"), VARIANT,
     .help = "norm before each sublayer (pre) or after its residual sum (post)",
     .also = "norm-type normalization"},
    {.name = "parallel", OPTION_SWITCH(FIELD(parallel), "no"), VARIANT,
     .help = "parallel residual, as in GPT-J and GPT-NeoX: attention and MLP of a layer read "
             "the same state; needs --norm pre",
     .also = "parallel-residual use-parallel-residual parallel-attention parallel-block"},
    {.name = "rms-norm", OPTION_SWITCH(FIELD(rms_norm), "no"), VARIANT,
     .help = "RMSNorm in place of LayerNorm, without biases",
     .also = "rmsnorm use-rmsnorm rms-normalization"},
    {.name = "norm-eps", OPTION_NUMBER(FIELD(norm_eps), 1e-12, 1, "1e-05"), VARIANT,
     .help = "epsilon of LayerNorm and RMSNorm, added to the variance or mean square",
     .also = "layer-norm-eps layer-norm-epsilon rms-norm-eps layernorm-epsilon"},
    {.name = "bias", OPTION_SWITCH(FIELD(bias), "yes"), VARIANT,
     .help = "biases of LayerNorm and of the linear layers of attention and MLP; gates of "
             "attention kinds always have theirs",
     .also = "use-bias linear-bias attention-bias mlp-bias add-bias-linear"},
    {.name = "act", OPTION_ONE_OF("KIND", FIELD(activation), activation_name, "relu2"),
     VARIANT,
     .help = "activation function of the MLP; gelu is the tanh approximation, gelu-erf exact",
     .also = "activation activation-function hidden-act act-fn"},
    {.name = "tied", OPTION_SWITCH(FIELD(tied), "yes"), VARIANT,
     .help = "tie input and output embeddings",
     .also = "tie-weights tie-word-embeddings weight-tying tie-embeddings"},
    {.name = "head-bias", OPTION_ONE_OF("KIND", FIELD(head_bias), head_bias_name, "unigram"),
     VARIANT,
     .help = "bias of the output logits; unigram: initialised from the token frequencies",
     .also = "output-bias lm-head-bias"},
    {.name = "ngrams", OPTION_WHOLE(FIELD(ngrams), 1, 16, "1"), VARIANT,
     .help = "also embed the last 2 to N tokens together (hashed n-gram embeddings); 1: off",
     .also = "n-gram ngram ngram-embeddings bigram-hash"},
    {.name = "ngram-rows", OPTION_WHOLE(FIELD(ngram_rows), 1, 1 << 24, "16384"), VARIANT,
     .help = "rows of the table of n-gram embeddings, which n-grams of all lengths share",
     .also = "ngram-buckets ngram-vocab-size hash-buckets"},
    {.name = "logit-cap", OPTION_NUMBER(FIELD(logit_cap), 0, 40, "0"), VARIANT,
     .help = "logit soft-capping: X tanh(logit / X); 0: off",
     .also = "logit-softcap softcap final-logit-softcapping logit-soft-cap"},
    {.name = "zero-init", OPTION_SWITCH(FIELD(zero_init), "yes"), VARIANT,
     .help = "zero-initialise the output projections of attention and MLP"},
    {.name = "qk-norm", OPTION_SWITCH(FIELD(qk_norm), "yes"), VARIANT,
     .help = "QK-norm: RMSNorm of each head's queries and keys, with a learned gain per head; not "
             "with a decay or the delta rule, except mamba3",
     .also = "qk-layernorm qk-layer-norm"},
    {.name = "value-residual", OPTION_SWITCH(FIELD(value_residual), "no"), VARIANT,
     .help = "value residual (ResFormer): mix the first layer's values into later layers "
             "with values of equal width",
     .also = "resformer"},
    {.name = "word-dropout", DROPOUT(FIELD(word_dropout), "0"), REGULARISATION,
     .help = "embedding dropout by word type (AWD-LSTM): zero these words for a whole batch",
     .also = "embedding-dropout dropoute"},
    {.name = "ngram-dropout", DROPOUT(FIELD(ngram_dropout), "0"), REGULARISATION,
     .help = "zero rows of the table of n-gram embeddings (--ngrams) for a whole batch"},
    {.name = "input-dropout", DROPOUT(FIELD(input_dropout), "0.1"), REGULARISATION,
     .help = "dropout probability of the embeddings",
     .also = "embd-pdrop emb-dropout dropouti"},
    {.name = "dropout", DROPOUT(FIELD(dropout), "0"), REGULARISATION,
     .help = "dropout probability of both residual branches, attention and MLP",
     .also = "resid-pdrop residual-dropout hidden-dropout",
     .common = true},
    {.name = "attn-dropout", DROPOUT(FIELD(attention_dropout), "0"), REGULARISATION,
     .help = "dropout probability of the attention weights; only for softmax, softmax1, fox, "
             "window, strided, fixed, linformer and pooled",
     .also = "attn-pdrop attention-dropout"},
    {.name = "output-dropout", DROPOUT(FIELD(output_dropout), "0.1"), REGULARISATION,
     .help = "dropout probability before the output head"},
    {.name = "parts", OPTION_ONE_OF("WHOSE", FIELD(parts), parts_name, "authors"), VARIANT,
     .help = "design of the layer around the attention kind: as its authors published it, or the "
             "same convolution, head norm, output gate and widths for all kinds, no QK-norm",
     .also = "surroundings"},
    {.name = "conv", OPTION_ONE_OF("WHEN", FIELD(convolution), convolution_name, "auto"),
     VARIANT,
     .help = "causal depthwise convolution of width 4 on queries, keys and values, then "
             "SiLU; residual: added to its input, without SiLU",
     .also = "short-conv use-short-conv conv-size"},
    {.name = "head-norm", OPTION_ONE_OF("WHEN", FIELD(head_norm), tristate_name, "auto"),
     VARIANT,
     .help = "RMSNorm of each head's output (RetNet's group norm)",
     .also = "group-norm output-norm"},
    {.name = "out-gate", OPTION_ONE_OF("WHEN", FIELD(gate), tristate_name, "auto"), VARIANT,
     .help = "gate the attention output",
     .also = "gate output-gate use-gate"},
    {.name = "head-gate", OPTION_SWITCH(FIELD(head_gate), "no"), VARIANT,
     .help = "scale each head's output by a sigmoid gate, which starts at 1 (modded-nanogpt)",
     .also = "attn-gate attention-gate gated-attention"},
    {.name = "carry-state", OPTION_SWITCH(FIELD(carry_state), "no"), OPTION_FIXED,
     .help = "carry the recurrent state from one context window to the next (truncated "
             "BPTT); for kinds whose state decays or is bounded (see --attn help)",
     .also = "stateful tbptt",
     .section = "Order of the text and stateful training"},
    {.name = "window", OPTION_WHOLE(FIELD(kind_options.window), 1, 65536, "64"), OF_KINDS,
     .help = "sliding-window size, including the current token",
     .also = "sliding-window attention-window window-size"},
    {.name = "period", OPTION_WHOLE(FIELD(kind_options.period), 1, 65536, "16"), OF_KINDS,
     .help = "stride of the visible positions, or block length",
     .also = "stride block-length"},
    {.name = "summary", OPTION_WHOLE(FIELD(kind_options.summary), 1, 65536, "4"), OF_KINDS,
     .help = "number of positions at the end of each block visible to all later "
             "positions; a shorter block is visible whole"},
    {.name = "segment", OPTION_WHOLE(FIELD(kind_options.segment), 1, 65536, "32"), OF_KINDS,
     .help = "block size for compression, in positions",
     .also = "chunk-size compress-block"},
    {.name = "rank", OPTION_WHOLE(FIELD(kind_options.rank), 1, 65536, "4"), OF_KINDS,
     .help = "compressed positions per block",
     .also = "linformer-k projection-rank"},
    {.name = "features", OPTION_WHOLE(FIELD(kind_options.features), 0, 65536, "0"), OF_KINDS,
     .help = "number of random features; 0: twice the head dimension",
     .also = "n-features nb-features random-features"},
    {.name = "hashes", OPTION_WHOLE(FIELD(kind_options.hashes), 1, 64, "2"), OF_KINDS,
     .help = "LSH rounds",
     .also = "n-hashes num-hashes"},
    {.name = "buckets", OPTION_WHOLE(FIELD(kind_options.buckets), 2, 4096, "8"), OF_KINDS,
     .help = "LSH buckets per round, an even number",
     .also = "n-buckets num-buckets"},
    {.name = "near", OPTION_WHOLE(FIELD(kind_options.near), 1, 65536, "32"), OF_KINDS,
     .help = "visible positions in the same bucket"},
    {.name = "tau", OPTION_NUMBER(FIELD(kind_options.tau), 0.01, 0.999, "0.95"), OF_KINDS,
     .help = "slope of the kernel 1 + tau cos(q, k)"},
    {.name = "sink", OPTION_SWITCH(FIELD(kind_options.sink), "no"), OF_KINDS,
     .help = "learned attention sink: the logit of the extra 1 in the denominator",
     .also = "attention-sink"},
    {.name = "steps-per-token", OPTION_WHOLE(FIELD(kind_options.steps), 1, 8, "2"), OF_KINDS,
     .help = "steps of the delta rule per token, each with a key of its own",
     .also = "num-householder"},
    {.name = "negative-eigenvalues", OPTION_SWITCH(FIELD(kind_options.negative_eigenvalues), "no"),
     OF_KINDS,
     .help = "write rates of the delta rule between 0 and 2 instead of 1, for state tracking",
     .also = "allow-neg-eigval neg-eigval"},
};
/* clang-format on */

OptionGroup config_group(const ModelConfig *config)
{
    return OPTION_GROUP("Model", rows, config);
}

bool config_kind_uses(const AttentionKind *kind, const char *name)
{
    return text_is_listed(name, kind->uses);
}
