#include "models/adopt.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- settings --- */

/* What options of a model mean for weights that are taken over. All others add or drop tensors,
 * rows of positions or parameters of single kinds. */
static const char *const shape[] = {"layers",   "dim",      "heads", "ffn", "norm", "act",
                                    "rms-norm", "parallel", "parts", NULL}; /* must be equal */
static const char *const function[] = {
    "attn",     "pos",       "rope-base",   "rope-share",
    "norm-eps", "logit-cap", "carry-state", NULL}; /* the same weights compute another one */
static const char *const training[] = {
    "word-dropout", "ngram-dropout",  "input-dropout", "dropout",
    "attn-dropout", "output-dropout", "zero-init",     NULL}; /* a new training chooses anew */

bool adopt_sets_tokenizer(const char *name)
{
    static const char *const names[] = {"tokens",     "tokenizer-file", "lowercase",
                                        "vocab-size", "min-count",      "special-tokens",
                                        NULL};
    return text_is_among(name, names);
}

bool adopt_settings(const Options *options, const Checkpoint *from, bool tokenizer,
                    Error *error)
{
    const Options sources[] = {{{config_group(&from->config)}},
                               {{corpus_group(&from->corpus)}}};
    const Option *option;
    bool good = true;
    for (size_t s = 0; s < (tokenizer ? 2 : 1); s++)
        for (size_t i = 0; good && (option = option_at(&sources[s], i)); i++) {
            if (s == 0 ? text_is_among(option->name, training)
                       : !adopt_sets_tokenizer(option->name))
                continue;
            char *value = option_value(&sources[s], option);
            good = options_set(options, option->name, value, option->name, error);
            free(value);
        }
    return good;
}

/* --- parts --- */

/* How a part starts that the checkpoint lacks. */
typedef enum AdoptStart {
    START_NEW,         /* as in a new model, which changes the function */
    START_ZERO,        /* without effect */
    START_NGRAMS,      /* at 0; all anew if their lengths, table or tokens are others */
    START_CONVOLUTION, /* at 0 if it is residual */
    START_OF_KIND      /* belongs to the attention kind of its layer; at 0 if that stays */
} AdoptStart;

/* The kinds of tensors that models may lack. */
typedef struct AdoptPart {
    const char *names; /* what the names of its tensors contain */
    const char *title;
    AdoptStart start;
} AdoptPart;

static const AdoptPart parts[] = {
    {"wpe.weight", "learned positions", START_ZERO},
    {"ngrams.weight", "n-gram embeddings", START_NGRAMS},
    {".attn.conv.", "convolution", START_CONVOLUTION},
    {".attn.gate", "gates of the attention kind", START_OF_KIND},
    {".attn.rate", "rates of the attention kind", START_OF_KIND},
    {".attn.mix_gate", "value residual of the attention kind", START_OF_KIND},
    {".attn.token_shift", "token shift of the attention kind", START_OF_KIND},
    {".attn.own", "parameters of the attention kind", START_OF_KIND},
    {".attn.norm.", "head norm", START_NEW},
    {".attn.qk_norm.", "QK-norm", START_NEW},
    {".attn.value_mix", "value residual", START_ZERO},
    {".attn.out_gate", "output gate", START_NEW},
    {"lm_head.weight", "output head of its own", START_ZERO},
    {"lm_head.bias", "head bias", START_ZERO},
    {".attn.head_gate.", "head gate", START_ZERO},
    {".bias", "biases", START_ZERO},
    {".attn.c_", "projections of other widths", START_NEW},
};
enum { PARTS = sizeof parts / sizeof *parts };

/* The part that a tensor belongs to; NULL: all models have it. */
static const AdoptPart *part_of(const char *name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strstr(name, parts[i].names))
            return &parts[i];
    return NULL;
}

static bool same_kind(const ModelConfig *config, const Checkpoint *from, size_t layer)
{
    return config_kind(config, layer) == config_kind(&from->config, layer);
}

const ParamRow *adopt_source(const ParamRow *row, const ModelConfig *config,
                             const Checkpoint *from, bool *neutral)
{
    const ModelConfig *old = &from->config;
    const AdoptPart *part = part_of(row->name);
    const AdoptStart start = part ? part->start : START_NEW;
    const bool residual = config->convolution == CONVOLUTION_RESIDUAL;
    bool same = true; /* a tensor of that name means the same in both models */
    *neutral = start == START_ZERO;
    if (start == START_NGRAMS) {
        /* All lengths share the table, so another longest moves them. */
        same = config->ngrams == old->ngrams && config->ngram_rows == old->ngram_rows;
        *neutral = old->ngrams <= 1;
    } else if (start == START_CONVOLUTION) {
        same = residual == (old->convolution == CONVOLUTION_RESIDUAL);
        *neutral = residual;
    } else if (start == START_OF_KIND) { /* if the kind stays, the sink is learned only now */
        same = *neutral = same_kind(config, from, row->layer);
    }
    const ParamRow *source = same ? param_table_find(&from->table, row->name) : NULL;
    /* Another kind may have queries, values or output gates of other widths. */
    if (source && strstr(row->name, ".attn.") && !same_kind(config, from, row->layer) &&
        (source->shape[0] != row->shape[0] || source->shape[1] != row->shape[1]))
        source = NULL;
    return source;
}

/* --- conversion to another kind --- */

/* Whether a kind has learned features of queries and keys: as many parameters of its own as
 * project the queries of a head. */
static bool projects_itself(const ModelConfig *config, size_t layer)
{
    size_t width = config_head_width(config);
    AttentionSizes sizes = config_attention_sizes(config, layer);
    return !sizes.kind->params_random &&
           attention_param_count(&sizes) >= config->heads * width * width;
}

