/* Loading a corpus: splits, vocabulary, encoding. Users bring corpora of their own, so many of
 * these tests are about bad input. */
#include "data/corpora/corpus.h"
#include "data/tokenizers/utf8.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

SUITE("corpus", .folder = true);

#define MOST_MB ((size_t)8)

static const CorpusOptions plain = {.min_count = 1, .max_input_mb = MOST_MB};

static Corpus load(const char *name, const CorpusOptions *options)
{
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(corpus_load(&corpus, name, options, NULL, &error), "%s", error.text);
    return corpus;
}

static void expect_no_corpus(const char *name, const CorpusOptions *options, const char *part)
{
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(!corpus_load(&corpus, name, options, NULL, &error), "%s was loaded", name);
    ck_says(error, part);
}

/* The same for a file of this text. */
static void expect_no_corpus_in(const char *name, const char *text,
                                const CorpusOptions *options, const char *part)
{
    char *path = scratch_put(name, text);
    expect_no_corpus(path, options, part);
}

/* The tokens of a split as text. */
static char *words_of(const Corpus *corpus, const CorpusSplit *split)
{
    char *text = memory_copy_text("");
    for (size_t i = 0; i < split->count; i++)
        text_append(&text, "%s ", corpus->vocabulary.words[tokens_at(split->ids, i)]);
    return text;
}

static void expect_split(const Corpus *corpus, const CorpusSplit *split, const char *expected)
{
    char *words = words_of(corpus, split);
    ck_assert_str_eq(words, expected);
    int32_t *ids = memory_new(split->count, sizeof *ids, "a test");
    tokens_read(split->ids, 0, split->count, ids);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)ids, (uInt)(split->count * sizeof *ids));
    ck_assert_uint_eq(split->crc, crc);
    free(ids);
    free(words);
}

TEST(one_file_is_split_by_lines)
{
    char *text = memory_copy_text(""), *path;
    for (int i = 0; i < 40; i++)
        text_append(&text, "l%d\n", i);
    text[strlen(text) - 1] = '\0'; /* a missing last line end is added */
    path = scratch_put("forty.txt", text);
    Corpus corpus = load(path, &plain);
    ck_assert_uint_eq(corpus.train.count, 72);
    ck_assert_uint_eq(corpus.vocabulary.count, 36 + 2);
    ck_assert_uint_eq(corpus.train.unknown, 0);
    ck_assert_uint_eq(corpus.valid.unknown, 2);
    ck_assert_uint_eq(corpus.test.unknown, 2);
    ck_assert_uint_eq(corpus.test.characters, 8);
    ck_assert_uint_eq(corpus.test.bytes, strlen("l38\nl39\n"));
    ck_assert_uint_eq(corpus.train.bytes, 10 * strlen("l0\n") + 26 * strlen("l10\n"));
    ck_assert_uint_eq(corpus_memory(&corpus), (72 + 4 + 4) * corpus.train.ids.width);
    expect_split(&corpus, &corpus.valid, "<unk> <eos> <unk> <eos> ");
    ck_assert(strstr(corpus.source, "forty.txt in /tmp/"));
    ck_assert(
        strstr(corpus.source, ", split by lines: 90 % training, 5 % validation, 5 % test"));
    ck_assert_double_eq(corpus.entropy_floor, 0);
    corpus_free(&corpus);
    free(text);

    path = scratch_put("three", "a\nb\na b\n");
    corpus = load(path, &plain);
    expect_split(&corpus, &corpus.train, "a <eos> ");
    expect_split(&corpus, &corpus.valid, "<unk> <eos> ");
    expect_split(&corpus, &corpus.test, "a <unk> <eos> ");
    corpus_free(&corpus);
    expect_no_corpus_in("two", "a\nb\n", &plain, "two: too short to split a test text off");
}

