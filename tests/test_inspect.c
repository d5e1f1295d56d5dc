/* Attention weights: they reproduce what each kind does to its values, and the views show what
 * the model computes, whatever its words are. */
#include "eval/inspect/views.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/base/text.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("inspect");

/* --- weights of every kind --- */

enum { LENGTH = 37, LAYERS = 2, HEADS = 2, WIDTH = 8, WORDS = 11 };

/* A model after a pass over LENGTH tokens. */
typedef struct Rig {
    SmallModel small;
    Pass pass;
    int32_t tokens[LENGTH];
    real *weights; /* (HEADS, LENGTH, LENGTH) of the last inspected layer */
} Rig;

static ModelConfig config_of(size_t kind, size_t positions)
{
    ModelConfig config = {0};
    const Options group = {{config_group(&config)}};
    options_set_defaults(&group);
    config.attention = one_kind(kind);
    config.positions = positions_for(kind, positions);
    config.bias = true;
    config.layers = LAYERS;
    config.heads = HEADS;
    config.dim = HEADS * WIDTH;
    config.context = LENGTH;
    config.vocabulary = WORDS;
    config.kind_options.window = 7;
    config.kind_options.period = 5;
    config.kind_options.segment = 6;
    config.kind_options.rank = 3;
    config.kind_options.buckets = 4;
    return config;
}

static void draw_tokens(int32_t tokens[LENGTH])
{
    for (size_t i = 0; i < LENGTH; i++)
        tokens[i] = (int32_t)random_below(random_key(3, RANDOM_TEST, 0), i, WORDS);
}

static void rig_make(Rig *rig, ModelConfig config)
{
    *rig = (Rig){0};
    small_model_make(&rig->small, config, 0.3);
    pass_make(&rig->pass, &rig->small.model, 1, config.context, PASS_TRAIN);
    pass_allocate(&rig->pass, "a test");
    draw_tokens(rig->tokens);
    pass_forward(&rig->pass, rig->tokens, NULL);
    rig->weights = memory_new(HEADS * LENGTH * LENGTH, sizeof *rig->weights, "a test");
}

static void rig_free(Rig *rig)
{
    free(rig->weights);
    pass_free(&rig->pass);
    small_model_free(&rig->small);
}

static const real *row_of(const Rig *rig, size_t head, size_t i)
{
    return rig->weights + (head * LENGTH + i) * LENGTH;
}

/* A value of a position; kinds with a weight per feature have the same in all features. */
static double value_at(const AttentionKind *kind, size_t position, size_t feature)
{
    return sin((double)(position + (kind->gates_values ? 0 : 2 * feature)));
}

/* Overwrites the values of a layer, those of all copies alike, and runs its attention again. */
static void run_again(const Rig *rig, size_t layer, const AttentionKind *kind)
{
    const Pass *pass = &rig->pass;
    const LayerActivations *a = &pass->act.layer[layer];
    const AttentionSizes sizes = pass_attention_sizes(pass, layer);
    const AttentionHead head = attention_head(&sizes, 0);
    const size_t values = head.copies * head.out_stride;
    for (size_t t = 0; t < LENGTH; t++)
        for (size_t i = 0; i < values; i++)
            a->qkv[(t + 1) * head.stride - values + i] = (real)value_at(kind, t,
                                                                        i % head.value_width);
    AttentionBatch batch = {.qkv = a->qkv,
                            .gates = a->gates,
                            .rates = a->rates,
                            .params = pass->model->params.h[layer].kind_params,
                            .out = a->mixed,
                            .saved = a->saved,
                            .scratch = pass->scratch};
    attention_forward(&batch, &sizes);
}

/* W v equals the kind's output for the values v; its mean, if every feature has weights of its
 * own. */
static void check_products(const Rig *rig, size_t layer, const AttentionKind *kind)
{
    const AttentionSizes sizes = pass_attention_sizes(&rig->pass, layer);
    const size_t width = attention_head(&sizes, 0).value_width;
    run_again(rig, layer, kind);
    for (size_t place = 0; place < LENGTH * HEADS * width; place++) {
        const size_t i = place / (HEADS * width), head = place / width % HEADS;
        const real *out = rig->pass.act.layer[layer].mixed + place;
        double sum = 0, largest = 1, got = (double)*out;
        if (kind->gates_values && place % width != 0)
            continue;
        if (kind->gates_values)
            got = (double)vector_sum(out, width) / (double)width;
        for (size_t j = 0; j < LENGTH; j++) {
            double weight = (double)row_of(rig, head, i)[j];
            sum += weight * value_at(kind, j, place % width);
            largest += fabs(weight);
        }
        ck_assert_msg(fabs(sum - got) < 2000 * REAL_EPSILON * largest,
                      "%s: output %zu of position %zu is %.9g, the weights make %.9g",
                      kind->name, place % (HEADS * width), i, got, sum);
    }
}

