/* Probabilities as colours.
 *
 * Five colours of the 256-colour palette, from red (unlikely) over orange, olive and green to
 * blue (likely). All are about half as bright as white, so that they can be read on black and
 * on white, and the ends differ also for those who cannot tell red from green. */
#ifndef LINNET_SHADE_H
#define LINNET_SHADE_H

#include <stdbool.h>
#include <stdio.h>

#define SHADE_END "\x1b[39m" /* back to the terminal's own colour */

/* The palette's number of the colour for a probability, and the sequence that switches it on.
 */
int shade_colour(double probability);
void shade_print_begin(FILE *stream, double probability);

/* One line that tells what the colours are, or what the numbers in brackets are. */
void shade_print_legend(FILE *stream, bool colour);

#endif
