/* What all SVG pictures share: the style, which follows the reader's light or dark theme, and
 * the title. */
#ifndef LINNET_SVG_H
#define LINNET_SVG_H

#include <stddef.h>
#include <stdio.h>

/* Prints the title, broken into lines; returns the baseline of the last. Without a stream it
 * only measures. */
int svg_print_title(FILE *out, const char *title);
/* Prints the beginning of a picture of this size, with its style and its title. */
void svg_print_head(FILE *out, const char *title, int width, int height);
/* Prints text from users escaped, and shortened to fit. */
void svg_print_escaped(FILE *out, const char *text, size_t columns);

#endif
