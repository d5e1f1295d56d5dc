/* The data floor: what is read, how it is cut, what becomes of it, and what a step sees.
 *
 * Half of these tests feed rubbish. A corpus is the one input that people bring themselves,
 * and a damaged one must end in a sentence, not in slightly wrong numbers. */
#include "data/batches.h"
#include "data/corpus.h"
#include "data/corpus_files.h"
#include "data/reader.h"
#include "data/utf8.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/text.h"
#include "tests/tests.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define MOST_MB ((size_t)8)

/* --- a folder for the files of each group of tests --- */

static char folder[] = "/tmp/linnet-data-XXXXXX";

static void make_folder(void)
{
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static void remove_folder(void)
{
    enum { OPEN_FOLDERS = 8 };
    nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static char *put_bytes(const char *name, const void *bytes, size_t size)
{
    char *path = file_join(folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static char *put(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

#define ck_says(error, part)                                                   \
    ck_assert_msg(strstr((error).text, (part)) && !strchr((error).text, '\n'), \
                  "'%s' does not say '%s' in one line", (error).text, (part))

/* --- the reader --- */

/* One gzip member, appended. */
static void pack(char **packed, size_t *size, const void *bytes, size_t count)
{
    enum { GZIP = 16, MEMORY = 8 };
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)count};
    ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + GZIP, MEMORY, 0), Z_OK);
    size_t most = deflateBound(&stream, count);
    *packed = memory_resize(*packed, *size + most, 1, "packed");
    stream.next_out = (Bytef *)*packed + *size;
    stream.avail_out = (uInt)most;
    ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *size += stream.total_out;
    deflateEnd(&stream);
}

static void expect_bytes(const char *path, const void *expected, size_t count)
{
    Error error = {""};
    char *bytes;
    size_t size;
    ck_assert_msg(reader_read(path, MOST_MB, &bytes, &size, &error), "%s", error.text);
    ck_assert_uint_eq(size, count);
    ck_assert_mem_eq(bytes, expected, count);
    ck_assert_int_eq(bytes[size], 0);
    free(bytes);
}

static void expect_refusal(const char *path, size_t most_mb, const char *part)
{
    Error error = {""};
    char *bytes;
    size_t size;
    ck_assert_msg(!reader_read(path, most_mb, &bytes, &size, &error), "%s was read", path);
    ck_assert_ptr_null(bytes);
    ck_says(error, part);
    ck_says(error, reader_name(path));
}

START_TEST(reader_reads_plain_files)
{
    static const char *const texts[] = {"", "\x1f", "x", "two\nlines\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *path = put("plain.gz", texts[i]); /* the name does not make it gzip */
        expect_bytes(path, texts[i], strlen(texts[i]));
        free(path);
    }
    char *path = put_bytes("zeros", "a\0b\0", 4);
    expect_bytes(path, "a\0b\0", 4);
    free(path);
}
END_TEST

START_TEST(reader_unpacks_members_once)
{
    enum { LARGE = 300000 };
    char *large = memory_take(LARGE, 1, "a text"), *packed = NULL, *path;
    size_t size = 0, first;
    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * i >> 7);
    pack(&packed, &size, large, LARGE / 3);
    first = size;
    pack(&packed, &size, "", 0);
    pack(&packed, &size, large + LARGE / 3, LARGE - LARGE / 3);
    path = put_bytes("corpus.txt", packed, size);
    expect_bytes(path, large, LARGE);
    free(path);

    char *nested = NULL;
    size_t nested_size = 0;
    pack(&nested, &nested_size, packed, first);
    path = put_bytes("nested.gz", nested, nested_size);
    expect_bytes(path, packed, first);
    free(path);
    free(nested);
    free(packed);
    free(large);
}
END_TEST

START_TEST(reader_refuses_every_truncation)
{
    char *packed = NULL;
    size_t size = 0, first;
    pack(&packed, &size, "one line\n", 9);
    first = size;
    pack(&packed, &size, "and another\n", 12);
    for (size_t length = 2; length < size; length++) {
        char *path = put_bytes("cut.gz", packed, length);
        if (length == first) /* here it is a whole file */
            expect_bytes(path, "one line\n", 9);
        else
            expect_refusal(path, MOST_MB, length == first + 1 ? "not gzip" : "breaks off");
        free(path);
    }
    /* Whatever the room for output was when the input ended: zeros fill it to the brim. */
    enum { ROOM = 1 << 16, TAIL = 16 };
    char *zeros = memory_take(ROOM, 1, "zeros");
    size = 0;
    pack(&packed, &size, zeros, ROOM);
    for (size_t missing = 1; missing <= TAIL; missing++) {
        char *path = put_bytes("cut.gz", packed, size - missing);
        expect_refusal(path, MOST_MB, "breaks off");
        free(path);
    }
    free(zeros);
    free(packed);
}
END_TEST

START_TEST(reader_refuses_damage)
{
    enum { CHECKSUM = 8, LENGTH = 4, METHOD = 2 };
    char *packed = NULL, *path;
    size_t size = 0;
    pack(&packed, &size, "some text to be damaged\n", 24);
    const size_t places[] = {METHOD, size / 2, size - CHECKSUM, size - LENGTH};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        packed[places[i]] ^= 0x55;
        path = put_bytes("bad.gz", packed, size);
        expect_refusal(path, MOST_MB, "gzip data");
        packed[places[i]] ^= 0x55;
        free(path);
    }
    static const char *const tails[] = {"garbage", "\x1f", "\x1f\x8b", "\n"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char *whole = memory_take(size + strlen(tails[i]), 1, "a file");
        memcpy(whole, packed, size);
        memcpy(whole + size, tails[i], strlen(tails[i]));
        path = put_bytes("tail.gz", whole, size + strlen(tails[i]));
        expect_refusal(path, MOST_MB, i == 2 ? "breaks off" : "not gzip");
        free(path);
        free(whole);
    }
    char *zero = memory_take(size + 1, 1, "a file"); /* padding is garbage too */
    memcpy(zero, packed, size);
    path = put_bytes("padded.gz", zero, size + 1);
    expect_refusal(path, MOST_MB, "not gzip");
    free(path);
    free(zero);
    free(packed);
}
END_TEST

