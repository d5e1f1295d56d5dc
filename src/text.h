/* Growing text: printf output appended to a malloc'd string. */
#ifndef LINNET_TEXT_H
#define LINNET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The caller owns the result. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends to *text, which may be NULL; the caller owns *text throughout. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a word quoted for the shell, unless it needs no quotes. */
void text_append_shell_word(char **text, const char *word);

/* JSON pieces, appended the same way: a quoted string, and a number (null if not finite). */
void text_append_json_string(char **text, const char *value);
void text_append_json_number(char **text, double value);
/* Members of an object whose opening brace is already in the text: a comma unless it is the
 * first, the key, and for the last two the value. Counts are printed whole; numbers are rounded
 * to nine digits. */
void text_append_json_key(char **text, const char *key);
void text_append_json_figure(char **text, const char *key, double value);
void text_append_json_count(char **text, const char *key, size_t value);

/* Parse a whole text strictly: no blanks, no trailing bytes, no overflow. */
bool text_to_size(const char *text, size_t *value);
bool text_to_double(const char *text, double *value); /* finite only */

/* Strips blanks, tabs and carriage returns from both ends, in place; returns the start. */
char *text_trim(char *text);

/* Edit distance: how many letters must change, or neighbours be swapped, to turn one word into
 * the other. */
size_t text_distance(const char *a, const char *b);

/* The name nearest to a mistyped word, for "did you mean": start with nearest_to, pass every
 * name that there is, then read best, which is NULL if none is near. */
typedef struct Nearest {
    const char *word, *best;
    size_t least;
} Nearest;
Nearest nearest_to(const char *word);
void nearest_consider(Nearest *nearest, const char *name);

/* A perplexity as people read it: two decimals, or 3 digits and an exponent beyond a million.
 */
typedef struct ShortText {
    char text[32];
} ShortText;
ShortText text_perplexity(double perplexity);

/* The terminal columns of a UTF-8 text, one per character. */
size_t text_columns(const char *text);

#endif
