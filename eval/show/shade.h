/* Probabilities as colours.
 *
 *  Five colours of the 256-colour palette, from red (unlikely) over orange, olive and green to
 * blue (likely). All are about half as bright as white, so they are readable on black and on
 * white, and the ends are distinct for colour-blind readers too. */
#ifndef LINNET_SHADE_H
#define LINNET_SHADE_H

#include <stdbool.h>
#include <stdio.h>

#define SHADE_END "\x1b[39m" /* the terminal's default colour */

/* The palette index of a probability's colour, and the escape sequence that selects it. */
int shade_colour(double probability);
void shade_print_begin(FILE *stream, double probability);

/* One line that explains the colours, or the numbers in brackets. */
void shade_print_legend(FILE *stream, bool colour);

#endif
