/* A corpus: training, validation and test tokens, and where they came from. */
#ifndef LINNET_CORPUS_H
#define LINNET_CORPUS_H

#include "data/vocabulary.h"
#include "src/options.h"

typedef struct CorpusOptions {
    char *valid, *test; /* files of their own; NULL or "": found or split off */
    size_t tokenizer;   /* index into the table: --tokens */
    size_t vocab_size, min_count;
    bool trim;           /* lines lose the white space at both ends */
    bool lowercase;      /* all tokens are lower-cased */
    size_t max_input_mb; /* the largest unpacked size of a file */
} CorpusOptions;

/* The rows --valid --test --tokens --trim --lowercase --vocab-size --min-count --max-input-mb;
 * the last is not stored. */
OptionGroup corpus_group(const CorpusOptions *options);

typedef struct CorpusSplit {
    const char *name;  /* "train", "valid", "test" */
    int32_t *ids;      /* an stb_ds array */
    size_t count;      /* tokens */
    size_t unknown;    /* of these, words outside the vocabulary that became <unk> */
    size_t characters; /* UTF-8 characters of the text, line ends included */
    uint32_t crc;      /* CRC-32 of the ids */
} CorpusSplit;

typedef struct Corpus {
    CorpusSplit train, valid, test;
    Vocabulary vocabulary;
    char *source;         /* one sentence for people: which files, and how they were split */
    double entropy_floor; /* entropy, the lowest possible loss in nats per token; 0: unknown */
} Corpus;

/* Loads NAME: a file (plain or gzip), "-" for standard input, or the built-in "toy". A file
 * that does not exist as named is looked up in data/ beside the program's directory. If
 * NAME.EXT does not exist but NAME.train.EXT does, the corpus is the triple train/valid/test
 * (each may end in .gz). A single file is split by lines: the last 5 % are test, the 5 % before
 * it validation. A known vocabulary (from a checkpoint) is copied with its tokenizer instead of
 * learning one. A missing last line end is added. On failure nothing is left to free. */
bool corpus_load(Corpus *corpus, const char *name, const CorpusOptions *options,
                 const Vocabulary *known, Error *error);
void corpus_free(Corpus *corpus);

#endif
