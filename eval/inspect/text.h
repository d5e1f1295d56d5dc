/* An inspection for a terminal: tables, and attention heads as character pictures. */
#ifndef LINNET_INSPECT_TEXT_H
#define LINNET_INSPECT_TEXT_H

#include "eval/inspect/inspection.h"

#include <stdio.h>

typedef struct TextShape {
    size_t width; /* columns to fill */
    bool utf8;
} TextShape;

/* The predictions after each token. */
void inspect_print_predictions(FILE *out, const Inspection *inspection, TextShape shape);
/* A line per head: its summary, and what the last token attends to. */
void inspect_print_heads(FILE *out, const Inspection *inspection, TextShape shape);
/* The weights of a head as rows of shades. */
void inspect_print_picture(FILE *out, const Inspection *inspection, const HeadView *view,
                           TextShape shape);

#endif
