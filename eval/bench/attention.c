/* bench attention: time of causal attention by sequence length, for any kinds. */
#include "eval/bench/bench.h"
#include "eval/show/svg.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/random.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Row {
    const AttentionKind *kind;
    size_t n, batch;
    Timing forward, backward;
    double utilisation, ratio; /* ratio: to softmax at the same length; NaN without it */
    double megabytes;          /* saved for backward */
} Row;

typedef struct Job {
    const AttentionKind *kind;
    AttentionSizes sizes;
    real *qkv, *gates, *own, *out, *dout, *saved, *scratch, *dqkv, *dgates, *down;
} Job;

static AttentionBatch batch_of(const Job *job)
{
    return (AttentionBatch){.qkv = job->qkv,
                            .gates = job->gates,
                            .own = job->own,
                            .out = job->out,
                            .saved = job->saved,
                            .scratch = job->scratch};
}

static void run_forward(void *context)
{
    Job *job = context;
    AttentionBatch batch = batch_of(job);
    attention_forward(job->kind, &batch, &job->sizes);
}

static void run_backward(void *context)
{
    Job *job = context;
    AttentionBatch batch = batch_of(job);
    batch.dout = job->dout;
    batch.dqkv = job->dqkv;
    batch.dgates = job->dgates;
    batch.down = job->down;
    attention_backward(job->kind, &batch, &job->sizes);
}

static void lay_out(Job *job, Arena *arena)
{
    size_t rows = job->sizes.batch * job->sizes.length,
           all = job->sizes.heads * job->sizes.width;
    size_t gates = rows * attention_gates(job->kind, &job->sizes);
    size_t own = attention_own_reals(job->kind, &job->sizes);
    job->qkv = arena_reals(arena, rows * 3 * all);
    job->dqkv = arena_reals(arena, rows * 3 * all);
    job->out = arena_reals(arena, rows * all);
    job->dout = arena_reals(arena, rows * all);
    job->gates = arena_reals(arena, gates);
    job->dgates = arena_reals(arena, gates);
    job->own = arena_reals(arena, own);
    job->down = arena_reals(arena, own);
    job->saved = arena_reals(arena, attention_memory(job->kind, &job->sizes).saved);
    job->scratch = arena_reals(arena, attention_memory(job->kind, &job->sizes).scratch);
}

static void fill(Job *job)
{
    size_t rows = job->sizes.batch * job->sizes.length,
           all = job->sizes.heads * job->sizes.width;
    size_t gates = rows * attention_gates(job->kind, &job->sizes);
    size_t own = attention_own_reals(job->kind, &job->sizes) / job->sizes.heads;
    RandomKey key = random_key(1, RANDOM_TEST, 0);
    for (size_t i = 0; i < rows * 3 * all; i++)
        job->qkv[i] = (real)(random_uniform(key, i) - 0.5);
    for (size_t i = 0; i < rows * all; i++)
        job->dout[i] = (real)(random_uniform(key, i) - 0.5);
    for (size_t i = 0; i < gates; i++)
        job->gates[i] = (real)random_normal(key, i);
    for (size_t i = 0; own > 0 && i < job->sizes.heads; i++) {
        AttentionHead head = attention_head(job->kind, &job->sizes, i);
        job->kind->start_own(job->own + i * own, &head, random_subkey(key, i));
    }
}

static Row measure(const AttentionKind *kind, size_t n, const BenchOptions *options,
                   double roof)
{
    Job job = {.kind = kind,
               .sizes = {.batch = options->batch,
                         .length = n,
                         .heads = options->model.heads,
                         .width = config_head_width(&options->model),
                         .options = &options->model.own}};
    Arena arena = {0};
    lay_out(&job, &arena);
    arena_allocate(&arena, "the benchmark");
    lay_out(&job, &arena);
    fill(&job);
    Row row = {.kind = kind,
               .n = n,
               .batch = job.sizes.batch,
               .ratio = (double)NAN,
               .forward = bench_time(run_forward, &job, options->repeats),
               .backward = bench_time(run_backward, &job, options->repeats)};
    AttentionHead head = attention_head(kind, &job.sizes, 0);
    double flop = kind->flop(&head) * (double)(job.sizes.batch * job.sizes.heads);
    row.utilisation = flop / row.forward.median / roof;
    row.megabytes = (double)(attention_memory(kind, &job.sizes).saved * sizeof(real)) / 1e6;
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
        size_t i = 0;
        while (attention_name(i) && strcmp(attention_name(i), word) != 0)
            i++;
        if (!attention_find(i))
            die_usage("--kinds: there is no attention kind '%s'", word);
        kind = attention_find(i);
        arrput(kinds, kind);
    }
    free(copy);
    return kinds;
}

static void set_ratios(Row *rows)
{
    for (size_t i = 0; i < arrlenu(rows); i++)
        for (size_t j = 0; j < arrlenu(rows); j++)
            if (rows[j].kind == &attention_softmax && rows[j].n == rows[i].n)
                rows[i].ratio = rows[j].forward.median / rows[i].forward.median;
}