TEST(separate_split_files_take_precedence)
{
    char *path = scratch_put("main", "a\na\na\nb\n"), *other = scratch_put("own", "b a\n");
    CorpusOptions options = plain;
    options.valid = other;
    Corpus corpus = load(path, &options);
    expect_split(&corpus, &corpus.train, "a <eos> a <eos> a <eos> ");
    expect_split(&corpus, &corpus.valid, "<unk> a <eos> ");
    expect_split(&corpus, &corpus.test, "<unk> <eos> ");
    ck_assert(strstr(corpus.source, "75 % training, 25 % test; validation from "));
    corpus_free(&corpus);
    options.test = other;
    corpus = load(path, &options);
    ck_assert_uint_eq(corpus.train.count, 8);
    ck_assert(!strstr(corpus.source, "split"));
    corpus_free(&corpus);
    options.test = "-";
    options.valid = "-";
    expect_no_corpus(path, &options, "only once");
    options.valid = "no-such-file";
    expect_no_corpus(path, &options, "--valid no-such-file");
    other = scratch_path(".");
    options.valid = other;
    expect_no_corpus(path, &options, "directory");
    other = scratch_put("bad", "good\nb\xff\n");
    options.valid = other;
    options.test = other;
    expect_no_corpus(path, &options, "bad:2: invalid UTF-8 at byte 6");
}

TEST(empty_corpora_are_refused)
{
    static const char *const texts[] = {"", "\n\n\n\n", " \t\r\n \n\v\n", "\xEF\xBB\xBF\n"};
    CorpusOptions options = plain;
    for (size_t i = 0; i < COUNT(texts); i++)
        for (options.tokenizer = 0; tokenizer_find(options.tokenizer); options.tokenizer++)
            expect_no_corpus_in("empty", texts[i], &options, "the corpus is empty");
}

TEST(validation_texts_must_not_be_empty)
{
    char *path = scratch_put("known", "a b\na\nb\n"), *other = scratch_put("own", " \n\n");
    CorpusOptions options = plain;
    options.valid = other;
    expect_no_corpus(path, &options, "own: the corpus is empty");
    other = scratch_put("own", "all of this\nis new\n");
    options.valid = other;
    Corpus corpus = load(path, &options);
    ck_assert_uint_eq(corpus.valid.count, 7);
    ck_assert_uint_eq(corpus.valid.unknown, 5);
    expect_split(&corpus, &corpus.valid, "<unk> <unk> <unk> <eos> <unk> <unk> <eos> ");
    corpus_free(&corpus);
}

TEST(an_empty_gzip_file_is_an_empty_corpus)
{
    char *packed = NULL;
    size_t size = 0;
    scratch_pack(&packed, &size, "", 0);
    char *path = scratch_put_bytes("nothing.gz", packed, size);
    expect_no_corpus(path, &plain, "nothing.gz: the corpus is empty");
    free(packed);
}

/* Binary data is refused or read as bytes, and never truncated at a zero. */
TEST(binary_files_need_the_byte_tokenizer)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } files[] = {
        {"\177ELF\2\1\1\0\0\0\nx\0\nyz\n", 17, ":1: binary data at byte 7"},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n", 17, ":1: invalid UTF-8 at byte 0"},
        {"\xff\xfeo\0n\0e\0\n\0t\0w\0o\0\n\0\n", 19, ":3: invalid UTF-16 at byte 18"},
        {"one\r\ntwo\r\ncaf\xe9\r\nfour\r\n", 22, ":3: invalid UTF-8 at byte 13"},
        {"one\ntwo\nthree\nfo\0ur\nfive\n", 25, ":4: binary data at byte 16"},
    };
    CorpusOptions options = plain;
    for (size_t i = 0; i < COUNT(files); i++) {
        char *path = scratch_put_bytes("binary", files[i].bytes, files[i].size);
        for (options.tokenizer = 0; tokenizer_find(options.tokenizer); options.tokenizer++)
            if (options.tokenizer != TOKENIZER_BYTE)
                expect_no_corpus(path, &options, files[i].says);
        options.tokenizer = TOKENIZER_BYTE;
        Corpus corpus = load(path, &options);
        ck_assert_uint_eq(corpus.train.count + corpus.valid.count + corpus.test.count,
                          files[i].size);
        corpus_free(&corpus);
    }
}

