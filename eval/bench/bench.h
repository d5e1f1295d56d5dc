/* The benchmark: each command measures one thing and compares it with the processor's peak,
 * measured in the same run. */
#ifndef LINNET_BENCH_H
#define LINNET_BENCH_H

#include "models/config.h"

typedef struct BenchOptions {
    ModelConfig model; /* the vocabulary size is an option here */
    size_t batch, threads, repeats, precision, optimizer;
    char *preset;
    char *kinds, *n, *positions; /* lists with commas */
    char *csv, *svg, *title;
    bool recompute, json;
} BenchOptions;

/* Several measurements of the same thing. */
typedef struct Timing {
    double median, low, high; /* seconds */
} Timing;

/* Calls the work once to warm up, then times it `repeats` times. */
Timing bench_time(void (*work)(void *context), void *context, size_t repeats);

/* The peak of the processor in FLOP/s: the best rate at which all threads together multiply and
 * add in registers, in the precision of products with weights. */
double bench_roof(size_t repeats);

/* Numbers from "128,1024,6000": an stb_ds array, which the caller frees. */
size_t *bench_list(const char *text, const char *option);

void bench_gemm(const BenchOptions *options);
void bench_train(const BenchOptions *options);
void bench_attention(const BenchOptions *options);
void bench_decode(const BenchOptions *options);
void bench_scale(const BenchOptions *options);

#endif
