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
    size_t max_input_mb; /* the most that a file may unpack to */
} CorpusOptions;

/* The rows --valid --test --tokens --trim --vocab-size --min-count --max-input-mb; the last is
 * not stored. */
extern const Option corpus_option_rows[];
extern const size_t corpus_option_count;

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
    double entropy_floor; /* nats per token that no model can beat; 0 where unknown */
} Corpus;

/* Loads NAME: a file (plain or gzip), "-" for standard input, or the built-in "toy". When NAME
 * is not found as given it is looked for in data/ beside the program's folder; when NAME.EXT
 * does not exist but NAME.train.EXT does, the triple train/valid/test is the corpus (.gz may
 * follow each). A single file is split by lines: the last 5 % are test, the 5 % before it
 * validation. With a known vocabulary (from a checkpoint) none is learned: the corpus gets a
 * copy of it, and its tokenizer counts, not the option's. A missing last line end is added.
 * When loading fails, nothing is left to free. */
bool corpus_load(Corpus *corpus, const char *name, const CorpusOptions *options,
                 const Vocabulary *known, Error *error);
void corpus_free(Corpus *corpus);

#endif
