/* Byte-level BPE: words, learned merges, texts encoded and decoded, files read and written.
 * tests/interop compares with Python's "tokenizers". */
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/tokenizers.h"
#include "data/tokenizers/unicode.h"
#include "data/tokenizers/utf8.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/random.h"
#include "src/math/team.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"
#include "tests/vocabularies.h"

#include <stdlib.h>
#include <string.h>

SUITE("bpe", .folder = true);

/* --- words --- */

/* The words of a text, each in brackets. */
static void expect_words(const char *text, size_t size, const char *expected)
{
    char *words = memory_copy_text("");
    for (size_t at = 0, end; at < size; at = end) {
        end = bpe_cut(text, size, at);
        ck_assert_uint_gt(end, at);
        ck_assert_uint_le(end, size);
        text_append(&words, "[%.*s]", (int)(end - at), text + at);
    }
    ck_assert_str_eq(words, expected);
    free(words);
}

TEST(texts_are_cut_as_gpt2_does)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", ""},
        {"Hello world", "[Hello][ world]"},
        {"it's we're I've I'm they'll he'd don't",
         "[it]['s][ we]['re][ I]['ve][ I]['m][ they]['ll][ he]['d][ don]['t]"},
        {"IT'S 'tis 'r 'v 'l 'lx", "[IT]['][S][ '][tis][ '][r][ '][v][ '][l][ '][lx]"},
        {"'s''s'", "['s][''][s][']"}, /* in a run of others begins no contraction */
        {"'re've'll'", "['re]['ve]['ll][']"},
        {"abc123 456x", "[abc][123][ 456][x]"},
        {"a, b!? (c)", "[a][,][ b][!?][ (][c][)]"},
        {"a  b", "[a][ ][ b]"},
        {"a   b", "[a][  ][ b]"},
        {"a\tb", "[a][\t][b]"},
        {"a\n b", "[a][\n][ b]"},
        {"a \nb", "[a][ ][\n][b]"},
        {"a\n\nb", "[a][\n][\n][b]"},
        {"a  ", "[a][  ]"},
        {" ", "[ ]"},
        {"  ", "[  ]"},
        {" a", "[ a]"},
        {"\xC3\xA9t\xC3\xA9 \xD0\xBF\xD1\x80", "[\xC3\xA9t\xC3\xA9][ \xD0\xBF\xD1\x80]"},
        {"\xE4\xBD\xA0\xE3\x80\x82\xE5\xA5\xBD",
         "[\xE4\xBD\xA0][\xE3\x80\x82][\xE5\xA5\xBD]"}, /* with a full stop */
        {"\xC2\xBD\xE2\x85\xA7 \xD9\xA3", "[\xC2\xBD\xE2\x85\xA7][ \xD9\xA3]"}, /* numbers */
        {"a\xC2\xA0\xE3\x80\x80 b", "[a][\xC2\xA0\xE3\x80\x80][ b]"},
        {"a\xC2\xA0 \xE3\x80\x80z", "[a][\xC2\xA0 ][\xE3\x80\x80][z]"},
        {"a\x1C\x1F", "[a][\x1C\x1F]"},
        {" \xF0\x9F\x90\xA6\xF0\x9F\x91\x8D", "[ \xF0\x9F\x90\xA6\xF0\x9F\x91\x8D]"},
        {"a\xCC\x88", "[a][\xCC\x88]"}, /* a mark is no letter */
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_words(cases[i].text, strlen(cases[i].text), cases[i].words);
}

TEST(invalid_bytes_are_characters_of_their_own)
{
    expect_words("a\xFF b\xC3", 5, "[a][\xFF][ b][\xC3]");
    expect_words(" \x80\xE4\xBD.x", 6, "[ \x80\xE4\xBD.][x]");
    expect_words("\xED\xA0\x80y", 4, "[\xED\xA0\x80][y]"); /* a surrogate */
}

TEST(characters_have_their_classes)
{
    ck_assert_int_eq(unicode_class(0), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class('z'), UNICODE_LETTER);
    ck_assert_int_eq(unicode_class('{'), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class('9'), UNICODE_NUMBER);
    ck_assert_int_eq(unicode_class('\r'), UNICODE_SPACE);
    ck_assert_int_eq(unicode_class(0x1c), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class(0x85), UNICODE_SPACE);
    ck_assert_int_eq(unicode_class(0x200a), UNICODE_SPACE);
    ck_assert_int_eq(unicode_class(0x200b), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class(0x4e00), UNICODE_LETTER);
    ck_assert_int_eq(unicode_class(0x2160), UNICODE_NUMBER);
    ck_assert_int_eq(unicode_class(0xd800), UNICODE_OTHER);
    ck_assert_int_eq(unicode_class(0x10ffff), UNICODE_OTHER);
}

