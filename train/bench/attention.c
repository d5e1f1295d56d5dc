/* bench attention: time of causal attention by sequence length, for any kinds. */
#include "train/bench/bench.h"
#include "eval/show/chart.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/math/random.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row {
    const AttentionKind *kind;
    size_t n, batch;
    Timing forward, backward;
    double utilisation;
    double megabytes; /* saved for backward */
} Row;

typedef struct Job {
    AttentionSizes sizes;
    real *qkv, *gates, *rates, *params, *out, *saved, *scratch;
    real *dout, *dqkv, *dgates, *drates, *dparams, *dheads;
} Job;

static AttentionBatch batch_of(const Job *job)
{
    return (AttentionBatch){.qkv = job->qkv,
                            .gates = job->gates,
                            .rates = job->rates,
                            .params = job->params,
                            .out = job->out,
                            .saved = job->saved,
                            .scratch = job->scratch,
                            .dout = job->dout,
                            .dqkv = job->dqkv,
                            .dgates = job->dgates,
                            .drates = job->drates,
                            .dparams = job->dparams,
                            .dheads = job->dheads};
}

static void run_forward(void *context)
{
    const Job *job = context;
    const AttentionBatch batch = batch_of(job);
    attention_forward(&batch, &job->sizes);
}

static void run_backward(void *context)
{
    const Job *job = context;
    const AttentionBatch batch = batch_of(job);
    attention_backward(&batch, &job->sizes);
}

static void lay_out(Job *job, Arena *arena)
{
    const AttentionHead head = attention_head(&job->sizes, 0);
    size_t rows = job->sizes.batch * job->sizes.length;
    size_t gates = rows * head.gates_stride, rates = rows * head.rates_stride;
    size_t count = attention_param_count(&job->sizes);
    job->qkv = arena_reals(arena, rows * head.stride);
    job->dqkv = arena_reals(arena, rows * head.stride);
    job->out = arena_reals(arena, rows * head.out_stride);
    job->dout = arena_reals(arena, rows * head.out_stride);
    job->gates = arena_reals(arena, gates);
    job->dgates = arena_reals(arena, gates);
    job->rates = arena_reals(arena, rates);
    job->drates = arena_reals(arena, rates);
    job->params = arena_reals(arena, count);
    job->dparams = arena_reals(arena, count);
    job->dheads = arena_reals(arena, attention_dheads_reals(&job->sizes));
    job->saved = arena_reals(arena, attention_memory(&job->sizes).saved);
    job->scratch = arena_reals(arena, attention_memory(&job->sizes).scratch);
}

static void fill(Job *job)
{
    const AttentionHead first = attention_head(&job->sizes, 0);
    size_t rows = job->sizes.batch * job->sizes.length;
    size_t gates = rows * first.gates_stride, rates = rows * first.rates_stride;
    size_t count = attention_param_count(&job->sizes) / job->sizes.heads;
    RandomKey key = random_key(1, RANDOM_TEST, 0);
    for (size_t i = 0; i < rows * first.stride; i++)
        job->qkv[i] = (real)(random_uniform(key, i) - 0.5);
    for (size_t i = 0; i < rows * first.out_stride; i++)
        job->dout[i] = (real)(random_uniform(key, i) - 0.5);
    for (size_t i = 0; i < gates; i++)
        job->gates[i] = (real)random_normal(key, i);
    for (size_t i = 0; i < rates; i++)
        job->rates[i] = (real)random_normal(key, i);
    for (size_t i = 0; count > 0 && i < job->sizes.heads; i++) {
        AttentionHead head = attention_head(&job->sizes, i);
        head.kind->start_params(job->params + i * count, &head, random_subkey(key, i));
    }
}

static Row measure(const AttentionKind *kind, size_t n, const BenchOptions *options,
                   double peak)
{
    Job job = {.sizes = config_attention_sizes(&options->model, 0)};
    job.sizes.kind = kind;
    if (options->model.parts != PARTS_COMMON)
        job.sizes.parts = NULL; /* those of this kind, not of the model's */
    job.sizes.batch = options->batch;
    job.sizes.length = n;
    Arena arena = {0};
    lay_out(&job, &arena);
    arena_allocate(&arena, "the benchmark");
    lay_out(&job, &arena);
    fill(&job);
    Row row = {.kind = kind,
               .n = n,
               .batch = job.sizes.batch,
               .forward = bench_time(run_forward, &job, options->repeats),
               .backward = bench_time(run_backward, &job, options->repeats)};
    AttentionHead head = attention_head(&job.sizes, 0);
    double flop = kind->engine->flop(&head) * (double)(job.sizes.batch * job.sizes.heads);
    row.utilisation = flop / row.forward.median / peak;
    row.megabytes = (double)(attention_memory(&job.sizes).saved * sizeof(real)) / 1e6;
    arena_free(&arena);
    return row;
}