START_TEST(reader_stops_at_the_cap)
{
    enum { MB = 1000000 };
    char *zeros = memory_take(MB + 1, 1, "zeros"), *packed = NULL, *path;
    size_t size = 0;
    path = put_bytes("exact", zeros, MB);
    char *bytes;
    size_t count;
    Error error;
    ck_assert(reader_read(path, 1, &bytes, &count, &error));
    ck_assert_uint_eq(count, MB);
    free(bytes);
    free(path);
    path = put_bytes("above", zeros, MB + 1);
    expect_refusal(path, 1, "--max-input-mb");
    free(path);
    pack(&packed, &size, zeros, MB); /* a thousand bytes that want to be many */
    path = put_bytes("exact.gz", packed, size);
    ck_assert(reader_read(path, 1, &bytes, &count, &error));
    ck_assert_uint_eq(count, MB);
    free(bytes);
    free(path);
    pack(&packed, &size, "x", 1);
    path = put_bytes("bomb.gz", packed, size);
    expect_refusal(path, 1, "more than 1 MB");
    free(path);
    expect_refusal("/dev/zero", 1, "--max-input-mb");
    free(packed);
    free(zeros);
}
END_TEST

START_TEST(reader_refuses_what_is_no_file)
{
    expect_refusal(folder, MOST_MB, "folder");
    char *path = file_join(folder, "nowhere");
    expect_refusal(path, MOST_MB, "No such file");
    free(path);
    path = put("secret", "x");
    ck_assert_int_eq(chmod(path, 0), 0);
    if (access(path, R_OK) != 0) /* root may read everything */
        expect_refusal(path, MOST_MB, "ermission");
    free(path);
}
END_TEST

/* A child writes the text into fd, slowly enough to come in two pieces. */
static pid_t write_in_child(const char *path, int fd)
{
    pid_t child = fork();
    if (child == 0) {
        int to = path ? open(path, O_WRONLY) : fd;
        bool good = write(to, "first ", 6) == 6 && usleep(20000) == 0;
        _exit(good && write(to, "second\n", 7) == 7 ? 0 : 1);
    }
    return child;
}

