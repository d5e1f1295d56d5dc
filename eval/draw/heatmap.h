/* Attention weights of one head as squares, in SVG.
 *
 * A square's depth of colour grows with the square root of its weight, so that a weight of a
 * hundredth can still be seen; blue is above zero, orange below, which colour-blind people can
 * tell apart, and zero is the paper's own colour, light or dark. A square names its value when
 * the mouse rests on it, without any script. */
#ifndef LINNET_HEATMAP_H
#define LINNET_HEATMAP_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

/* What the maps need in a document's style sheet; the colours follow a wish for dark. */
extern const char heatmap_style[];

typedef struct HeatmapSize {
    size_t labels; /* where the squares begin, from the left and from above */
    size_t width, height;
} HeatmapSize;

/* In the units of the picture. */
HeatmapSize heatmap_size(const Inspection *inspection);
/* An <svg> element that other documents may hold. */
void heatmap_print(FILE *out, const Inspection *inspection, const HeadView *view);

/* A whole document of all heads, a row for each layer. The inspection is handed as content of
 * file_replace_printed. */
void heatmap_print_document(FILE *out, const void *inspection);

/* "Layer 2, head 1: linear" */
char *heatmap_title(const HeadView *view);

#endif
