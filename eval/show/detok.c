#include "eval/show/detok.h"
#include "src/memory.h"

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

/* Words with more capitals than the first letter. */
static const char *const spellings[] = {
    "PhD", "Ph.D.", "II", "III", "IV", "VIII", "TV", "CEO", "DNA", "GNP", "GDP", "OECD", "OPEC",
    "NATO", "NASA", "FBI", "CIA", "IRS", "UK", "EU", "US$", "C$", "A$",
    "S$", "HK$", "NT$", "NZ$",
};

/* Words that are always capitalised: I, titles, suffixes of companies, days, months, and names of
 * common places and their people. */
static const char *const capitals[] = {
    "i", "i'm", "i've", "i'll", "i'd", "mr.", "mrs.", "ms.", "dr.", "prof.", "messrs.",
    "sen.", "rep.", "gov.", "gen.", "lt.", "col.", "capt.", "sgt.", "maj.", "jr.", "sr.",
    "st.", "inc.", "corp.", "co.", "ltd.", "cos.", "bros.", "assn.",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "january", "february", "april", "june", "july", "august", "september", "october",
    "november", "december", "jan.", "feb.", "aug.", "sept.", "oct.", "nov.", "dec.",
    "christmas", "christian", "jewish", "catholic",
    "america", "american", "americans", "europe", "european", "europeans", "asia", "asian",
    "africa", "african", "britain", "british", "england", "english", "london", "france",
    "french", "paris", "germany", "german", "germans", "berlin", "italy", "italian", "spain",
    "spanish", "japan", "japanese", "tokyo", "china", "chinese", "beijing", "korea", "korean",
    "russia", "russian", "moscow", "soviet", "soviets", "israel", "israeli", "canada",
    "canadian", "mexico", "mexican", "brazil", "india", "indian", "australia", "australian",
    "california", "texas", "florida", "washington", "chicago", "boston", "manhattan",
    "republican", "republicans", "democrat", "democrats",
};

/* A name follows these. */
static const char *const titles[] = {"mr.", "mrs.", "ms.", "dr.", "prof.", "sen.", "rep.",
                                     "gov."};

/* Months that are also words: they are months after one of these. */
static const char *const unclear_months[] = {"march", "may"};
static const char *const before_months[] = {"in", "since", "until", "last", "next", "early",
                                            "late", "by"};

/* Letters with periods are initials, in capitals, except these. */
static const char *const small_initials[] = {"a.m.", "p.m.", "e.g.", "i.e.", "v."};
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

/* --- letters --- */

static void capitalise(char *text)
{
    unsigned char *c = (unsigned char *)text;
    if (*c >= 'a' && *c <= 'z')
        *c = (unsigned char)(*c - 'a' + 'A');
    else if (c[0] == 0xc3 && c[1] >= 0xa0 && c[1] <= 0xbe && c[1] != 0xb7) /* à to þ, no ÷ */
        c[1] = (unsigned char)(c[1] - 0x20);
}

/* The number of letters with periods at the start of the word. */
static size_t count_initials(const char *word)
{
    size_t initials = 0;
    while (is_letter(word[2 * initials]) && word[2 * initials + 1] == '.')
        initials++;
    return initials;
}

/* "u.s." and "j.", also "u.s.-based", but not "a.b". */
static void capitalise_initials(char *word)
{
    size_t initials = count_initials(word);
    char behind = word[2 * initials];
    if (IS_IN(word, small_initials) || (behind && (initials < 2 || behind != '-')))
        return;
    for (size_t i = 0; i < initials; i++)
        capitalise(word + 2 * i);
}

/* Short words around an ampersand are initials: "at&t", "s&p", "r&d". */
static void capitalise_joined(char *word)
{
    enum { LONGEST = 5 };
    const char *joint = strchr(word, '&');
    bool joined = joint && joint > word && joint[1] && strlen(word) <= LONGEST;
    for (char *c = word; joined && *c; c++)
        capitalise(c);
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

static char *spell(const Detok *detok, const char *word)
{
    for (size_t i = 0; i < COUNT(spellings); i++)
        if (strcasecmp(word, spellings[i]) == 0)
            return memory_copy_text(spellings[i]);
    char *written = memory_copy_text(word);
    remove_protection(written);
    capitalise_initials(written);
    capitalise_joined(written);
    bool is_month = IS_IN(word, unclear_months) && IS_IN(detok->previous, before_months);
    if (is_month || IS_IN(word, capitals) || IS_IN(detok->previous, titles))
        capitalise(written);
    return written;
}

/* --- the stream --- */

void detok_begin(Detok *detok)
{
    *detok = (Detok){.sentence_start = true, .line_start = true};
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

/* Anything else is a word, which starts the sentence. */
static void remember(Detok *detok, const char *word, const Mark *mark)
{
    bool ends = strcmp(word, ".") == 0 || strcmp(word, "?") == 0 || strcmp(word, "!") == 0;
    bool begins = !mark && strcmp(word, "--") != 0;
    detok->sentence_start = ends || (detok->sentence_start && !begins);
    detok->close = mark && mark->close_behind;
    detok->line_start = false;
    bool fits = strlen(word) < sizeof detok->previous;
    strcpy(detok->previous, fits ? word : "");
}

char *detok_word(Detok *detok, const char *word, bool *space)
{
    const Mark *mark = strcmp(word, "\"") == 0 ? find_quote(detok) : find_mark(word);
    char *written = mark && mark->written ? memory_copy_text(mark->written)
                    : *word == '<'        ? memory_copy_text(word)
                                          : spell(detok, word);
    *space = has_space(detok, word, mark);
    if (!mark && detok->sentence_start)
        capitalise(written);
    remember(detok, word, mark);
    return written;
}
