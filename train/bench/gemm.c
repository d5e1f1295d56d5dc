/* bench gemm: the machine's peak, and the share of it that linnet's matrix products reach. */
#include "train/bench/bench.h"
#include "src/math/gemm.h"

#include <stdio.h>

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
