#include "data/tokenizers/letters.h"
#include "data/tokenizers/utf8.h"

/* --- classes --- */

/* clang-format off */
static const LetterRange ranges[] = {
    {0x0000, 0x0008, LETTER_MARK},   {0x0009, 0x000d, LETTER_SPACE},
    {0x000e, 0x001f, LETTER_MARK},   {0x0020, 0x0020, LETTER_SPACE},
    {0x0021, 0x002f, LETTER_MARK},   {0x0030, 0x0039, LETTER_DIGIT},
    {0x003a, 0x0040, LETTER_MARK},   {0x005b, 0x0060, LETTER_MARK},
    {0x007b, 0x0084, LETTER_MARK},   {0x0085, 0x0085, LETTER_SPACE},
    {0x0086, 0x009f, LETTER_MARK},   {0x00a0, 0x00a0, LETTER_SPACE},
    {0x00a1, 0x00a9, LETTER_MARK},   {0x00ab, 0x00ac, LETTER_MARK},
    {0x00ad, 0x00ad, LETTER_EXTEND}, {0x00ae, 0x00b4, LETTER_MARK},
    {0x00b6, 0x00b9, LETTER_MARK},   {0x00bb, 0x00bf, LETTER_MARK},
    {0x00d7, 0x00d7, LETTER_MARK},   {0x00f7, 0x00f7, LETTER_MARK},
    {0x02c2, 0x02c5, LETTER_MARK},   {0x02d2, 0x02df, LETTER_MARK},
    {0x0300, 0x036f, LETTER_EXTEND}, {0x037e, 0x037e, LETTER_MARK},
    {0x0384, 0x0385, LETTER_MARK},   {0x0387, 0x0387, LETTER_MARK},
    {0x0482, 0x0482, LETTER_MARK},   {0x0483, 0x0489, LETTER_EXTEND},
    {0x055a, 0x055f, LETTER_MARK},   {0x0589, 0x058f, LETTER_MARK},
    {0x05be, 0x05be, LETTER_MARK},   {0x05c0, 0x05c0, LETTER_MARK},
    {0x05c3, 0x05c3, LETTER_MARK},   {0x05c6, 0x05c6, LETTER_MARK},
    {0x0600, 0x060f, LETTER_MARK},   {0x061b, 0x061f, LETTER_MARK},
    {0x066a, 0x066a, LETTER_MARK},   {0x066d, 0x066d, LETTER_MARK},
    {0x06d4, 0x06d4, LETTER_MARK},   {0x06dd, 0x06de, LETTER_MARK},
    {0x06e9, 0x06e9, LETTER_MARK},   {0x0700, 0x070d, LETTER_MARK},
    {0x0964, 0x0965, LETTER_MARK},   {0x0970, 0x0970, LETTER_MARK},
    {0x0e3f, 0x0e3f, LETTER_MARK},   {0x0e4f, 0x0e4f, LETTER_MARK},
    {0x0e5a, 0x0e5b, LETTER_MARK},   {0x0f01, 0x0f17, LETTER_MARK},
    {0x0f3a, 0x0f3d, LETTER_MARK},   {0x104a, 0x104f, LETTER_MARK},
    {0x10fb, 0x10fb, LETTER_MARK},   {0x1360, 0x1368, LETTER_MARK},
    {0x1680, 0x1680, LETTER_SPACE},  {0x17d4, 0x17db, LETTER_MARK},
    {0x1800, 0x180a, LETTER_MARK},   {0x2000, 0x200b, LETTER_SPACE},
    {0x200c, 0x200f, LETTER_EXTEND}, {0x2010, 0x2027, LETTER_MARK},
    {0x2028, 0x2029, LETTER_SPACE},  {0x202a, 0x202e, LETTER_EXTEND},
    {0x202f, 0x202f, LETTER_SPACE},  {0x2030, 0x205e, LETTER_MARK},
    {0x205f, 0x205f, LETTER_SPACE},  {0x2060, 0x206f, LETTER_EXTEND},
    {0x2070, 0x2070, LETTER_MARK},   {0x2072, 0x207e, LETTER_MARK},
    {0x2080, 0x208e, LETTER_MARK},   {0x20a0, 0x20cf, LETTER_MARK},
    {0x20d0, 0x20ff, LETTER_EXTEND}, {0x2190, 0x2bff, LETTER_MARK},
    {0x2e00, 0x2e7f, LETTER_MARK},   {0x2e80, 0x2fff, LETTER_SIGN},
    {0x3000, 0x3000, LETTER_SPACE},  {0x3001, 0x3004, LETTER_MARK},
    {0x3005, 0x3007, LETTER_SIGN},   {0x3008, 0x3020, LETTER_MARK},
    {0x3021, 0x3029, LETTER_SIGN},   {0x302a, 0x302f, LETTER_EXTEND},
    {0x3030, 0x3030, LETTER_MARK},   {0x3031, 0x3035, LETTER_SIGN},
    {0x3036, 0x3037, LETTER_MARK},   {0x3038, 0x303c, LETTER_SIGN},
    {0x303d, 0x303f, LETTER_MARK},   {0x3040, 0x3098, LETTER_SIGN},
    {0x3099, 0x309a, LETTER_EXTEND}, {0x309b, 0x309c, LETTER_MARK},
    {0x309d, 0x309f, LETTER_SIGN},   {0x30a0, 0x30a0, LETTER_MARK},
    {0x30a1, 0x30fa, LETTER_SIGN},   {0x30fb, 0x30fb, LETTER_MARK},
    {0x30fc, 0x312f, LETTER_SIGN},   {0x3190, 0x319f, LETTER_MARK},
    {0x31a0, 0x31ff, LETTER_SIGN},   {0x3200, 0x33ff, LETTER_MARK},
    {0x3400, 0x4dbf, LETTER_SIGN},   {0x4dc0, 0x4dff, LETTER_MARK},
    {0x4e00, 0x9fff, LETTER_SIGN},   {0xe000, 0xf8ff, LETTER_MARK},
    {0xf900, 0xfaff, LETTER_SIGN},   {0xfd3e, 0xfd3f, LETTER_MARK},
    {0xfe00, 0xfe0f, LETTER_EXTEND}, {0xfe10, 0xfe1f, LETTER_MARK},
    {0xfe20, 0xfe2f, LETTER_EXTEND}, {0xfe30, 0xfe6f, LETTER_MARK},
    {0xfeff, 0xfeff, LETTER_SPACE},  {0xff01, 0xff0f, LETTER_MARK},
    {0xff10, 0xff19, LETTER_DIGIT},  {0xff1a, 0xff20, LETTER_MARK},
    {0xff3b, 0xff40, LETTER_MARK},   {0xff5b, 0xff65, LETTER_MARK},
    {0xff66, 0xff9f, LETTER_SIGN},   {0xffe0, 0xffff, LETTER_MARK},
    {0x1d000, 0x1d24f, LETTER_MARK}, {0x1f000, 0x1f3fa, LETTER_MARK},
    {0x1f3fb, 0x1f3ff, LETTER_EXTEND}, {0x1f400, 0x1fbef, LETTER_MARK},
    {0x20000, 0x3ffff, LETTER_SIGN}, {0xe0000, 0xe0fff, LETTER_EXTEND},
};
/* clang-format on */
enum { RANGES = sizeof ranges / sizeof *ranges };