/* --- random texts --- */

static uint64_t draws;

static size_t draw(size_t below)
{
    return (size_t)(random_uniform(random_key(7, RANDOM_TEST, 0), draws++) * (double)below);
}

/* Bytes of all kinds, but words and white space more often. */
static size_t draw_text(char *text, size_t most)
{
    static const char *const parts[] = {
        "a",  "b",        "ab",           " ",        "  ", "\n", "'s",
        "\r", "\xC3\xA9", "\xE3\x80\x80", "\xC2\xA0", "1",  ".",  "\xF0\x9F\x90\xA6"};
    size_t size = 0, wanted = draw(most + 1);
    while (size < wanted) {
        const char *part = parts[draw(COUNT(parts))];
        if (draw(4) == 0)
            text[size++] = (char)draw(BPE_BYTES);
        else
            for (; *part && size < wanted; part++)
                text[size++] = *part;
    }
    return size;
}

TEST(a_text_can_be_cut_at_seams)
{
    char text[200];
    size_t seams = 0;
    for (int round = 0; round < 3000; round++) {
        size_t size = draw_text(text, sizeof text), seam = bpe_seam(text, size, draw(size + 1));
        size_t at = 0;
        while (at < seam)
            at = bpe_cut(text, size, at);
        ck_assert_uint_eq(at, seam); /* a word ends here in the whole text, */
        size_t end = 0;
        for (at = 0; at < seam; at = end) { /* and the words before are the same without it */
            end = bpe_cut(text, seam, at);
            ck_assert_uint_eq(end, bpe_cut(text, size, at));
        }
        seams += seam < size;
    }
    ck_assert_uint_gt(seams, 1000);
}

/* --- learning --- */

static Vocabulary learn(const char *text, size_t size, size_t tokens, size_t min_count)
{
    Vocabulary vocabulary;
    Error error = {0};
    VocabularyLimits limits = {.size = tokens, .min_count = min_count};
    ck_assert_msg(vocabulary_learn(&vocabulary, tokenizer_find(TOKENIZER_BPE), text, size,
                                   &limits, &error),
                  "%s", error.text);
    return vocabulary;
}

/* The tokens after the bytes, each in brackets. */
static void expect_learned(const char *text, size_t tokens, size_t min_count,
                           const char *expected)
{
    Vocabulary vocabulary = learn(text, strlen(text), tokens, min_count);
    char *learned = memory_copy_text("");
    for (size_t id = BPE_BYTES; id < vocabulary.count; id++)
        text_append(&learned, "[%s]", vocabulary.words[id]);
    ck_assert_str_eq(learned, expected);
    free(learned);
    vocabulary_free(&vocabulary);
}

TEST(frequent_pairs_are_merged_first)
{
    expect_learned("ab ab ab", 0, 1, "[ab][ ab]");
    expect_learned("ab ab ab", 257, 1, "[ab]");
    expect_learned("ab ab ab", 0, 3, "[ab]");
    expect_learned("ab ab ab", 0, 4, "");
    expect_learned("", 0, 1, "");
    expect_learned("a", 0, 1, "");
    /* Among equals, the smaller ids: letters before the blank, whose stand-in comes later. */
    expect_learned("ba dc", 0, 1, "[ba][dc][ dc]");
    /* Overlapping pairs merge from the left. */
    expect_learned("aaaaa", 0, 1, "[aa][aaa][aaaaa]");
    expect_learned("aaa", 0, 1, "[aa][aaa]");
    /* Merges stay within words. */
    expect_learned("a1a1a1", 0, 1, "");
}

TEST(bytes_come_first_in_the_order_of_their_characters)
{
    Vocabulary vocabulary = learn("", 0, 0, 1);
    ck_assert_uint_eq(vocabulary.count, BPE_BYTES);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "!"), 0);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "~"), 93);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\xA1"), 94);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\xFF"), 187);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\x01"), 189);
    ck_assert_int_eq(vocabulary_find(&vocabulary, " "), 220);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "\xAD"), 255);
    ck_assert_int_eq(vocabulary_find(&vocabulary, "ab"), TOKEN_NONE);
    ck_assert_int_eq(vocabulary.eos, 198);
    ck_assert_int_eq(vocabulary.unk, TOKEN_NONE);
    const char *piece;
    ck_assert_uint_eq(vocabulary_piece(&vocabulary, 188, &piece), 1);
    ck_assert_int_eq(*piece, 0);
    vocabulary_free(&vocabulary);
}

