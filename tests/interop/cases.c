/* Writes inputs and outputs of attention kinds, for programs that compute them in another way:
 *
 *   interop-cases DIRECTORY
 *
 * Each file DIRECTORY/KIND-N.safetensors is one head of one sequence: q, k, v, gates, rates,
 * params, the state before the first position, and the output. */
#include "models/safetensors.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/attention_case.h"

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

enum { MOST_COPIES = 3, MOST_TENSORS = 6 + 2 * MOST_COPIES };

static real *copy_of_reals(const real *from, size_t count)
{
    real *copy = memory_take(count + 1, sizeof *copy, "a copy");
    memcpy(copy, from, count * sizeof *copy);
    return copy;
}

/* A copy of the head's columns without gaps. Caller frees. */
static real *copy_of(const Case *c, Buffer buffer, size_t which, size_t stride)
{
    size_t width = case_width(c, buffer, which);
    real *copy = memory_take(c->head.length * width + 1, sizeof *copy, "a copy");
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

static void write_case(const Case *c, const char *folder, size_t number, bool strong)
{
    const AttentionHead *head = &c->head;
    const size_t T = head->length;
    TensorRecord records[MOST_TENSORS];
    size_t count = 0;
    Error error;
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
        copy_of_reals(c->at[PARAMS], c->param_count));
    if (c->carries)
        add(records, &count, "state", 1, c->count[START],
            copy_of_reals(c->at[START], c->count[START]));
    add(records, &count, "out", T, head->value_width, copy_of(c, OUT, 0, head->out_stride));
    char *path = text_format("%s/%s-%zu.safetensors", folder, c->kind->name, number);
    char *steps = text_format("%zu", head->options->steps);
    char *window = text_format("%zu", head->options->window);
    const MetadataPair metadata[] = {
        {"kind", c->kind->name},
        {"steps", steps},
        {"window", window},
        {"index", head->index ? "1" : "0"},
        {"strong", strong ? "yes" : "no"},
        {"negative-eigenvalues", head->options->negative_eigenvalues ? "yes" : "no"}};
    if (!safetensors_write(path, records, count, metadata, sizeof metadata / sizeof *metadata,
                           &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)records[i].data);
    free(path), free(steps), free(window);
}

static const char *directory;

/* The cases use Check's assertions, which work in a test only. */
START_TEST(every_case)
{
    const AttentionKind *kind;
    for (size_t k = 0; (kind = attention_find(k)); k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            if (shapes[s].carries && (!kind->finite_state || kind->carry == CARRY_NEVER))
                continue;
            Case c = case_make(kind, (Variant){.length = shapes[s].length,
                                               .width = shapes[s].width,
                                               .index = s % 2,
                                               .options = &case_options[s % 2],
                                               .carries = shapes[s].carries});
            spread_gates(&c, shapes[s].spread);
            case_forward(&c);
            write_case(&c, directory, s, shapes[s].spread > 1);
            case_free(&c);
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
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