START_TEST(reader_reads_pipes)
{
    int status, ends[2], before = dup(STDIN_FILENO);
    char *path = file_join(folder, "fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    pid_t child = write_in_child(path, -1);
    expect_bytes(path, "first second\n", 13);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    free(path);

    ck_assert_int_eq(pipe(ends), 0);
    child = write_in_child(NULL, ends[1]);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    expect_bytes("-", "first second\n", 13);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
}
END_TEST

/* --- tokenizers and vocabulary --- */

static Vocabulary learn(size_t tokenizer, const char *text, size_t size, size_t min_count)
{
    Vocabulary vocabulary;
    Error error = {""};
    VocabularyLimits limits = {size, min_count};
    ck_assert_msg(vocabulary_learn(&vocabulary, tokenizer_find(tokenizer), text, strlen(text),
                                   &limits, &error),
                  "%s", error.text);
    return vocabulary;
}

/* The tokens in order, with a space after each. */
static char *list(const Vocabulary *vocabulary)
{
    char *text = memory_copy_text("");
    for (size_t i = 0; i < vocabulary->count; i++)
        text_append(&text, "%s ", vocabulary->words[i]);
    return text;
}

static void expect_words(size_t tokenizer, const char *text, size_t size, size_t min_count,
                         const char *expected)
{
    Vocabulary vocabulary = learn(tokenizer, text, size, min_count);
    char *words = list(&vocabulary);
    ck_assert_str_eq(words, expected);
    ck_assert_int_eq(vocabulary.eos, vocabulary_find(&vocabulary, "<eos>"));
    ck_assert_int_eq(vocabulary.unk,
                     vocabulary_find(&vocabulary, tokenizer_find(tokenizer)->unknown));
    ck_assert_int_ne(vocabulary.unk, TOKEN_NONE);
    for (size_t i = 0; i < vocabulary.count; i++)
        ck_assert_int_eq(vocabulary_find(&vocabulary, vocabulary.words[i]), (int)i);
    free(words);
    vocabulary_free(&vocabulary);
}

/* Encodes and writes the pieces one after the other, each in brackets. */
static void expect_pieces(size_t tokenizer, const char *learned, const char *text,
                          size_t unknown, const char *expected)
{
    Vocabulary vocabulary = learn(tokenizer, learned, 0, 1);
    int32_t *ids = NULL;
    ck_assert_uint_eq(vocabulary.tokenizer->encode(&vocabulary, text, strlen(text), &ids),
                      unknown);
    char *pieces = memory_copy_text("");
    for (ptrdiff_t i = 0; i < arrlen(ids); i++) {
        const char *piece;
        size_t size = vocabulary_piece(&vocabulary, ids[i], &piece);
        ck_assert_uint_eq(size, strlen(piece));
        text_append(&pieces, "[%s]", piece);
    }
    ck_assert_str_eq(pieces, expected);
    free(pieces);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}

START_TEST(words_are_ordered_by_frequency_then_occurrence)
{
    const size_t word = TOKENIZER_WORD;
    expect_words(word, "b a a\nc b a\n", 0, 1, "a b <eos> c <unk> ");
    expect_words(word, "z y x\n", 0, 1, "z y x <eos> <unk> ");
    expect_words(word, "\nz\n", 0, 1, "<eos> z <unk> ");
    expect_words(word, "", 0, 1, "<eos> <unk> ");
    expect_words(word, "a a", 0, 0, "a <eos> <unk> ");
    /* The text's own special words are the special tokens, in their own places. */
    expect_words(word, "a <unk> <unk> b\n", 0, 1, "<unk> a b <eos> ");
    expect_words(word, "a <eos> b\n", 0, 1, "<eos> a b <unk> ");
}
END_TEST

START_TEST(limits_keep_the_special_tokens)
{
    const size_t word = TOKENIZER_WORD;
    const char *text = "a a a b b c c d\n";
    expect_words(word, text, 0, 2, "a b c <eos> <unk> ");
    expect_words(word, text, 0, 3, "a <eos> <unk> ");
    expect_words(word, text, 0, 100, "<eos> <unk> ");
    expect_words(word, text, 6, 1, "a b c d <eos> <unk> ");
    expect_words(word, text, 5, 1, "a b c <eos> <unk> ");
    expect_words(word, text, 4, 1, "a b <eos> <unk> "); /* b and c tie: b came first */
    expect_words(word, text, 2, 1, "<eos> <unk> ");
    expect_words(word, text, 4, 3, "a <eos> <unk> ");
    expect_words(word, "a a b <unk>\n", 3, 1, "a <unk> <eos> ");
    expect_words(TOKENIZER_CHAR, "aab\n", 3, 1, "a <eos> \xEF\xBF\xBD ");

    Vocabulary vocabulary;
    VocabularyLimits one = {1, 1}, two = {0, 2};
    Error error;
    ck_assert(!vocabulary_learn(&vocabulary, tokenizer_find(word), "a\n", 2, &one, &error));
    ck_says(error, "--vocab-size 1");
    const Tokenizer *bytes = tokenizer_find(TOKENIZER_BYTE);
    ck_assert(!vocabulary_learn(&vocabulary, bytes, "a\n", 2, &one, &error));
    ck_assert(!vocabulary_learn(&vocabulary, bytes, "a\n", 2, &two, &error));
    ck_says(error, "256");
}
END_TEST

START_TEST(words_are_cut_at_ascii_space)
{
    const char *learned = "a b\n";
    expect_pieces(TOKENIZER_WORD, learned, " \ta\v\fb \r\n\n b", 0, "[a][b][\n][\n][b]");
    expect_pieces(TOKENIZER_WORD, learned, "a c <eos>\n", 1, "[a][<unk>][\n][\n]");
    expect_pieces(TOKENIZER_WORD, learned, "<unk> a", 0, "[<unk>][a]");
    expect_pieces(TOKENIZER_WORD,
                  "\xEF\xBB\xBF"
                  "a b\n",
                  "\xEF\xBB\xBF"
                  "a",
                  0, "[a]");
    expect_pieces(TOKENIZER_WORD, learned,
                  "a\xC2\xA0"
                  "b",
                  1, "[<unk>]"); /* no-break space */
    expect_pieces(TOKENIZER_WORD, "\x1b[1m a\n", "\x1b[1m", 0, "[\x1b[1m]");
    expect_pieces(TOKENIZER_WORD, learned, "", 0, "");
}
END_TEST

START_TEST(characters_are_whole)
{
    const char *learned = "ab \xC3\xA9\xF0\x9F\x90\xA6\n";
    expect_pieces(TOKENIZER_CHAR, learned, "a\xC3\xA9\xF0\x9F\x90\xA6", 0,
                  "[a][\xC3\xA9][\xF0\x9F\x90\xA6]");
    expect_pieces(TOKENIZER_CHAR, learned, "a b\r\n\n", 0, "[a][ ][b][\n][\n]");
    expect_pieces(TOKENIZER_CHAR, learned,
                  "\xEF\xBB\xBF"
                  "aZ",
                  1, "[a][\xEF\xBF\xBD]");
    expect_pieces(TOKENIZER_CHAR, "a\xEF\xBF\xBD\n", "\xEF\xBF\xBD", 0, "[\xEF\xBF\xBD]");
    expect_pieces(TOKENIZER_CHAR, "a\rb\n", "\ra\r", 0, "[\r][a][\r]");
    expect_words(TOKENIZER_CHAR, "abba\n", 0, 1, "a b <eos> \xEF\xBF\xBD ");
    expect_words(TOKENIZER_CHAR,
                 "\xEF\xBF\xBD"
                 "a\n",
                 0, 1, "\xEF\xBF\xBD a <eos> ");
}
END_TEST

START_TEST(bytes_are_all_there)
{
    Vocabulary vocabulary = learn(TOKENIZER_BYTE, "x", 0, 1);
    char all[TOKENS_OF_BYTE];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)i;
    int32_t *ids = NULL;
    const char *piece;
    ck_assert_uint_eq(vocabulary.tokenizer->encode(&vocabulary, all, sizeof all, &ids), 0);
    ck_assert_int_eq(arrlen(ids), TOKENS_OF_BYTE);
    ck_assert_uint_eq(vocabulary.count, TOKENS_OF_BYTE);
    for (int i = 0; i < TOKENS_OF_BYTE; i++) {
        ck_assert_int_eq(ids[i], i);
        ck_assert_uint_eq(vocabulary_piece(&vocabulary, i, &piece), 1);
        ck_assert_int_eq((unsigned char)*piece, i);
    }
    ck_assert_int_eq(vocabulary.eos, '\n');
    ck_assert_int_eq(vocabulary.unk, TOKEN_NONE);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\xff"), 255);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "ab"), TOKEN_NONE);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}
END_TEST

START_TEST(bad_text_is_refused_where_it_is)
{
    static const struct {
        const char *text;
        size_t size;
        const char *says; /* NULL: it is good */
    } cases[] = {
        {"ok\n\xC3\xA9\n", 6, NULL},
        {"ok\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF", 12, NULL},
        {"ab\nc\xff", 5, "t:2: invalid UTF-8 at byte 4"},
        {"\x80", 1, "t:1: invalid UTF-8 at byte 0"},
        {"a\xC3", 2, "byte 1"}, /* cut off */
        {"a\xE2\x82", 3, "byte 1"},
        {"a\xF0\x9F\x90", 4, "byte 1"},
        {"a\xC3z", 3, "byte 1"},
        {"ab\xC0\x80", 4, "byte 2"}, /* overlong */
        {"ab\xC1\xBF", 4, "byte 2"},
        {"ab\xE0\x9F\xBF", 5, "byte 2"},
        {"ab\xF0\x8F\xBF\xBF", 6, "byte 2"},
        {"ab\xED\xA0\x80", 5, "byte 2"},     /* a surrogate */
        {"ab\xF4\x90\x80\x80", 6, "byte 2"}, /* beyond U+10FFFF */
        {"ab\xF5\x80\x80\x80", 6, "byte 2"},
        {"a\n\nb\0c", 6, "t:3: binary data at byte 4"},
        {"\xff\xfe"
         "a\0",
         4, "byte 0"}, /* UTF-16 */
    };
    Error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t kind = TOKENIZER_WORD; kind <= TOKENIZER_CHAR; kind++) {
            bool good = tokenizer_check(tokenizer_find(kind), "t", cases[i].text, cases[i].size,
                                        &error);
            ck_assert_msg(good == !cases[i].says, "case %zu", i);
            if (!good)
                ck_says(error, cases[i].says);
        }
    Vocabulary vocabulary;
    VocabularyLimits limits = {0, 1};
    ck_assert(!vocabulary_learn(&vocabulary, tokenizer_find(0), "\xff", 1, &limits, &error));
    ck_assert(tokenizer_check(tokenizer_find(TOKENIZER_BYTE), "t", "\xff\0", 2, &error));
}
END_TEST