TEST(special_tokens_come_first_and_are_cut_out)
{
    static const char text[] = "ab ab<|end|>ab";
    static const char *const refused[] = {"a", "<x>,<x>", "<x>,,<y>", "<\xC3\xA4>", "a b"};
    VocabularyLimits limits = {.size = 260, .min_count = 1, .special_tokens = "<|end|>,[PAD]"};
    Vocabulary vocabulary;
    Error error = {0};
    const Tokenizer *tokenizer = tokenizer_find(TOKENIZER_BPE);
    ck_assert_msg(vocabulary_learn(&vocabulary, tokenizer, text, strlen(text), &limits, &error),
                  "%s", error.text);
    ck_assert_str_eq(vocabulary.words[0], "<|end|>");
    ck_assert_str_eq(vocabulary.words[1], "[PAD]");
    ck_assert_str_eq(vocabulary.words[2], "!");
    ck_assert_uint_eq(vocabulary.count, 260);
    int32_t *ids = NULL;
    ck_assert_uint_eq(tokenizer->encode(&vocabulary, "ab<|end|>ab", 11, &ids), 0);
    ck_assert_uint_eq(arrlenu(ids), 3);
    ck_assert_int_eq(ids[0], ids[2]);
    ck_assert_int_eq(ids[1], 0);
    arrfree(ids);
    vocabulary_free(&vocabulary);
    for (size_t i = 0; i < COUNT(refused); i++) {
        limits.special_tokens = refused[i];
        ck_assert(
            !vocabulary_learn(&vocabulary, tokenizer, text, strlen(text), &limits, &error));
        ck_says(error, "is no special token");
    }
}

TEST(sizes_below_the_bytes_are_refused)
{
    Vocabulary vocabulary;
    VocabularyLimits few = {.size = 255, .min_count = 1};
    Error error;
    ck_assert(
        !vocabulary_learn(&vocabulary, tokenizer_find(TOKENIZER_BPE), "a", 1, &few, &error));
    ck_says(error, "--vocab-size 255: a BPE vocabulary has from 256");
}

/* --- slow and simple: what the definition says --- */

enum { MOST_SLOW = 400 };

typedef struct Slow {
    int32_t ids[MOST_SLOW]; /* -1 between words */
    size_t count;
} Slow;

static void slow_begin(Slow *slow, const Vocabulary *vocabulary, const char *text, size_t size)
{
    slow->count = 0;
    for (size_t at = 0, end; at < size; at = end) {
        end = bpe_cut(text, size, at);
        for (size_t i = at; i < end; i++)
            slow->ids[slow->count++] = (int32_t)vocabulary->bpe->bytes[(unsigned char)text[i]];
        slow->ids[slow->count++] = -1;
    }
}

static bool slow_is_at(const Slow *slow, size_t at, int32_t left, int32_t right)
{
    return at + 1 < slow->count && slow->ids[at] == left && slow->ids[at + 1] == right;
}

static void slow_merge_at(Slow *slow, size_t at, int32_t result)
{
    slow->ids[at] = result;
    memmove(slow->ids + at + 1, slow->ids + at + 2, (slow->count - at - 2) * sizeof *slow->ids);
    slow->count--;
}

/* How often the pair at this place occurs. Of three equal tokens two pairs count. */
static size_t slow_frequency(const Slow *slow, size_t at)
{
    size_t sum = 0;
    for (size_t i = 0; i + 1 < slow->count; i++)
        sum += slow_is_at(slow, i, slow->ids[at], slow->ids[at + 1]);
    return sum;
}

/* The next merge that is to be learned; false if there is none. */
static bool slow_best(const Slow *slow, int32_t pair[2])
{
    size_t most = 0;
    for (size_t i = 0; i + 1 < slow->count; i++) {
        const int32_t *here = slow->ids + i;
        if (here[0] < 0 || here[1] < 0)
            continue;
        size_t frequency = slow_frequency(slow, i);
        bool smaller = here[0] < pair[0] || (here[0] == pair[0] && here[1] < pair[1]);
        if (frequency > most || (frequency == most && smaller)) {
            most = frequency;
            memcpy(pair, here, 2 * sizeof *pair);
        }
    }
    return most > 0;
}