/* Kinds that rotate features (RoPE) do so in the numerator only, so their weights do not sum to
 * 1. */
static void check_rows(const Rig *rig, const AttentionKind *kind)
{
    bool whole = kind->normalised && !(rig->pass.act.layer[0].angles && kind->applies_rope);
    for (size_t row = 0; row < HEADS * LENGTH; row++) {
        const real *weights = row_of(rig, row / LENGTH, row % LENGTH);
        double sum = 0;
        for (size_t j = 0; j < LENGTH; j++) {
            ck_assert_msg(j <= row % LENGTH || weights[j] == 0,
                          "%s: position %zu sees the future", kind->name, row % LENGTH);
            sum += (double)weights[j];
        }
        ck_assert_msg(!whole || fabs(sum - 1) < 1e-3,
                      "%s: the weights of position %zu sum to %.9g", kind->name, row % LENGTH,
                      sum);
    }
}

TEST(attention_weights_reproduce_the_output_of_the_kind)
{
    for (size_t kind = 0; attention_find(kind); kind++)
        for (size_t positions = POSITIONS_LEARNED; positions <= POSITIONS_ROTARY;
             positions += POSITIONS_ROTARY) {
            Rig rig;
            rig_make(&rig, config_of(kind, positions));
            for (size_t layer = 0; layer < LAYERS; layer++) {
                inspection_weights(&rig.pass, layer, rig.weights);
                check_products(&rig, layer, attention_find(kind));
                check_rows(&rig, attention_find(kind));
            }
            rig_free(&rig);
        }
}

/* --- summaries --- */

/* Words with control characters and markup; with <eos> and <unk> there are WORDS. */
static const char words[] =
    "<script>alert(1)</script> & \"' plain \x1b[31m \u202e \xef\xbf\xbe "
    "\\ long-long-long-long-long-long-word";

typedef struct Look {
    Rig rig;
    Vocabulary vocabulary;
    Inspection inspection;
} Look;

static void look_make_at(Look *look, const char *kind, size_t positions,
                         const InspectionOptions *options)
{
    size_t index = 0;
    while (strcmp(attention_name(index), kind) != 0)
        index++;
    rig_make(&look->rig, config_of(index, positions));
    look->vocabulary = vocabulary_of(TOKENIZER_WORD, words, 0, 1);
    ck_assert_uint_eq(look->vocabulary.count, WORDS);
    inspection_make(&look->inspection, &look->rig.small.model, &look->vocabulary,
                    look->rig.tokens, LENGTH, options);
}

static void look_make(Look *look, const char *kind, const InspectionOptions *options)
{
    look_make_at(look, kind, POSITIONS_LEARNED, options);
}

static void look_free(Look *look)
{
    inspection_free(&look->inspection);
    vocabulary_free(&look->vocabulary);
    rig_free(&look->rig);
}

static const InspectionOptions everything = {.shown = 1000, .guesses = 1000};

TEST(predictions_agree_with_the_loss)
{
    Look look;
    look_make(&look, "gated-delta", &everything);
    pass_loss(&look.rig.pass, look.rig.tokens, look.rig.tokens + 1);
    ck_assert_uint_eq(look.inspection.guesses, WORDS);
    for (size_t i = 0; i < LENGTH; i++) {
        const Prediction *prediction = &look.inspection.predictions[i];
        double sum = 0;
        for (size_t g = 0; g < WORDS; g++) {
            ck_assert(g == 0 ||
                      prediction->best[g].probability <= prediction->best[g - 1].probability);
            sum += prediction->best[g].probability;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-9);
        if (i + 1 == LENGTH) {
            ck_assert_uint_eq(prediction->rank, 0);
            continue;
        }
        ck_assert_int_eq(prediction->best[prediction->rank - 1].id, look.rig.tokens[i + 1]);
        ck_assert_double_eq_tol(-log(prediction->probability),
                                (double)look.rig.pass.scored.losses[i], 1e-4);
    }
    look_free(&look);
}