START_TEST(endless_words_are_refused)
{
    char text[TOKEN_LONGEST + 4] = "a\n";
    const Tokenizer *word = tokenizer_find(TOKENIZER_WORD);
    Error error;
    memset(text + 2, 'x', TOKEN_LONGEST + 1);
    ck_assert(tokenizer_check(word, "t", text, TOKEN_LONGEST + 2, &error));
    ck_assert(!tokenizer_check(word, "t", text, TOKEN_LONGEST + 3, &error));
    ck_says(error, "t:2: a word is longer than the limit of 1000 bytes");
    ck_assert(tokenizer_check(tokenizer_find(1), "t", text, TOKEN_LONGEST + 3, &error));
    text[TOKEN_LONGEST] = '\xC3'; /* the limit is in bytes, whatever they spell */
    text[TOKEN_LONGEST + 1] = '\xA9';
    ck_assert(tokenizer_check(word, "t", text, TOKEN_LONGEST + 2, &error));
    ck_assert(!tokenizer_check(word, "t", text, TOKEN_LONGEST + 3, &error));

    /* Encoding such a text nevertheless, or one with zeros, is harmless. */
    Vocabulary vocabulary = learn(TOKENIZER_WORD, "a\n", 0, 1);
    int32_t *ids = NULL;
    ck_assert_uint_eq(word->encode(&vocabulary, text, TOKEN_LONGEST + 3, &ids), 1);
    ck_assert_uint_eq(word->encode(&vocabulary, "a\0 a", 4, &ids), 1);
    arrfree(ids);
    vocabulary_free(&vocabulary);
}
END_TEST

static void expect_round_trip(const Vocabulary *vocabulary)
{
    size_t size;
    char *text = vocabulary_write(vocabulary, &size);
    Vocabulary back, copy;
    Error error = {""};
    for (size_t i = 0; i < size; i++)
        ck_assert(text[i] == '\n' || (unsigned char)text[i] >= ' ');
    ck_assert_msg(vocabulary_read(&back, vocabulary->tokenizer, text, size, &error), "%s",
                  error.text);
    vocabulary_copy(&copy, vocabulary);
    ck_assert_uint_eq(back.count, vocabulary->count);
    ck_assert_uint_eq(copy.count, vocabulary->count);
    ck_assert(back.eos == vocabulary->eos && copy.eos == vocabulary->eos);
    ck_assert(back.unk == vocabulary->unk && copy.unk == vocabulary->unk);
    for (size_t i = 0; i < back.count; i++) {
        ck_assert_str_eq(back.words[i], vocabulary->words[i]);
        ck_assert_str_eq(copy.words[i], vocabulary->words[i]);
    }
    free(text);
    vocabulary_free(&copy);
    vocabulary_free(&back);
}

