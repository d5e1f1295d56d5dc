/* The table of tokenizers.
 *
 * word, wordpunct and char differ only in where they cut, so they share the functions that
 * learn and encode; each has a `cut` that finds the next token. cut returns a line end as the
 * text "<eos>", so a word spelled "<eos>" is the same token.
 *
 * Learning counts all tokens in a vocabulary whose ids are the order of first occurrence, which
 * also breaks ties. A token is copied once into a small buffer, to end it with a zero. */
#include "data/tokenizers/tokenizers.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/unicode.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"

#include <stdlib.h>
#include <string.h>

#define WORD_UNKNOWN "<unk>"

/* --- cutting --- */

static size_t cut_line_end(const char **token)
{
    *token = TOKEN_EOS;
    return sizeof TOKEN_EOS - 1;
}

static size_t cut_word(const char *text, size_t size, size_t *at, const char **token)
{
    size_t i = *at ? *at : utf8_mark(text, size);
    while (i < size && utf8_is_space(text[i]))
        if (text[i++] == '\n') {
            *at = i;
            return cut_line_end(token);
        }
    size_t start = i;
    while (i < size && !utf8_is_space(text[i]))
        i++;
    *token = text + start;
    *at = i;
    return i - start;
}

/* The length of a special token spelled out, which is one token here too; else 0. */
static size_t special_length(const char *text, size_t size)
{
    static const char *const specials[] = {TOKEN_EOS, WORD_UNKNOWN};
    for (size_t i = 0; *text == '<' && i < sizeof specials / sizeof *specials; i++)
        if (size >= strlen(specials[i]) && memcmp(text, specials[i], strlen(specials[i])) == 0)
            return strlen(specials[i]);
    return 0;
}

/* The length of the mark at this place, if it belongs to the word around it; else 0. As in the
 * word boundaries of Unicode (UAX 29): the apostrophe of "don't", the full stops of "U.S.A",
 * comma, full stop and colon of "1,234.5" and "12:30". */
static size_t joint_length(const char *text, size_t size, LetterClass before)
{
    static const char apostrophe[] = "\xE2\x80\x99"; /* the typographic one */
    size_t length = strlen(apostrophe), ignored;
    if (size <= length || memcmp(text, apostrophe, length) != 0)
        length = 1;
    if (size <= length)
        return 0;
    LetterClass after = letters_class(text + length, size - length, &ignored);
    if (after != LETTER_WORD && after != LETTER_DIGIT)
        return 0;
    bool digits = before == LETTER_DIGIT && after == LETTER_DIGIT;
    bool joins = length > 1 || *text == '\'' || (*text == '.' && before == after) ||
                 ((*text == ',' || *text == ':') && digits);
    return joins ? length : 0;
}

/* Where the word that begins at `at` ends: letters, digits, what belongs to them, and joints.
 * Languages without blanks have endless words, which are cut at the longest length. */
static size_t word_end(const char *text, size_t size, size_t at)
{
    size_t start = at, length;
    if (size - start > TOKEN_LONGEST)
        size = start + TOKEN_LONGEST;
    for (LetterClass before = LETTER_WORD; at < size; at += length) {
        LetterClass is = letters_class(text + at, size - at, &length);
        if (is == LETTER_MARK && at > start)
            length = joint_length(text + at, size - at, before);
        else if (is != LETTER_WORD && is != LETTER_DIGIT && is != LETTER_EXTEND)
            break;
        if (!length)
            break;
        before = is == LETTER_DIGIT ? LETTER_DIGIT : LETTER_WORD;
    }
    return at;
}

/* Accents and the like stay with the mark or sign that they change. */
static size_t mark_end(const char *text, size_t size, size_t at)
{
    size_t start = at, length;
    letters_class(text + at, size - at, &length);
    do
        at += length;
    while (at < size && letters_class(text + at, size - at, &length) == LETTER_EXTEND &&
           at + length - start <= TOKEN_LONGEST);
    return at;
}

static size_t cut_word_or_mark(const char *text, size_t size, size_t *at, const char **token)
{
    size_t i = *at ? *at : utf8_mark(text, size), length;
    LetterClass is = LETTER_SPACE;
    while (i < size && (is = letters_class(text + i, size - i, &length)) == LETTER_SPACE) {
        i += length;
        if (text[i - 1] == '\n') {
            *at = i;
            return cut_line_end(token);
        }
    }
    size_t start = i;
    if (i < size)
        i += special_length(text + i, size - i);
    if (i == start && i < size)
        i = is == LETTER_MARK || is == LETTER_SIGN ? mark_end(text, size, i)
                                                   : word_end(text, size, i);
    *token = text + start;
    *at = i;
    return i - start;
}