/* Row i, column j of a head without cuts. */
static double weight_at(const Inspection *inspection, size_t head, size_t i, size_t j)
{
    return (double)inspection->heads[head].weights[i * LENGTH + j];
}

TEST(hidden_columns_are_summed)
{
    enum { SHOWN = 5, FIRST = LENGTH - SHOWN };
    const InspectionOptions few = {.shown = SHOWN, .guesses = 2};
    Look all, cut;
    look_make(&all, "delta", &everything);
    look_make(&cut, "delta", &few);
    ck_assert_uint_eq(all.inspection.head_count, LAYERS * HEADS);
    ck_assert_uint_eq(cut.inspection.columns, SHOWN + 1);
    for (size_t head = 0; head < LAYERS * HEADS; head++)
        for (size_t i = 0; i < SHOWN; i++) {
            const real *row = cut.inspection.heads[head].weights + i * (SHOWN + 1);
            double sum = 0;
            for (size_t j = 0; j < FIRST; j++)
                sum += weight_at(&all.inspection, head, FIRST + i, j);
            ck_assert_double_eq_tol((double)row[0], sum, 1e-4);
            for (size_t j = 0; j < SHOWN; j++)
                ck_assert(row[1 + j] ==
                          (real)weight_at(&all.inspection, head, FIRST + i, FIRST + j));
        }
    for (size_t i = 0; i < SHOWN; i++)
        ck_assert(cut.inspection.predictions[i].best[1].id ==
                  all.inspection.predictions[FIRST + i].best[1].id);
    look_free(&cut);
    look_free(&all);
}

TEST(a_layer_and_a_head_can_be_chosen)
{
    const InspectionOptions one = {.layer = 2, .head = 1, .shown = 3, .guesses = 1};
    const InspectionOptions heads = {.head = 2, .shown = 3, .guesses = 1};
    Look look;
    look_make(&look, "linear", &one);
    ck_assert_uint_eq(look.inspection.head_count, 1);
    ck_assert(look.inspection.heads[0].layer == 1 && look.inspection.heads[0].head == 0);
    look_free(&look);
    look_make(&look, "linear", &heads);
    ck_assert_uint_eq(look.inspection.head_count, LAYERS);
    ck_assert(look.inspection.heads[1].layer == 1 && look.inspection.heads[1].head == 1);
    look_free(&look);
}

TEST(entropy_distance_and_order_come_from_the_weights)
{
    Look look;
    look_make(&look, "softmax", &everything);
    const HeadView *view = &look.inspection.heads[1];
    double spread = 0, back = 0;
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j <= i; j++) {
            double weight = weight_at(&look.inspection, 1, i, j);
            spread -= weight > 0 ? weight * log(weight) : 0;
            back += weight * (double)(i - j);
        }
    ck_assert_double_eq_tol(view->entropy, spread / LENGTH, 1e-5);
    ck_assert_double_eq_tol(view->distance, back / LENGTH, 1e-4);
    size_t columns[LENGTH];
    ck_assert_uint_eq(inspection_strongest(&look.inspection, view, 1, columns, 4), 2);
    ck_assert_uint_eq(inspection_strongest(&look.inspection, view, LENGTH - 1, columns, LENGTH),
                      LENGTH);
    for (size_t k = 1; k < LENGTH; k++)
        ck_assert(weight_at(&look.inspection, 1, LENGTH - 1, columns[k]) <=
                  weight_at(&look.inspection, 1, LENGTH - 1, columns[k - 1]));
    look_free(&look);
}

TEST(texts_are_cut_at_the_context_length)
{
    Look look;
    look_make(&look, "softmax", &everything);
    ck_assert_uint_eq(inspection_limit(&look.rig.small.model), LENGTH);
    look.rig.small.model.config.context = 100000;
    ck_assert_uint_eq(inspection_limit(&look.rig.small.model), 2048);
    look_free(&look);
    look_make(&look, "linear", &everything); /* with learned positions */
    ck_assert_uint_eq(inspection_limit(&look.rig.small.model), LENGTH);
    look.rig.small.model.config.positions = POSITIONS_ROTARY;
    ck_assert_uint_eq(inspection_limit(&look.rig.small.model), 2048);
    look_free(&look);
}

