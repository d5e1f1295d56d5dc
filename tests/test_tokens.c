/* Token ids of 1, 2 and 4 bytes, and texts that are encoded piece by piece. */
#include "data/corpora/corpus.h"
#include "data/corpora/pieces.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <jansson.h>

#include <string.h>
#include <zlib.h>

SUITE("tokens", .folder = true);

TEST(ids_take_as_few_bytes_as_the_vocabulary_allows)
{
    static const struct {
        size_t vocabulary;
        unsigned width;
    } cases[] = {{1, 1}, {256, 1}, {257, 2}, {65536, 2}, {65537, 4}, {INT32_MAX, 4}};
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(tokens_width(cases[i].vocabulary), cases[i].width);
}

/* Every id that a vocabulary has comes back, and the checksum is that of int32_t ids. */
TEST(narrow_ids_are_read_as_they_were_written)
{
    enum { IDS = 10000, STEP = 777 };
    static const size_t vocabularies[] = {2, 256, 257, 65536, 65537, INT32_MAX};
    int32_t *ids = memory_new(IDS, sizeof *ids, "a test"), *back = memory_new(IDS, 4, "a test");
    for (size_t v = 0; v < COUNT(vocabularies); v++) {
        TokenArray array = {.vocabulary = vocabularies[v]};
        for (size_t i = 0; i < IDS; i++)
            ids[i] = (int32_t)(vocabularies[v] - 1 - i * 7919 % vocabularies[v]);
        for (size_t i = 0; i < IDS; i += STEP)
            token_array_append(&array, ids + i, IDS - i < STEP ? IDS - i : STEP);
        token_array_close(&array);
        Tokens tokens = {array.ids, tokens_width(vocabularies[v]), 0};
        ck_assert_uint_eq(array.count, IDS);
        tokens_read(tokens, 0, IDS, back);
        ck_assert_mem_eq(back, ids, IDS * sizeof *ids);
        tokens_read(tokens_from(tokens, 7), 3, 100, back);
        ck_assert_mem_eq(back, ids + 10, 100 * sizeof *ids);
        for (size_t i = 0; i < IDS; i++)
            ck_assert_int_eq(tokens_at(tokens, i), ids[i]);
        uint32_t crc = (uint32_t)crc32(0, (const Bytef *)ids, IDS * sizeof *ids);
        ck_assert_uint_eq(array.crc, crc);
        ck_assert_uint_eq(tokens_crc(tokens, IDS), crc);
        free(array.ids);
    }
    free(ids);
    free(back);
}

TEST(a_tally_counts_every_id)
{
    enum { IDS = 9000, WORDS = 300 };
    int32_t ids[IDS];
    size_t seen[WORDS] = {0}, all = 0;
    for (size_t i = 0; i < IDS; i++)
        ids[i] = (int32_t)(i * i % WORDS);
    tokens_tally(tokens_plain(ids), IDS, seen);
    for (size_t i = 0; i < IDS; i++)
        ck_assert_uint_gt(seen[ids[i]], 0);
    for (size_t i = 0; i < WORDS; i++)
        all += seen[i];
    ck_assert_uint_eq(all, IDS);
}

