/* GPT-2's splitter, by hand. Its regular expression, tried from left to right:
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * So a word is a contraction, or a run of letters, of numbers or of other characters, each with
 * at most one blank before it; or white space, of which the last character is left to the next
 * word if one follows. */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/unicode.h"
#include "data/tokenizers/utf8.h"

static UnicodeClass class_of_several(const char *text, size_t size, size_t *length)
{
    size_t valid = utf8_length(text, size);
    *length = valid ? valid : 1;
    return valid ? unicode_class(utf8_decode(text, valid)) : UNICODE_OTHER;
}

/* The class of the first character, and its length. */
static inline UnicodeClass class_of(const char *text, size_t size, size_t *length)
{
    unsigned char c = (unsigned char)*text;
    if (c >= 0x80)
        return class_of_several(text, size, length);
    *length = 1;
    if ((unsigned)(c | 0x20) - 'a' < 26)
        return UNICODE_LETTER;
    if ((unsigned)c - '0' < 10)
        return UNICODE_NUMBER;
    return utf8_is_space((char)c) ? UNICODE_SPACE : UNICODE_OTHER;
}

/* The end of the run of a class; *last becomes where its last character begins. */
static size_t run(const char *text, size_t size, size_t at, UnicodeClass class, size_t *last)
{
    size_t length;
    while (at < size && class_of(text + at, size - at, &length) == class) {
        *last = at;
        at += length;
    }
    return at;
}

static size_t contraction(const char *text, size_t size)
{
    if (size < 2 || text[0] != '\'')
        return 0;
    char c = text[1], next = size > 2 ? text[2] : '\0';
    if (c == 's' || c == 't' || c == 'm' || c == 'd')
        return 2;
    bool two = ((c == 'r' || c == 'v') && next == 'e') || (c == 'l' && next == 'l');
    return two ? 3 : 0;
}

static size_t cut(const char *text, size_t size, size_t at)
{
    size_t short_word = contraction(text + at, size - at), length, last = at;
    if (short_word)
        return at + short_word;
    size_t start = at + (text[at] == ' ' && at + 1 < size);
    UnicodeClass class = class_of(text + start, size - start, &length);
    if (class != UNICODE_SPACE)
        return run(text, size, start + length, class, &last);
    size_t end = run(text, size, at, UNICODE_SPACE, &last);
    return end < size && last > at ? last : end;
}

size_t bpe_cut(const char *text, size_t size, size_t at)
{
    size_t end = cut(text, size, at);
    return end - at < BPE_LONGEST ? end : at + BPE_LONGEST;
}

/* Whether the character that ends at `at` is white space; decoding forwards finds it too, since
 * only the first byte of a character can begin one. */
static bool is_space_before(const char *text, size_t at)
{
    size_t length;
    for (size_t back = 1; back <= UTF8_LONGEST && back <= at; back++) {
        const char *from = text + at - back;
        if (!utf8_is_inner(*from))
            return class_of(from, back, &length) == UNICODE_SPACE && length == back;
    }
    return false;
}

size_t bpe_seam(const char *text, size_t size, size_t at)
{
    for (at += !at; at < size; at++)
        if (utf8_is_space(text[at]) && !is_space_before(text, at))
            return at;
    return size;
}
