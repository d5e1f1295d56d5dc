/* The colours of curves. A run has the same colour in terminals, pictures and pages.
 *
 * The hues follow Okabe and Ito's palette, which colour-blind people can tell apart. Each has a
 * shade for light and one for dark backgrounds, so that text in it has a contrast of at least
 * 4.5. Grey is for lines that belong to no run. Identities from the seventh on repeat the
 * colours with dashed lines. */
#ifndef LINNET_PALETTE_H
#define LINNET_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { PALETTE_COLOURS = 6 };

/* The colour's place in the palette; PALETTE_COLOURS is grey, the colour of SIZE_MAX. */
size_t palette_index(size_t identity);
/* "#0072b2" */
const char *palette_hex(size_t identity, bool dark);
/* One of a terminal's 256 colours, readable on black and on white. */
int palette_terminal(size_t identity);
/* The stroke-dasharray of SVG, "none" for a solid line. */
const char *palette_dashes(size_t identity);

/* The rules of a page that define the colours as variables, --c0, --c1, ..., light and dark. */
void palette_print_variables(FILE *out);
/* A piece of line in the colour and the dashes of an identity, for such a page. */
void palette_print_swatch(FILE *out, size_t identity);

#endif