/* At white space near the place if there is some, and never inside a character. */
TEST(long_lines_are_split_by_bytes)
{
    char *text = memory_copy_text("");
    for (int i = 0; i < 100; i++)
        text_append(&text, "%sword%d", i ? " " : "", i);
    char *path = scratch_put("line", text);
    Corpus corpus = load(path, &plain);
    ck_assert(strstr(corpus.source, "line in /tmp/"));
    ck_assert(strstr(corpus.source, ", split by bytes (too few lines): 90 % training, 5 % "
                                    "validation, 5 % test"));
    ck_assert_uint_eq(corpus.train.count + corpus.valid.count + corpus.test.count, 101);
    ck_assert_uint_eq(corpus.train.bytes + corpus.valid.bytes + corpus.test.bytes,
                      strlen(text) + 1);
    ck_assert_uint_ge(corpus.test.count, 5);
    ck_assert_uint_ge(corpus.valid.count, 5);
    corpus_free(&corpus);
    free(text);

    text = memory_copy_text("");
    for (int i = 0; i < 101; i++)
        text_append(&text, "\xe4\xb8\xad"); /* a character of three bytes */
    path = scratch_put("characters", text);
    CorpusOptions options = plain;
    options.tokenizer = TOKENIZER_CHAR;
    corpus = load(path, &options);
    ck_assert_uint_eq(corpus.train.count + corpus.valid.count + corpus.test.count, 102);
    ck_assert_uint_eq(corpus.train.unknown + corpus.valid.unknown + corpus.test.unknown, 0);
    corpus_free(&corpus);
    options.test = path;
    corpus = load(path, &options);
    ck_assert(strstr(corpus.source, "95 % training, 5 % validation; test from"));
    corpus_free(&corpus);
    free(text);
}

TEST(carriage_returns_alone_end_no_line)
{
    expect_no_corpus_in("mac", "a b\rc\ra\rb\r", &plain, "too short to split");
    char *path = scratch_put("mixed", "a\rb\nc\nd\n");
    Corpus corpus = load(path, &plain);
    expect_split(&corpus, &corpus.train, "a b <eos> ");
    corpus_free(&corpus);
}

TEST(endless_words_are_refused_with_a_reason)
{
    enum { LENGTH = 4000000 };
    char *text = memory_new(LENGTH + 16, 1, "a test"), *path;
    memset(text, 'x', LENGTH);
    strcpy(text + LENGTH, "\nb\nc\n");
    path = scratch_put("endless", text);
    expect_no_corpus(path, &plain, "endless:1: a word is longer than the limit of 1000 bytes");
    CorpusOptions options = plain;
    options.tokenizer = TOKENIZER_CHAR;
    Corpus corpus = load(path, &options);
    ck_assert_uint_eq(corpus.train.count, LENGTH + 1);
    ck_assert_uint_eq(corpus.vocabulary.count, 3);
    corpus_free(&corpus);
    free(text);
}

TEST(trimming_strips_white_space_of_lines)
{
    char *path = scratch_put("blanks", UTF8_BYTE_ORDER_MARK " a b \t\n\n \r\n\vc\r\n  d");
    CorpusOptions options = plain;
    options.valid = options.test = path;
    options.tokenizer = TOKENIZER_CHAR;
    for (int trim = 0; trim < 2; trim++) {
        options.trim = trim;
        Corpus corpus = load(path, &options);
        ck_assert_uint_eq(corpus.train.count, trim ? 10 : 17);
        ck_assert_uint_eq(corpus.test.characters, corpus.test.count);
        ck_assert_uint_eq(corpus.test.bytes, corpus.test.count);
        corpus_free(&corpus);
    }
}

static char *messages;

static void record_message(const char *what)
{
    text_append(&messages, "%s; ", what ? what : "done");
}

TEST(loading_a_large_text_is_announced)
{
    enum { SIZE = 20000001 };
    CorpusOptions options = plain;
    options.max_input_mb = 30;
    options.tokenizer = TOKENIZER_BYTE;
    options.tell = record_message;
    char *text = memory_new(SIZE + 1, 1, "a test");
    for (size_t i = 0; i < SIZE; i++)
        text[i] = i % 50 == 49 ? '\n' : 'x';
    char *path = scratch_path("large.txt"), *small = scratch_put("small.txt", "a\nb\nc\nd\n");
    scratch_write(path, text, SIZE);
    Corpus corpus = load(small, &options);
    ck_assert_str_eq(messages, "done; ");
    corpus_free(&corpus);
    corpus = load(path, &options);
    char *expected = text_format("done; tokenizing %s (20 MB); done; ", path);
    ck_assert_str_eq(messages, expected);
    corpus_free(&corpus);
    free(expected);
    free(messages);
    free(text);
}

/* A model that gives each of 256 bytes the same probability has 8 bits per byte; words of it
 * cost as much as their bytes. */
