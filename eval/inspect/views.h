/* Inspections on a terminal, as JSON, as pictures and as a page: of one model, or of up to
 * three that have read the same tokens, side by side. */
#ifndef LINNET_INSPECT_VIEWS_H
#define LINNET_INSPECT_VIEWS_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

enum { INSPECT_MOST = 3 };

typedef struct Inspections {
    const char *const *runs; /* (count) their names */
    const Inspection *each;  /* (count) of the same tokens, as many of them shown */
    size_t count;
} Inspections;

/* The most heads that any of them has. */
size_t inspections_heads(const Inspections *all);

/* --- terminal --- */

typedef struct TextShape {
    size_t width; /* columns to fill */
    bool utf8;
} TextShape;

/* The predictions after each token. */
void inspect_print_predictions(FILE *out, const Inspections *all, TextShape shape);
/* A line per head: its summary, and what the last token attends to. */
void inspect_print_heads(FILE *out, const Inspection *inspection, TextShape shape);
/* The weights of a head as rows of shades. */
void inspect_print_picture(FILE *out, const Inspection *inspection, const HeadView *view,
                           TextShape shape);

/* --- JSON: every digit, rows up to the diagonal --- */

void inspect_print_json(FILE *out, const Inspections *all);

/* --- SVG --- */

/* Attention weights of one head as a heatmap: an <svg> element to embed.
 *
 * Opacity is the square root of the weight, so that a weight of 0.01 is still visible. Positive
 * weights are blue and negative ones orange, which colour-blind people can tell apart. A square
 * shows its value when the mouse rests on it. */
void heatmap_print(FILE *out, const Inspection *inspection, const HeadView *view);
/* Style rules, for light and dark themes. */
extern const char heatmap_style[];

/* The width of its element. */
size_t heatmap_width(const Inspection *inspection);

/* A whole document of all heads, a row per layer; a function for file_replace_printed, which
 * takes Inspections. */
void heatmap_print_document(FILE *out, const void *all);

/* --- HTML: a self-contained page, without network or script --- */

/* Prints the page; a function for file_replace_printed, which takes Inspections. */
void inspect_print_page(FILE *out, const void *all);

#endif
