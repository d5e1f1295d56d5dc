/* A corpus: training, validation and test tokens, and where they came from. */
#ifndef LINNET_CORPUS_H
#define LINNET_CORPUS_H

#include "data/corpora/tokens.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/mapping.h"
#include "src/base/options.h"

typedef struct CorpusOptions {
    char *valid, *test;   /* files of their own; NULL or "": found or split off */
    char *tokenizer_file; /* NULL or "": the tokenizer is learned, or found beside token ids */
    size_t tokenizer;     /* index into the table: --tokens */
    bool tokenizer_given; /* on the command line, so that a file must have this one */
    size_t vocab_size, min_count;
    char *special_tokens; /* NULL or "": none */
    bool trim;            /* lines lose the white space at both ends */
    bool lowercase;       /* all tokens are lower-cased */
    size_t max_input_mb;  /* the largest unpacked size of a file */
    /* Called with a description before work of more than about a second, and with NULL after
     * it; or NULL. */
    void (*tell)(const char *what);
} CorpusOptions;

/* The rows --valid --test --tokens --tokenizer-file --trim --lowercase --vocab-size --min-count
 * --special-tokens --max-input-mb; the last is not stored. */
OptionGroup corpus_group(const CorpusOptions *options);

typedef struct CorpusSplit {
    const char *name; /* "train", "valid", "test" */
    Tokens ids;       /* (count), owned by the corpus */
    size_t count;     /* tokens */
    /* (count), owned by the corpus: what must be predicted in the place of each token, or
     * TOKEN_NONE, which is not scored. In a text: the token itself; `at` is NULL. */
    Tokens labels;
    size_t labelled;   /* labels other than TOKEN_NONE */
    size_t unknown;    /* of these, words outside the vocabulary that became <unk> */
    size_t characters; /* UTF-8 characters of the text, line ends included */
    size_t bytes;      /* of the text, line ends included */
    /* Of a file of ids, unknown are all that are <unk>, and characters and bytes those of the
     * text that the ids spell. */
    uint32_t crc;      /* CRC-32 of the ids as int32_t */
    uint32_t text_crc; /* of the bytes; 0: unknown, in mapped files */
} CorpusSplit;

typedef struct Corpus {
    CorpusSplit train, valid, test;
    size_t line;          /* in synthetic tasks, the tokens of each line; 0: a text */
    void *owned[3];       /* the memory of the ids; they may share some */
    Mapping *mappings[3]; /* the files of ids that are mapped instead */
    Vocabulary vocabulary;
    char *source;         /* one sentence for people: which files, and how they were split */
    double entropy_floor; /* entropy, the lowest possible loss in nats per token; 0: unknown,
                           * except for tasks */
} Corpus;

/* The tokens that losses are of. */
static inline size_t split_scored(const CorpusSplit *split)
{
    return split->labels.data ? split->labelled : split->count;
}

/* The share of unknown words among the tokens. */
static inline double split_unknown_share(const CorpusSplit *split)
{
    return split->count ? (double)split->unknown / (double)split->count : 0;
}

/* Loads NAME: a file (plain or gzip), "-" for standard input, the built-in "toy", or a task
 * (data/corpora/tasks.h), whose windows must be its lines. A file
 * that does not exist as named is looked up in data/ beside the program's directory. If
 * NAME.EXT does not exist but NAME.train.EXT does, the corpus is the triple train/valid/test
 * (each may end in .gz). A single file is split by lines: the last 5 % are test, the 5 % before
 * it validation. A known vocabulary (from a checkpoint) is copied with its tokenizer instead of
 * learning one. A missing last line end is added.
 *
 * A file NAME.bin holds token ids, and a directory stands for its train.bin. See
 * data/corpora/corpus_parts.h. On failure nothing is left to free. */
bool corpus_load(Corpus *corpus, const char *name, const CorpusOptions *options,
                 const Vocabulary *known, Error *error);
void corpus_free(Corpus *corpus);

/* Bytes of memory that the ids take; mapped files take none. */
size_t corpus_memory(const Corpus *corpus);

/* Whether what has been read since it was loaded is the corpus: nobody has changed its files of
 * ids. One that was touched is read again, and its checksum compared. */
bool corpus_check(const Corpus *corpus, Error *error);

/* A loss in nats per token of the split as bits per byte of its text: losses with different
 * tokenizers compare. */
double split_bits_per_byte(const CorpusSplit *split, double loss);

#endif
