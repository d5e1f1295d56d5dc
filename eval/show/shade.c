#include "eval/show/shade.h"

#include <stddef.h>

typedef struct Shade {
    double below; /* the probability where the next colour begins */
    int colour;
    const char *name;
} Shade;

static const Shade shades[] = {{0.001, 160, "< 0.001"},
                               {0.01, 166, "< 0.01"},
                               {0.1, 100, "< 0.1"},
                               {0.5, 28, "< 0.5"},
                               {2, 31, "to 1"}};
enum { SHADES = sizeof shades / sizeof *shades };

int shade_colour(double probability)
{
    size_t i = 0;
    while (i + 1 < SHADES && !(probability < shades[i].below))
        i++;
    return shades[i].colour;
}

void shade_print_begin(FILE *stream, double probability)
{
    fprintf(stream, "\x1b[38;5;%dm", shade_colour(probability));
}

void shade_print_legend(FILE *stream, bool colour)
{
    if (!colour) {
        fputs("[in brackets: the model's probability, at temperature 1, of the token]\n",
              stream);
        return;
    }
    fputs("The model's probability at temperature 1: ", stream);
    for (size_t i = 0; i < SHADES; i++)
        fprintf(stream, "%s\x1b[38;5;%dm%s" SHADE_END, i ? ", " : "", shades[i].colour,
                shades[i].name);
    fputs("\n", stream);
}