/* Replays the learning of a text; each merge must be the one to learn. */
static void check_learning(const char *text, size_t size)
{
    Vocabulary vocabulary = learn(text, size, 0, 1);
    const BpeMerge *merges = vocabulary.bpe->merges;
    Slow slow;
    slow_begin(&slow, &vocabulary, text, size);
    int32_t pair[2];
    size_t rank = 0;
    while (slow_best(&slow, pair)) {
        ck_assert_uint_lt(rank, arrlenu(merges));
        ck_assert_uint_eq(merges[rank].left, (uint32_t)pair[0]);
        ck_assert_uint_eq(merges[rank].right, (uint32_t)pair[1]);
        for (size_t i = 0; i < slow.count; i++)
            if (slow_is_at(&slow, i, pair[0], pair[1]))
                slow_merge_at(&slow, i, (int32_t)merges[rank].result);
        rank++;
    }
    ck_assert_uint_eq(rank, arrlenu(merges));
    vocabulary_free(&vocabulary);
}

TEST(merges_are_learned_as_defined)
{
    char text[MOST_SLOW / 2];
    for (int round = 0; round < 60; round++) {
        size_t size = draw_text(text, sizeof text);
        check_learning(text, size);
        for (size_t i = 0; i < size; i++) /* ties and runs */
            text[i] = "aab c"[draw(round % 2 ? 5 : 3)];
        check_learning(text, size);
    }
}

/* --- encoding --- */

/* A vocabulary with merges of all kinds of bytes. */
static Vocabulary usual_vocabulary(void)
{
    enum { SIZE = 20000 };
    char *text = memory_new(SIZE, 1, "a text");
    size_t size = draw_text(text, SIZE);
    while (size < SIZE / 2)
        size = draw_text(text, SIZE);
    Vocabulary vocabulary = learn(text, size, 600, 1);
    ck_assert_uint_eq(vocabulary.count, 600);
    free(text);
    return vocabulary;
}

static void expect_back(const Vocabulary *vocabulary, const char *text, size_t size)
{
    int32_t *ids = NULL;
    char *back = NULL;
    ck_assert_uint_eq(vocabulary->tokenizer->encode(vocabulary, text, size, &ids), 0);
    for (size_t i = 0; i < arrlenu(ids); i++) {
        const char *piece;
        size_t length = vocabulary_piece(vocabulary, ids[i], &piece);
        memcpy(arraddnptr(back, length), piece, length);
    }
    ck_assert_uint_eq(arrlenu(back), size);
    ck_assert(size == 0 || memcmp(back, text, size) == 0);
    arrfree(ids);
    arrfree(back);
}

TEST(any_bytes_come_back)
{
    Vocabulary vocabulary = usual_vocabulary();
    char text[300];
    for (int round = 0; round < 10000; round++)
        expect_back(&vocabulary, text, draw_text(text, sizeof text));
    for (size_t i = 0; i < BPE_BYTES; i++)
        text[i] = (char)i;
    expect_back(&vocabulary, text, BPE_BYTES);
    vocabulary_free(&vocabulary);
}

/* The best pair of the whole text again and again: the same as word by word. */
static void check_encoding(const Vocabulary *vocabulary, const char *text, size_t size)
{
    Slow slow;
    slow_begin(&slow, vocabulary, text, size);
    for (;;) {
        uint32_t best = BPE_NONE;
        size_t place = 0;
        for (size_t i = 0; i + 1 < slow.count; i++) {
            if (slow.ids[i] < 0 || slow.ids[i + 1] < 0)
                continue;
            uint32_t rank = bpe_rank(vocabulary->bpe, (uint32_t)slow.ids[i],
                                     (uint32_t)slow.ids[i + 1]);
            if (rank < best) {
                best = rank;
                place = i;
            }
        }
        if (best == BPE_NONE)
            break;
        slow_merge_at(&slow, place, (int32_t)vocabulary->bpe->merges[best].result);
    }
    int32_t *ids = NULL;
    vocabulary->tokenizer->encode(vocabulary, text, size, &ids);
    size_t at = 0;
    for (size_t i = 0; i < slow.count; i++)
        if (slow.ids[i] >= 0) {
            ck_assert_uint_lt(at, arrlenu(ids));
            ck_assert_int_eq(ids[at++], slow.ids[i]);
        }
    ck_assert_uint_eq(at, arrlenu(ids));
    arrfree(ids);
}