START_TEST(vocabularies_come_back)
{
    char text[TOKEN_LONGEST + 512] = "\\ \\n \\x1b \x1b[0m \x01\x7f <eos> caf\xC3\xA9 ";
    strcat(text, "x\xEF\xBB\xBF \xEF\xBB\xBFy \xC2\x85 \\\\ \r\r\n \"quoted\" ");
    memset(text + strlen(text), '\x02', TOKEN_LONGEST);
    for (size_t kind = 0; tokenizer_find(kind); kind++) {
        Vocabulary vocabulary = learn(kind, text, 0, 1);
        expect_round_trip(&vocabulary);
        vocabulary_free(&vocabulary);
    }
    Vocabulary vocabulary = learn(TOKENIZER_CHAR, "a\tb\rc\\ \xEF\xBB\xBF\n", 0, 1);
    size_t size;
    char *written = vocabulary_write(&vocabulary, &size);
    const char *expected =
        "a\n\\x09\nb\n\\x0d\nc\n\\\\\n \n\xEF\xBB\xBF\n<eos>\n\xEF\xBF\xBD\n";
    ck_assert_str_eq(written, expected);
    ck_assert_uint_eq(size, strlen(expected));
    free(written);
    vocabulary_free(&vocabulary);
}
END_TEST

START_TEST(hostile_vocabularies_are_refused)
{
    static const struct {
        size_t kind;
        const char *text, *says;
    } cases[] = {
        {TOKENIZER_WORD, "", "missing"},
        {TOKENIZER_WORD, "a\n<eos>\n", "missing"},
        {TOKENIZER_WORD, "a\n<unk>\n", "missing"},
        {TOKENIZER_WORD, "<eos>\n<unk>\na", ":3: a line without"},
        {TOKENIZER_WORD, "<eos>\n<unk>\n\n", ":3: an empty"},
        {TOKENIZER_WORD, "<eos>\n<unk>\n<eos>\n", ":3: a token that came before"},
        {TOKENIZER_WORD, "a\nb\na\n<eos>\n<unk>\n", ":3: a token that came before"},
        {TOKENIZER_WORD, "a b\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, " a\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "a \n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "\\x09\n<eos>\n<unk>\n", ":1: not one token"},
        {TOKENIZER_WORD, "a\x1b\n<eos>\n<unk>\n", ":1: a control"},
        {TOKENIZER_WORD, "a\r\n<eos>\n<unk>\n", ":1: a control"},
        {TOKENIZER_WORD, "a\\\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x1\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x1G\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x1B\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x41\n", ":1: an escape"}, /* would be a second way to write A */
        {TOKENIZER_WORD, "\\x00\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\x0a\n", ":1: an escape"},
        {TOKENIZER_WORD, "\\xff\n", ":1: an escape"},
        {TOKENIZER_WORD, "\xC3\n", ":1: invalid UTF-8"},
        {TOKENIZER_CHAR, "ab\n", ":1: not one token"},
        {TOKENIZER_CHAR, "<unk>\n", ":1: not one token"},
        {TOKENIZER_CHAR, "a\n<eos>\n", "missing"},
        {TOKENIZER_BYTE, "a\n", "bytes need none"},
    };
    Vocabulary vocabulary;
    Error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(!vocabulary_read(&vocabulary, tokenizer_find(cases[i].kind),
                                       cases[i].text, strlen(cases[i].text), &error),
                      "case %zu", i);
        ck_says(error, cases[i].says);
    }
    const Tokenizer *word = tokenizer_find(TOKENIZER_WORD);
    ck_assert(!vocabulary_read(&vocabulary, word, "a\0b\n<eos>\n<unk>\n", 16, &error));
    ck_says(error, ":1: a control");
    char endless[TOKEN_LONGEST + 2];
    memset(endless, 'x', sizeof endless);
    endless[TOKEN_LONGEST + 1] = '\n';
    ck_assert(!vocabulary_read(&vocabulary, word, endless, sizeof endless, &error));
    ck_says(error, ":1: a token is too long");
}
END_TEST

/* --- corpora --- */

static const CorpusOptions plain = {.min_count = 1, .max_input_mb = MOST_MB};

static Corpus load(const char *name, const CorpusOptions *options)
{
    Corpus corpus;
    Error error = {""};
    ck_assert_msg(corpus_load(&corpus, name, options, NULL, &error), "%s", error.text);
    return corpus;
}

static void expect_no_corpus(const char *name, const CorpusOptions *options, const char *part)
{
    Corpus corpus;
    Error error = {""};
    ck_assert_msg(!corpus_load(&corpus, name, options, NULL, &error), "%s was loaded", name);
    ck_says(error, part);
}

/* The words of a split, as text. */
static char *words_of(const Corpus *corpus, const CorpusSplit *split)
{
    char *text = memory_copy_text("");
    for (size_t i = 0; i < split->count; i++)
        text_append(&text, "%s ", corpus->vocabulary.words[split->ids[i]]);
    return text;
}

static void expect_split(const Corpus *corpus, const CorpusSplit *split, const char *expected)
{
    char *words = words_of(corpus, split);
    ck_assert_str_eq(words, expected);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)split->ids,
                                   (uInt)(split->count * sizeof *split->ids));
    ck_assert_uint_eq(split->crc, crc);
    free(words);
}

