/* An inspection for a terminal: tables, and heads as pictures of letters. */
#ifndef LINNET_INSPECT_TEXT_H
#define LINNET_INSPECT_TEXT_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

typedef struct TextShape {
    size_t width; /* columns to fill */
    bool utf8;
} TextShape;

/* What is expected behind each token. */
void inspect_print_predictions(FILE *out, const Inspection *inspection, TextShape shape);
/* A line for each head: how it looks on the whole, and what the last token looks at. */
void inspect_print_heads(FILE *out, const Inspection *inspection, TextShape shape);
/* A head as rows of shades. */
void inspect_print_picture(FILE *out, const Inspection *inspection, const HeadView *view,
                           TextShape shape);

#endif
