/* Writes inputs and outputs of attention kinds, for programs that compute them in another way:
 *
 *   interop-cases DIRECTORY
 *
 * Each file DIRECTORY/KIND-N.safetensors is one head of one sequence: q, k, v, gates, rates,
 * params, the state before the first position, and the output. Each file
 * DIRECTORY/layers-KIND.safetensors is the attention layers of a model: their weights, their
 * input, and the output of each. */
#include "models/block.h"
#include "models/safetensors.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/attention_case.h"
#include "tests/rig.h"
#include "tests/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Usual and odd sizes; gates of the usual size and strong ones; whole sequences, and those that
 * continue from a state. */
static const struct {
    size_t length, width;
    real spread; /* of gates and rates */
    bool carries;
} shapes[] = {{64, 16, 1, false},  {65, 16, 4, false}, {131, 10, 1, false}, {1, 4, 1, false},
              {130, 32, 1, false}, {70, 6, 6, true},   {129, 16, 1, true}};

enum { MOST_COPIES = 3, MOST_TENSORS = 64 };

static const char *directory;

/* The metadata ends with an empty pair. */
static void write_file(const char *name, const TensorRecord *records, size_t count,
                       const MetadataPair *metadata)
{
    size_t pairs = 0;
    Error error;
    char *path = text_format("%s/%s.safetensors", directory, name);
    while (metadata[pairs].key)
        pairs++;
    if (!safetensors_write(path, records, count, metadata, pairs, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    free(path);
}

/* --- the core of a kind, one head --- */

static real *copy_of_reals(const real *from, size_t count)
{
    real *copy = memory_new(count + 1, sizeof *copy, "a copy");
    memcpy(copy, from, count * sizeof *copy);
    return copy;
}

/* A copy of the head's columns without gaps. Caller frees. */
static real *copy_of(const Case *c, Buffer buffer, size_t which, size_t stride)
{
    size_t width = case_width(c, buffer, which);
    real *copy = memory_new(c->head.length * width + 1, sizeof *copy, "a copy");
    for (size_t t = 0; t < c->head.length; t++)
        memcpy(copy + t * width, case_columns(c, buffer, which) + t * stride,
               width * sizeof *copy);
    return copy;
}

static void add(TensorRecord *records, size_t *count, const char *name, size_t rows,
                size_t columns, real *data)
{
    if (columns > 0)
        records[(*count)++] = (TensorRecord){.name = name,
                                             .type = TENSOR_REAL,
                                             .rank = 2,
                                             .shape = {rows, columns},
                                             .data = data};
    else
        free(data);
}

static void spread_gates(Case *c, real factor)
{
    for (size_t t = 0; t < c->head.length; t++) {
        real *gates = case_columns(c, GATES, 0) + t * c->head.gates_stride;
        real *rates = case_columns(c, RATES, 0) + t * c->head.rates_stride;
        for (size_t i = 0; i < c->gates; i++)
            gates[i] *= factor;
        for (size_t i = 0; i < c->rates; i++)
            rates[i] *= factor;
    }
}

static void write_case(const Case *c, size_t number, bool strong)
{
    const AttentionHead *head = &c->head;
    const size_t T = head->length;
    TensorRecord records[MOST_TENSORS];
    size_t count = 0;
    char names[MOST_COPIES * 2 + 1][8];
    for (size_t which = 0; which < case_parts(c); which++) {
        const bool value = which > head->copies;
        size_t copy = which == 0 ? 0 : which - (value ? head->copies : 0);
        snprintf(names[which], sizeof *names, copy > 1 ? "%c%zu" : "%c",
                 which == 0 ? 'q'
                 : value    ? 'v'
                            : 'k',
                 copy);
        add(records, &count, names[which], T, case_width(c, QKV, which),
            copy_of(c, QKV, which, head->stride));
    }
    add(records, &count, "gates", T, c->gates, copy_of(c, GATES, 0, head->gates_stride));
    add(records, &count, "rates", T, c->rates, copy_of(c, RATES, 0, head->rates_stride));
    add(records, &count, "params", 1, c->param_count,
        copy_of_reals(c->memory[PARAMS], c->param_count));
    if (c->carries)
        add(records, &count, "state", 1, c->count[START],
            copy_of_reals(c->memory[START], c->count[START]));
    add(records, &count, "out", T, head->value_width, copy_of(c, OUT, 0, head->out_stride));
    char *name = text_format("%s-%zu", c->kind->name, number);
    char *steps = text_format("%zu", head->options->steps);
    char *window = text_format("%zu", head->options->window);
    const MetadataPair metadata[] = {
        {"kind", c->kind->name},
        {"steps", steps},
        {"window", window},
        {"index", head->index ? "1" : "0"},
        {"strong", strong ? "yes" : "no"},
        {"negative-eigenvalues", head->options->negative_eigenvalues ? "yes" : "no"},
        {0}};
    write_file(name, records, count, metadata);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)records[i].data);
    free(name), free(steps), free(window);
}

