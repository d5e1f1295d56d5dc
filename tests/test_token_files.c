/* Files of token ids: nanoGPT's and llm.c's, whole and broken, and corpora made of them. */
#include "data/corpora/corpus.h"
#include "data/corpora/tokens.h"
#include "data/tokenizers/tokenizers.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

SUITE("token_files", .folder = true);

#define BYTE_FORM "# linnet tokenizer byte\n"

static const CorpusOptions plain = {.min_count = 1, .max_input_mb = 1};

/* --- files --- */

/* Ids of two bytes, after a header if magic is not 0; count is what the header says. */
static char *put_ids(const char *name, const int32_t *ids, size_t count, int32_t magic,
                     int32_t version, int32_t said)
{
    unsigned width = magic == 20240801 ? 4 : 2;
    size_t header = magic ? TOKEN_HEADER * sizeof(int32_t) : 0;
    char *bytes = memory_new(header + count * width, 1, "a test");
    const int32_t numbers[] = {magic, version, said};
    if (magic)
        memcpy(bytes, numbers, sizeof numbers);
    tokens_narrow(bytes + header, width, ids, count);
    char *path = scratch_put_bytes(name, bytes, header + count * width);
    free(bytes);
    return path;
}

static char *put_text(const char *name, const char *text)
{
    int32_t *ids = memory_new(strlen(text), sizeof *ids, "a test");
    for (size_t i = 0; text[i]; i++)
        ids[i] = (unsigned char)text[i];
    char *path = put_ids(name, ids, strlen(text), 0, 0, 0);
    free(ids);
    return path;
}

static void expect_refused(char *path, const char *part)
{
    TokenFile file;
    Error error = {0};
    ck_assert_msg(!token_file_open(&file, path, &error), "%s was opened", path);
    ck_says(error, part);
    ck_says(error, path);
}

TEST(three_forms_are_read)
{
    static const int32_t ids[] = {0, 1, 255, 256, 40000, 65535, 3};
    static const struct {
        int32_t magic, version;
    } forms[] = {{0, 0}, {20240520, 1}, {20240801, 7}};
    for (size_t i = 0; i < COUNT(forms); i++) {
        char *path = put_ids("ids.bin", ids, COUNT(ids), forms[i].magic, forms[i].version,
                             COUNT(ids));
        TokenFile file;
        Error error = {0};
        ck_assert_msg(token_file_open(&file, path, &error), "%s", error.text);
        ck_assert_uint_eq(file.count, COUNT(ids));
        for (size_t k = 0; k < COUNT(ids); k++)
            ck_assert_int_eq(tokens_at(file.ids, k), ids[k]);
        ck_assert_uint_eq(tokens_crc(file.ids, COUNT(ids)),
                          tokens_crc(tokens_plain(ids), COUNT(ids)));
        token_file_close(&file);
        free(path);
    }
}

TEST(broken_files_are_refused)
{
    static const int32_t ids[] = {1, 2, 3, 4};
    char *header = memory_new(TOKEN_HEADER, sizeof(int32_t), "a test");
    const int32_t magic = 20240520;
    memcpy(header, &magic, sizeof magic);
    expect_refused(scratch_put("empty.bin", ""), "the file is empty");
    expect_refused(scratch_put("odd.bin", "abc"), "an odd number of bytes, 3");
    expect_refused(scratch_put_bytes("cut.bin", header, 1023), "the header is cut");
    expect_refused(scratch_put_bytes("short.bin", header, 4), "the header is cut");
    expect_refused(put_ids("v.bin", ids, 4, 20240520, 2, 4), "version 2 of llm.c's form");
    expect_refused(put_ids("v.bin", ids, 4, 20240801, 1, 4), "version 1 of llm.c's form");
    expect_refused(put_ids("less.bin", ids, 4, 20240520, 1, 5), "counts 5 tokens");
    expect_refused(put_ids("more.bin", ids, 4, 20240801, 7, 3), "counts 3 tokens");
    expect_refused(put_ids("none.bin", ids, 4, 20240520, 1, 0), "counts 0 tokens");
    expect_refused(put_ids("minus.bin", ids, 4, 20240520, 1, -4), "counts -4 tokens");
    expect_refused(put_ids("eval.bin", ids, 4, 20240522, 1, 4),
                   "questions with answers to choose");
    expect_refused(scratch_path("missing.bin"), "No such file");
    expect_refused(scratch_path("."), "not a regular file");
    free(header);
}

