/* Byte-level byte-pair encoding (BPE), as GPT-2 has it and Python's "tokenizers" learns it.
 *
 * A text is cut into words by GPT-2's splitter. A word starts as its bytes, each a token. Then
 * the pair of neighbours whose merge was learned first becomes one token, the leftmost if it
 * occurs several times, until no pair has a merge. Since every byte is a token, nothing is
 * unknown, and any bytes come back unchanged.
 *
 * Learning adds, again and again, the merge of the most frequent pair to the vocabulary; among
 * pairs that are equally frequent, that of the smaller ids. */
#ifndef LINNET_BPE_H
#define LINNET_BPE_H

#include "data/tokenizers/vocabulary.h"

#include <jansson.h>

#define BPE_BYTES      TOKENS_OF_BYTE
#define BPE_USUAL_SIZE 8192             /* of a vocabulary, where no size is given */
#define BPE_LONGEST    (UINT32_MAX / 2) /* bytes of a word, so that 32 bits count them */
#define BPE_NONE       UINT32_MAX

typedef struct BpeMerge {
    uint32_t left, right, result;
} BpeMerge;

/* A token that is cut out of a text before the splitter sees it: "<|endoftext|>". */
typedef struct BpeAdded {
    uint32_t id;
    bool special; /* has no part in running text; "tokenizers" can leave it out of decoding */
    bool normalized; /* is looked for after those that are not */
} BpeAdded;

/* The BPE part of a vocabulary: merges, and what finds them. */
typedef struct Bpe {
    uint32_t bytes[BPE_BYTES]; /* the token of each byte */
    BpeMerge *merges;          /* by rank; an stb_ds array */
    HashTable ranks;           /* from pairs to ranks */
    BpeAdded *added;           /* sorted by their bytes; an stb_ds array */
    uint32_t *added_index;     /* places in it, or BPE_NONE, by id; NULL if there are none */
} Bpe;

/* Two tokens as one number, by which pairs are ordered and found. */
static inline uint64_t bpe_pair(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

/* ---- The vocabulary ---- */

void bpe_begin(Vocabulary *vocabulary);

/* The 256 bytes, in the order of the characters that stand for them. */
void bpe_add_bytes(Vocabulary *vocabulary);
/* The id of the token whose bytes are those of both. If there is none, adds it, or returns
 * BPE_NONE. */
uint32_t bpe_join(Vocabulary *vocabulary, uint32_t left, uint32_t right, bool add);
/* Makes the tables of merges, added tokens and bytes; the last step of building. Returns the
 * rank of a merge whose pair has an earlier one, or BPE_NONE. */
uint32_t bpe_finish(Vocabulary *vocabulary);
/* What is known of an added token; NULL for others. */
const BpeAdded *bpe_added(const Bpe *bpe, uint32_t id);
/* The rank of a pair's merge, or BPE_NONE. */
uint32_t bpe_rank(const Bpe *bpe, uint32_t left, uint32_t right);

/* ---- Cutting and counting words ---- */

/* Where the word that begins at `at`, which is before the end, ends. Bytes that are not UTF-8
 * count as characters that are no letter, number or white space. Longer words than BPE_LONGEST
 * are cut in parts. */
size_t bpe_cut(const char *text, size_t size, size_t at);

/* The first place from `at` on where a text can be cut in two that have the same words as the
 * whole: white space behind another character. `size` if there is none. */
size_t bpe_seam(const char *text, size_t size, size_t at);

typedef struct BpeWord {
    const char *bytes; /* the counter's */
    size_t size;
    size_t count, first; /* occurrences, and the place of the first in the text */
} BpeWord;

/* Counts the words of a text that comes in parts, on the thread team. Parts begin where
 * bpe_seam finds a seam, or utf8_last_break a break. */
typedef struct BpeCounter BpeCounter;
BpeCounter *bpe_counter_begin(void);
void bpe_counter_add(BpeCounter *counter, const char *text, size_t size);
/* The words by first occurrence, an stb_ds array of the counter; once, after the last part. */
const BpeWord *bpe_counter_words(BpeCounter *counter);
void bpe_counter_end(BpeCounter *counter);

/* ---- The tokenizer ---- */

extern const Tokenizer bpe_tokenizer;

bool bpe_learn(Vocabulary *vocabulary, const char *text, size_t size,
               const VocabularyLimits *limits, Error *error);
/* The same in two steps: the vocabulary without merges, and its merges from words that were
 * counted. */
bool bpe_learn_begin(Vocabulary *vocabulary, const VocabularyLimits *limits, Error *error);
bool bpe_learn_counted(Vocabulary *vocabulary, BpeCounter *counter,
                       const VocabularyLimits *limits, Error *error);
size_t bpe_encode(const Vocabulary *vocabulary, const char *text, size_t size, int32_t **ids);

/* ---- Files ---- */

/* The stored form, tokenizer.json; see vocabulary_write and vocabulary_read. */
char *bpe_write(const Vocabulary *vocabulary, size_t *size);
bool bpe_read(Vocabulary *vocabulary, const char *text, size_t size, Error *error);
bool bpe_read_json(Vocabulary *vocabulary, const json_t *root, Error *error);

/* Those of other programs. Reads tokenizer.json, or a directory with it or with GPT-2's
 * vocab.json and merges.txt. On failure nothing is left to free. */
bool bpe_import(Vocabulary *vocabulary, const char *path, Error *error);
/* Writes all three into a directory, which exists. */
bool bpe_export(const Vocabulary *vocabulary, const char *folder, Error *error);

/* A token as it is spelled in these files: a visible character for each byte, but added tokens
 * as they are. The caller frees. */
char *bpe_spell(const Vocabulary *vocabulary, uint32_t id);
char *bpe_spell_bytes(const char *bytes, size_t size);
/* The merge of a rank, "a b". */
char *bpe_spell_merge(const Vocabulary *vocabulary, size_t rank);
/* Reads a spelling into bytes, which has room for as many as the text has, and returns how many
 * they are; 0 if a character stands for no byte. */
size_t bpe_unspell(char *bytes, const char *text);

#endif
