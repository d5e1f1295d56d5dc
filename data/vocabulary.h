/* Text to token ids and back.
 *
 * A Tokenizer is a table row: how a text is cut into tokens, and how tokens become text again.
 * A Vocabulary is what a tokenizer learned from the training text: the list of its tokens.
 *
 *   word  separated by white space, the ASCII kind; every line end is the token <eos>, and so
 *         is a word that the text itself writes as "<eos>". The vocabulary is ordered by
 *         frequency, then by first occurrence. <unk> stands in for words outside it: the
 *         text's own <unk> where it has one, else one that is added at the end.
 *   char  one UTF-8 character each; line ends ("\n" or "\r\n") are <eos>. The <unk> is U+FFFD,
 *         the replacement character, again the text's own where it has one.
 *   byte  256 tokens, fixed; nothing is ever unknown, and line ends are bytes like any other:
 *         the <eos> is byte 10.
 *
 * A byte order mark at the start of a text is skipped, by word and char.
 *
 * Looking something up writes a scratch field inside the map, so a vocabulary serves one
 * thread at a time. */
#ifndef LINNET_VOCABULARY_H
#define LINNET_VOCABULARY_H

#include "src/error.h"
#include "src/real.h"

#define TOKEN_NONE     (-1)
#define TOKEN_EOS      "<eos>"
#define TOKEN_LONGEST  1000 /* bytes; a longer "word" is binary data or a lost line end */
#define TOKENS_OF_BYTE 256

typedef struct VocabularyLimits {
    size_t size;      /* the most tokens to keep, the special ones included; 0: all */
    size_t min_count; /* rarer tokens become <unk> */
} VocabularyLimits;

typedef struct Vocabulary Vocabulary;

typedef struct Tokenizer {
    const char *name, *help;
    /* Learns the vocabulary of a checked text; sets everything but the tokenizer. */
    bool (*learn)(Vocabulary *vocabulary, const char *text, size_t size,
                  const VocabularyLimits *limits, Error *error);
    /* Appends the ids of a text to *ids, an stb_ds array. Returns how many were unknown. A
     * text that tokenizer_check would refuse is safe here too: it gives unknown tokens. */
    size_t (*encode)(const Vocabulary *vocabulary, const char *text, size_t size,
                     int32_t **ids);
    /* The length of the next token from *at on, and where it is; 0 after the last. NULL for
     * bytes, which need no looking. */
    size_t (*cut)(const char *text, size_t size, size_t *at, const char **token);
    const char *separator; /* what stands between two tokens in running text: " " or "" */
    const char *unknown;   /* how the <unk> is written; NULL where there is none */
} Tokenizer;

struct Vocabulary {
    const Tokenizer *tokenizer;
    char **words; /* count texts, by id; an stb_ds array */
    size_t count;
    int32_t eos, unk;      /* unk is TOKEN_NONE for bytes */
    struct WordEntry *map; /* from text to id, an stb_ds map; NULL for bytes */
};

enum { TOKENIZER_WORD, TOKENIZER_CHAR, TOKENIZER_BYTE };

const Tokenizer *tokenizer_find(size_t index); /* NULL after the last */
const char *tokenizer_name(size_t index);      /* the same, for option rows */

/* Whether a text can be cut into tokens: for word and char it must be UTF-8 without zero
 * bytes, for word no word may be longer than TOKEN_LONGEST. Bytes are counted from 0, lines
 * from 1; name says whose text it is. */
bool tokenizer_check(const Tokenizer *tokenizer, const char *name, const char *text,
                     size_t size, Error *error);

/* When learning or reading fails, nothing is left to free. */
bool vocabulary_learn(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                      size_t size, const VocabularyLimits *limits, Error *error);
void vocabulary_copy(Vocabulary *copy, const Vocabulary *vocabulary);
void vocabulary_free(Vocabulary *vocabulary);
int32_t vocabulary_find(const Vocabulary *vocabulary, const char *word); /* or TOKEN_NONE */

/* Appends a word and returns its id; for those who build a vocabulary. The word must not be
 * in it yet, and is copied. */
int32_t vocabulary_add(Vocabulary *vocabulary, const char *word);
/* Makes it the 256 bytes. */
void vocabulary_add_bytes(Vocabulary *vocabulary);

/* What a token looks like in running text ("\n" for <eos>); the words need the tokenizer's
 * separator between them, none beside a line end. For bytes the text may be any byte, its
 * length is returned. */
size_t vocabulary_piece(const Vocabulary *vocabulary, int32_t id, const char **piece);

/* The form in which a checkpoint stores it: one token per line (nothing for bytes), a control
 * character written \xNN and a backslash doubled. The caller frees. Reading trusts nothing: it
 * refuses raw control characters, duplicates, invalid UTF-8, whatever learning cannot make. */
char *vocabulary_write(const Vocabulary *vocabulary, size_t *size);
bool vocabulary_read(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                     size_t size, Error *error);

#endif