static const char *why_negative(const char *kind, size_t positions)
{
    Look look;
    const char *why = NULL;
    look_make_at(&look, kind, positions, &everything);
    for (size_t i = 0; i < look.inspection.head_count && !why; i++)
        why = inspection_why_negative(&look.inspection, &look.inspection.heads[i]);
    look_free(&look);
    return why;
}

TEST(negative_weights_have_a_reason)
{
    static const char *const positive[] = {"softmax", "linear", "relu", "taylor2", "window"};
    for (size_t i = 0; i < COUNT(positive); i++)
        ck_assert_ptr_null(why_negative(positive[i], POSITIONS_LEARNED));
    ck_assert_ptr_null(why_negative("softmax", POSITIONS_ROTARY));
    ck_assert_ptr_nonnull(
        strstr(why_negative("linear", POSITIONS_ROTARY), "RoPE rotates them"));
    ck_assert_ptr_nonnull(
        strstr(why_negative("delta", POSITIONS_LEARNED), "a delta rule also"));
    ck_assert_ptr_nonnull(strstr(why_negative("nystrom", POSITIONS_LEARNED), "compressed"));
}

/* --- views --- */

static const char rude[] = "</title><script>";
static const char *const names[] = {rude, "other\x1b[31m"};

static Inspections alone(const Inspection *inspection)
{
    return (Inspections){names, inspection, 1};
}

static void print_text(FILE *out, const void *content)
{
    const Inspections *all = content;
    for (int utf8 = 0; utf8 < 2; utf8++) {
        TextShape shape = {80, utf8 == 1};
        inspect_print_predictions(out, all, shape);
        for (size_t m = 0; m < all->count; m++) {
            const Inspection *inspection = &all->each[m];
            inspect_print_heads(out, inspection, shape);
            for (size_t i = 0; i < inspection->head_count; i++)
                inspect_print_picture(out, inspection, &inspection->heads[i], shape);
        }
    }
}

static void print_json(FILE *out, const void *content)
{
    inspect_print_json(out, content);
}

/* The output of a view, which must have no control characters. */
static char *view_of(void (*print)(FILE *out, const void *content), const void *content)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(stream);
    print(stream, content);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_uint_eq(strlen(text), size);
    for (const char *c = text; *c; c++)
        ck_assert_msg((unsigned char)*c >= ' ' || *c == '\n', "byte %d is printed", *c);
    ck_assert_ptr_null(strstr(text, "\u202e"));
    return text;
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *c = strstr(text, what); c; c = strstr(c + 1, what))
        count++;
    return count;
}

TEST(control_characters_and_markup_are_escaped)
{
    Look look;
    look_make(&look, "gated-delta", &everything);
    Inspections all = alone(&look.inspection);
    char *documents[] = {view_of(inspect_print_page, &all),
                         view_of(heatmap_print_document, &all)};
    for (size_t d = 0; d < 2; d++) {
        ck_assert_ptr_null(strstr(documents[d], "<script"));
        ck_assert_ptr_null(strstr(documents[d], "\xef\xbf\xbe"));
        ck_assert_ptr_nonnull(strstr(documents[d], "&lt;script&gt;alert(1)&lt;/script&gt;"));
        ck_assert_ptr_nonnull(strstr(documents[d], "&quot;&#39;"));
        ck_assert_ptr_nonnull(strstr(documents[d], "\\x1b[31m"));
        ck_assert_uint_eq(count_of(documents[d], "<title>"),
                          count_of(documents[d], "</title>"));
        ck_assert_uint_eq(count_of(documents[d], "class=\"map\""), LAYERS * HEADS);
        free(documents[d]);
    }
    free(view_of(print_text, &all));
    look_free(&look);
}

/* Two models with as many tokens: one table of predictions, maps in pairs, each with its name.
 */
