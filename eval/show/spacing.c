#include "eval/show/spacing.h"

#include <string.h>

typedef enum Side { FREE, BEFORE, AFTER, BOTH } Side; /* which neighbours a mark joins */

/* clang-format off */
static const struct {
    const char *mark;
    Side side;
} sides[] = {
    {",", BEFORE}, {";", BEFORE}, {":", BEFORE}, {".", BEFORE}, {"?", BEFORE}, {"!", BEFORE},
    {")", BEFORE}, {"]", BEFORE}, {"}", BEFORE}, {"%", BEFORE}, {"…", BEFORE}, {"°", BEFORE},
    {"’", BEFORE}, {"”", BEFORE}, {"»", BEFORE}, {"›", BEFORE}, {"²", BEFORE}, {"³", BEFORE},
    {"(", AFTER}, {"[", AFTER}, {"{", AFTER}, {"$", AFTER}, {"£", AFTER}, {"€", AFTER},
    {"¥", AFTER}, {"@", AFTER}, {"“", AFTER}, {"‘", AFTER}, {"«", AFTER}, {"‹", AFTER},
    {"„", AFTER}, {"‚", AFTER}, {"¿", AFTER}, {"¡", AFTER},
    {"/", BOTH}, {"\\", BOTH}, {"–", BOTH}, {"—", BOTH}, {"‐", BOTH}, {"‑", BOTH},
};
/* clang-format on */

/* These open, then close. */
static const char pairs[] = "\"_*`'";

void spacing_begin(Spacing *spacing)
{
    *spacing = (Spacing){.line_start = true, .is = LETTER_SPACE};
}

void spacing_end_line(Spacing *spacing)
{
    unsigned open = spacing->line_start ? 0 : spacing->open;
    spacing_begin(spacing);
    spacing->open = open;
}

/* A pair's second mark joins the word before it, the first one the word after it. No line
 * begins with a second mark, so a forgotten one is made up for. After a word with s, an
 * apostrophe that opened nothing is a possessive. */
static Side side_of_pair(Spacing *spacing, char mark)
{
    unsigned bit = 1u << (strchr(pairs, mark) - pairs);
    bool closes = (spacing->open & bit) && !spacing->line_start;
    if (mark == '\'' && !closes && spacing->is == LETTER_WORD && spacing->last[0] == 's')
        return BEFORE;
    spacing->open = closes ? spacing->open & ~bit : spacing->open | bit;
    return closes ? BEFORE : AFTER;
}

static Side side_of(Spacing *spacing, const char *token)
{
    if (token[0] && !token[1]) {
        if (strchr(pairs, token[0]))
            return side_of_pair(spacing, token[0]);
        if (token[0] == '-' ||
            token[0] == '#') /* an item or a heading at the start of a line */
            return spacing->line_start ? FREE : token[0] == '-' ? BOTH : AFTER;
    }
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        if (strcmp(token, sides[i].mark) == 0)
            return sides[i].side;
    return FREE;
}

/* No blank stands between ideographs, nor between one and its punctuation, whose marks are wide
 * (from U+3000 on) or typographic. */
static bool is_dense(const Spacing *spacing, LetterClass is, const char *token)
{
    unsigned char lead = (unsigned char)token[0], last = (unsigned char)spacing->last[0];
    bool mark = is == LETTER_MARK && lead >= 0x80;
    bool after_mark = spacing->is == LETTER_MARK && last >= 0x80;
    bool wide = lead >= 0xe3 && last >= 0xe3 && lead < 0xf0 && last < 0xf0;
    return (spacing->is == LETTER_SIGN && (is == LETTER_SIGN || mark)) ||
           (after_mark && (is == LETTER_SIGN || (mark && wide)));
}

bool spacing_before(Spacing *spacing, const char *token)
{
    size_t size = strlen(token), length;
    LetterClass is = size ? letters_class(token, size, &length) : LETTER_MARK;
    if (*token == '<' && size > 1)
        is = LETTER_WORD; /* <unk> */
    bool mark = is == LETTER_MARK && size < sizeof spacing->last;
    bool repeats = mark && spacing->is == LETTER_MARK && strcmp(spacing->last, token) == 0;
    Side side = mark && !repeats ? side_of(spacing, token) : FREE;
    bool space = !spacing->line_start && !spacing->joins && !repeats && side != BEFORE &&
                 side != BOTH && !is_dense(spacing, is, token);
    if (!repeats) /* "**" and "--" join what one of them would */
        spacing->joins = side == AFTER || side == BOTH;
    spacing->line_start = false;
    spacing->is = is;
    const char *last = mark ? token : token + size - (size > 0);
    memcpy(spacing->last, last, strlen(last) + 1);
    return space;
}
