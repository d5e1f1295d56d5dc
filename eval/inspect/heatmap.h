/* Attention weights of one head as a heatmap in SVG.
 *
 * Opacity is the square root of the weight, so that a weight of 0.01 is still visible. Positive
 * weights are blue and negative ones orange, which colour-blind people can tell apart. A square
 * shows its value when the mouse rests on it. */
#ifndef LINNET_HEATMAP_H
#define LINNET_HEATMAP_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

/* Style rules, for light and dark themes. */
extern const char heatmap_style[];

typedef struct HeatmapSize {
    size_t labels; /* the margin at the left and at the top, for labels */
    size_t width, height;
} HeatmapSize;

/* In the units of the picture. */
HeatmapSize heatmap_size(const Inspection *inspection);
/* An <svg> element to embed. */
void heatmap_print(FILE *out, const Inspection *inspection, const HeadView *view);

/* A whole document of all heads, a row per layer; a function for file_replace_printed. */
void heatmap_print_document(FILE *out, const void *inspection);

/* "Layer 2, head 1: linear" */
char *heatmap_title(const HeadView *view);

#endif