TEST(merges_apply_by_rank_from_the_left)
{
    Vocabulary vocabulary = usual_vocabulary();
    char text[MOST_SLOW / 2];
    for (int round = 0; round < 300; round++) {
        size_t size = draw_text(text, sizeof text);
        check_encoding(&vocabulary, text, size);
        for (size_t i = 0; i < size; i++) /* long words take another way */
            text[i] = "aabb"[draw(4)];
        check_encoding(&vocabulary, text, size);
    }
    vocabulary_free(&vocabulary);
}

TEST(a_long_word_takes_no_long_time)
{
    enum { SIZE = 1 << 21 }; /* for a quadratic algorithm, minutes */
    char *text = memory_new(SIZE, 1, "a text");
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "acgt"[draw(4)];
    Vocabulary vocabulary = learn(text, SIZE, 400, 1);
    ck_assert_uint_eq(vocabulary.count, 400);
    expect_back(&vocabulary, text, SIZE);
    memset(text, 'a', SIZE);
    expect_back(&vocabulary, text, SIZE);
    vocabulary_free(&vocabulary);
    vocabulary = learn(text, SIZE, 0, 1); /* every token twice as long as the one before */
    ck_assert_uint_eq(vocabulary.count, BPE_BYTES + 21);
    expect_back(&vocabulary, text, SIZE);
    vocabulary_free(&vocabulary);
    free(text);
}

static void expect_same(const Vocabulary *a, const Vocabulary *b)
{
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_uint_eq(arrlenu(a->bpe->merges), arrlenu(b->bpe->merges));
    for (size_t i = 0; i < arrlenu(a->bpe->merges); i++)
        ck_assert_mem_eq(&a->bpe->merges[i], &b->bpe->merges[i], sizeof(BpeMerge));
    for (size_t id = 0; id < a->count; id++) {
        ck_assert_uint_eq(a->lengths[id], b->lengths[id]);
        ck_assert_mem_eq(a->words[id], b->words[id], a->lengths[id]);
    }
    ck_assert_uint_eq(arrlenu(a->bpe->added), arrlenu(b->bpe->added));
    for (size_t i = 0; i < arrlenu(a->bpe->added); i++)
        ck_assert_uint_eq(a->bpe->added[i].id, b->bpe->added[i].id);
    ck_assert_int_eq(a->eos, b->eos);
}

/* Parts that end where utf8_last_break finds a break have the words of the whole. */
TEST(a_text_in_parts_has_the_same_words)
{
    size_t parts = 0;
    for (int round = 0; round < 2000; round++) {
        char text[400];
        size_t size = draw_text(text, sizeof text);
        BpeCounter *whole = bpe_counter_begin(), *pieces = bpe_counter_begin();
        bpe_counter_add(whole, text, size);
        for (size_t at = 0, length; at < size; at += length, parts++) {
            size_t some = 1 + draw(size - at);
            length = some < size - at ? utf8_last_break(text + at, some) : size - at;
            length = length ? length : size - at;
            bpe_counter_add(pieces, text + at, length);
        }
        const BpeWord *a = bpe_counter_words(whole), *b = bpe_counter_words(pieces);
        ck_assert_uint_eq(arrlenu(a), arrlenu(b));
        for (size_t i = 0; i < arrlenu(a); i++) {
            ck_assert_uint_eq(a[i].first, b[i].first);
            ck_assert_uint_eq(a[i].count, b[i].count);
            ck_assert_mem_eq(a[i].bytes, b[i].bytes, a[i].size);
            ck_assert_mem_eq(a[i].bytes, text + a[i].first, a[i].size);
        }
        bpe_counter_end(whole);
        bpe_counter_end(pieces);
    }
    ck_assert_uint_gt(parts, 4000);
}

TEST(any_number_of_threads_learns_the_same)
{
    enum { SIZE = 3 << 20 };
    char *text = memory_new(SIZE, 1, "a text");
    for (size_t i = 0; i < SIZE; i++)
        text[i] = "abcde fg \n1."[draw(12)];
    Vocabulary alone = learn(text, SIZE, 700, 2);
    for (size_t threads = 1; threads <= 3; threads++) {
        team_start(threads);
        Vocabulary together = learn(text, SIZE, 700, 2);
        team_stop();
        expect_same(&alone, &together);
        vocabulary_free(&together);
    }
    vocabulary_free(&alone);
    free(text);
}

/* --- files --- */

static char *file_in(const char *folder, const char *name, size_t *size)
{
    char *path = file_join(folder, name), *text;
    Error error;
    ck_assert(file_read(path, 1 << 20, &text, size, &error));
    free(path);
    return text;
}