TEST(texts_break_before_white_space_that_follows_something_else)
{
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        {"", 0},
        {"one", 0},
        {" one", 0},
        {"one two", 3},
        {"one two ", 7},
        {"a \n b", 1}, /* white space stays together */
        {"a\r\nb", 1},
        {"a b\r\n\r\n", 3},
        {"\xe4\xb8\xad\n\xe6\x96\x87", 3},
        {"a\xc2\xa0 b", 0}, /* a no-break space is white space to some tokenizers */
        {"a\xe3\x80\x80 b", 0},
        {"a\xe2\x80\x8a b", 0},
        {"a\xe2\x80\x8b b", 4}, /* a zero-width space is not */
        {"a\xc2\x85\n", 0},
        {"a\xff b", 0}, /* nor is anything said of invalid characters */
        {"a\x80 b", 0},
        {"a\x1c b", 0},
        {"\xF0\x9F\x90\xA6 b", 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(utf8_last_break(cases[i].text, strlen(cases[i].text)) == cases[i].at,
                      "case %zu", i);
}

/* A text of several pieces, which end in the middle of everything. */
static char *long_text(size_t *size)
{
    enum { LINES = 90000 };
    static const char *const parts[] = {"word",
                                        " of  many",
                                        "\v\n",
                                        "\n\n \t",
                                        " \xe4\xb8\xad",
                                        "\xe6\x96\x87\xe3\x80\x80 ",
                                        "\xF0\x9F\x90\xA6.",
                                        " it's\v\n"};
    char *text = NULL;
    for (size_t i = 0; i < LINES; i++) {
        for (size_t k = 0; k < COUNT(parts); k++)
            for (const char *c = parts[(i * i + i / 3 + k * k) % COUNT(parts)]; *c; c++)
                arrput(text, *c);
        arrput(text, '\n');
    }
    *size = arrlenu(text);
    return text;
}

static void check_encoding(const CorpusSplit *split, const Vocabulary *vocabulary,
                           const char *text, size_t size)
{
    int32_t *ids = NULL;
    size_t unknown = vocabulary->tokenizer->encode(vocabulary, text, size, &ids);
    ck_assert_uint_eq(split->count, arrlenu(ids));
    ck_assert_uint_eq(split->unknown, unknown);
    size_t at = 0;
    while (at < split->count && tokens_at(split->ids, at) == ids[at])
        at++;
    ck_assert_uint_eq(at, split->count);
    ck_assert_uint_eq(split->crc, tokens_crc(tokens_plain(ids), arrlenu(ids)));
    arrfree(ids);
}

/* The pieces together have the ids of the whole, with every tokenizer. */
TEST(pieces_have_the_ids_of_the_whole)
{
    size_t size;
    char *text = long_text(&size), *path = scratch_put_bytes("long", text, size);
    ck_assert_uint_gt(size, 3u << 20);
    CorpusOptions options = {.valid = path, .test = path, .max_input_mb = 8};
    for (; tokenizer_find(options.tokenizer); options.tokenizer++) {
        static const size_t sizes[] = {10, 10, 10, 0, 256};
        options.vocab_size = sizes[options.tokenizer % COUNT(sizes)];
        options.min_count = 1;
        Corpus corpus;
        Error error = {0};
        ck_assert_msg(corpus_load(&corpus, path, &options, NULL, &error), "%s", error.text);
        check_encoding(&corpus.train, &corpus.vocabulary, text, size);
        check_encoding(&corpus.test, &corpus.vocabulary, text, size);
        ck_assert_uint_eq(corpus.train.ids.width, 1);
        ck_assert_uint_eq(corpus_memory(&corpus), 3 * corpus.train.count);
        corpus_free(&corpus);
    }
    arrfree(text);
}

/* Without a place to cut, a piece is as long as it takes. */
TEST(a_text_without_white_space_is_one_piece)
{
    enum { LENGTH = 3 << 20 };
    char *text = memory_new(LENGTH + 7, 1, "a test");
    memset(text, 'x', LENGTH);
    strcpy(text + LENGTH, "\ny\nz\n");
    char *path = scratch_put("endless", text);
    CorpusOptions options = {.tokenizer = TOKENIZER_CHAR, .min_count = 1, .max_input_mb = 8};
    Corpus corpus;
    Error error = {0};
    ck_assert_msg(corpus_load(&corpus, path, &options, NULL, &error), "%s", error.text);
    check_encoding(&corpus.train, &corpus.vocabulary, text, LENGTH + 1);
    corpus_free(&corpus);
    free(text);
}

/* A BPE vocabulary with a token that was added by hand. */
static Vocabulary with_added(const char *token)
{
    Vocabulary vocabulary = vocabulary_of(TOKENIZER_BPE, "a b\n", 256, 1), result;
    Error error = {0};
    ck_assert(vocabulary_store(&vocabulary, scratch_folder(), &error));
    char *path = scratch_path("tokenizer.json");
    json_t *root = json_load_file(path, 0, NULL);
    json_array_append_new(json_object_get(root, "added_tokens"),
                          json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", 256, "content",
                                    token, "single_word", false, "lstrip", false, "rstrip",
                                    false, "normalized", false, "special", true));
    ck_assert_int_eq(json_dump_file(root, path, 0), 0);
    ck_assert_msg(vocabulary_load(&result, path, &error), "%s", error.text);
    json_decref(root);
    vocabulary_free(&vocabulary);
    return result;
}

TEST(no_piece_ends_inside_a_token)
{
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {{"a <end of text>", 1}, {"a <end o", 1},  {"a b <end", 3},
                 {"<end off", 4},        {"b <end of", 1}, {"<end of ", 0},
                 {"<end of text> ", 13}};
    Vocabulary vocabulary = with_added("<end of text>");
    Pieces pieces;
    pieces_begin(&pieces, &vocabulary);
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t at = pieces_last_break(&pieces, cases[i].text, strlen(cases[i].text));
        ck_assert_msg(at == cases[i].at, "case %zu: %zu", i, at);
    }
    pieces_end(&pieces);
    vocabulary_free(&vocabulary);
}