TEST(ids_beyond_the_vocabulary_are_refused)
{
    static const int32_t ids[] = {0, 255, 256, 1}, wild[] = {7, INT32_MIN, 7};
    Vocabulary bytes = vocabulary_of(TOKENIZER_BYTE, "", 0, 1);
    TokenFile file;
    TokenFacts facts;
    Error error = {0};
    char *path = put_ids("ids.bin", ids, COUNT(ids), 0, 0, 0);
    ck_assert(token_file_open(&file, path, &error));
    ck_assert(token_file_check(&file, 0, 2, &bytes, &facts, &error));
    ck_assert(token_file_check(&file, 3, 1, &bytes, &facts, &error));
    ck_assert(!token_file_check(&file, 0, 4, &bytes, &facts, &error));
    ck_says(error, "ids.bin: token 2 has the id 256, and the tokenizer only ids below 256");
    token_file_close(&file);
    free(path);
    path = put_ids("wild.bin", wild, COUNT(wild), 20240801, 7, COUNT(wild));
    ck_assert(token_file_open(&file, path, &error));
    ck_assert(!token_file_check(&file, 0, 3, &bytes, &facts, &error));
    ck_says(error, "token 1 has the id 2147483648");
    token_file_close(&file);
    free(path);
    vocabulary_free(&bytes);
}

/* The numbers of a text can be told from its ids. */
TEST(ids_know_the_size_of_their_text)
{
    static const char text[] = "the \xe4\xb8\xad said\nthe the\n\nsaid <unk>\n";
    for (size_t kind = 0; kind <= TOKENIZER_BYTE; kind++) {
        Vocabulary vocabulary = vocabulary_of(kind, text, 0, 1);
        int32_t *ids = NULL;
        vocabulary.tokenizer->encode(&vocabulary, text, sizeof text - 1, &ids);
        char *path = put_ids("text.bin", ids, arrlenu(ids), 0, 0, 0);
        TokenFile file;
        TokenFacts facts;
        Error error = {0};
        ck_assert(token_file_open(&file, path, &error));
        ck_assert(token_file_check(&file, 0, file.count, &vocabulary, &facts, &error));
        ck_assert_uint_eq(facts.count, arrlenu(ids));
        ck_assert_uint_eq(facts.bytes, sizeof text - 1);
        ck_assert_uint_eq(facts.characters, sizeof text - 3);
        ck_assert_uint_eq(facts.unknown, kind == TOKENIZER_WORD || kind == TOKENIZER_WORDPUNCT);
        ck_assert_uint_eq(facts.crc, tokens_crc(tokens_plain(ids), arrlenu(ids)));
        token_file_close(&file);
        arrfree(ids);
        free(path);
        vocabulary_free(&vocabulary);
    }
}

/* --- tokenizers in files --- */

TEST(tokenizers_come_back_from_their_files)
{
    static const char text[] = "a b \\ \"c\" a\tb \xe4\xb8\xad\na b\n";
    for (size_t kind = 0; tokenizer_find(kind); kind++) {
        Vocabulary vocabulary = vocabulary_of(kind, text, 0, 1), other, back;
        Error error = {0};
        scratch_empty();
        ck_assert(!vocabulary_is_in(scratch_folder()));
        ck_assert(vocabulary_store(&vocabulary, scratch_folder(), &error));
        ck_assert(vocabulary_is_in(scratch_folder()));
        ck_assert_msg(vocabulary_load(&back, scratch_folder(), &error), "%s", error.text);
        ck_assert(vocabulary_equal(&vocabulary, &back));
        /* The same one may be there already, another one not. */
        ck_assert(vocabulary_store(&back, scratch_folder(), &error));
        other = vocabulary_of(kind == TOKENIZER_WORD ? TOKENIZER_CHAR : TOKENIZER_WORD,
                              "other words\n", 0, 1);
        ck_assert(!vocabulary_store(&other, scratch_folder(), &error));
        ck_says(error, "has another tokenizer");
        vocabulary_free(&vocabulary);
        vocabulary_free(&back);
        vocabulary_free(&other);
    }
}

TEST(broken_tokenizer_files_are_refused)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"# linnet tokenizer syllable\n", "vocabulary.txt:1: no tokenizer that linnet knows"},
        {"# linnet tokenizer word", "<eos> or <unk> is missing"},
        {"# linnet tokenizer word\na\na\n", "a token that came before"},
        {"# linnet tokenizer word\na\n", "<eos> or <unk> is missing"},
        {"# linnet tokenizer byte\na\n", "byte tokenizer needs none"},
        {"# linnet tokenizer char\nab\n", "not one token"},
        {"", "does not begin with"},
        {"a\nb\n", "does not begin with"},
    };
    scratch_empty();
    for (size_t i = 0; i < COUNT(cases); i++) {
        scratch_put("vocabulary.txt", cases[i].text);
        Vocabulary vocabulary;
        Error error = {0};
        ck_assert(!vocabulary_load(&vocabulary, scratch_folder(), &error));
        ck_says(error, cases[i].says);
    }
    scratch_put("tokenizer.json", "{}");
    Vocabulary vocabulary;
    Error error = {0};
    ck_assert(!vocabulary_load(&vocabulary, scratch_folder(), &error));
    ck_says(error, "has both vocabulary.txt and tokenizer.json");
    scratch_empty();
}

