#include "eval/show/detok.h"
#include "src/base/memory.h"

#include <string.h>
#include <strings.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Punctuation and parts of words: the token, its spelling, and whether it joins the token
 * before and after it. */
typedef struct Mark {
    const char *word, *written;
    bool close_before, close_behind;
} Mark;

/* clang-format off */
static const Mark marks[] = {
    {",",     ",",   true,  false}, {";",     ";",   true,  false},
    {":",     ":",   true,  false}, {".",     ".",   true,  false},
    {"?",     "?",   true,  false}, {"!",     "!",   true,  false},
    {"...",   "...", true,  false},
    {"``",    "\"",  false, true},  {"''",    "\"",  true,  false},
    {"`",     "'",   false, true},  {"'",     "'",   true,  false},
    {"(",     "(",   false, true},  {")",     ")",   true,  false},
    {"-lrb-", "(",   false, true},  {"-rrb-", ")",   true,  false},
    {"[",     "[",   false, true},  {"]",     "]",   true,  false},
    {"-lsb-", "[",   false, true},  {"-rsb-", "]",   true,  false},
    {"{",     "{",   false, true},  {"}",     "}",   true,  false},
    {"-lcb-", "{",   false, true},  {"-rcb-", "}",   true,  false},
    {"n't",   NULL,  true,  false}, {"'s",    NULL,  true,  false},
    {"'re",   NULL,  true,  false}, {"'ve",   NULL,  true,  false},
    {"'ll",   NULL,  true,  false}, {"'d",    NULL,  true,  false},
    {"'m",    NULL,  true,  false},
};

/* Tokens that join a number: before it, and after it. */
static const char *const before_numbers[] = {"$", "#", "£", "€", "¥", "us$", "c$", "a$", "s$",
                                             "hk$", "nt$", "nz$"};
static const char *const behind_numbers[] = {"%", "°"};

/* Pairs of tokens that are one word. */
static const char *const pairs[][2] = {{"can", "not"}, {"gon", "na"}, {"wan", "na"},
                                       {"got", "ta"},  {"gim", "me"}, {"lem", "me"}};
/* clang-format on */

static bool is_in(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, list[i]) == 0)
            return true;
    return false;
}
#define IS_IN(word, list) is_in(word, list, COUNT(list))

/* ASCII only, independent of the locale. */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A number, or N, which stands for one, or a word such as N-year. */
static bool is_number(const char *word)
{
    if (word[0] == '.')
        word++;
    return is_digit(word[0]) || (word[0] == 'N' && !is_letter(word[1]));
}

static bool is_pair(const char *first, const char *second)
{
    for (size_t i = 0; i < COUNT(pairs); i++)
        if (strcasecmp(first, pairs[i][0]) == 0 && strcasecmp(second, pairs[i][1]) == 0)
            return true;
    return false;
}

/* Some corpora escape the slash of 1\/2. */
static void remove_protection(char *word)
{
    char *to = word;
    for (const char *from = word; *from; from++)
        if (from[0] != '\\' || (from[1] != '/' && from[1] != '*'))
            *to++ = *from;
    *to = '\0';
}

/* --- the stream --- */

void detok_begin(Detok *detok)
{
    *detok = (Detok){.line_start = true};
}

static const Mark *find_mark(const char *word)
{
    for (size_t i = 0; i < COUNT(marks); i++)
        if (strcasecmp(word, marks[i].word) == 0)
            return &marks[i];
    return NULL;
}

/* Straight quotation marks alternate between opening and closing within a line. */
static const Mark *find_quote(Detok *detok)
{
    static const Mark sides[] = {{"\"", "\"", false, true}, {"\"", "\"", true, false}};
    detok->quoting = !detok->quoting;
    return &sides[detok->quoting ? 0 : 1];
}

static bool has_space(const Detok *detok, const char *word, const Mark *mark)
{
    if (detok->line_start || detok->close || (mark && mark->close_before))
        return false;
    const char *previous = detok->previous;
    bool with_number = (IS_IN(previous, before_numbers) && is_number(word)) ||
                       (is_number(previous) && IS_IN(word, behind_numbers));
    return !with_number && !is_pair(previous, word);
}

char *detok_word(Detok *detok, const char *word, bool *space)
{
    const Mark *mark = strcmp(word, "\"") == 0 ? find_quote(detok) : find_mark(word);
    char *written = memory_copy_text(mark && mark->written ? mark->written : word);
    if (!mark)
        remove_protection(written);
    *space = has_space(detok, word, mark);
    detok->close = mark && mark->close_behind;
    detok->line_start = false;
    strcpy(detok->previous, strlen(word) < sizeof detok->previous ? word : "");
    return written;
}