TEST(vocabularies_are_written_and_read_back)
{
    Vocabulary vocabulary = usual_vocabulary(), copy, back;
    Error error = {0};
    size_t size;
    vocabulary_copy(&copy, &vocabulary);
    expect_same(&vocabulary, &copy);
    ck_assert_msg(bpe_export(&copy, scratch_folder(), &error), "%s", error.text);
    vocabulary_free(&copy);

    char *file = file_in(scratch_folder(), "tokenizer.json", &size),
         *stored = vocabulary_write(&vocabulary, &size), *path = scratch_path("tokenizer.json");
    ck_assert_str_eq(file, stored);
    ck_assert_msg(bpe_import(&back, scratch_folder(), &error), "%s", error.text);
    expect_same(&vocabulary, &back);
    vocabulary_free(&back);
    ck_assert_msg(bpe_import(&back, path, &error), "%s", error.text);
    expect_same(&vocabulary, &back);
    vocabulary_free(&back);
    ck_assert_int_eq(remove(path), 0); /* now from the other two files */
    ck_assert_msg(bpe_import(&back, scratch_folder(), &error), "%s", error.text);
    expect_same(&vocabulary, &back);
    vocabulary_free(&back);

    char *merges = file_in(scratch_folder(), "merges.txt", &size);
    ck_assert_int_eq(strncmp(merges, "#version: 0.2\n", 14), 0);
    free(merges);
    free(stored);
    free(file);
    vocabulary_free(&vocabulary);
}

/* The text of tokenizer.json of the words "ab" and " ab", with a part replaced. */
static char *changed(const char *part, const char *with)
{
    Vocabulary vocabulary = learn("ab ab", 5, 0, 1);
    size_t size;
    char *text = vocabulary_write(&vocabulary, &size), *result = NULL, *at = strstr(text, part);
    ck_assert_msg(at != NULL, "no %s in the file", part);
    text_append(&result, "%.*s%s%s", (int)(at - text), text, with, at + strlen(part));
    vocabulary_free(&vocabulary);
    free(text);
    return result;
}

static void expect_ids(const Vocabulary *vocabulary, const char *text, const char *expected)
{
    int32_t *ids = NULL;
    vocabulary->tokenizer->encode(vocabulary, text, strlen(text), &ids);
    char *list = memory_copy_text("");
    for (size_t i = 0; i < arrlenu(ids); i++)
        text_append(&list, "%d ", (int)ids[i]);
    ck_assert_str_eq(list, expected);
    free(list);
    arrfree(ids);
}

static Vocabulary read_changed(const char *part, const char *with)
{
    char *text = changed(part, with);
    Vocabulary vocabulary;
    Error error = {0};
    ck_assert_msg(bpe_read(&vocabulary, text, strlen(text), &error), "%s", error.text);
    free(text);
    return vocabulary;
}

