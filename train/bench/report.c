/* Prints the rows of a benchmark for people and for programs. */
#include "train/bench/bench.h"
#include "eval/show/table.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <stdarg.h>
#include <stdint.h>

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
