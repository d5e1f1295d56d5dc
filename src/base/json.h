/* JSON, by jansson, with what jansson leaves open decided once.
 *
 * Objects and arrays are made with json_pack, which takes over a value given as "o". Strings
 * must be valid UTF-8. jansson's functions may silently truncate strings when out of memory; in
 * linnet's programs its memory comes from memory_new, and they end with an error instead. */
#ifndef LINNET_JSON_H
#define LINNET_JSON_H

#include "src/base/options.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* Has jansson take its memory from memory_new, in the whole process: for programs only. */
void json_use_memory(void);

/* A number, or null if it is not finite: JSON has no NaN. Nine digits of it are printed. */
json_t *json_figure(double value);
/* A number without a fraction. */
json_t *json_count(size_t value);
/* The value of an option; texts must be UTF-8. */
json_t *json_option(const Options *options, const Option *option);

/* Parses a whole text; NULL if it is not JSON, or if an object has a key twice. */
json_t *json_parse(const char *text, size_t length, json_error_t *where);

/* Prints the value on one line, and frees it. */
void json_print(FILE *stream, json_t *value);
/* Prints the members of an object or an array without the brackets around them, and frees it:
 * for a long document that is printed part by part. */
void json_print_part(FILE *stream, json_t *value);
/* Prints it with one member or element per line, for files that people read too. A function
 * for file_replace_printed. */
void json_print_lines(FILE *stream, const void *value);

#endif