TEST(files_of_other_programs_are_read)
{
    static const struct {
        const char *part, *with;
    } cases[] = {
        {"\"a b\"", "[\"a\", \"b\"]"},
        {"\"type\": \"BPE\",", ""},
        {"\"dropout\": null,", ""},
        {"\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": null"},
        {"\"unk_token\": null", "\"unk_token\": \"<|endoftext|>\""},
        {"\"use_regex\": true", "\"trim\": true"},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"ByteLevel\"}"},
        {"\"post_processor\": null",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"special_tokens\": {}, "
         "\"single\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], "
         "\"pair\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, "
         "{\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}]}"},
        {"\"added_tokens\": [],", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        Vocabulary vocabulary = read_changed(cases[i].part, cases[i].with);
        expect_ids(&vocabulary, "ab ab a", "256 257 220 64 ");
        vocabulary_free(&vocabulary);
    }
}

TEST(added_tokens_are_cut_out_first)
{
    Vocabulary vocabulary = read_changed(
        "\"added_tokens\": []",
        "\"added_tokens\": [{\"id\": 258, \"content\": \"<|end|>\", \"special\": true},"
        "{\"id\": 259, \"content\": \"b<\", \"normalized\": true},"
        "{\"id\": 260, \"content\": \"<|\", \"normalized\": false},"
        "{\"id\": 261, \"content\": \"\xC3\xA9 \xC3\xA9\", \"special\": false}]");
    ck_assert_uint_eq(vocabulary.count, 262);
    expect_ids(&vocabulary, "ab<|end|> ab", "256 258 257 ");
    expect_ids(&vocabulary, "<|end|", "260 68 77 67 91 "); /* the longest that is there */
    expect_ids(&vocabulary, "ab<", "64 259 ");
    expect_ids(&vocabulary, "ab<|", "256 260 "); /* those that are not normalized first */
    expect_ids(&vocabulary, "\xC3\xA9 \xC3\xA9", "261 ");
    const char *piece;
    ck_assert_uint_eq(vocabulary_piece(&vocabulary, 261, &piece), 5);
    ck_assert_str_eq(piece, "\xC3\xA9 \xC3\xA9");
    vocabulary_expect_round_trip(&vocabulary);
    vocabulary_free(&vocabulary);
}

TEST(tokens_that_no_merge_makes_are_special_in_a_pair_of_files)
{
    Vocabulary vocabulary = read_changed(
        "\"added_tokens\": []",
        "\"added_tokens\": [{\"id\": 258, \"content\": \"<|endoftext|>\", \"special\": true}]");
    Error error = {0};
    ck_assert_msg(bpe_export(&vocabulary, scratch_folder(), &error), "%s", error.text);
    vocabulary_free(&vocabulary);
    char *path = scratch_path("tokenizer.json");
    ck_assert_int_eq(remove(path), 0);
    ck_assert_msg(bpe_import(&vocabulary, scratch_folder(), &error), "%s", error.text);
    expect_ids(&vocabulary, "ab<|endoftext|> ab", "256 258 257 ");
    ck_assert_uint_eq(arrlenu(vocabulary.bpe->added), 1);
    vocabulary_free(&vocabulary);
}

TEST(wrong_files_are_refused)
{
    static const struct {
        const char *part, *with, *says;
    } cases[] = {
        {"{", "[", "not JSON in line"},
        {"\"version\": \"1.0\"", "\"version\"", "not JSON in line"},
        {"\"model\"", "\"modell\"", "no \"model\""},
        {"\"BPE\"", "\"WordPiece\"", "its model is \"WordPiece\""},
        {"\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}", "normalizer \"NFC\""},
        {"\"pre_tokenizer\": {\n    \"type\": \"ByteLevel\"",
         "\"pre_tokenizer\": {\n    \"type\": \"Metaspace\"",
         "its pre_tokenizer is \"Metaspace\""},
        {"\"use_regex\": true", "\"use_regex\": false", "\"use_regex\": false"},
        {"\"add_prefix_space\": false", "\"add_prefix_space\": true",
         "\"add_prefix_space\" is set"},
        {"\"post_processor\": null", "\"post_processor\": {\"type\": \"RobertaProcessing\"}",
         "its post_processor is \"RobertaProcessing\""},
        {"\"post_processor\": null",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
         "[{\"SpecialToken\": {\"id\": \"<s>\"}}, {\"Sequence\": {\"id\": \"A\"}}]}",
         "its post_processor adds tokens to a text"},
        {"\"post_processor\": null",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": "
         "[{\"SpecialToken\": {\"id\": \"A\"}}]}",
         "its post_processor adds tokens to a text"},
        {"\"post_processor\": null",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": 7}",
         "its post_processor adds tokens to a text"},
        {"\"dropout\": null", "\"dropout\": 0.1", "\"dropout\" is set"},
        {"\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</w>\"",
         "\"end_of_word_suffix\" is set"},
        {"\"byte_fallback\": false", "\"byte_fallback\": true", "\"byte_fallback\" is set"},
        {"\"byte_fallback\": false", "\"ignore_merges\": true", "\"ignore_merges\" is set"},
        {"\"!\": 0,", "", "the id of the token"},
        {"\"!\": 0,", "\"!!\": 0,", "no token for the byte 0x21"},
        {"\"!\": 0,", "\"!\": 1,", "the tokens \"!\" and \"\"\" have the same id"},
        {"\"!\": 0,", "\"!\": -1,", "the id of the token \"!\" is not between 0 and 257"},
        {"\"!\": 0,", "\"!\": \"0\",", "the id of the token \"!\""},
        {"\"!\": 0,", "\"!\": 0, \"! \": 258,", "\"! \" is not spelled in GPT-2's characters"},
        {"\"!\": 0,", "\"!\": 0, \"\xE3\x80\x80\": 258,", "is not spelled"},
        {"\"!\": 0,", "\"!\": 0, \"\": 258,", "is not spelled"},
        {"\"!\": 0,", "\"!\": 0, \"\xC6\x80\": 258,", "is not spelled"}, /* U+0180 */
        {"\"!\": 0,", "\"!\": 0, \"!\": 0,", "not JSON"},
        {"\"ab\": 256", "\"ba\": 256", "merge 1 makes a token that is not in the vocabulary"},
        {"\"a b\"", "\"a b c\"", "merge 1 has a part that is not"},
        {"\"a b\"", "\"ab\"", "merge 1 is not two tokens"},
        {"\"a b\"", "[\"a\"]", "merge 1 is not two tokens"},
        {"\"a b\"", "[\"a\", 1]", "merge 1 is not two tokens"},
        {"\"a b\"", "7", "merge 1 is not two tokens"},
        {"\"a b\"", "\"a b\", \"a b\"", "merge 2 merges the same two tokens"},
        {"\"a b\"", "\"aa b\"", "merge 1 has a part"},
        {"\"merges\": [", "\"mergers\": [", "no list of \"merges\""},
        {"\"vocab\": {", "\"vocabulary\": {", "no \"vocab\""},
        {"\"added_tokens\": []", "\"added_tokens\": {}", "are no list"},
        {"\"added_tokens\": []", "\"added_tokens\": [{}]", "has no \"content\""},
        {"\"added_tokens\": []", "\"added_tokens\": [7]", "has no \"content\""},
        {"\"added_tokens\": []", "\"added_tokens\": [{\"content\": \"x\"}]",
         "the id of the token"},
        {"\"added_tokens\": []", "\"added_tokens\": [{\"content\": \"x\", \"id\": 258}]",
         "\"x\" contradicts"},
        {"\"added_tokens\": []",
         "\"added_tokens\": [{\"content\": \"xx\", \"id\": 258}, {\"content\": \"xx\", \"id\": "
         "259}]",
         "\"xx\" contradicts"},
        {"\"added_tokens\": []", "\"added_tokens\": [{\"content\": \"xx\", \"id\": 1}]",
         "\"xx\" contradicts"},
        {"\"added_tokens\": []", "\"added_tokens\": [{\"content\": \"xx\", \"id\": 259}]",
         "the id of the token \"xx\" is not between 0 and 258"},
        {"\"added_tokens\": []",
         "\"added_tokens\": [{\"content\": \"xx\", \"id\": 258},{\"content\": \"xx\", \"id\": "
         "258}]",
         "\"xx\" contradicts"},
        {"\"added_tokens\": []",
         "\"added_tokens\": [{\"content\": \"xx\", \"id\": 259},{\"content\": \"!\", \"id\": "
         "0}]",
         "no token has the id 258"},
        {"\"added_tokens\": []",
         "\"added_tokens\": [{\"content\": \"xx\", \"id\": 258, \"lstrip\": true}]",
         "\"lstrip\" is set"},
    };
    Vocabulary vocabulary;
    Error error;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = changed(cases[i].part, cases[i].with);
        ck_assert_msg(!bpe_read(&vocabulary, text, strlen(text), &error), "case %zu: %s", i,
                      cases[i].with);
        ck_says(error, cases[i].says);
        free(text);
    }
    ck_assert(!bpe_read(&vocabulary, "[]", 2, &error));
    ck_says(error, "not a JSON object");
}

