#include "eval/draw/palette.h"

#include <stdint.h>

typedef struct Colour {
    const char *hex;
    int terminal;
} Colour;

static const Colour colours[PALETTE_COLOURS] = {
    {"#0072b2", 32},  {"#d55e00", 166}, {"#009e73", 36},
    {"#cc79a7", 175}, {"#e69f00", 214}, {"#56b4e9", 74},
};
static const Colour grey = {"#999999", 246};

static Colour colour_of(size_t identity)
{
    return identity == SIZE_MAX ? grey : colours[identity % PALETTE_COLOURS];
}

const char *palette_hex(size_t identity)
{
    return colour_of(identity).hex;
}

int palette_terminal(size_t identity)
{
    return colour_of(identity).terminal;
}

const char *palette_dashes(size_t identity)
{
    static const char *const dashes[] = {"none", "8 5", "2 5", "12 4 2 4"};
    if (identity == SIZE_MAX)
        return "4 4";
    return dashes[identity / PALETTE_COLOURS % (sizeof dashes / sizeof *dashes)];
}