START_TEST(one_file_is_split_by_lines)
{
    char *text = memory_copy_text(""), *path;
    for (int i = 0; i < 40; i++)
        text_append(&text, "l%d\n", i);
    text[strlen(text) - 1] = '\0'; /* the last line end is added back */
    path = put("forty.txt", text);
    Corpus corpus = load(path, &plain);
    ck_assert_uint_eq(corpus.train.count, 72);
    ck_assert_uint_eq(corpus.vocabulary.count, 36 + 2);
    ck_assert_uint_eq(corpus.train.unknown, 0);
    ck_assert_uint_eq(corpus.valid.unknown, 2);
    ck_assert_uint_eq(corpus.test.unknown, 2);
    ck_assert_uint_eq(corpus.test.characters, 8);
    expect_split(&corpus, &corpus.valid, "<unk> <eos> <unk> <eos> ");
    ck_assert(strstr(corpus.source, "forty.txt in /tmp/"));
    ck_assert(
        strstr(corpus.source, ", split by lines: 90 % training, 5 % validation, 5 % test"));
    ck_assert_double_eq(corpus.entropy_floor, 0);
    corpus_free(&corpus);
    free(path);
    free(text);

    path = put("three", "a\nb\na b\n");
    corpus = load(path, &plain);
    expect_split(&corpus, &corpus.train, "a <eos> ");
    expect_split(&corpus, &corpus.valid, "<unk> <eos> ");
    expect_split(&corpus, &corpus.test, "a <unk> <eos> ");
    corpus_free(&corpus);
    free(path);
    path = put("two", "a\nb\n");
    expect_no_corpus(path, &plain, "2 lines are too few");
    free(path);
}
END_TEST

START_TEST(files_of_their_own_come_first)
{
    char *path = put("main", "a\na\na\nb\n"), *own = put("own", "b a\n");
    CorpusOptions options = plain;
    options.valid = own;
    Corpus corpus = load(path, &options);
    expect_split(&corpus, &corpus.train, "a <eos> a <eos> a <eos> ");
    expect_split(&corpus, &corpus.valid, "<unk> a <eos> ");
    expect_split(&corpus, &corpus.test, "<unk> <eos> ");
    ck_assert(strstr(corpus.source, "75 % training, 25 % test; validation from "));
    corpus_free(&corpus);
    options.test = own;
    corpus = load(path, &options);
    ck_assert_uint_eq(corpus.train.count, 8);
    ck_assert(!strstr(corpus.source, "split"));
    corpus_free(&corpus);
    options.test = "-";
    options.valid = "-";
    expect_no_corpus(path, &options, "only once");
    options.valid = "no-such-file";
    expect_no_corpus(path, &options, "--valid no-such-file");
    options.valid = folder;
    expect_no_corpus(path, &options, "folder");
    free(own);
    own = put("bad", "good\nb\xff\n");
    options.valid = own;
    options.test = own;
    expect_no_corpus(path, &options, "bad:2: invalid UTF-8 at byte 6");
    free(path);
    free(own);
}
END_TEST

START_TEST(empty_corpora_are_refused)
{
    static const char *const texts[] = {"", "\n\n\n\n", " \t\r\n \n\v\n", "\xEF\xBB\xBF\n"};
    CorpusOptions options = plain;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (options.tokenizer = 0; tokenizer_find(options.tokenizer); options.tokenizer++) {
            char *path = put("empty", texts[i]);
            expect_no_corpus(path, &options, "the corpus is empty");
            free(path);
        }
}
END_TEST

START_TEST(line_ends_of_every_kind_are_one_token)
{
    char *dos = put("dos", "\xEF\xBB\xBF"
                           "ab\r\nc\r\nab\r\nc");
    char *unix_one = put("unix", "ab\nc\nab\nc\n");
    for (size_t kind = TOKENIZER_WORD; kind <= TOKENIZER_CHAR; kind++) {
        CorpusOptions options = plain;
        options.tokenizer = kind;
        Corpus a = load(dos, &options), b = load(unix_one, &options);
        ck_assert_uint_eq(a.train.count, b.train.count);
        ck_assert_uint_eq(a.train.crc, b.train.crc);
        ck_assert_uint_eq(a.test.crc, b.test.crc);
        ck_assert_uint_eq(a.train.characters, b.train.characters);
        if (kind == TOKENIZER_CHAR)
            ck_assert_uint_eq(a.train.characters, a.train.count);
        corpus_free(&a);
        corpus_free(&b);
    }
    free(dos);
    free(unix_one);
}
END_TEST

START_TEST(known_vocabularies_are_kept)
{
    char *path = put("new", "x y\nx\nold\n");
    Vocabulary known = learn(TOKENIZER_WORD, "old x\n", 0, 1);
    Corpus corpus;
    Error error;
    CorpusOptions options = plain;
    options.tokenizer = TOKENIZER_BYTE; /* the vocabulary knows better */
    ck_assert(corpus_load(&corpus, path, &options, &known, &error));
    ck_assert_uint_eq(corpus.vocabulary.count, known.count);
    ck_assert_uint_eq(corpus.train.unknown, 1);
    expect_split(&corpus, &corpus.train, "x <unk> <eos> ");
    expect_split(&corpus, &corpus.test, "old <eos> ");
    vocabulary_free(&known);
    ck_assert_int_eq(vocabulary_find(&corpus.vocabulary, "old"), corpus.test.ids[0]);
    corpus_free(&corpus);
    free(path);
}
END_TEST

/* Finds `name` with the test's folder as the data folder; the parts of a title or an error. */
static void expect_found(const char *name, const char *valid, const char *title)
{
    CorpusFiles files;
    Error error = {""};
    ck_assert_msg(corpus_files_find(&files, name, valid, NULL, folder, &error), "%s",
                  error.text);
    ck_assert_str_eq(files.title, title);
    corpus_files_free(&files);
}

