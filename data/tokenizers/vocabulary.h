/* Tokenizers and vocabularies: text to token ids and back.
 *
 * A Tokenizer is a table row: how to cut a text into tokens and join them again. A Vocabulary
 * is the list of tokens that a tokenizer learned from the training text.
 *
 *   word  separated by ASCII white space; line ends, and words spelled "<eos>", are the token
 *         <eos>. Ids are ordered by frequency, then by first occurrence. Other words become
 *         <unk>: the text's own if it has one, else one added at the end.
 *   wordpunct  runs of letters and digits, and each punctuation mark or symbol; a few marks
 *         inside words and numbers belong to them ("don't", "U.S", "1,234.5"). Ideographs and
 *         kana are single tokens. Words longer than TOKEN_LONGEST are cut. Otherwise as word.
 *   char  UTF-8 characters; line ends ("\n" or "\r\n") are <eos>. The <unk> is U+FFFD, the
 *         replacement character, again the text's own if it has one.
 *   byte  256 fixed tokens; nothing is unknown. Line ends are bytes like any other: <eos> is
 *         byte 10.
 *   bpe   byte-level byte-pair encoding (data/tokenizers/bpe.h): a token is one or several
 * bytes; nothing is unknown, and <eos> is the token of byte 10.
 *
 * word, wordpunct and char skip a byte order mark at the start of a text, and can lower-case
 * their tokens.
 *
 * Several threads may use one vocabulary, as long as none changes it. */
#ifndef LINNET_VOCABULARY_H
#define LINNET_VOCABULARY_H

#include "data/tokenizers/hash.h"
#include "data/tokenizers/utf8.h"
#include "src/base/error.h"
#include "src/base/real.h"

#define TOKEN_NONE     (-1)
#define TOKEN_EOS      "<eos>"
#define TOKEN_LONGEST  1000 /* bytes; a longer "word" is binary data or a lost line end */
#define TOKENS_OF_BYTE 256

typedef struct VocabularyLimits {
    size_t size;                /* the largest vocabulary, with special tokens; 0: no limit */
    size_t min_count;           /* rarer tokens become <unk> */
    bool lowercase;             /* tokens are lower-cased, when learned and ever after */
    const char *special_tokens; /* for bpe, with commas between; or NULL */
} VocabularyLimits;

typedef struct Vocabulary Vocabulary;

/* How a vocabulary is kept that is more than a list of tokens; see the functions below of the
 * same names. */
typedef struct VocabularyForm {
    void (*copy)(Vocabulary *copy, const Vocabulary *vocabulary); /* all but the list */
    void (*free)(Vocabulary *vocabulary);                         /* likewise */
    char *(*write)(const Vocabulary *vocabulary, size_t *size);
    bool (*read)(Vocabulary *vocabulary, const char *text, size_t size, Error *error);
} VocabularyForm;

typedef struct Tokenizer {
    const char *name;
    /* Learns the vocabulary of a checked text; sets everything but the tokenizer. */
    bool (*learn)(Vocabulary *vocabulary, const char *text, size_t size,
                  const VocabularyLimits *limits, Error *error);
    /* Appends the ids of a text to *ids, an stb_ds array. Returns how many were unknown. A
     * text that tokenizer_check would refuse is safe here too: it gives unknown tokens. */
    size_t (*encode)(const Vocabulary *vocabulary, const char *text, size_t size,
                     int32_t **ids);
    /* Finds the next token from *at on; returns its length, 0 after the last. NULL for
     * byte and bpe. */
    size_t (*cut)(const char *text, size_t size, size_t *at, const char **token);
    bool raw;       /* files are read as bytes, not as text (data/corpora/reader.h) */
    size_t longest; /* bytes of a token in a text that is accepted; 0: longer ones are cut */
    const char *separator;      /* between two tokens of running text: " " or "" */
    const char *unknown;        /* the text of <unk>; NULL if there is none */
    const VocabularyForm *form; /* NULL: a list of words, or the bytes */
} Tokenizer;

