/* Texts: growing strings, numbers read and printed, names compared, lines wrapped. */
#ifndef LINNET_TEXT_H
#define LINNET_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The caller frees the result. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Appends to *text, which may be NULL; the caller frees it. */
void text_append(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends a word, quoted for the shell if necessary. */
void text_append_shell_word(char **text, const char *word);

/* A copy on one line: control characters become \xNN. The caller frees. */
char *text_one_line(const char *text);

/* Parse a whole string strictly: no white space, no trailing bytes, no overflow. */
bool text_to_size(const char *text, size_t *value);
/* Finite values only, and none that is too close to zero. */
bool text_to_double(const char *text, double *value);

/* Strips spaces, tabs and carriage returns from both ends, in place; returns the start. */
char *text_trim(char *text);

/* Whether it ends in this, with something before it. */
bool text_ends_in(const char *text, const char *ending);

/* Whether a list of words has this one: an array that NULL ends, or a text with blanks between
 * them, in which - and _ count as equal. */
bool text_is_among(const char *word, const char *const *words);
bool text_is_listed(const char *word, const char *words);
/* Its index among the names that a function lists, NULL after the last; their number if it is
 * none of them. */
size_t text_index(const char *word, const char *(*name)(size_t index));

/* Damerau-Levenshtein edit distance: insertions, deletions, substitutions, swaps of
 * neighbours. */
size_t text_distance(const char *a, const char *b);

/* Finds the name closest to a mistyped word, for "did you mean". Start with nearest_to, pass
 * every name to nearest_consider, then read `best`: NULL if none is close. */
typedef struct Nearest {
    const char *word, *best;
    size_t least;
} Nearest;
Nearest nearest_to(const char *word);
void nearest_consider(Nearest *nearest, const char *name);

typedef struct ShortText {
    char text[32];
} ShortText;
/* A perplexity: two decimals, or scientific notation from a million on. */
ShortText text_perplexity(double perplexity);
/* A duration as hours, minutes and seconds, "1:02:03"; one that is unknown as "0:00:00". */
ShortText text_duration(double seconds);

/* What stands before one of several items in a sentence: "a, b and c". */
const char *text_joint(size_t index, size_t count);
/* "s", or "" if the count is one. */
const char *text_plural(size_t count);

/* --- lines of a terminal, in UTF-8 ---
 *
 * Each character counts as one column. Colours, \x1b[...m, count as none. */

size_t text_columns(const char *text);

/* The lines of a text, wrapped at blanks or, in longer words, anywhere; an stb_ds array. A
 * colour that goes on is repeated on the next line. */
char **text_wrap(const char *text, size_t width);
void text_lines_free(char **lines);

/* Appends the body in lines of at most `room` columns, all but the first indented. */
void text_append_wrapped(char **text, const char *body, size_t room, size_t indent);

#endif