TEST(bits_per_byte_do_not_depend_on_the_tokens)
{
    const CorpusSplit bytes = {.count = 600, .bytes = 600},
                      words = {.count = 100, .bytes = 600};
    ck_assert_double_eq_tol(split_bits_per_byte(&bytes, log(256)), 8, 1e-12);
    ck_assert_double_eq_tol(split_bits_per_byte(&words, 6 * log(256)), 8, 1e-12);
}

/* 16-bit ids would wrap around at 65536. */
TEST(vocabularies_may_be_large)
{
    enum { LINES = 700, WORDS_OF_LINE = 100, WORDS = LINES * WORDS_OF_LINE, WORD = 16 };
    char *text = memory_new(WORDS, WORD, "a test"), *end = text, *path;
    for (int i = 0; i < WORDS; i++)
        end += sprintf(end, "w%d%s", i, i % WORDS_OF_LINE == WORDS_OF_LINE - 1 ? "\n" : " ");
    strcpy(end, "w1 w69999\nw2\n");
    path = scratch_put("large", text);
    CorpusOptions options = plain;
    options.valid = options.test = path;
    Corpus corpus = load(path, &options);
    ck_assert_uint_eq(corpus.vocabulary.count, WORDS + 2);
    ck_assert_uint_eq(corpus.train.unknown, 0);
    int32_t ids[2];
    tokens_read(corpus.train.ids, WORDS + LINES, 2, ids);
    ck_assert_uint_eq(corpus.train.ids.width, 4);
    ck_assert_str_eq(corpus.vocabulary.words[ids[0]], "w1");
    ck_assert_str_eq(corpus.vocabulary.words[ids[1]], "w69999");
    ck_assert_int_ne(ids[1], tokens_at(corpus.train.ids, WORDS + LINES - 2 - 65536));
    corpus_free(&corpus);
    options.vocab_size = 5;
    corpus = load(path, &options);
    ck_assert_uint_eq(corpus.vocabulary.count, 5);
    ck_assert_uint_eq(corpus.train.unknown, WORDS - 3);
    expect_no_corpus(path, &(CorpusOptions){.vocab_size = 1, .min_count = 1, .max_input_mb = 1},
                     "--vocab-size 1");
    corpus_free(&corpus);
    options.vocab_size = WORDS * 2; /* a limit above the number of words changes nothing */
    corpus = load(path, &options);
    ck_assert_uint_eq(corpus.vocabulary.count, WORDS + 2);
    corpus_free(&corpus);
    free(text);
}

TEST(line_ends_of_every_kind_are_one_token)
{
    char *dos = scratch_put("dos", "\xEF\xBB\xBF"
                                   "ab\r\nc\r\nab\r\nc");
    char *unix_one = scratch_put("unix", "ab\nc\nab\nc\n");
    for (size_t kind = 0; tokenizer_find(kind); kind++) {
        CorpusOptions options = plain;
        options.tokenizer = kind;
        options.valid = dos;
        Corpus a = load(dos, &options), b = load(unix_one, &options);
        if (kind == TOKENIZER_BYTE) {
            ck_assert_uint_eq(a.valid.count, strlen("BOM"
                                                    "ab\r\nc\r\nab\r\nc\n"));
            corpus_free(&a);
            corpus_free(&b);
            continue;
        }
        ck_assert_uint_eq(a.train.count, b.train.count);
        ck_assert_uint_eq(a.train.crc, b.train.crc);
        ck_assert_uint_eq(a.valid.crc, b.valid.crc);
        ck_assert_uint_eq(a.test.crc, b.test.crc);
        ck_assert_uint_eq(a.train.text_crc, b.train.text_crc);
        ck_assert_uint_eq(a.train.bytes, b.train.bytes);
        ck_assert_uint_eq(a.train.characters, b.train.characters);
        if (kind == TOKENIZER_CHAR)
            ck_assert_uint_eq(a.train.characters, a.train.count);
        corpus_free(&a);
        corpus_free(&b);
    }
}

