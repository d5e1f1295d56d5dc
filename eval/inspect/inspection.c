#include "eval/inspect/inspection.h"
#include "eval/show/terminal.h"
#include "models/generator.h"
#include "src/base/text.h"
#include "src/math/vector.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights take T x T per head: 16 MB for this many tokens. */
#define READ_MOST ((size_t)2048)

size_t inspection_limit(const Model *model)
{
    size_t context = model->config.context;
    return model_is_endless(model) || context > READ_MOST ? READ_MOST : context;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static double size_of(real value, bool absolute)
{
    return absolute ? fabs((double)value) : (double)value;
}

/* The places of the largest values, or of the largest |values|, in descending order; of equal
 * ones the first. Returns how many there are, at most `most`. */
static size_t largest(const real *values, size_t count, bool absolute, size_t *at, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        double size = size_of(values[i], absolute);
        size_t place = found;
        while (place > 0 && size > size_of(values[at[place - 1]], absolute))
            place--;
        if (place == most)
            continue;
        found += found < most;
        memmove(at + place + 1, at + place, (found - 1 - place) * sizeof *at);
        at[place] = i;
    }
    return found;
}

/* --- weights --- */

/* Attention weights of any attention kind.
 *
 * Given queries, keys and gates, every kind is linear in the values v:
 *
 *   out[i] = sum over j <= i of W[i][j] v[j]
 *
 * Softmax attention computes W explicitly, other kinds only implicitly. Running any kind on
 * unit vectors as values gives Dv columns of W at a time, the width of a head's values. For
 * recurrent kinds these are the effective weights of the state, which may be negative. If a
 * kind has a weight for every feature of the values, W has their means: it takes a run per
 * column. */

/* Reruns the attention of a layer with unit vectors as values. */
typedef struct Probe {
    AttentionSizes sizes;
    AttentionBatch batch;
    AttentionHead head; /* the first */
    size_t values;      /* the first column of values in a row of qkv */
    real *qkv;          /* (T, head.stride) */
    real *out;          /* (T, head.out_stride) */
    real *saved;
} Probe;

static void lay_out(Probe *probe, Arena *arena)
{
    size_t length = probe->sizes.length;
    probe->qkv = arena_reals(arena, memory_product(length, probe->head.stride, "the weights"));
    probe->out = arena_reals(arena, length * probe->head.out_stride);
    probe->saved = arena_reals(arena, attention_memory(&probe->sizes).saved);
}

/* In every head, sets v[first + c] to the unit vector c, and all others to zero. */
static void set_values(const Probe *probe, size_t first)
{
    size_t width = probe->head.value_width;
    for (size_t t = 0; t < probe->sizes.length; t++) {
        real *v = probe->qkv + t * probe->head.stride + probe->values;
        memset(v, 0, (probe->head.stride - probe->values) * sizeof *v);
        /* of all heads, and all copies */
        const size_t heads = probe->sizes.heads * probe->head.copies;
        for (size_t head = 0; t >= first && t < first + width && head < heads; head++)
            v[head * width + t - first] = 1;
    }
}

static void read_columns(const Probe *probe, size_t first, real *weights)
{
    size_t length = probe->sizes.length, width = probe->head.value_width;
    size_t count = first + width < length ? width : length - first;
    for (size_t head = 0; head < probe->sizes.heads; head++)
        for (size_t t = 0; t < length; t++)
            memcpy(weights + (head * length + t) * length + first,
                   probe->out + t * probe->head.out_stride + head * width,
                   count * sizeof *weights);
}

/* For kinds with a weight per feature: sets v[first] to ones, and reads the means. */
static void probe_means(const Probe *probe, size_t first, real *weights)
{
    size_t length = probe->sizes.length, width = probe->head.value_width;
    for (size_t t = 0; t < length; t++)
        for (size_t i = 0; i < probe->head.stride - probe->values; i++)
            probe->qkv[t * probe->head.stride + probe->values + i] = t == first ? 1 : 0;
    attention_forward(&probe->batch, &probe->sizes);
    for (size_t head = 0; head < probe->sizes.heads; head++)
        for (size_t t = 0; t < length; t++)
            weights[(head * length + t) * length + first] =
                vector_sum(probe->out + t * probe->head.out_stride + head * width, width) /
                (real)width;
}

void inspection_weights(const Pass *pass, size_t layer, real *weights)
{
    assert(pass->batch == 1 && pass->use == PASS_TRAIN && !pass->carries);
    const LayerActivations *a = &pass->act.layer[layer];
    Probe probe = {.sizes = pass_attention_sizes(pass, layer)};
    probe.head = attention_head(&probe.sizes, 0);
    probe.values = probe.head.stride - probe.head.copies * probe.head.out_stride;
    Arena arena = {0};
    lay_out(&probe, &arena);
    arena_allocate(&arena, "the weights");
    lay_out(&probe, &arena);
    memcpy(probe.qkv, a->qkv, probe.sizes.length * probe.head.stride * sizeof(real));
    probe.batch = (AttentionBatch){.qkv = probe.qkv,
                                   .gates = a->gates,
                                   .rates = a->rates,
                                   .params = pass->model->params.h[layer].kind_params,
                                   .out = probe.out,
                                   .saved = probe.saved,
                                   .scratch = pass->scratch};
    for (size_t first = 0; first < probe.sizes.length;) {
        if (probe.head.kind->gates_values) {
            probe_means(&probe, first++, weights);
            continue;
        }
        set_values(&probe, first);
        attention_forward(&probe.batch, &probe.sizes);
        read_columns(&probe, first, weights);
        first += probe.head.value_width;
    }
    arena_free(&arena);
}

