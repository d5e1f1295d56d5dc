#include "eval/inspect/views.h"
#include "eval/show/markup.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    CELL = 14,
    WORD = 13,  /* letters of a word */
    LETTER = 7, /* width of a letter */
    TITLE = 26, /* above each map of a document */
    SCALE = 44, /* room for the scale below */
    MARGIN = 8,
    SWATCH = 42
};

const char heatmap_style[] = ".map{font:11px system-ui,sans-serif}"
                             ".map text{fill:#333}"
                             ".map .past{fill:#7f7f7f;fill-opacity:.09}"
                             ".map .p{fill:#0a5fa5}.map .n{fill:#c65102}"
                             "@media(prefers-color-scheme:dark){.map text{fill:#ccc}"
                             ".map .p{fill:#62bdf5}.map .n{fill:#f7a04b}}";

static const double scale_shares[] = {-1, -0.3, -0.05, 0.05, 0.3, 1};
enum { SCALE_SHARES = sizeof scale_shares / sizeof *scale_shares };

/* The margin for words, at the left and the top. */
static size_t labels_width(const Inspection *inspection)
{
    size_t most = 0;
    for (size_t column = 0; column < inspection->columns; column++) {
        char *word = inspection_column(inspection, column, WORD, true);
        size_t letters = text_columns(word);
        most = letters > most ? letters : most;
        free(word);
    }
    return most * LETTER + MARGIN;
}

typedef struct HeatmapSize {
    size_t labels, width, height;
} HeatmapSize;

static HeatmapSize size_of_map(const Inspection *inspection)
{
    size_t labels = labels_width(inspection);
    size_t squares = inspection->columns * CELL, scale = SCALE_SHARES * SWATCH;
    return (HeatmapSize){.labels = labels,
                         .width = labels + (squares > scale ? squares : scale) + MARGIN,
                         .height = labels + inspection->shown * CELL + SCALE};
}

/* --- the squares --- */

/* The sum over earlier tokens may exceed the full colour. */
static double depth(const HeadView *view, double weight)
{
    return view->full > 0 ? fmin(sqrt(fabs(weight) / view->full), 1) : 0;
}

static void print_square(FILE *out, size_t x, size_t y, const HeadView *view, double weight)
{
    fprintf(out, "<path class=\"%c\" fill-opacity=\"%.2f\" d=\"M%zu %zuh%dv%dh-%dz\"",
            weight < 0 ? 'n' : 'p', depth(view, weight), x, y, CELL, CELL, CELL);
}

/* Omits squares too pale to see. */
static void print_row(FILE *out, const Inspection *inspection, const HeadView *view, size_t i,
                      char *const *names, size_t labels)
{
    const double least = 0.015;
    for (size_t j = 0; j < inspection_row_end(inspection, i); j++) {
        double weight = (double)view->weights[i * inspection->columns + j];
        if (!isfinite(weight) || depth(view, weight) < least)
            continue;
        print_square(out, labels + j * CELL, labels + i * CELL, view, weight);
        fprintf(out, "><title>");
        markup_print(out, names[i + inspection->rest]);
        fprintf(out, " → ");
        markup_print(out, names[j]);
        fprintf(out, ": %.3g</title></path>\n", weight);
    }
}

/* The visible positions, as one staircase. */
static void print_past(FILE *out, const Inspection *inspection, size_t labels)
{
    fprintf(out, "<path class=\"past\" d=\"M%zu %zu", labels, labels);
    for (size_t i = 0; i < inspection->shown; i++)
        fprintf(out, "H%zuv%d", labels + inspection_row_end(inspection, i) * CELL, CELL);
    fprintf(out, "H%zuz\"/>\n", labels);
}

/* --- words and scale --- */

static void print_words(FILE *out, const Inspection *inspection, size_t labels)
{
    size_t rest = inspection->rest;
    for (size_t column = 0; column < inspection->columns; column++) {
        char *word = inspection_column(inspection, column, WORD, true);
        fprintf(out, "<text transform=\"translate(%zu %zu)rotate(-90)\">",
                labels + column * CELL + CELL - 3, labels - 6);
        markup_print(out, word);
        fprintf(out, "</text>\n");
        if (column >= rest) {
            fprintf(out, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"end\">", labels - 6,
                    labels + (column - rest) * CELL + CELL - 3);
            markup_print(out, word);
            fprintf(out, "</text>\n");
        }
        free(word);
    }
}

/* The scale: squares with their weights. */
static void print_scale(FILE *out, const HeadView *view, size_t x, size_t y)
{
    for (size_t i = 0; i < SCALE_SHARES; i++) {
        double weight = scale_shares[i] * view->full;
        if (weight < 0 && view->low >= 0)
            continue;
        print_square(out, x, y, view, weight);
        fprintf(out, "/><text x=\"%zu\" y=\"%zu\" text-anchor=\"middle\">%.2g</text>\n",
                x + CELL / 2, y + CELL + 13, weight);
        x += SWATCH;
    }
}

void heatmap_print(FILE *out, const Inspection *inspection, const HeadView *view)
{
    HeatmapSize size = size_of_map(inspection);
    char *title = inspection_title(view);
    char **names = memory_new(inspection->columns, sizeof *names, "the words");
    for (size_t j = 0; j < inspection->columns; j++)
        names[j] = inspection_place(inspection, j, SIZE_MAX, true);
    fprintf(out,
            "<svg class=\"map\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" "
            "width=\"%zu\" height=\"%zu\" role=\"img\" aria-label=\"%s\">\n",
            size.width, size.height, size.width, size.height, title);
    print_past(out, inspection, size.labels);
    print_words(out, inspection, size.labels);
    for (size_t i = 0; i < inspection->shown; i++)
        print_row(out, inspection, view, i, names, size.labels);
    print_scale(out, view, size.labels, size.labels + inspection->shown * CELL + MARGIN);
    fprintf(out, "</svg>\n");
    for (size_t j = 0; j < inspection->columns; j++)
        free(names[j]);
    free(names);
    free(title);
}

/* --- a document --- */

/* The place of a head in a grid with a row per layer. */
static size_t column_of(const Inspection *inspection, size_t head)
{
    size_t column = 0;
    while (column < head &&
           inspection->heads[head - column - 1].layer == inspection->heads[head].layer)
        column++;
    return column;
}

void heatmap_print_document(FILE *out, const void *content)
{
    const Inspection *inspection = content;
    HeatmapSize one = size_of_map(inspection);
    size_t count = inspection->head_count, columns = column_of(inspection, count - 1) + 1;
    size_t width = columns * (one.width + MARGIN), pitch = one.height + TITLE;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" "
            "height=\"%zu\">\n<style>.paper{fill:#fff}"
            ".name{font:600 14px system-ui,sans-serif;fill:#222}%s"
            "@media(prefers-color-scheme:dark){.paper{fill:#15181c}.name{fill:#ddd}}</style>\n"
            "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
            width, count / columns * pitch, width, count / columns * pitch, heatmap_style);
    for (size_t head = 0; head < count; head++) {
        char *title = inspection_title(&inspection->heads[head]);
        fprintf(out,
                "<text class=\"name\" x=\"%zu\" y=\"%zu\">%s</text>\n"
                "<g transform=\"translate(%zu %zu)\">\n",
                head % columns * (one.width + MARGIN) + MARGIN, head / columns * pitch + 18,
                title, head % columns * (one.width + MARGIN), head / columns * pitch + TITLE);
        heatmap_print(out, inspection, &inspection->heads[head]);
        fprintf(out, "</g>\n");
        free(title);
    }
    fprintf(out, "</svg>\n");
}
