/* Prints the rows of a benchmark for people and for programs. */
#include "eval/bench/bench.h"
#include "src/memory.h"
#include "src/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const json_t *value_at(const BenchTable *table, size_t row, size_t column)
{
    return json_object_get(json_array_get(table->rows, row), table->columns[column].key);
}

/* Every digit, and nothing for what is unknown. */
static void print_csv(const BenchTable *table)
{
    for (size_t c = 0; c < table->count; c++)
        printf("%s%s", c ? "," : "", table->columns[c].key);
    for (size_t i = 0; i < json_array_size(table->rows); i++)
        for (size_t c = 0; c < table->count; c++) {
            const json_t *value = value_at(table, i, c);
            putchar(c ? ',' : '\n');
            if (json_is_string(value))
                printf("%s", json_string_value(value));
            else if (json_is_number(value))
                printf("%.9g", json_number_value(value));
        }
    putchar('\n');
}

/* The text of a cell, of the heading in row 0; the caller frees. */
static char *cell_text(const BenchTable *table, size_t row, size_t column)
{
    const BenchColumn *of = &table->columns[column];
    const json_t *value = row ? value_at(table, row - 1, column) : NULL;
    if (json_is_number(value))
        return text_format("%.*f", of->digits, of->scale * json_number_value(value));
    return memory_copy_text(row == 0                ? of->title
                            : json_is_string(value) ? json_string_value(value)
                                                    : "-");
}

/* Texts stand at the left of their column, numbers at the right. */
static void print_table(const BenchTable *table)
{
    size_t height = json_array_size(table->rows) + 1;
    int *widths = memory_take(table->count, sizeof *widths, "the table");
    for (int print = 0; print < 2; print++)
        for (size_t i = 0; i < height; i++) {
            for (size_t c = 0; c < table->count; c++) {
                char *text = cell_text(table, i, c);
                int width = (int)strlen(text);
                bool left = json_is_string(value_at(table, 0, c)), last = c + 1 == table->count;
                if (print)
                    printf("  %*s", !left ? widths[c] : last ? 0 : -widths[c], text);
                widths[c] = width > widths[c] ? width : widths[c];
                free(text);
            }
            if (print)
                putchar('\n');
        }
    free(widths);
}

void bench_report(const BenchOptions *options, json_t *figures, const BenchTable *table)
{
    json_object_set(figures, "rows", table->rows);
    if (options->json)
        json_print(stdout, json_incref(figures));
    else
        (options->csv ? print_csv : print_table)(table);
    json_decref(figures);
    json_decref(table->rows);
}