struct Vocabulary {
    const Tokenizer *tokenizer;
    /* (count) by id; an stb_ds array. Those of byte and bpe may contain zero bytes: read them
     * with vocabulary_piece. */
    char **words;
    uint32_t *lengths; /* (count) bytes of each; an stb_ds array */
    size_t count;
    int32_t eos, unk; /* unk is TOKEN_NONE for byte and bpe */
    int32_t start;    /* what an imported model reads before a text; TOKEN_NONE: <eos> */
    bool lowercase;   /* encoding lower-cases */
    HashTable table;  /* from bytes to ids */
    struct Bpe *bpe;  /* merges and more (data/tokenizers/bpe.h); NULL for the others */
};

/* Whether a text in memory can be cut into tokens: for word, wordpunct and char it must be
 * UTF-8 without zero bytes, for word no word may be longer than TOKEN_LONGEST. Bytes are
 * counted from 0, lines from 1; name says whose text it is. */
bool tokenizer_check(const Tokenizer *tokenizer, const char *name, const char *text,
                     size_t size, Error *error);
/* Only the length of words, in a part of a text that begins and ends between words; *lines is
 * the number of lines before it (for word), and is moved on. */
bool tokenizer_check_words(const Tokenizer *tokenizer, const char *name, const char *text,
                           size_t size, size_t *lines, Error *error);

/* Whether a tokenizer can learn within these limits. */
bool vocabulary_check_limits(const Tokenizer *tokenizer, const VocabularyLimits *limits,
                             Error *error);
/* Learns from a text that tokenizer_check has passed. On failure nothing is left to free. */
bool vocabulary_learn(Vocabulary *vocabulary, const Tokenizer *tokenizer, const char *text,
                      size_t size, const VocabularyLimits *limits, Error *error);
void vocabulary_copy(Vocabulary *copy, const Vocabulary *vocabulary);
void vocabulary_free(Vocabulary *vocabulary);
/* The id of a token, or TOKEN_NONE. */
int32_t vocabulary_find(const Vocabulary *vocabulary, const char *word);
int32_t vocabulary_find_bytes(const Vocabulary *vocabulary, const char *bytes, size_t size);

/* The token that a text begins after. */
static inline int32_t vocabulary_start(const Vocabulary *vocabulary)
{
    return vocabulary->start == TOKEN_NONE ? vocabulary->eos : vocabulary->start;
}

/* An empty vocabulary, to add words to. */
void vocabulary_begin(Vocabulary *vocabulary, const Tokenizer *tokenizer);
/* Appends a copy of a new token and returns its id; only if it is named can it be found. */
int32_t vocabulary_append(Vocabulary *vocabulary, const char *bytes, size_t size, bool named);
/* Appends a new word, which may be <eos> or <unk>. */
int32_t vocabulary_add(Vocabulary *vocabulary, const char *word);
/* Sets it to the 256 bytes. */
void vocabulary_add_bytes(Vocabulary *vocabulary);

/* The text of a token in running text ("\n" for <eos>), and its length; bytes may be any byte.
 */
size_t vocabulary_piece(const Vocabulary *vocabulary, int32_t id, const char **piece);
/* What stands between the texts of two tokens: the tokenizer's separator, or nothing beside
 * line ends. */
const char *vocabulary_separator(const Vocabulary *vocabulary, int32_t before, int32_t id);

/* Checks a text (tokenizer_check) and appends its ids to *ids, an stb_ds array; *unknown: how
 * many became <unk>. */
bool vocabulary_encode(const Vocabulary *vocabulary, const char *name, const char *text,
                       size_t size, int32_t **ids, size_t *unknown, Error *error);

/* The character that ids[at] completes, if its other bytes are in the tokens before it: sets
 * `character` to it, with a zero after it, and returns its length; 0: none. */
size_t vocabulary_completes(const Vocabulary *vocabulary, const int32_t *ids, size_t at,
                            char character[UTF8_LONGEST + 1]);

#endif