static void expect_not_found(const char *name, const char *part)
{
    CorpusFiles files;
    Error error = {""};
    ck_assert(!corpus_files_find(&files, name, NULL, "", folder, &error));
    ck_says(error, part);
    corpus_files_free(&files);
}

START_TEST(triples_are_found)
{
    char *paths[4], *expected;
    expect_not_found("abc.txt", "abc.txt: no such file, nor abc.train.txt");
    expect_not_found("abc.txt", folder);
    expect_not_found("/abc.txt", "no such file, nor /abc.train.txt (");
    paths[0] = put("abc.train.txt", "a\n");
    expect_not_found("abc.txt", "abc.valid.txt: not found in ../data");
    paths[1] = put("abc.valid.txt.gz", "b\n");
    expect_not_found("abc.txt", "abc.test.txt: not found in ../data");
    expect_not_found("abc.txt", "--test FILE");
    paths[2] = put("abc.test.txt", "c\n");
    expect_found("abc.txt", NULL, "abc.train.txt, abc.valid.txt.gz, abc.test.txt in ../data");
    expect_found("abc.txt.gz", "", "abc.train.txt, abc.valid.txt.gz, abc.test.txt in ../data");
    expect_found("abc.txt", paths[0], "abc.train.txt, abc.test.txt in ../data");
    expect_not_found("abc", "abc: no such file, nor abc.train;");

    expected = text_format("abc.train.txt, abc.valid.txt.gz, abc.test.txt in %s", folder);
    char *given = file_join(folder, "abc.txt");
    expect_found(given, NULL, expected);
    paths[3] = put("abc.txt", "one file goes before three\n");
    expect_found("abc.txt", NULL, "abc.txt in ../data");
    expect_not_found("/abc.txt", "no such file"); /* absolute names are not searched for */
    free(expected);
    expected = text_format("abc.txt in %s", folder);
    expect_found(given, NULL, expected);
    free(expected);
    free(given);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        free(paths[i]);
    expect_not_found(folder, "folder");
    expect_found("-", NULL, "standard input");
    expect_found("toy", NULL, "the built-in toy grammar");
    free(put("toy", "a real file\n"));
    expect_found("toy", NULL, "toy in ../data");
}
END_TEST

START_TEST(triples_are_loaded)
{
    char *packed = NULL, *paths[3], *name;
    size_t size = 0;
    pack(&packed, &size, "a b\nb\n", 6);
    paths[0] = put_bytes("t.train.txt.gz", packed, size);
    paths[1] = put("t.valid.txt", "b c\n");
    paths[2] = put("t.test.txt", "a\n");
    name = file_join(folder, "t.txt");
    Corpus corpus = load(name, &plain);
    expect_split(&corpus, &corpus.train, "a b <eos> b <eos> ");
    expect_split(&corpus, &corpus.valid, "b <unk> <eos> ");
    expect_split(&corpus, &corpus.test, "a <eos> ");
    ck_assert_uint_eq(corpus.valid.unknown, 1);
    corpus_free(&corpus);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        free(paths[i]);
    free(name);
    free(packed);
}
END_TEST

START_TEST(the_toy_is_built_in)
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
END_TEST

START_TEST(the_option_rows_fit_the_struct)
{
    CorpusOptions options = {0};
    OptionGroup group = {"Corpus", corpus_option_rows, corpus_option_count, &options};
    Error error;
    options_set_defaults(&group, 1);
    ck_assert_uint_eq(options.min_count, 1);
    ck_assert_uint_eq(options.max_input_mb, 1000);
    ck_assert(options_set(&group, 1, "tokens", "char", "--tokens", &error));
    ck_assert_uint_eq(options.tokenizer, TOKENIZER_CHAR);
    ck_assert(options_set(&group, 1, "vocab-size", "77", "--vocab-size", &error));
    ck_assert(options_set(&group, 1, "max-input-mb", "7", "--max-input-mb", &error));
    ck_assert(!options_set(&group, 1, "max-input-mb", "4001", "--max-input-mb", &error));
    ck_assert(!options_set(&group, 1, "min-count", "0", "--min-count", &error));
    char *text = options_write_text(&group, 1);
    ck_assert_str_eq(text, "tokens = char\nvocab-size = 77\nmin-count = 1\n");
    free(text);
    options_free_texts(&group, 1);
}
END_TEST

/* Counts the published sizes of Penn Treebank; only where somebody has it. */
START_TEST(penn_treebank_has_its_known_sizes)
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
    expect_round_trip(&corpus.vocabulary);
    corpus_free(&corpus);
    free(name);
}
END_TEST

/* --- batches --- */

#define LARGEST ((size_t)64)

/* Plays an epoch, in which ids[i] == i, and checks that each is the target once, each after
 * the one before it on the circle. Returns a number that tells orders apart. */
static uint32_t play_epoch(Batches *batches, size_t epoch)
{
    size_t places = batches->batch * batches->context, total = 0;
    int32_t *inputs = memory_take(places, sizeof *inputs, "inputs");
    int32_t *targets = memory_take(places, sizeof *targets, "targets");
    size_t seen[LARGEST] = {0};
    uint32_t crc = 0;
    for (size_t index = 0; index < batches_per_epoch(batches); index++) {
        size_t given = batches_fill(batches, epoch, index, inputs, targets), found = 0;
        for (size_t i = 0; i < places; i++) {
            if (targets[i] == TOKEN_NONE) {
                ck_assert_int_eq(inputs[i], 0);
                continue;
            }
            size_t target = (size_t)targets[i];
            found++;
            seen[target]++;
            ck_assert_uint_eq((size_t)inputs[i],
                              (target + batches->count - 1) % batches->count);
            if (i % batches->context) /* a window runs on, and has no holes */
                ck_assert_int_eq(inputs[i], targets[i - 1]);
        }
        ck_assert_uint_eq(found, given);
        ck_assert_uint_gt(given, 0);
        total += given;
        crc = (uint32_t)crc32(crc, (const Bytef *)targets, (uInt)(places * sizeof *targets));
    }
    ck_assert_uint_eq(total, batches->count);
    for (size_t i = 0; i < batches->count; i++)
        ck_assert_uint_eq(seen[i], 1);
    free(inputs);
    free(targets);
    return crc;
}