/* --- attention heads --- */

static void run_pass(Pass *pass, const Model *model, const int32_t *ids, size_t count)
{
    pass_make(pass, model, 1, count, PASS_TRAIN); /* keeps the inputs of every layer */
    pass_allocate(pass, "the text");
    pass_forward(pass, ids, NULL);
}

/* The entropy of the normalised |w| of a row in nats, and their mean distance. */
static void measure_row(HeadView *view, const real *row, size_t i)
{
    double sum = 0, entropy = 0, distance = 0;
    for (size_t j = 0; j <= i; j++)
        sum += fabs((double)row[j]);
    for (size_t j = 0; j <= i && sum > 0; j++) {
        double share = fabs((double)row[j]) / sum;
        entropy -= share > 0 ? share * log(share) : 0;
        distance += share * (double)(i - j);
    }
    view->entropy += entropy;
    view->distance += distance;
}

/* Summarises the weights (read, read) of a head. */
static void fill_view(const Inspection *inspection, HeadView *view, const real *weights)
{
    size_t read = inspection->read, first = read - inspection->shown;
    size_t columns = inspection->columns, rest = inspection->rest;
    view->weights = memory_new(inspection->shown * columns, sizeof(real), "the weights");
    for (size_t i = 0; i < read; i++) {
        const real *row = weights + i * read;
        measure_row(view, row, i);
        if (i < first)
            continue;
        real *shown = view->weights + (i - first) * columns;
        for (size_t j = 0; j < first; j++)
            shown[0] += row[j];
        memcpy(shown + rest, row + first, inspection->shown * sizeof *row);
        for (size_t j = rest; j < columns; j++) {
            double weight = (double)shown[j];
            view->low = weight < view->low ? weight : view->low;
            view->high = weight > view->high ? weight : view->high;
        }
    }
    view->full = fmax(view->high, -view->low);
    view->entropy /= (double)read;
    view->distance /= (double)read;
}

static bool is_wanted(size_t index, size_t wanted)
{
    return wanted == 0 || index + 1 == wanted;
}

static void view_heads(Inspection *inspection, const int32_t *ids,
                       const InspectionOptions *options)
{
    const ModelConfig *config = &inspection->model->config;
    size_t all = inspection->read * inspection->read;
    Pass pass;
    run_pass(&pass, inspection->model, ids, inspection->read);
    inspection->heads = memory_new(config->layers * config->heads, sizeof *inspection->heads,
                                   "the heads");
    real *weights = memory_new(memory_product(all, config->heads, "the weights"),
                               sizeof *weights, "the weights");
    for (size_t layer = 0; layer < config->layers; layer++) {
        if (!is_wanted(layer, options->layer))
            continue;
        inspection_weights(&pass, layer, weights);
        for (size_t head = 0; head < config->heads; head++) {
            if (!is_wanted(head, options->head))
                continue;
            HeadView *view = &inspection->heads[inspection->head_count++];
            *view = (HeadView){layer, head, .kind = config_kind(config, layer)};
            fill_view(inspection, view, weights + head * all);
        }
    }
    free(weights);
    pass_free(&pass);
}

/* --- predictions --- */

static void predict(const Inspection *inspection, Prediction *prediction, const real *logits,
                    int32_t next)
{
    size_t vocabulary = inspection->vocabulary->count, guesses = inspection->guesses;
    size_t *ids = memory_new(guesses, sizeof *ids, "guesses");
    largest(logits, vocabulary, false, ids, guesses);
    double most = (double)logits[ids[0]], sum = 0;
    for (size_t id = 0; id < vocabulary; id++)
        sum += exp((double)logits[id] - most);
    prediction->best = memory_new(guesses, sizeof *prediction->best, "guesses");
    for (size_t g = 0; g < guesses; g++)
        prediction->best[g] = (Guess){(int32_t)ids[g],
                                      exp((double)logits[ids[g]] - most) / sum};
    free(ids);
    if (next == TOKEN_NONE)
        return;
    prediction->rank = sampler_rank(logits, vocabulary, next);
    prediction->probability = exp((double)logits[next] - most) / sum;
}

static void make_predictions(Inspection *inspection, const int32_t *ids)
{
    size_t read = inspection->read, first = read - inspection->shown;
    Generator generator;
    generator_make(&generator, inspection->model, 1);
    inspection->predictions = memory_new(inspection->shown, sizeof *inspection->predictions,
                                         "the predictions");
    for (size_t i = 0; i < read; i++) {
        generator_read(&generator, &ids[i]);
        if (i >= first)
            predict(inspection, &inspection->predictions[i - first], generator.logits,
                    i + 1 < read ? ids[i + 1] : TOKEN_NONE);
    }
    generator_free(&generator);
}

