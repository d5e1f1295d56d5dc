#include "eval/inspect/views.h"
#include "eval/show/markup.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    CELL = 14, /* of many tokens, just wide enough for a line of text; */
    WIDE_CELL = 26,
    FEW = 24,   /* a map with at most this many columns has wide ones */
    WORD = 13,  /* letters of a word */
    LETTER = 8, /* width of a letter */
    BOLD_LETTER = 9,
    TITLE = 26, /* above each map of a document */
    SCALE = 44, /* room for the scale below */
    MARGIN = 8,
    SWATCH = 42
};

const char heatmap_style[] = ".map{font:13px system-ui,sans-serif}"
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
    size_t cell, labels, width, height;
} HeatmapSize;

static HeatmapSize size_of_map(const Inspection *inspection)
{
    size_t labels = labels_width(inspection);
    size_t cell = inspection->columns <= FEW ? WIDE_CELL : CELL;
    size_t squares = inspection->columns * cell, scale = SCALE_SHARES * SWATCH;
    return (HeatmapSize){.cell = cell,
                         .labels = labels,
                         .width = labels + (squares > scale ? squares : scale) + MARGIN,
                         .height = labels + inspection->shown * cell + SCALE};
}

size_t heatmap_width(const Inspection *inspection)
{
    return size_of_map(inspection).width;
}

/* --- the squares --- */

/* The sum over earlier tokens may exceed the full colour. */
static double depth(const HeadView *view, double weight)
{
    return view->full > 0 ? fmin(sqrt(fabs(weight) / view->full), 1) : 0;
}

static void print_square(FILE *out, size_t x, size_t y, size_t cell, const HeadView *view,
                         double weight)
{
    fprintf(out, "<path class=\"%c\" fill-opacity=\"%.2f\" d=\"M%zu %zuh%zuv%zuh-%zuz\"",
            weight < 0 ? 'n' : 'p', depth(view, weight), x, y, cell, cell, cell);
}

/* Omits squares too pale to see. */
static void print_row(FILE *out, const Inspection *inspection, const HeadView *view, size_t i,
                      char *const *names, HeatmapSize size)
{
    const double least = 0.015;
    for (size_t j = 0; j < inspection_row_end(inspection, i); j++) {
        double weight = (double)view->weights[i * inspection->columns + j];
        if (!isfinite(weight) || depth(view, weight) < least)
            continue;
        print_square(out, size.labels + j * size.cell, size.labels + i * size.cell, size.cell,
                     view, weight);
        fprintf(out, "><title>");
        markup_print(out, names[i + inspection->rest]);
        fprintf(out, " → ");
        markup_print(out, names[j]);
        fprintf(out, ": %.3g</title></path>\n", weight);
    }
}

/* The visible positions, as one staircase. */
static void print_past(FILE *out, const Inspection *inspection, HeatmapSize size)
{
    fprintf(out, "<path class=\"past\" d=\"M%zu %zu", size.labels, size.labels);
    for (size_t i = 0; i < inspection->shown; i++)
        fprintf(out, "H%zuv%zu", size.labels + inspection_row_end(inspection, i) * size.cell,
                size.cell);
    fprintf(out, "H%zuz\"/>\n", size.labels);
}

/* --- words and scale --- */

