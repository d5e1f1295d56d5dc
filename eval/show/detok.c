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

/* --- blanks between the tokens of wordpunct --- */

typedef enum Side { FREE, BEFORE, AFTER, BOTH } Side; /* which neighbours a mark joins */

/* clang-format off */
static const struct {
    const char *mark;
    Side side;
} joining[] = {
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
static const char paired[] = "\"_*`'";

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
    unsigned bit = 1u << (strchr(paired, mark) - paired);
    bool closes = (spacing->open & bit) && !spacing->line_start;
    if (mark == '\'' && !closes && spacing->is == LETTER_WORD && spacing->last[0] == 's')
        return BEFORE;
    spacing->open = closes ? spacing->open & ~bit : spacing->open | bit;
    return closes ? BEFORE : AFTER;
}

static Side side_of(Spacing *spacing, const char *token)
{
    if (token[0] && !token[1]) {
        if (strchr(paired, token[0]))
            return side_of_pair(spacing, token[0]);
        if (token[0] == '-' ||
            token[0] == '#') /* an item or a heading at the start of a line */
            return spacing->line_start ? FREE : token[0] == '-' ? BOTH : AFTER;
    }
    for (size_t i = 0; i < COUNT(joining); i++)
        if (strcmp(token, joining[i].mark) == 0)
            return joining[i].side;
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