/* --- corpora --- */

static Corpus load(const char *name, const CorpusOptions *options, const Vocabulary *known)
{
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(corpus_load(&corpus, name, options, known, &error), "%s", error.text);
    return corpus;
}

static void expect_no_corpus(const char *name, const CorpusOptions *options,
                             const Vocabulary *known, const char *part)
{
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(!corpus_load(&corpus, name, options, known, &error), "%s was loaded", name);
    ck_says(error, part);
}

static void expect_text(const CorpusSplit *split, const char *text)
{
    ck_assert_uint_eq(split->count, strlen(text));
    ck_assert_uint_eq(split->bytes, strlen(text));
    for (size_t i = 0; i < split->count; i++)
        ck_assert_int_eq(tokens_at(split->ids, i), (unsigned char)text[i]);
    ck_assert_uint_eq(split->crc, tokens_crc(split->ids, split->count));
}

TEST(ids_alone_are_split)
{
    char *text = memory_new(101, 1, "a test");
    memset(text, 'x', 100);
    memcpy(text + 90, "1234567890", 10);
    scratch_empty();
    char *path = put_text("some.bin", text);
    expect_no_corpus(path, &plain, NULL, "which tokenizer made these token ids?");
    scratch_put("vocabulary.txt", BYTE_FORM);
    Corpus corpus = load(path, &plain, NULL);
    ck_assert(corpus.vocabulary.tokenizer == tokenizer_find(TOKENIZER_BYTE));
    expect_text(&corpus.valid, "12345");
    expect_text(&corpus.test, "67890");
    ck_assert_uint_eq(corpus.train.count, 90);
    ck_assert_uint_eq(corpus_memory(&corpus), 0);
    ck_assert(strstr(corpus.source, "some.bin in /tmp/"));
    ck_assert(strstr(corpus.source, "split by tokens: 90 % training"));
    corpus_free(&corpus);
    free(path);
    path = put_text("three.bin", "abc");
    corpus = load(path, &plain, NULL);
    expect_text(&corpus.train, "a");
    expect_text(&corpus.valid, "b");
    expect_text(&corpus.test, "c");
    corpus_free(&corpus);
    free(path);
    path = put_text("two.bin", "ab");
    expect_no_corpus(path, &plain, NULL, "2 tokens are too few");
    free(path);
    free(text);
}

/* A directory stands for its train.bin; val.bin and test.bin lie beside it. */
TEST(directories_of_ids_are_corpora)
{
    scratch_empty();
    scratch_put("vocabulary.txt", BYTE_FORM);
    char *train = put_text("train.bin", "abcabc"), *valid = put_text("val.bin", "bb");
    const char *names[] = {scratch_folder(), train};
    for (size_t i = 0; i < COUNT(names); i++) {
        Corpus corpus = load(names[i], &plain, NULL);
        expect_text(&corpus.train, "abcabc");
        expect_text(&corpus.valid, "bb");
        expect_text(&corpus.test, "");
        ck_assert(strstr(corpus.source, "train.bin, val.bin in /tmp/"));
        corpus_free(&corpus);
    }
    char *test = put_text("test.bin", "c"), *other = put_text("other.bin", "aa");
    CorpusOptions options = plain;
    options.valid = other;
    Corpus corpus = load(train, &options, NULL);
    expect_text(&corpus.valid, "aa");
    expect_text(&corpus.test, "c");
    corpus_free(&corpus);
    ck_assert_int_eq(unlink(valid), 0);
    expect_no_corpus(train, &plain, NULL, "a test text without a validation text");
    char *text = scratch_put("text", "a\nb\nc\n");
    options.valid = text;
    expect_no_corpus(train, &options, NULL, "so this must be one too");
    options.valid = other;
    expect_no_corpus(text, &options, NULL, "holds token ids");
    free(train);
    free(valid);
    free(test);
    free(other);
}

TEST(options_that_contradict_ids_are_refused)
{
    scratch_empty();
    char *path = put_text("some.bin", "abcabc"), *form = scratch_put("form", BYTE_FORM);
    CorpusOptions options = plain;
    options.tokenizer_file = form;
    Corpus corpus = load(path, &options, NULL);
    corpus_free(&corpus);
    options.tokenizer = TOKENIZER_CHAR;
    expect_no_corpus(path, &options, NULL, "this tokenizer is byte; drop --tokens char");
    options.tokenizer = TOKENIZER_BYTE;
    options.vocab_size = 100;
    expect_no_corpus(path, &options, NULL,
                     "drop --vocab-size, --min-count and --special-tokens");
    options.vocab_size = 0;
    options.trim = true;
    expect_no_corpus(path, &options, NULL, "--trim does not apply to token ids");
    options.trim = false;
    options.tokenizer_file = path;
    expect_no_corpus(path, &options, NULL, path);
    free(path);
}