static size_t cut_character(const char *text, size_t size, size_t *at, const char **token)
{
    size_t i = *at ? *at : utf8_mark(text, size);
    if (i == size)
        return 0;
    size_t carriage = text[i] == '\r' && i + 1 < size; /* part of the line end, if any */
    if (text[i + carriage] == '\n') {
        *at = i + carriage + 1;
        return cut_line_end(token);
    }
    size_t length = utf8_length(text + i, size - i);
    *token = text + i;
    *at = i + (length ? length : 1);
    return length ? length : 1;
}

/* --- learning and encoding, by cuts --- */

/* Look-ups need words that end in a zero, and lower-cased if the vocabulary is. Invalid tokens
 * of an unchecked text become the empty word, which no vocabulary has. Tokens are short, so a
 * loop is faster than memchr and memcpy. */
static const char *end_word(char *word, const char *token, size_t length, bool lowercase)
{
    bool good = length <= TOKEN_LONGEST;
    for (size_t i = 0; good && i < length; i++) {
        word[i] = token[i];
        good = token[i] != '\0';
    }
    word[good ? length : 0] = '\0';
    if (lowercase)
        letters_lower(word);
    return word;
}

/* All tokens of a text, by first occurrence, with their counts. */
typedef struct Tally {
    Vocabulary tokens;
    size_t *counts; /* by id, an stb_ds array */
} Tally;

static Tally tally_make(const Tokenizer *tokenizer, bool lowercase, const char *text,
                        size_t size)
{
    Tally tally = {.tokens = {.tokenizer = tokenizer}};
    char word[TOKEN_LONGEST + 1];
    const char *token;
    size_t at = 0, length;
    while ((length = tokenizer->cut(text, size, &at, &token)) > 0) {
        int32_t id = vocabulary_find(&tally.tokens, end_word(word, token, length, lowercase));
        if (id == TOKEN_NONE) {
            id = vocabulary_add(&tally.tokens, word);
            arrput(tally.counts, 0);
        }
        tally.counts[id]++;
    }
    return tally;
}

static void tally_free(Tally *tally)
{
    vocabulary_free(&tally->tokens);
    arrfree(tally->counts);
}

/* Compares pointers into the counts; the smaller pointer is the earlier token. */
static int more_frequent_first(const void *a, const void *b)
{
    const size_t *x = *(const size_t *const *)a, *y = *(const size_t *const *)b;
    if (*x != *y)
        return *x > *y ? -1 : 1;
    return x < y ? -1 : x > y;
}

static bool learn_by_cuts(Vocabulary *vocabulary, const char *text, size_t size,
                          const VocabularyLimits *limits, Error *error)
{
    enum { SPECIALS = 2 };
    const char *unknown = vocabulary->tokenizer->unknown;
    if (limits->size && limits->size < SPECIALS)
        return error_usage(error, "--vocab-size %zu: <eos> and <unk> alone are %d",
                           limits->size, SPECIALS);
    size_t room = limits->size ? limits->size - SPECIALS : SIZE_MAX;
    Tally tally = tally_make(vocabulary->tokenizer, vocabulary->lowercase, text, size);
    size_t count = tally.tokens.count;
    size_t **order = memory_new(count, sizeof *order, "the vocabulary");
    for (size_t i = 0; i < count; i++)
        order[i] = &tally.counts[i];
    qsort(order, count, sizeof *order, more_frequent_first);
    /* Limits do not apply to the special tokens, which keep their place in the order. */
    for (size_t i = 0; i < count; i++) {
        const char *word = tally.tokens.words[order[i] - tally.counts];
        bool special = strcmp(word, TOKEN_EOS) == 0 || strcmp(word, unknown) == 0;
        if (!special && (!room || *order[i] < limits->min_count))
            continue;
        room -= !special;
        vocabulary_add(vocabulary, word);
    }
    free(order);
    tally_free(&tally);
    if (vocabulary_find(vocabulary, TOKEN_EOS) == TOKEN_NONE)
        vocabulary_add(vocabulary, TOKEN_EOS);
    if (vocabulary_find(vocabulary, unknown) == TOKEN_NONE)
        vocabulary_add(vocabulary, unknown);
    return true;
}