const LetterRange *letters_range(size_t index)
{
    return index < RANGES ? &ranges[index] : NULL;
}

static LetterClass class_of(uint32_t character)
{
    size_t low = 0, high = RANGES;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < RANGES && character >= ranges[low].first ? ranges[low].is : LETTER_WORD;
}

LetterClass letters_class(const char *text, size_t size, size_t *length)
{
    char c = *text;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) { /* most characters of most texts */
        *length = 1;
        return LETTER_WORD;
    }
    *length = utf8_length(text, size);
    if (*length)
        return class_of(utf8_decode(text, *length));
    *length = 1;
    return LETTER_MARK;
}

/* --- small letters --- */

/* Capitals, every one or every other of a range, and how far on the small letters are. */
static const struct {
    uint32_t first, last, step;
    int32_t distance;
} capitals[] = {
    {0x0041, 0x005a, 1, 32}, {0x00c0, 0x00d6, 1, 32},   {0x00d8, 0x00de, 1, 32},
    {0x0100, 0x012e, 2, 1},  {0x0132, 0x0136, 2, 1},    {0x0139, 0x0147, 2, 1},
    {0x014a, 0x0176, 2, 1},  {0x0178, 0x0178, 1, -121}, {0x0179, 0x017d, 2, 1},
    {0x01cd, 0x01db, 2, 1},  {0x01de, 0x01ee, 2, 1},    {0x01f8, 0x021e, 2, 1},
    {0x0222, 0x0232, 2, 1},  {0x0386, 0x0386, 1, 38},   {0x0388, 0x038a, 1, 37},
    {0x038c, 0x038c, 1, 64}, {0x038e, 0x038f, 1, 63},   {0x0391, 0x03a1, 1, 32},
    {0x03a3, 0x03ab, 1, 32}, {0x0400, 0x040f, 1, 80},   {0x0410, 0x042f, 1, 32},
    {0x0460, 0x0480, 2, 1},  {0x048a, 0x04be, 2, 1},    {0x04c0, 0x04c0, 1, 15},
    {0x04c1, 0x04cd, 2, 1},  {0x04d0, 0x052e, 2, 1},    {0x0531, 0x0556, 1, 48},
};

uint32_t letters_small(uint32_t character)
{
    for (size_t i = 0; i < sizeof capitals / sizeof *capitals; i++)
        if (character >= capitals[i].first && character <= capitals[i].last)
            return (character - capitals[i].first) % capitals[i].step == 0
                       ? (uint32_t)((int32_t)character + capitals[i].distance)
                       : character;
    return character;
}

void letters_lower(char *text)
{
    for (char *c = text; *c; c++) {
        unsigned char lead = (unsigned char)c[0];
        if (lead >= 'A' && lead <= 'Z') {
            *c = (char)(lead - 'A' + 'a');
        } else if (lead >= 0xc3 && lead < 0xe0 && ((unsigned char)c[1] & 0xc0) == 0x80) {
            uint32_t small = letters_small(utf8_decode(c, 2));
            *c++ = (char)(0xc0 | small >> 6);
            *c = (char)(0x80 | (small & 0x3f));
        }
    }
}