/* The cases use Check's assertions, which work in a test only. */
START_TEST(every_case)
{
    const AttentionKind *kind;
    for (size_t k = 0; (kind = attention_find(k)); k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            if (shapes[s].carries &&
                (!kind->engine->finite_state || kind->engine->carry == CARRY_NEVER))
                continue;
            Case c = case_make(kind, (Variant){.length = shapes[s].length,
                                               .width = shapes[s].width,
                                               .index = s % 2,
                                               .options = &case_options[s % 2],
                                               .carries = shapes[s].carries});
            spread_gates(&c, shapes[s].spread);
            case_forward(&c);
            write_case(&c, s, shapes[s].spread > 1);
            case_free(&c);
        }
}
END_TEST

/* --- the layer around it --- */

/* A model of two layers with the defaults of the kind. Its weights are random, also those that
 * start at 0 or 1. */
static void make_layers(Rig *rig, size_t kind)
{
    ModelConfig config = {.vocabulary = 2};
    const Options options = {{config_group(&config)}};
    Error error;
    options_set_defaults(&options);
    ck_assert(options_read_text(&options, "layers = 2\ndim = 72\nheads = 3\ncontext = 70\n",
                                "here", &error));
    config.attention = one_kind(kind);
    rig_make(rig, config, 2, 0.2);
}

/* Both layers read the same input, without norm and residual connection. */
static void run_layers(Pass *pass)
{
    real *const *r = pass->act.residual;
    gemm_set_workspace(pass->scratch, pass->scratch_reals);
    for (size_t i = 0; i < pass->rows * pass->model->config.dim; i++)
        r[0][i] = (real)random_normal(random_key(1, RANDOM_TEST, 3), i);
    for (size_t layer = 0; layer < pass->model->config.layers; layer++)
        attention_branch_forward(pass, layer, r[0], NULL, NULL);
}

static void write_layers(const Model *model, const Pass *pass)
{
    const ModelConfig *config = &model->config;
    const AttentionKind *kind = config_kind(config, 0);
    const char *const streams[] = {"u", "y.0", "y.1"};
    const size_t at[] = {0, 1, 3}; /* of the residual stream, without residual connections */
    TensorRecord records[MOST_TENSORS];
    size_t count = 0;
    for (size_t i = 0; i < model->table.count; i++) {
        const ParamRow *row = &model->table.rows[i];
        if (strstr(row->name, ".attn."))
            records[count++] = (TensorRecord){.name = row->name,
                                              .type = TENSOR_REAL,
                                              .rank = row->rank,
                                              .shape = {row->shape[0], row->shape[1]},
                                              .data = model->base + row->offset};
    }
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        records[count++] = (TensorRecord){.name = streams[i],
                                          .type = TENSOR_REAL,
                                          .rank = 3,
                                          .shape = {pass->batch, pass->length, config->dim},
                                          .data = pass->act.residual[at[i]]};
    char *name = text_format("layers-%s", kind->name);
    char *heads = text_format("%zu", config->heads);
    char *width = text_format("%zu", config_key_width(config, 0));
    const MetadataPair metadata[] = {
        {"kind", kind->name}, {"heads", heads}, {"key width", width}, {0}};
    write_file(name, records, count, metadata);
    free(name), free(heads), free(width);
}

START_TEST(every_layer)
{
    for (size_t kind = 0; attention_find(kind); kind++) {
        Rig rig;
        make_layers(&rig, kind);
        run_layers(&rig.pass);
        write_layers(&rig.model, &rig.pass);
        rig_free(&rig);
    }
}
END_TEST

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    directory = argv[1];
    Suite *suite = suite_create("cases");
    TCase *tests = tcase_create("cases");
    tcase_add_test(tests, every_case);
    tcase_add_test(tests, every_layer);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