TEST(two_models_stand_side_by_side)
{
    Look looks[2];
    look_make(&looks[0], "softmax", &everything);
    look_make_at(&looks[1], "linear", POSITIONS_ROTARY, &everything);
    Inspection each[] = {looks[0].inspection, looks[1].inspection};
    each[0].label = names[0];
    each[1].label = names[1];
    const Inspections all = {names, each, 2};
    char *page = view_of(inspect_print_page, &all);
    ck_assert_ptr_null(strstr(page, "<script"));
    ck_assert_ptr_nonnull(strstr(page, "<h1>&lt;/title&gt;&lt;script&gt; and other"));
    ck_assert_uint_eq(count_of(page, "class=\"map\""), 2 * LAYERS * HEADS);
    ck_assert_uint_eq(count_of(page, "class=\"pair\""), LAYERS * HEADS);
    ck_assert_uint_eq(count_of(page, "class=\"tokens"), 1);
    ck_assert_uint_eq(count_of(page, "class=\"why\""), 1);
    const char *left = strstr(page, "id=\"m1l2h1\""), *right = strstr(page, "id=\"m2l2h1\"");
    ck_assert(left && right && right > left && !strstr(left, "id=\"m2l1h2\""));
    char *picture = view_of(heatmap_print_document, &all);
    ck_assert_uint_eq(count_of(picture, "class=\"map\""), 2 * LAYERS * HEADS);
    char *text = view_of(print_text, &all);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_msg(text_columns(line) <= 80, "'%s'", line);
    free(page);
    free(picture);
    free(text);
    look_free(&looks[0]);
    look_free(&looks[1]);
}

/* Squares of few tokens are wider; a line of text, 13 high, fits into those of many. */
TEST(maps_are_large_enough_to_read)
{
    for (size_t shown = 9; shown <= LENGTH; shown += LENGTH - 9) {
        const InspectionOptions options = {.shown = shown, .guesses = 1};
        Look look;
        look_make(&look, "softmax", &options);
        size_t columns = look.inspection.columns, cell = shown == 9 ? 26 : 14;
        ck_assert_uint_ge(heatmap_width(&look.inspection), columns * cell);
        Inspections all = alone(&look.inspection);
        char *page = view_of(inspect_print_page, &all),
             *width = text_format("--map:%zupx", heatmap_width(&look.inspection));
        ck_assert_ptr_nonnull(strstr(page, width));
        ck_assert_ptr_nonnull(strstr(page, shown == 9 ? "h26v26h-26z" : "h14v14h-14z"));
        free(width);
        free(page);
        look_free(&look);
    }
}

/* A picture has a row for each token, and only the last columns if not all fit. */
TEST(tables_and_pictures_fit_the_screen)
{
    Look look;
    look_make(&look, "delta", &everything);
    const Inspections all = alone(&look.inspection);
    char *text = view_of(print_text, &all);
    ck_assert_ptr_null(strstr(text, "no room"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        ck_assert_msg(text_columns(line) <= 80, "'%s'", line);
    free(text);
    size_t size, rows = 0;
    FILE *stream = open_memstream(&text, &size);
    inspect_print_picture(stream, &look.inspection, look.inspection.heads,
                          (TextShape){40, true});
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_ptr_nonnull(strstr(text, "The first 10 of 37 columns"));
    char *picture = strstr(text, "screen.");
    for (char *line = strtok(picture, "\n"); line; line = strtok(NULL, "\n"), rows++)
        ck_assert_msg(text_columns(line) <= 40, "'%s'", line);
    ck_assert_uint_eq(rows, 2 + LENGTH);
    free(text);
    look_free(&look);
}

TEST(the_json_is_complete)
{
    const InspectionOptions few = {.shown = 5, .guesses = 2};
    Look look;
    look_make(&look, "delta", &few);
    const Inspections all = alone(&look.inspection);
    char *text = view_of(print_json, &all);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    const json_t *tokens = json_object_get(root, "tokens");
    const json_t *heads = json_object_get(root, "heads");
    ck_assert_uint_eq(json_array_size(tokens), 5);
    ck_assert_uint_eq(json_array_size(heads), LAYERS * HEADS);
    const json_t *weights = json_object_get(json_array_get(heads, 1), "weights");
    ck_assert_uint_eq(json_array_size(weights), 5);
    for (size_t i = 0; i < 5; i++) {
        const json_t *row = json_array_get(weights, i);
        ck_assert_uint_eq(json_array_size(row), i + 2);
        for (size_t j = 0; j < i + 2; j++)
            ck_assert_double_eq_tol(
                json_number_value(json_array_get(row, j)),
                (double)look.inspection.heads[1].weights[i * look.inspection.columns + j],
                1e-6);
    }
    json_decref(root);
    free(text);
    look_free(&look);
}