START_TEST(every_token_is_a_target_once)
{
    int32_t ids[LARGEST];
    for (size_t i = 0; i < LARGEST; i++)
        ids[i] = (int32_t)i;
    for (size_t count = 1; count <= LARGEST; count = count * 3 / 2 + 1)
        for (size_t context = 1; context <= 70; context += 1 + context / 2)
            for (size_t batch = 1; batch <= 9; batch += 2) {
                Batches batches;
                batches_init(&batches, ids, count, context, batch, 7);
                for (size_t epoch = 0; epoch < 3; epoch++)
                    play_epoch(&batches, epoch);
                batches_free(&batches);
            }
}
END_TEST

START_TEST(batches_depend_on_seed_and_epoch_alone)
{
    int32_t ids[LARGEST];
    for (size_t i = 0; i < LARGEST; i++)
        ids[i] = (int32_t)i;
    Batches a, b;
    batches_init(&a, ids, LARGEST, 5, 3, 1);
    batches_init(&b, ids, LARGEST, 5, 3, 1);
    uint32_t first = play_epoch(&a, 0), second = play_epoch(&a, 1);
    ck_assert_uint_ne(first, second);
    ck_assert_uint_eq(play_epoch(&b, 1), second); /* in another order of calls */
    ck_assert_uint_eq(play_epoch(&b, 0), first);
    ck_assert_uint_eq(play_epoch(&a, 0), first);
    batches_free(&b);
    batches_init(&b, ids, LARGEST, 5, 3, 2);
    ck_assert_uint_ne(play_epoch(&b, 0), first);

    /* The cuts move: over some epochs, every token begins a window at least once. */
    bool begins[LARGEST] = {false};
    int32_t inputs[15], targets[15];
    for (size_t epoch = 0; epoch < 64; epoch++)
        for (size_t index = 0; index < batches_per_epoch(&a); index++) {
            batches_fill(&a, epoch, index, inputs, targets);
            for (size_t row = 0; row < 3; row++)
                if (targets[row * 5] != TOKEN_NONE)
                    begins[targets[row * 5]] = true;
        }
    for (size_t i = 0; i < LARGEST; i++)
        ck_assert(begins[i]);
    batches_free(&a);
    batches_free(&b);
}
END_TEST

/* --- the suite --- */

static TCase *add_case(Suite *suite, const char *name, bool files)
{
    enum { PATIENCE = 60 }; /* seconds: sanitizers are slow */
    TCase *tests = tcase_create(name);
    tcase_set_timeout(tests, PATIENCE);
    if (files)
        tcase_add_unchecked_fixture(tests, make_folder, remove_folder); /* after failures too */
    suite_add_tcase(suite, tests);
    return tests;
}

Suite *data_suite(void)
{
    Suite *suite = suite_create("data");
    TCase *reader = add_case(suite, "reader", true);
    tcase_add_test(reader, reader_reads_plain_files);
    tcase_add_test(reader, reader_unpacks_members_once);
    tcase_add_test(reader, reader_refuses_every_truncation);
    tcase_add_test(reader, reader_refuses_damage);
    tcase_add_test(reader, reader_stops_at_the_cap);
    tcase_add_test(reader, reader_refuses_what_is_no_file);
    tcase_add_test(reader, reader_reads_pipes);
    TCase *vocabulary = add_case(suite, "vocabulary", false);
    tcase_add_test(vocabulary, words_are_ordered_by_frequency_then_occurrence);
    tcase_add_test(vocabulary, limits_keep_the_special_tokens);
    tcase_add_test(vocabulary, words_are_cut_at_ascii_space);
    tcase_add_test(vocabulary, characters_are_whole);
    tcase_add_test(vocabulary, bytes_are_all_there);
    tcase_add_test(vocabulary, bad_text_is_refused_where_it_is);
    tcase_add_test(vocabulary, endless_words_are_refused);
    tcase_add_test(vocabulary, vocabularies_come_back);
    tcase_add_test(vocabulary, hostile_vocabularies_are_refused);
    TCase *corpus = add_case(suite, "corpus", true);
    tcase_add_test(corpus, one_file_is_split_by_lines);
    tcase_add_test(corpus, files_of_their_own_come_first);
    tcase_add_test(corpus, empty_corpora_are_refused);
    tcase_add_test(corpus, line_ends_of_every_kind_are_one_token);
    tcase_add_test(corpus, known_vocabularies_are_kept);
    tcase_add_test(corpus, triples_are_found);
    tcase_add_test(corpus, triples_are_loaded);
    tcase_add_test(corpus, the_toy_is_built_in);
    tcase_add_test(corpus, the_option_rows_fit_the_struct);
    tcase_add_test(corpus, penn_treebank_has_its_known_sizes);
    TCase *batches = add_case(suite, "batches", false);
    tcase_add_test(batches, every_token_is_a_target_once);
    tcase_add_test(batches, batches_depend_on_seed_and_epoch_alone);
    return suite;
}