bool adopt_learns(const ParamRow *row, const ModelConfig *config, const Checkpoint *from)
{
    if (!strstr(row->name, ".attn.") || row->is_random_feature)
        return false;
    size_t layer = row->layer;
    bool neutral, projects = strstr(row->name, ".c_attn.") || strstr(row->name, ".c_proj.");
    return !adopt_source(row, config, from, &neutral) ||
           (projects && !same_kind(config, from, layer) && !projects_itself(config, layer));
}

bool adopt_has_same_kinds(const ModelConfig *config, const Checkpoint *from)
{
    size_t layer = 0;
    while (layer < config->layers && same_kind(config, from, layer))
        layer++;
    return layer == config->layers;
}

/* --- the shape --- */

/* The first of these options (NULL: those of single kinds) whose value differs; says so and
 * returns false. */
static bool same_options(const ModelConfig *config, const Checkpoint *from,
                         const char *const *names, Error *error)
{
    const Options new = {{config_group(config)}}, old = {{config_group(&from->config)}};
    const Option *option;
    bool same = true;
    for (size_t i = 0; same && (option = option_at(&new, i)); i++) {
        if (names ? !text_is_among(option->name, names) : !option->owner)
            continue;
        char *value = option_value(&new, option), *before = option_value(&old, option);
        same = strcmp(value, before) == 0;
        if (!same)
            error_set(
                error,
                "--%s %s differs from %s of %s, so its weights do not fit; leave --%s out, "
                "or train a new model without --init",
                option->name, value, before, from->file.path, option->name);
        free(value);
        free(before);
    }
    return same;
}

bool adopt_check(const ModelConfig *config, const Checkpoint *from, Error *error)
{
    if (!same_options(config, from, shape, error))
        return false;
    ModelConfig alike = *config;
    alike.vocabulary = from->config.vocabulary; /* tokens are mapped */
    ParamTable table;
    bool fits = true, neutral;
    param_table_make(&table, &alike);
    for (size_t i = 0; fits && i < table.count; i++) {
        const ParamRow *row = &table.rows[i];
        const ParamRow *source = adopt_source(row, config, from, &neutral);
        fits = !source || strcmp(row->name, "wpe.weight") == 0 ||
               (row->shape[0] == source->shape[0] && row->shape[1] == source->shape[1]);
    }
    param_table_free(&table);
    /* The shapes of other tensors depend on the options of single kinds. */
    return fits || (same_options(config, from, NULL, error) &&
                    error_set(error, "%s: its tensors do not fit", from->file.path));
}

/* --- differences --- */

typedef enum Difference { NEW_NEUTRAL, NEW, DROPPED, SAME } Difference;

/* What becomes of a part: of the rows of one table that lack a partner in the other. */
static Difference difference_of(const AdoptPart *part, const ParamTable *table,
                                const ModelConfig *config, const Checkpoint *from)
{
    bool neutral;
    for (size_t i = 0; i < table->count; i++)
        if (part_of(table->rows[i].name) == part &&
            !adopt_source(&table->rows[i], config, from, &neutral))
            return neutral ? NEW_NEUTRAL : NEW;
    for (size_t i = 0; i < from->table.count; i++)
        if (part_of(from->table.rows[i].name) == part &&
            !param_table_find(table, from->table.rows[i].name))
            return DROPPED;
    return SAME;
}

static void append_item(char **text, const char *item)
{
    if (item)
        text_append(text, "%s%s", **text ? "  " : "", item);
}

/* Lists the parts that differ, those of a sort in one item. */
static void append_parts(char **text, const ModelConfig *config, const Checkpoint *from)
{
    static const char *const sorts[] = {[NEW_NEUTRAL] = "new, without effect at the start: ",
                                        [NEW] = "new, changing the function: ",
                                        [DROPPED] = "dropped: "};
    char *items[SAME] = {NULL};
    ParamTable table;
    param_table_make(&table, config);
    for (size_t i = 0; i < PARTS; i++) {
        Difference sort = difference_of(&parts[i], &table, config, from);
        if (sort != SAME)
            text_append(&items[sort], "%s%s", items[sort] ? ", " : sorts[sort], parts[i].title);
    }
    param_table_free(&table);
    for (size_t sort = 0; sort < SAME; sort++) {
        append_item(text, items[sort]);
        free(items[sort]);
    }
}

/* Lists the settings that change what the same weights compute. */
static void append_changes(char **text, const ModelConfig *config, const Checkpoint *from)
{
    const Options new = {{config_group(config)}}, old = {{config_group(&from->config)}};
    const Option *option;
    char *changes = NULL;
    for (size_t i = 0; (option = option_at(&new, i)); i++) {
        bool counts = text_is_among(option->name, function) ||
                      (option->owner && config_has_option(config, option) &&
                       config_has_option(&from->config, option));
        char *value = option_value(&new, option), *before = option_value(&old, option);
        if (counts && strcmp(value, before) != 0)
            text_append(&changes, "%s%s %s was %s", changes ? ", " : "", option->name, value,
                        before);
        free(value);
        free(before);
    }
    append_item(text, changes);
    if (changes)
        text_append(text, ": the same weights compute another function");
    free(changes);
}

char *adopt_differences(const ModelConfig *config, const Checkpoint *from)
{
    char *text = memory_copy_text("");
    size_t contexts[] = {config->context, from->config.context};
    append_parts(&text, config, from);
    append_changes(&text, config, from);
    if (config->positions == POSITIONS_LEARNED && from->config.positions == POSITIONS_LEARNED &&
        contexts[0] != contexts[1])
        text_append(&text, "%s%zu of %zu learned positions kept", *text ? "  " : "",
                    contexts[contexts[1] < contexts[0]], contexts[0]);
    return text;
}
