#include "eval/show/palette.h"

#include <stdint.h>

typedef struct Colour {
    const char *light, *dark;
    int terminal;
} Colour;

static const Colour colours[PALETTE_COLOURS + 1] = {
    {"#0072b2", "#4aa8f0", 32},  {"#b84f00", "#f08040", 166}, {"#007a59", "#2fc294", 36},
    {"#a8457e", "#e391bf", 175}, {"#8f6200", "#e6a817", 214}, {"#6b4fbb", "#b39df5", 74},
    {"#666666", "#9a9a9a", 246},
};

size_t palette_index(size_t identity)
{
    return identity == SIZE_MAX ? PALETTE_COLOURS : identity % PALETTE_COLOURS;
}

const char *palette_hex(size_t identity, bool dark)
{
    const Colour *colour = &colours[palette_index(identity)];
    return dark ? colour->dark : colour->light;
}

int palette_terminal(size_t identity)
{
    return colours[palette_index(identity)].terminal;
}

const char *palette_dashes(size_t identity)
{
    static const char *const dashes[] = {"none", "8 5", "2 5", "12 4 2 4"};
    if (identity == SIZE_MAX)
        return "4 4";
    return dashes[identity / PALETTE_COLOURS % (sizeof dashes / sizeof *dashes)];
}

static void print_rule(FILE *out, const char *selector, bool dark)
{
    fprintf(out, "%s {", selector);
    for (size_t i = 0; i < PALETTE_COLOURS; i++)
        fprintf(out, " --c%zu: %s;", i, palette_hex(i, dark));
    fputs(" }\n", out);
}

void palette_print_variables(FILE *out)
{
    print_rule(out, ":root", false);
    fputs("@media (prefers-color-scheme: dark) {\n", out);
    print_rule(out, ":root:not([data-theme=\"light\"])", true);
    fputs("}\n", out);
    print_rule(out, ":root[data-theme=\"dark\"]", true);
    fputs("@media print {\n", out);
    print_rule(out, ":root:root:root", false); /* above the others, whatever the theme */
    fputs("}\n", out);
}

void palette_print_swatch(FILE *out, size_t identity)
{
    fprintf(out,
            "<svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\">"
            "<path d=\"M1 4H25\" stroke=\"var(--c%zu)\" stroke-width=\"3\" "
            "stroke-dasharray=\"%s\"/></svg>",
            palette_index(identity), palette_dashes(identity));
}