static void print_words(FILE *out, const Inspection *inspection, HeatmapSize size)
{
    enum { BELOW_MIDDLE = 5 }; /* the baseline of a line of text */
    size_t rest = inspection->rest, labels = size.labels, line = size.cell / 2 + BELOW_MIDDLE;
    for (size_t column = 0; column < inspection->columns; column++) {
        char *word = inspection_column(inspection, column, WORD, true);
        fprintf(out, "<text transform=\"translate(%zu %zu)rotate(-90)\">",
                labels + column * size.cell + line, labels - 6);
        markup_print(out, word);
        fprintf(out, "</text>\n");
        if (column >= rest) {
            fprintf(out, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"end\">", labels - 6,
                    labels + (column - rest) * size.cell + line);
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
        print_square(out, x, y, CELL, view, weight);
        fprintf(out, "/><text x=\"%zu\" y=\"%zu\" text-anchor=\"middle\">%.1g</text>\n",
                x + CELL / 2, y + CELL + 13, weight);
        x += SWATCH;
    }
}

void heatmap_print(FILE *out, const Inspection *inspection, const HeadView *view)
{
    HeatmapSize size = size_of_map(inspection);
    char *title = inspection_title(inspection, view, true);
    char **names = memory_new(inspection->columns, sizeof *names, "the words");
    for (size_t j = 0; j < inspection->columns; j++)
        names[j] = inspection_place(inspection, j, SIZE_MAX, true);
    fprintf(out,
            "<svg class=\"map\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" "
            "width=\"%zu\" height=\"%zu\" role=\"img\" aria-label=\"",
            size.width, size.height, size.width, size.height);
    markup_print(out, title);
    fprintf(out, "\">\n");
    print_past(out, inspection, size);
    print_words(out, inspection, size);
    for (size_t i = 0; i < inspection->shown; i++)
        print_row(out, inspection, view, i, names, size);
    print_scale(out, view, size.labels, size.labels + inspection->shown * size.cell + MARGIN);
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

static size_t columns_of(const Inspection *inspection)
{
    return column_of(inspection, inspection->head_count - 1) + 1;
}

/* From one map of a row to the next: wide enough for the map and its title. */
static size_t pitch_of(const Inspection *inspection)
{
    size_t width = size_of_map(inspection).width;
    for (size_t head = 0; head < inspection->head_count; head++) {
        char *title = inspection_title(inspection, &inspection->heads[head], true);
        size_t letters = text_columns(title);
        width = letters * BOLD_LETTER > width ? letters * BOLD_LETTER : width;
        free(title);
    }
    return width + 2 * MARGIN;
}

/* The maps of a model, beginning at this x. */
static void print_grid(FILE *out, const Inspection *inspection, size_t left)
{
    size_t columns = columns_of(inspection), across = pitch_of(inspection);
    size_t down = size_of_map(inspection).height + TITLE;
    for (size_t head = 0; head < inspection->head_count; head++) {
        size_t x = left + head % columns * across, y = head / columns * down;
        char *title = inspection_title(inspection, &inspection->heads[head], true);
        fprintf(out, "<text class=\"name\" x=\"%zu\" y=\"%zu\">", x + MARGIN, y + 18);
        markup_print(out, title);
        fprintf(out, "</text>\n<g transform=\"translate(%zu %zu)\">\n", x, y + TITLE);
        heatmap_print(out, inspection, &inspection->heads[head]);
        fprintf(out, "</g>\n");
        free(title);
    }
}

void heatmap_print_document(FILE *out, const void *content)
{
    const Inspections *all = content;
    HeatmapSize one = size_of_map(all->each);
    size_t width = 0, height = 0;
    for (size_t m = 0; m < all->count; m++) {
        const Inspection *inspection = &all->each[m];
        size_t columns = columns_of(inspection), rows = inspection->head_count / columns;
        width += columns * pitch_of(inspection);
        height = rows * (one.height + TITLE) > height ? rows * (one.height + TITLE) : height;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" width=\"%zu\" "
            "height=\"%zu\">\n<style>.paper{fill:#fff}"
            ".name{font:600 14px system-ui,sans-serif;fill:#222}%s"
            "@media(prefers-color-scheme:dark){.paper{fill:#15181c}.name{fill:#ddd}}</style>\n"
            "<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n",
            width, height, width, height, heatmap_style);
    for (size_t m = 0, left = 0; m < all->count; m++) {
        print_grid(out, &all->each[m], left);
        left += columns_of(&all->each[m]) * pitch_of(&all->each[m]);
    }
    fprintf(out, "</svg>\n");
}