static void print_table(const Row *rows, size_t width, size_t heads)
{
    printf("%zu sequences, %zu heads of width D = %zu, length T = n, causal\n"
           "%-12s %7s %12s %12s %10s %10s %9s %9s  %s\n",
           rows[0].batch, heads, width, "kind", "n", "forward ms", "backward ms", "ns/token",
           "of roof", "softmax/", "kept MB", "a token costs");
    for (size_t i = 0; i < arrlenu(rows); i++) {
        const Row *row = &rows[i];
        double tokens = (double)(row->n * row->batch);
        printf("%-12s %7zu %12.3f %12.3f %10.1f %9.1f%% %9.2f %9.1f  %s\n", row->kind->name,
               row->n, row->forward.median * 1e3, row->backward.median * 1e3,
               row->forward.median / tokens * 1e9, 100 * row->utilisation, row->ratio,
               row->megabytes, row->kind->cost);
    }
}

static void print_json(const Row *rows, double roof)
{
    char *json = text_format("{\"roof_gflops\": %.6g, \"rows\": [", roof / 1e9);
    for (size_t i = 0; i < arrlenu(rows); i++) {
        const Row *row = &rows[i];
        text_append(&json,
                    "%s{\"kind\": \"%s\", \"n\": %zu, \"batch\": %zu, \"forward_ms\": %.6g, "
                    "\"backward_ms\": %.6g, \"forward_utilisation\": %.6g, "
                    "\"ratio_to_softmax\": ",
                    i ? ", " : "", row->kind->name, row->n, row->batch,
                    row->forward.median * 1e3, row->backward.median * 1e3, row->utilisation);
        text_append_json_number(&json, row->ratio);
        text_append(&json, ", \"kept_mb\": %.6g}", row->megabytes);
    }
    printf("%s]}\n", json);
    free(json);
}

static void write_csv(const Row *rows, const char *path)
{
    char *csv = memory_copy_text("kind,n,batch,forward_ms,backward_ms,forward_utilisation,"
                                 "ratio_to_softmax,kept_mb\n");
    for (size_t i = 0; i < arrlenu(rows); i++)
        text_append(&csv, "%s,%zu,%zu,%.6g,%.6g,%.6g,%.6g,%.6g\n", rows[i].kind->name,
                    rows[i].n, rows[i].batch, rows[i].forward.median * 1e3,
                    rows[i].backward.median * 1e3, rows[i].utilisation, rows[i].ratio,
                    rows[i].megabytes);
    Error error;
    if (!file_replace_text(path, csv, &error))
        die("%s", error.text);
    free(csv);
}

/* "Time of causal attention: softmax and linear", without the names if they are many. */
static char *default_title(const AttentionKind **kinds)
{
    enum { MOST_NAMES = 3 };
    char *title = memory_copy_text("Time of causal attention by length");
    for (size_t k = 0; k < arrlenu(kinds) && arrlenu(kinds) <= MOST_NAMES; k++)
        text_append(&title, "%s%s",
                    k == 0                   ? ": "
                    : k + 1 < arrlenu(kinds) ? ", "
                                             : " and ",
                    kinds[k]->name);
    return title;
}

/* Time against length, both logarithmic: straight lines whose slope is the exponent. */
static void write_svg(const Row *rows, const AttentionKind **kinds, const BenchOptions *options)
{
    ChartSeries *series = NULL;
    for (size_t k = 0; k < arrlenu(kinds); k++) {
        ChartPoint *points = NULL;
        for (size_t i = 0; i < arrlenu(rows); i++)
            if (rows[i].kind == kinds[k]) {
                ChartPoint point = {(double)rows[i].n, rows[i].forward.median * 1e3};
                arrput(points, point);
            }
        ChartSeries one = {kinds[k]->name, points, arrlenu(points)};
        arrput(series, one);
    }
    Chart chart = {.series = series,
                   .series_count = arrlenu(series),
                   .x_label = "length (tokens)",
                   .y_label = "forward pass (milliseconds)",
                   .logarithmic = true};
    char *title = options->title ? memory_copy_text(options->title) : default_title(kinds);
    Error error;
    if (!svg_write(options->svg, &chart, title, &error))
        die("%s", error.text);
    free(title);
    for (size_t k = 0; k < arrlenu(series); k++) {
        ChartPoint *points = (ChartPoint *)series[k].points;
        arrfree(points);
    }
    arrfree(series);
}

void bench_attention(const BenchOptions *options)
{
    const AttentionKind **kinds = read_kinds(options->kinds);
    size_t *lengths = bench_list(options->n, "n");
    double roof = bench_roof(options->repeats);
    Row *rows = NULL;
    for (size_t k = 0; k < arrlenu(kinds); k++)
        for (size_t i = 0; i < arrlenu(lengths); i++) {
            Row row = measure(kinds[k], lengths[i], options, roof);
            arrput(rows, row);
        }
    set_ratios(rows);
    if (options->json)
        print_json(rows, roof);
    else
        print_table(rows, config_head_width(&options->model), options->model.heads);
    if (options->csv)
        write_csv(rows, options->csv);
    if (options->svg)
        write_svg(rows, kinds, options);
    arrfree(kinds);
    arrfree(lengths);
    arrfree(rows);
}
