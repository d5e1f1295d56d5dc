/* Classes of Unicode characters, as far as splitting text into words needs them, and small
 * letters. All are own tables and not the C library's: its tables depend on locale and version,
 * and the same text must give the same tokens on every machine. */
#ifndef LINNET_UNICODE_H
#define LINNET_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* As the splitter of byte-pair encoding sees characters. */
typedef enum UnicodeClass {
    UNICODE_OTHER, /* punctuation, symbols, marks, what is not assigned */
    UNICODE_LETTER,
    UNICODE_NUMBER,
    UNICODE_SPACE,
    UNICODE_CLASSES
} UnicodeClass;

UnicodeClass unicode_class(uint32_t character);

/* As the tokenizer wordpunct sees them. */
typedef enum LetterClass {
    LETTER_WORD,   /* letters and all else that is not listed: combining vowels, Hangul, ... */
    LETTER_DIGIT,  /* 0 to 9, and their full-width forms */
    LETTER_MARK,   /* punctuation, symbols, emoji, controls: each is a token of its own */
    LETTER_SIGN,   /* ideographs and kana, which are written without blanks: likewise */
    LETTER_EXTEND, /* accents, joiners, variation selectors: belong to the character before */
    LETTER_SPACE   /* white space; ASCII's, no-break and ideographic spaces, ... */
} LetterClass;

typedef struct LetterRange {
    uint32_t first, last;
    LetterClass is;
} LetterRange;

/* The characters that are not LETTER_WORD, in ascending order; NULL after the last. */
const LetterRange *letters_range(size_t index);

/* The class of the first character, and its length in bytes. A byte that is not UTF-8 is a mark
 * of length 1. The size must not be 0. */
LetterClass letters_class(const char *text, size_t size, size_t *length);

/* Lower-cases in place: A to Z, and letters of two bytes in the Latin, Greek, Cyrillic and
 * Armenian alphabets, but for some that few languages use (such as U+01A0 of Vietnamese). No
 * letter changes its length; those that would (the dotted capital I of Turkish) and alphabets
 * of three bytes stay. A capital sigma never becomes the final one. */
void letters_lower(char *text);

/* The small letter of this capital, or the same character. */
uint32_t letters_small(uint32_t character);

#endif
