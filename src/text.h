/* Text that grows: what printf makes, appended to a malloc'd string. */
#ifndef LINNET_TEXT_H
#define LINNET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The caller owns the result. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends to *text, which may be NULL; the caller owns *text throughout. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a word as a shell would need it: in quotes unless it is plain. */
void text_append_shell_word(char **text, const char *word);

/* JSON pieces, appended the same way: a quoted string, and a number (null if not finite). */
void text_append_json_string(char **text, const char *value);
void text_append_json_number(char **text, double value);
/* Members of an object, which text has begun with a brace: the comma, if it is not the first,
 * the key, and what stands there. Counts are whole, where a number's nine digits would round
 * them. */
void text_append_json_key(char **text, const char *key);
void text_append_json_figure(char **text, const char *key, double value);
void text_append_json_count(char **text, const char *key, size_t value);

/* Strict readings of a whole text: no blanks, no trailing bytes, no overflow. */
bool text_to_size(const char *text, size_t *value);
bool text_to_double(const char *text, double *value); /* finite only */

/* Cuts blanks, tabs and carriage returns off both ends, in place; returns where it begins. */
char *text_trim(char *text);

/* How many letters must change, or neighbours change places, to make one word the other: for
 * "did you mean". */
size_t text_distance(const char *a, const char *b);

/* The terminal columns that a UTF-8 text takes, counting one per character. */
size_t text_columns(const char *text);

#endif
