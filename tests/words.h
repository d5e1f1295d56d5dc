/* Lists of words: "one two three". */
#ifndef LINNET_WORDS_H
#define LINNET_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Whether the word is in the list. */
static inline bool is_among(const char *word, const char *list)
{
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

#endif
