#include "models/adopt.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- settings --- */

AdoptRole adopt_role(const Option *option)
{
    static const char *const names[][16] = {
        [ROLE_SHAPE] = {"layers", "dim", "heads", "ffn", "norm", "act", "rms-norm", "parallel"},
        [ROLE_FUNCTION] = {"attn", "pos", "rope-base", "rope-share", "norm-eps", "logit-cap",
                           "carry-state"},
        [ROLE_PART] = {"context", "bias", "tied", "head-bias", "qk-norm", "value-residual",
                       "conv", "head-norm", "out-gate", "head-gate", "ngrams", "ngram-rows"},
        [ROLE_TRAINING] = {"word-dropout", "ngram-dropout", "input-dropout", "dropout",
                           "attn-dropout", "output-dropout", "zero-init"}};
    for (size_t role = 0; role < sizeof names / sizeof *names; role++)
        if (text_is_among(option->name, names[role]))
            return (AdoptRole)role;
    return option->owner ? ROLE_OF_KIND : ROLE_UNKNOWN;
}

bool adopt_sets_tokenizer(const char *name)
{
    static const char *const names[] = {"tokens",     "tokenizer-file", "lowercase",
                                        "vocab-size", "min-count",      "special-tokens",
                                        NULL};
    return text_is_among(name, names);
}

/* Takes over the checkpoint's options of the tokenizer, or those of the model that are not for
 * training. */
static bool copy_options(const Options *options, const Checkpoint *from, bool of_tokenizer,
                         Error *error)
{
    const Options all = {
        {of_tokenizer ? corpus_group(&from->corpus) : config_group(&from->config)}};
    const Option *option;
    bool good = true;
    for (size_t i = 0; good && (option = option_at(&all, i)); i++) {
        char *value = option_value(&all, option);
        if (of_tokenizer ? adopt_sets_tokenizer(option->name)
                         : adopt_role(option) != ROLE_TRAINING)
            good = options_set(options, option->name, value, option->name, error);
        free(value);
    }
    return good;
}

bool adopt_shape(const Options *options, const Checkpoint *from, Error *error)
{
    return copy_options(options, from, false, error);
}

bool adopt_tokenizer(const Options *options, const Checkpoint *from, Error *error)
{
    return copy_options(options, from, true, error);
}

/* --- parts --- */

static const AdoptPart parts[] = {
    {"wpe.weight", "learned positions", START_ZERO},
    {"ngrams.weight", "n-gram embeddings", START_NGRAMS},
    {".attn.conv.", "convolution", START_CONVOLUTION},
    {".attn.gate", "gates of the attention kind", START_OF_KIND},
    {".attn.own", "parameters of the attention kind", START_OF_KIND},
    {".attn.norm.", "head norm", START_NEW},
    {".attn.qk_norm.", "QK-norm", START_NEW},
    {".attn.value_mix", "value residual", START_ZERO},
    {".attn.out_gate.", "output gate", START_NEW},
    {"lm_head.weight", "output head of its own", START_ZERO},
    {"lm_head.bias", "head bias", START_ZERO},
    {".attn.head_gate.", "head gate", START_ZERO},
    {".bias", "biases", START_ZERO},
};
enum { PARTS = sizeof parts / sizeof *parts };

const AdoptPart *adopt_part(const char *name)
{
    for (size_t i = 0; i < PARTS; i++)
        if (strstr(name, parts[i].names))
            return &parts[i];
    return NULL;
}

/* With SiLU or added to its input. */
static bool is_residual(const ModelConfig *config)
{
    return config->convolution == CONVOLUTION_RESIDUAL;
}

/* n-grams of all lengths share the rows of a table, so another longest one moves them. */
static bool same_ngrams(const ModelConfig *config, const Checkpoint *from)
{
    return config->ngrams == from->config.ngrams &&
           config->ngram_rows == from->config.ngram_rows;
}

static bool same_kind(const ModelConfig *config, const Checkpoint *from, size_t layer)
{
    return config_kind(config, layer) == config_kind(&from->config, layer);
}

const ParamRow *adopt_source(const ParamRow *row, const ModelConfig *config,
                             const Checkpoint *from)
{
    const AdoptPart *part = adopt_part(row->name);
    AdoptStart start = part ? part->start : START_NEW;
    bool means_another = (start == START_OF_KIND && !same_kind(config, from, row->layer)) ||
                         (start == START_NGRAMS && !same_ngrams(config, from)) ||
                         (start == START_CONVOLUTION &&
                          is_residual(config) != is_residual(&from->config));
    return means_another ? NULL : param_table_find(&from->table, row->name);
}

