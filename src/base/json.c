#include "src/base/json.h"
#include "src/base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static void *json_allocate(size_t size)
{
    return memory_new(1, size, "JSON");
}

void json_use_memory(void)
{
    json_set_alloc_funcs(json_allocate, free);
}

json_t *json_figure(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_count(size_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *json_option(const Options *options, const Option *option)
{
    const void *field = option_field(options, option);
    if (option->type == OPTION_FLAG)
        return json_boolean(*(const bool *)field);
    if (option->type == OPTION_REAL)
        return json_figure(*(const double *)field);
    if (option->type == OPTION_SIZE && *(const size_t *)field != OPTION_AUTO)
        return json_count(*(const size_t *)field);
    char *text = option_value(options, option);
    json_t *value = json_string(text);
    free(text);
    return value;
}

json_t *json_parse(const char *text, size_t length, json_error_t *where)
{
    return json_loadb(text, length, JSON_REJECT_DUPLICATES, where);
}

#define FORMAT (JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY)

void json_print(FILE *stream, json_t *value)
{
    json_dumpf(value, stream, FORMAT);
    fputc('\n', stream);
    json_decref(value);
}

void json_print_part(FILE *stream, json_t *value)
{
    json_dumpf(value, stream, FORMAT | JSON_EMBED);
    json_decref(value);
}

void json_print_lines(FILE *stream, const void *value)
{
    json_dumpf(value, stream, FORMAT | JSON_INDENT(2));
    fputc('\n', stream);
}