/* A text repeats few characters, so the id of each that has one or two bytes is looked up once.
 */
static size_t encode_characters(const Vocabulary *vocabulary, const char *text, size_t size,
                                int32_t **ids)
{
    enum { DIRECT = 0x800, UNSEEN = TOKEN_NONE - 1 };
    int32_t known[DIRECT];
    size_t at = 0, length, missing = 0;
    char word[TOKEN_LONGEST + 1];
    const char *token;
    for (size_t i = 0; i < DIRECT; i++)
        known[i] = UNSEEN;
    while ((length = cut_character(text, size, &at, &token)) > 0) {
        bool direct = length <= 2 && utf8_length(token, length) == length;
        int32_t spare = UNSEEN, *id = direct ? &known[utf8_decode(token, length)] : &spare;
        if (*id == UNSEEN)
            *id = vocabulary_find(vocabulary,
                                  end_word(word, token, length, vocabulary->lowercase));
        missing += *id == TOKEN_NONE;
        arrput(*ids, *id == TOKEN_NONE ? vocabulary->unk : *id);
    }
    return missing;
}

static size_t encode_by_cuts(const Vocabulary *vocabulary, const char *text, size_t size,
                             int32_t **ids)
{
    size_t at = 0, length, missing = 0;
    char word[TOKEN_LONGEST + 1];
    const char *token;
    while ((length = vocabulary->tokenizer->cut(text, size, &at, &token)) > 0) {
        int32_t id = vocabulary_find(vocabulary,
                                     end_word(word, token, length, vocabulary->lowercase));
        missing += id == TOKEN_NONE;
        arrput(*ids, id == TOKEN_NONE ? vocabulary->unk : id);
    }
    return missing;
}

/* --- bytes --- */

static bool learn_bytes(Vocabulary *vocabulary, const char *text, size_t size,
                        const VocabularyLimits *limits, Error *error)
{
    (void)text, (void)size;
    if (limits->size || limits->min_count > 1)
        return error_usage(error,
                           "--tokens byte always has %d tokens; drop --vocab-size and "
                           "--min-count",
                           TOKENS_OF_BYTE);
    vocabulary_add_bytes(vocabulary);
    return true;
}

static size_t encode_bytes(const Vocabulary *vocabulary, const char *text, size_t size,
                           int32_t **ids)
{
    (void)vocabulary;
    int32_t *next = arraddnptr(*ids, size);
    for (size_t i = 0; i < size; i++)
        next[i] = (unsigned char)text[i];
    return 0;
}

/* --- the table --- */

static const Tokenizer word_tokenizer = {.name = "word",
                                         .learn = learn_by_cuts,
                                         .encode = encode_by_cuts,
                                         .cut = cut_word,
                                         .longest = TOKEN_LONGEST,
                                         .separator = " ",
                                         .unknown = WORD_UNKNOWN};
static const Tokenizer wordpunct_tokenizer = {.name = "wordpunct",
                                              .learn = learn_by_cuts,
                                              .encode = encode_by_cuts,
                                              .cut = cut_word_or_mark,
                                              .separator = " ",
                                              .unknown = WORD_UNKNOWN};
static const Tokenizer character_tokenizer = {.name = "char",
                                              .learn = learn_by_cuts,
                                              .encode = encode_characters,
                                              .cut = cut_character,
                                              .separator = "",
                                              .unknown = UTF8_REPLACEMENT};
static const Tokenizer byte_tokenizer = {
    .name = "byte", .learn = learn_bytes, .encode = encode_bytes, .raw = true, .separator = ""};

static const Tokenizer *const tokenizers[] = {[TOKENIZER_WORD] = &word_tokenizer,
                                              [TOKENIZER_WORDPUNCT] = &wordpunct_tokenizer,
                                              [TOKENIZER_CHAR] = &character_tokenizer,
                                              [TOKENIZER_BYTE] = &byte_tokenizer,
                                              [TOKENIZER_BPE] = &bpe_tokenizer};

const Tokenizer *tokenizer_find(size_t index)
{
    return index < sizeof tokenizers / sizeof *tokenizers ? tokenizers[index] : NULL;
}

size_t tokenizer_index(const Tokenizer *tokenizer)
{
    size_t index = 0;
    while (tokenizer_find(index) != tokenizer)
        index++;
    return index;
}

const char *tokenizer_name(size_t index)
{
    const Tokenizer *tokenizer = tokenizer_find(index);
    return tokenizer ? tokenizer->name : NULL;
}