TEST(cut_files_are_refused)
{
    char *text = changed("", "");
    Vocabulary vocabulary;
    Error error;
    for (size_t size = 0; size + 2 < strlen(text); size += size < 1500 ? 1 : 97)
        ck_assert(!bpe_read(&vocabulary, text, size, &error));
    free(text);
}

TEST(wrong_places_are_refused_by_name)
{
    Vocabulary vocabulary;
    Error error;
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "neither vocabulary.txt nor tokenizer.json nor vocab.json and merges.txt");
    char *path = scratch_path("none.json");
    ck_assert(!bpe_import(&vocabulary, path, &error));
    ck_says(error, path);
    scratch_put("vocab.json", "{\"a\": 0");
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "vocab.json:1: not JSON");
    scratch_put("vocab.json", "{\"a\": 0}");
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "merges.txt");
    scratch_put("merges.txt", "#version: 0.2\n\xff b\n");
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "merges.txt: a line is not UTF-8");
    scratch_put("merges.txt", "#version: 0.2\na b\n");
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "no token for the byte 0x00");
    path = scratch_put("tokenizer.json", "{}");
    ck_assert(!bpe_import(&vocabulary, scratch_folder(), &error));
    ck_says(error, "tokenizer.json: no tokenizer");
    Vocabulary words = vocabulary_of(TOKENIZER_WORD, "a b\n", 0, 1);
    ck_assert(!bpe_export(&words, scratch_folder(), &error));
    ck_says(error, "tokens of the kind word");
    vocabulary_free(&words);
}
