/* The colours of curves, the same in terminals, pictures and pages, so that a run has one
 * wherever it is drawn.
 *
 * They are Okabe and Ito's, which colour-blind people can tell apart; of their eight the two
 * that vanish on paper or on a dark screen are left out, and grey is kept for what belongs to
 * no run. Identities beyond the sixth have the same colours again, in dashes: six more is the
 * same colour in the next dashes. */
#ifndef LINNET_PALETTE_H
#define LINNET_PALETTE_H

#include <stddef.h>

enum { PALETTE_COLOURS = 6 };

/* "#0072b2"; the grey for SIZE_MAX. */
const char *palette_hex(size_t identity);
/* The nearest of a terminal's 256 that can be read on black and on white. */
int palette_terminal(size_t identity);
/* A stroke-dasharray of SVG, "none" for a solid line. */
const char *palette_dashes(size_t identity);

#endif