/* With a vocabulary from a checkpoint, none need be beside the ids; another one must not. */
TEST(a_known_vocabulary_must_fit_the_ids)
{
    scratch_empty();
    Vocabulary known = vocabulary_of(TOKENIZER_WORD, "a b c d\n", 0, 1);
    static const int32_t ids[] = {0, 1, 2, 3}, wild[] = {0, 1, 2, 600};
    char *path = put_ids("some.bin", ids, COUNT(ids), 0, 0, 0);
    Corpus corpus = load(path, &plain, &known);
    ck_assert_uint_eq(corpus.train.count, 2);
    corpus_free(&corpus);
    scratch_put("vocabulary.txt", BYTE_FORM);
    expect_no_corpus(path, &plain, &known, "the tokenizer beside it is not that of the run");
    scratch_empty();
    free(path);
    path = put_ids("some.bin", wild, COUNT(wild), 0, 0, 0);
    expect_no_corpus(path, &plain, &known, "token 3 has the id 600");
    free(path);
    vocabulary_free(&known);
}

/* A text is encoded by a given tokenizer, which learns nothing from it. */
TEST(texts_take_a_tokenizer_from_a_file)
{
    scratch_empty();
    char *form = scratch_put("form", "# linnet tokenizer word\nb\n<eos>\n<unk>\n");
    char *path = scratch_put("text", "a b\nb b\nb\n");
    CorpusOptions options = plain;
    options.tokenizer_file = form;
    Corpus corpus = load(path, &options, NULL);
    ck_assert_uint_eq(corpus.vocabulary.count, 3);
    ck_assert_uint_eq(corpus.train.unknown, 1);
    corpus_free(&corpus);
    options.vocab_size = 10;
    expect_no_corpus(path, &options, NULL, "drop --vocab-size");
}

/* --- files that change --- */

static void cut_all(const char *path)
{
    ck_assert_int_eq(truncate(path, 0), 0);
}

static void cut_little(const char *path)
{
    ck_assert_int_eq(truncate(path, 199998), 0);
}

static void write_wild(const char *path)
{
    int fd = open(path, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "\xff\xff", 2, 185000), 2);
    close(fd);
}

static void write_valid(const char *path)
{
    int fd = open(path, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "y", 1, 1000), 1);
    close(fd);
}

static void touch(const char *path)
{
    ck_assert_int_eq(utimensat(AT_FDCWD, path, NULL, 0), 0);
}

static void append(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "zz", 2), 2);
    close(fd);
}

static void do_nothing(const char *path)
{
    (void)path;
}

/* Whatever happens to the file, all ids can be read, and are below the limit. */
TEST(files_that_change_are_noticed)
{
    enum { LENGTH = 100000 };
    static const struct {
        void (*happen)(const char *path);
        const char *says; /* NULL: nothing */
    } cases[] = {{do_nothing, NULL},
                 {touch, NULL},
                 {append, NULL},
                 {cut_all, "some.bin: became shorter while it was being read"},
                 {cut_little, "some.bin: became shorter while it was being read"},
                 {write_wild, "some.bin: changed while it was being read"},
                 {write_valid, "some.bin: changed while it was being read"}};
    char *text = memory_new(LENGTH + 1, 1, "a test");
    int32_t *ids = memory_new(LENGTH, sizeof *ids, "a test");
    memset(text, 'x', LENGTH);
    scratch_empty();
    scratch_put("vocabulary.txt", BYTE_FORM);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *path = put_text("some.bin", text);
        Corpus corpus = load(path, &plain, NULL);
        Error error = {0};
        nanosleep(&(struct timespec){.tv_nsec = 20000000},
                  NULL); /* the clock of files is coarse */
        cases[i].happen(path);
        const CorpusSplit *splits[] = {&corpus.train, &corpus.valid, &corpus.test};
        for (size_t s = 0; s < COUNT(splits); s++) {
            tokens_read(splits[s]->ids, 0, splits[s]->count, ids);
            for (size_t k = 0; k < splits[s]->count; k++)
                ck_assert_int_lt(ids[k], TOKENS_OF_BYTE);
        }
        for (int twice = 0; twice < 2; twice++)
            ck_assert_msg(corpus_check(&corpus, &error) == !cases[i].says, "case %zu", i);
        if (cases[i].says)
            ck_says(error, cases[i].says);
        corpus_free(&corpus);
        free(path);
    }
    free(text);
    free(ids);
}