/* The kinds of a list, or all. */
static const AttentionKind **read_kinds(const char *text)
{
    const AttentionKind **kinds = NULL, *kind;
    if (!text) {
        for (size_t i = 0; (kind = attention_find(i)); i++)
            arrput(kinds, kind);
        return kinds;
    }
    char *copy = memory_copy_text(text), *rest = copy;
    for (char *word; (word = strsep(&rest, ","));) {
        kind = attention_find(text_index(word, attention_name));
        if (!kind)
            die_usage("--kinds: there is no attention kind '%s'", word);
        arrput(kinds, kind);
    }
    free(copy);
    return kinds;
}

/* Softmax's time at the same length, divided by this one's; NaN without it. */
static double ratio_to_softmax(const Row *rows, const Row *row)
{
    for (size_t j = 0; j < arrlenu(rows); j++)
        if (rows[j].kind == &attention_softmax && rows[j].n == row->n)
            return rows[j].forward.median / row->forward.median;
    return (double)NAN;
}

static void report(const Row *rows, double peak, const BenchOptions *options)
{
    static const BenchColumn columns[] = {
        {"kind", "kind", 1, 0},
        {"n", "n", 1, 0},
        {"batch", "batch", 1, 0},
        {"forward_ms", "forward ms", 1, 3},
        {"backward_ms", "backward ms", 1, 3},
        {"ns_per_token", "ns/token", 1, 1},
        {"forward_utilisation", "% of peak", 100, 1},
        {"ratio_to_softmax", "x softmax", 1, 2},
        {"kept_mb", "saved MB", 1, 1},
        {"cost", "cost per token", 1, 0},
    };
    BenchTable table = BENCH_TABLE(columns);
    for (size_t i = 0; i < arrlenu(rows); i++) {
        const Row *row = &rows[i];
        double tokens = (double)(row->n * row->batch);
        bench_row(&table, json_string(row->kind->name), json_count(row->n),
                  json_count(row->batch), json_figure(row->forward.median * 1e3),
                  json_figure(row->backward.median * 1e3),
                  json_figure(row->forward.median / tokens * 1e9),
                  json_figure(row->utilisation), json_figure(ratio_to_softmax(rows, row)),
                  json_figure(row->megabytes), json_string(attention_cost(row->kind)));
    }
    if (bench_is_for_people(options))
        printf("%zu heads of dimension D = %zu, length T = n, causal\n", options->model.heads,
               config_head_width(&options->model));
    bench_report(options, json_pack("{s:f}", "peak_gflops", peak / 1e9), &table);
}

/* "Time of causal attention: softmax and linear", without the names if they are many. */
static char *default_title(const AttentionKind **kinds)
{
    enum { MOST_NAMES = 3 };
    char *title = memory_copy_text("Time of causal attention by length");
    for (size_t k = 0; k < arrlenu(kinds) && arrlenu(kinds) <= MOST_NAMES; k++)
        text_append(&title, "%s%s", k == 0 ? ": " : text_joint(k, arrlenu(kinds)),
                    kinds[k]->name);
    return title;
}

/* Time against length, both logarithmic: straight lines whose slope is the exponent. The rows
 * are ordered by kind. */
static void write_svg(const Row *rows, const AttentionKind **kinds, const BenchOptions *options)
{
    size_t lengths = arrlenu(rows) / arrlenu(kinds);
    Chart chart = {.x_label = "length (tokens)",
                   .y_label = "forward pass (milliseconds)",
                   .logarithmic = true};
    for (size_t k = 0; k < arrlenu(kinds); k++) {
        ChartSeries *series = chart_add(&chart, kinds[k]->name, NULL, 0);
        for (size_t i = k * lengths; i < (k + 1) * lengths; i++)
            arrput(series->points,
                   ((ChartPoint){(double)rows[i].n, rows[i].forward.median * 1e3}));
    }
    char *title = options->title ? memory_copy_text(options->title) : default_title(kinds);
    Error error;
    if (!svg_write(options->svg, &chart, title, &error))
        die("%s", error.text);
    free(title);
    chart_free(&chart);
}

void bench_attention(const BenchOptions *options)
{
    const AttentionKind **kinds = read_kinds(options->kinds);
    size_t *lengths = bench_list(options->n, "n");
    double peak = bench_peak(options->repeats);
    Row *rows = NULL;
    for (size_t k = 0; k < arrlenu(kinds); k++)
        for (size_t i = 0; i < arrlenu(lengths); i++) {
            Row row = measure(kinds[k], lengths[i], options, peak);
            arrput(rows, row);
        }
    report(rows, peak, options);
    if (options->svg)
        write_svg(rows, kinds, options);
    arrfree(kinds);
    arrfree(lengths);
    arrfree(rows);
}
