/* What all benchmarks share: timing, matrix products and the peak, lists, printing for people
 * and for programs; and bench gemm: the share of the peak that linnet's matrix products reach.
 */
#include "train/bench/bench.h"
#include "eval/show/table.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/math/gemm.h"
#include "src/math/team.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- timing --- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

Timing bench_time(void (*work)(void *context), void *context, size_t repeats)
{
    double *times = memory_new(repeats, sizeof *times, "the benchmark");
    work(context);
    for (size_t i = 0; i < repeats; i++) {
        double start = clock_seconds();
        work(context);
        times[i] = clock_seconds() - start;
    }
    qsort(times, repeats, sizeof *times, by_size);
    Timing timing = {(times[(repeats - 1) / 2] + times[repeats / 2]) / 2, times[0],
                     times[repeats - 1]};
    free(times);
    return timing;
}

typedef struct Job {
    Product product;
    real *a, *b, *c, *workspace;
} Job;

static void lay_out(Job *job, Arena *arena)
{
    Product p = job->product;
    size_t workspace = gemm_workspace_reals(p.m, p.n, p.k, p.b_turned);
    job->a = arena_reals(arena, p.m * p.k);
    job->b = arena_reals(arena, p.k * p.n);
    job->c = arena_reals(arena, p.m * p.n);
    job->workspace = arena_reals(arena, workspace);
    gemm_set_workspace(job->workspace, workspace);
}

static void multiply(void *context)
{
    const Job *job = context;
    Product p = job->product;
    gemm_team(p.m, p.n, p.k, p.a_turned ? transposed(job->a, p.m) : plain(job->a, p.k),
              p.b_turned ? transposed(job->b, p.k) : plain(job->b, p.n), GEMM_SET, job->c, p.n,
              (GemmExtra){0});
}

double bench_product(Product p, size_t repeats)
{
    Job job = {.product = p};
    Arena arena = {0};
    lay_out(&job, &arena);
    arena_allocate(&arena, "the benchmark");
    lay_out(&job, &arena);
    for (size_t i = 0; i < p.m * p.k; i++)
        job.a[i] = (real)(i % 7) - 3;
    for (size_t i = 0; i < p.k * p.n; i++)
        job.b[i] = (real)(i % 5) - 2;
    Timing timing = bench_time(multiply, &job, repeats);
    gemm_set_workspace(NULL, 0);
    arena_free(&arena);
    return 2 * (double)p.m * (double)p.n * (double)p.k / timing.median;
}

/* Some ten milliseconds for each thread. */
static void spin(void *job, size_t tile, size_t worker)
{
    enum { ROUNDS = 1 << 21 };
    double *flop = job;
    (void)worker;
    flop[tile] = gemm_spin(ROUNDS);
}

static void spin_on_all(void *flop)
{
    team_run(team_size(), spin, flop);
}

double bench_peak(size_t repeats)
{
    double *flop = memory_new(team_size(), sizeof *flop, "the benchmark");
    Timing timing = bench_time(spin_on_all, flop, repeats);
    double all = 0;
    for (size_t thread = 0; thread < team_size(); thread++)
        all += flop[thread];
    free(flop);
    return all / timing.low;
}

size_t *bench_list(const char *text, const char *option)
{
    const size_t most = 100000000;
    size_t *list = NULL, number;
    char *copy = memory_copy_text(text), *rest = copy;
    for (char *word; (word = strsep(&rest, ","));) {
        if (!text_to_size(word, &number) || number == 0 || number > most)
            die_usage("--%s: '%s' is not a number from 1 to %zu", option, word, most);
        arrput(list, number);
    }
    free(copy);
    return list;
}

/* --- reporting --- */

bool bench_is_for_people(const BenchOptions *options)
{
    return !options->json && !options->csv;
}

void bench_row(BenchTable *table, ...)
{
    json_t *row = json_object();
    va_list values;
    va_start(values, table);
    for (size_t c = 0; c < table->count; c++)
        json_object_set_new(row, table->columns[c].key, va_arg(values, json_t *));
    va_end(values);
    json_array_append_new(table->rows, row);
}

/* The text of a value: rounded for people, every digit in CSV; NULL: unknown. */
static char *cell_text(const json_t *value, const BenchColumn *of, bool csv)
{
    if (json_is_string(value))
        return memory_copy_text(json_string_value(value));
    if (!json_is_number(value))
        return NULL;
    return csv ? text_format("%.9g", json_number_value(value))
               : text_format("%.*f", of->digits, of->scale * json_number_value(value));
}

static void print_table(const BenchTable *bench, bool csv)
{
    Table table = {0};
    const json_t *row;
    size_t i;
    for (size_t c = 0; c < bench->count; c++) {
        const BenchColumn *of = &bench->columns[c];
        const json_t *first = json_object_get(json_array_get(bench->rows, 0), of->key);
        table_add_column(&table, (TableColumn){.title = csv ? of->key : of->title,
                                               .left = json_is_string(first)});
    }
    json_array_foreach(bench->rows, i, row)
    {
        table_add_row(&table, (TableRow){0});
        for (size_t c = 0; c < bench->count; c++) {
            const BenchColumn *of = &bench->columns[c];
            table_add(&table, cell_text(json_object_get(row, of->key), of, csv));
        }
    }
    table_print(stdout, &table, csv ? TABLE_CSV : TABLE_TERMINAL, SIZE_MAX);
    table_free(&table);
}

void bench_report(const BenchOptions *options, json_t *figures, const BenchTable *table)
{
    json_object_set(figures, "rows", table->rows);
    if (options->json)
        json_print(stdout, json_incref(figures));
    else
        print_table(table, options->csv);
    json_decref(figures);
    json_decref(table->rows);
}

/* --- bench gemm --- */

void bench_gemm(const BenchOptions *options)
{
    enum { SLICE = 640 };
    const ModelConfig *config = &options->model;
    size_t rows = options->batch * config->context, width = config->dim, ffn = config->ffn;
    const struct {
        const char *what;
        Product product;
    } parts[] = {
        {"qkv forward", {rows, 3 * width, width, false, false}},
        {"qkv input gradient", {rows, width, 3 * width, false, true}},
        {"qkv weight gradient", {width, 3 * width, rows, true, false}},
        {"ffn in forward", {rows, ffn, width, false, false}},
        {"ffn in input gradient", {rows, width, ffn, false, true}},
        {"ffn in weight gradient", {width, ffn, rows, true, false}},
        {"ffn out forward", {rows, width, ffn, false, false}},
        {"ffn out weight gradient", {ffn, width, rows, true, false}},
        {"logits of a slice", {rows, SLICE, width, false, true}},
    };
    static const BenchColumn columns[] = {
        {"what", "product", 1, 0},
        {"m", "m", 1, 0},
        {"n", "n", 1, 0},
        {"k", "k", 1, 0},
        {"gflops", "GFLOP/s", 1, 1},
        {"of_peak", "% of peak", 100, 1},
    };
    BenchTable table = BENCH_TABLE(columns);
    double peak = bench_peak(options->repeats);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Product p = parts[i].product;
        double rate = bench_product(p, options->repeats);
        bench_row(&table, json_string(parts[i].what), json_count(p.m), json_count(p.n),
                  json_count(p.k), json_figure(rate / 1e9), json_figure(rate / peak));
    }
    if (bench_is_for_people(options))
        printf("peak %.1f GFLOP/s, kernels %s\n", peak / 1e9, gemm_kernels());
    bench_report(options,
                 json_pack("{s:f, s:s}", "peak_gflops", peak / 1e9, "kernel", gemm_kernels()),
                 &table);
}
