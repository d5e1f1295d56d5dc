/* The benchmark: each command measures one thing and compares it with the processor's peak,
 * measured in the same run. */
#ifndef LINNET_BENCH_H
#define LINNET_BENCH_H

#include "models/config.h"
#include "src/base/json.h"

typedef struct BenchOptions {
    ModelConfig model; /* the vocabulary size is an option here */
    size_t batch, threads, repeats, precision, optimizer;
    char *preset;
    char *kinds, *n, *positions; /* lists with commas */
    char *svg, *title;
    bool recompute, json, csv;
} BenchOptions;

void bench_gemm(const BenchOptions *options);
void bench_train(const BenchOptions *options);
void bench_attention(const BenchOptions *options);
void bench_decode(const BenchOptions *options);
void bench_scale(const BenchOptions *options);

/* --- measuring --- */

/* Several measurements of the same thing. */
typedef struct Timing {
    double median, low, high; /* seconds */
} Timing;

/* Calls the work once to warm up, then times it `repeats` times. */
Timing bench_time(void (*work)(void *context), void *context, size_t repeats);

/* A matrix product C = A B of (m, k) and (k, n), where A, B or both may be stored transposed.
 */
typedef struct Product {
    size_t m, n, k;
    bool a_turned, b_turned;
} Product;

/* Its rate on the thread team, in FLOP/s. */
double bench_product(Product product, size_t repeats);
/* The peak of the processor in FLOP/s: the best rate at which all threads together multiply and
 * add in registers, in the precision of products with weights. */
double bench_peak(size_t repeats);

/* Numbers from "128,1024,6000": an stb_ds array, which the caller frees. */
size_t *bench_list(const char *text, const char *option);

/* --- reporting --- */

typedef struct BenchColumn {
    const char *key;   /* of the value in a row, and the name of the column in CSV */
    const char *title; /* in the table */
    double scale;      /* numbers are multiplied by it in the table */
    int digits;        /* after the point, in the table */
} BenchColumn;

typedef struct BenchTable {
    const BenchColumn *columns;
    size_t count;
    json_t *rows;
} BenchTable;

#define BENCH_TABLE(columns)                                       \
    {                                                              \
        columns, sizeof(columns) / sizeof *(columns), json_array() \
    }

/* Appends a row; there is a json_t * for each column, which is taken over. */
void bench_row(BenchTable *table, ...);
/* Whether headings are printed, for people and not for a program. */
bool bench_is_for_people(const BenchOptions *options);
/* Prints the table, also as CSV, or the figures and its rows as JSON. Takes over both. */
void bench_report(const BenchOptions *options, json_t *figures, const BenchTable *table);

#endif