/* --- the whole --- */

void inspection_make(Inspection *inspection, const Model *model, const Vocabulary *vocabulary,
                     const int32_t *ids, size_t count, const InspectionOptions *options)
{
    assert(count > 0 && count <= inspection_limit(model));
    size_t shown = least(count, options->shown), rest = shown < count;
    *inspection = (Inspection){.model = model,
                               .vocabulary = vocabulary,
                               .ids = ids + count - shown,
                               .read = count,
                               .shown = shown,
                               .rest = rest,
                               .columns = rest + shown,
                               .guesses = least(options->guesses, vocabulary->count)};
    view_heads(inspection, ids, options);
    make_predictions(inspection, ids);
}

void inspection_free(Inspection *inspection)
{
    for (size_t i = 0; i < inspection->head_count; i++)
        free(inspection->heads[i].weights);
    for (size_t i = 0; i < inspection->shown; i++)
        free(inspection->predictions[i].best);
    free(inspection->heads);
    free(inspection->predictions);
    *inspection = (Inspection){0};
}

size_t inspection_strongest(const Inspection *inspection, const HeadView *view, size_t i,
                            size_t *columns, size_t most)
{
    return largest(view->weights + i * inspection->columns, inspection_row_end(inspection, i),
                   true, columns, most);
}

const char *inspection_why_negative(const Inspection *inspection, const HeadView *view)
{
    const double rounding = 1e-5;
    const AttentionKind *kind = view->kind;
    if (!(-view->low > rounding * view->full))
        return NULL;
    if (!kind->engine->finite_state)
        return "Positions are compressed by factors that can be negative, so their softmax "
               "weights do not stay positive.";
    if (kind->normalised && kind->applies_rope &&
        inspection->model->config.positions == POSITIONS_ROTARY)
        return "The features of queries and keys are positive, but RoPE rotates them, and the "
               "product of a rotated query and a rotated key can be negative. The "
               "denominator is not rotated, so the weights of a row need not sum to 1.";
    return "Nothing makes the product of a query and a key positive, neither a softmax nor "
           "positive features; a delta rule also subtracts what it erases.";
}

/* --- names --- */

/* Blanks and zero bytes must be visible; words have none. */
static char *visible(const char *piece, size_t size, bool utf8)
{
    const char *blank = utf8 ? "␣" : size == 1 ? "' '" : " ";
    char *text = NULL;
    for (size_t i = 0; i < size; i++)
        if (piece[i] == ' ')
            text_append(&text, "%s", blank);
        else if (piece[i] == '\0')
            text_append(&text, "\\x00");
        else
            text_append(&text, "%c", piece[i]);
    return text;
}

char *inspection_word(const Inspection *inspection, int32_t id, size_t width, bool utf8)
{
    const Vocabulary *vocabulary = inspection->vocabulary;
    if (id == vocabulary->eos)
        return memory_copy_text(vocabulary->tokenizer->cut ? TOKEN_EOS : "\\n");
    const char *piece;
    size_t size = vocabulary_piece(vocabulary, id, &piece);
    char *text = visible(piece, size, utf8), *name = terminal_safe_name(text, width, utf8);
    free(text);
    return name;
}

char *inspection_token(const Inspection *inspection, size_t i, size_t width, bool utf8)
{
    char character[UTF8_LONGEST + 1];
    if (!vocabulary_completes(inspection->vocabulary, inspection->ids, i, character))
        return inspection_word(inspection, inspection->ids[i], width, utf8);
    char *safe = terminal_safe_name(character, SIZE_MAX, utf8);
    char *end = text_format(" (%s)", safe);
    size_t columns = text_columns(end);
    char *text = inspection_word(inspection, inspection->ids[i],
                                 width > columns ? width - columns : 0, utf8);
    text_append(&text, "%s", end);
    free(end);
    free(safe);
    return text;
}

char *inspection_column(const Inspection *inspection, size_t column, size_t width, bool utf8)
{
    if (column < inspection->rest)
        return terminal_safe_name("(earlier)", width, utf8);
    return inspection_token(inspection, column - inspection->rest, width, utf8);
}

char *inspection_place(const Inspection *inspection, size_t column, size_t width, bool utf8)
{
    char *word = inspection_column(inspection, column, width, utf8);
    if (column < inspection->rest)
        return word;
    char *place = text_format("#%zu %s",
                              inspection_number(inspection, column - inspection->rest), word);
    free(word);
    return place;
}

char *inspection_title(const Inspection *inspection, const HeadView *view, bool utf8)
{
    char *title = text_format(
        "%s%sLayer %zu, head %zu: %s", inspection->label ? inspection->label : "",
        inspection->label ? ": " : "", view->layer + 1, view->head + 1, view->kind->name);
    char *safe = terminal_safe_name(title, SIZE_MAX, utf8);
    free(title);
    return safe;
}

char *inspection_value(double value)
{
    bool hidden = value != 0 && fabs(value) < 0.005;
    return hidden ? text_format("%.0e", value) : text_format("%.2f", value);
}
