/* Classes of Unicode characters, as far as splitting text into words needs them. */
#ifndef LINNET_UNICODE_H
#define LINNET_UNICODE_H

#include <stdint.h>

typedef enum UnicodeClass {
    UNICODE_OTHER, /* punctuation, symbols, marks, what is not assigned */
    UNICODE_LETTER,
    UNICODE_NUMBER,
    UNICODE_SPACE,
    UNICODE_CLASSES
} UnicodeClass;

UnicodeClass unicode_class(uint32_t character);

#endif