bool adopt_is_neutral(const ParamRow *row, const ModelConfig *config, const Checkpoint *from)
{
    const AdoptPart *part = adopt_part(row->name);
    switch (part ? part->start : START_NEW) {
    case START_ZERO:
        return true;
    case START_NGRAMS:
        return from->config.ngrams <= 1;
    case START_CONVOLUTION:
        return is_residual(config);
    case START_OF_KIND: /* of the same kind, it is the sink that is learned only now */
        return same_kind(config, from, row->layer);
    case START_NEW:
        break;
    }
    return false;
}

/* --- conversion to another kind --- */

/* Whether a kind has learned features of queries and keys: as many parameters of its own as
 * project the queries of a head. */
static bool projects_itself(const ModelConfig *config, size_t layer)
{
    const AttentionKind *kind = config_kind(config, layer);
    size_t width = config_head_width(config);
    AttentionSizes sizes = config_attention_sizes(config, layer);
    return !kind->params_random &&
           attention_param_count(kind, &sizes) >= config->heads * width * width;
}

bool adopt_learns(const ParamRow *row, const ModelConfig *config, const Checkpoint *from)
{
    if (!strstr(row->name, ".attn.") || row->drawn)
        return false;
    size_t layer = row->layer;
    bool projects = strstr(row->name, ".c_attn.") || strstr(row->name, ".c_proj.");
    return !adopt_source(row, config, from) ||
           (projects && !same_kind(config, from, layer) && !projects_itself(config, layer));
}

bool adopt_keeps_kinds(const ModelConfig *config, const Checkpoint *from)
{
    size_t layer = 0;
    while (layer < config->layers && same_kind(config, from, layer))
        layer++;
    return layer == config->layers;
}

/* --- the shape --- */

/* The first option with this role whose value differs; says so and returns false. */
static bool same_options(const ModelConfig *config, const Checkpoint *from, AdoptRole role,
                         Error *error)
{
    const Options new = {{config_group(config)}}, old = {{config_group(&from->config)}};
    const Option *option;
    bool same = true;
    for (size_t i = 0; same && (option = option_at(&new, i)); i++) {
        if (adopt_role(option) != role)
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

static bool same_shape(const ParamRow *row, const ParamRow *source)
{
    return row->rank == source->rank && row->shape[0] == source->shape[0] &&
           (row->rank == 1 || row->shape[1] == source->shape[1]);
}

/* Tensors whose shape depends on the options of single kinds. */
static bool check_tensors(const ParamTable *table, const ModelConfig *config,
                          const Checkpoint *from, Error *error)
{
    for (size_t i = 0; i < table->count; i++) {
        const ParamRow *row = &table->rows[i], *source = adopt_source(row, config, from);
        if (!source || same_shape(row, source) || strcmp(row->name, "wpe.weight") == 0)
            continue;
        return same_options(config, from, ROLE_OF_KIND, error) &&
               error_set(error, "%s: its tensor %s has shape %s, the new model's %s",
                         from->file.path, row->name,
                         tensor_shape_label(source->rank, source->shape).text,
                         tensor_shape_label(row->rank, row->shape).text);
    }
    return true;
}

bool adopt_check(const ModelConfig *config, const Checkpoint *from, Error *error)
{
    if (!same_options(config, from, ROLE_SHAPE, error))
        return false;
    ModelConfig alike = *config;
    alike.vocabulary = from->config.vocabulary; /* tokens are mapped */
    ParamTable table;
    param_table_make(&table, &alike);
    bool good = check_tensors(&table, config, from, error);
    param_table_free(&table);
    return good;
}

/* --- differences --- */

typedef enum Difference { NEW_NEUTRAL, NEW, DROPPED, SAME } Difference;

/* What becomes of a part: of the rows of one table that lack a partner in the other. */
static Difference difference_of(const AdoptPart *part, const ParamTable *table,
                                const ModelConfig *config, const Checkpoint *from)
{
    for (size_t i = 0; i < table->count; i++)
        if (adopt_part(table->rows[i].name) == part &&
            !adopt_source(&table->rows[i], config, from))
            return adopt_is_neutral(&table->rows[i], config, from) ? NEW_NEUTRAL : NEW;
    for (size_t i = 0; i < from->table.count; i++)
        if (adopt_part(from->table.rows[i].name) == part &&
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
        AdoptRole role = adopt_role(option);
        bool counts = role == ROLE_FUNCTION ||
                      (role == ROLE_OF_KIND && config_has_option(config, option) &&
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