TEST(a_given_vocabulary_is_kept)
{
    char *path = scratch_put("new", "x y\nx\nold\n");
    Vocabulary known = vocabulary_of(TOKENIZER_WORD, "old x\n", 0, 1);
    Corpus corpus;
    Error error;
    CorpusOptions options = plain;
    options.tokenizer = TOKENIZER_BYTE; /* a given vocabulary overrides the options */
    ck_assert(corpus_load(&corpus, path, &options, &known, &error));
    ck_assert_uint_eq(corpus.vocabulary.count, known.count);
    ck_assert_uint_eq(corpus.train.unknown, 1);
    expect_split(&corpus, &corpus.train, "x <unk> <eos> ");
    expect_split(&corpus, &corpus.test, "old <eos> ");
    vocabulary_free(&known);
    ck_assert_int_eq(vocabulary_find(&corpus.vocabulary, "old"), tokens_at(corpus.test.ids, 0));
    corpus_free(&corpus);
}

TEST(three_split_files_are_loaded)
{
    char *packed = NULL;
    size_t size = 0;
    scratch_pack(&packed, &size, "a b\nb\n", 6);
    scratch_put_bytes("t.train.txt.gz", packed, size);
    scratch_put("t.valid.txt", "b c\n");
    scratch_put("t.test.txt", "a\n");
    Corpus corpus = load(scratch_path("t.txt"), &plain);
    expect_split(&corpus, &corpus.train, "a b <eos> b <eos> ");
    expect_split(&corpus, &corpus.valid, "b <unk> <eos> ");
    expect_split(&corpus, &corpus.test, "a <eos> ");
    ck_assert_uint_eq(corpus.valid.unknown, 1);
    corpus_free(&corpus);
    free(packed);
}

TEST(the_toy_corpus_is_built_in)
{
    Corpus corpus = load("toy", &plain);
    ck_assert_uint_ge(corpus.train.count, 400000);
    ck_assert_uint_ge(corpus.valid.count, 40000);
    ck_assert_uint_ge(corpus.test.count, 40000);
    ck_assert_uint_ne(corpus.valid.crc, corpus.test.crc);
    ck_assert_double_gt(corpus.entropy_floor, 0);
    corpus_free(&corpus);
    CorpusOptions options = plain;
    options.tokenizer = TOKENIZER_CHAR;
    corpus = load("toy", &options);
    ck_assert_double_eq(corpus.entropy_floor, 0);
    corpus_free(&corpus);
    options = plain;
    options.vocab_size = 10;
    corpus = load("toy", &options);
    ck_assert_double_eq(corpus.entropy_floor, 0);
    ck_assert_uint_eq(corpus.vocabulary.count, 10);
    corpus_free(&corpus);
}

TEST(the_option_rows_fit_the_struct)
{
    CorpusOptions options = {0};
    const Options group = {{corpus_group(&options)}};
    Error error;
    options_set_defaults(&group);
    ck_assert_uint_eq(options.min_count, 1);
    ck_assert_uint_eq(options.max_input_mb, 1000);
    ck_assert(options_set(&group, "tokens", "char", "--tokens", &error));
    ck_assert_uint_eq(options.tokenizer, TOKENIZER_CHAR);
    ck_assert(options_set(&group, "vocab-size", "77", "--vocab-size", &error));
    ck_assert(options_set(&group, "max-input-mb", "7", "--max-input-mb", &error));
    ck_assert(!options_set(&group, "max-input-mb", "1000001", "--max-input-mb", &error));
    ck_assert(!options_set(&group, "min-count", "0", "--min-count", &error));
    char *text = options_write_text(&group);
    ck_assert_str_eq(
        text, "tokens = char\ntrim = no\nlowercase = no\nvocab-size = 77\nmin-count = 1\n");
    free(text);
    options_free_texts(&group);
}

/* The published sizes of the Penn Treebank; skipped without it. */
TEST(penn_treebank_has_its_known_sizes)
{
    const char *place = getenv("PTB_DIR");
    if (!place)
        return;
    char *name = file_join(place, "ptb.txt");
    Corpus corpus = load(name, &plain);
    ck_assert_uint_eq(corpus.train.count, 929589);
    ck_assert_uint_eq(corpus.valid.count, 73760);
    ck_assert_uint_eq(corpus.test.count, 82430);
    ck_assert_uint_eq(corpus.vocabulary.count, 10000);
    ck_assert_uint_eq(corpus.train.unknown + corpus.valid.unknown + corpus.test.unknown, 0);
    vocabulary_expect_round_trip(&corpus.vocabulary);
    corpus_free(&corpus);
    free(name);
}
