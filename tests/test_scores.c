/* The scores that eval saves in a run directory, which may be hostile. */
#include "eval/runs/rundata.h"
#include "eval/runs/scores.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/runlogs.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <math.h>
#include <string.h>

SUITE("scores", .folder = true);

#define OLD_COLUMNS \
    "split,window,stride,carried_streams,text_crc,tokens,nats,loss,perplexity,step"
#define OLD_HEADER    OLD_COLUMNS "\n"
#define SCORES_HEADER OLD_COLUMNS ",method,found,bytes,bytes_crc,accuracy\n"
#define TOKENS_HEADER OLD_COLUMNS ",method,found\n"

static Error error;

static RunScore score_of(const char *split, size_t stride, double nats, size_t step)
{
    RunScore score = {.window = 16,
                      .stride = stride,
                      .text_crc = 9,
                      .tokens = 4,
                      .bytes = 20,
                      .bytes_crc = 3,
                      .nats = nats,
                      .accuracy = NAN,
                      .step = step,
                      .method = SCORE_PLAIN};
    strcpy(score.split, split);
    return score;
}

static void note(const char *path, RunScore score)
{
    ck_assert_msg(scores_note(path, &score, &error), "%s", error.text);
}

TEST(a_score_replaces_the_one_of_its_protocol)
{
    char *path = scratch_path(RUN_SCORES), *bytes;
    size_t size;
    RunScore foreign = score_of("test", 2, 8, 5);
    foreign.text_crc = 8;
    note(path, foreign);
    note(path, score_of("test", 16, 8, 5)); /* replaces that of another text */
    note(path, score_of("valid", 16, 4, 5));
    note(path, score_of("test", 4, 6, 5));
    note(path, score_of("test", 16, 2.5, 7)); /* replaces that of step 5 */
    ck_assert(file_read(path, 1 << 20, &bytes, &size, &error));
    ck_assert_str_eq(bytes,
                     SCORES_HEADER "valid,16,16,0,9,4,4,1,2.71828183,5,plain,,20,3,\n"
                                   "test,16,4,0,9,4,6,1.5,4.48168907,5,plain,,20,3,\n"
                                   "test,16,16,0,9,4,2.5,0.625,1.86824596,7,plain,,20,3,\n");
    free(bytes);
    RunScore *scores;
    ck_assert(scores_read(path, &scores, &error));
    ck_assert_uint_eq(arrlenu(scores), 3);
    ck_assert(score_row_loss(&scores[2]) == 0.625 && scores[2].step == 7);
    ck_assert_double_eq_tol(score_row_bits(&scores[2]), 2.5 / (20 * log(2)), 1e-12);
    arrfree(scores);
}

/* Scores with other tokens compare per byte of the same text, if its bytes are known. */
TEST(other_tokens_compare_per_byte)
{
    char *path = scratch_put(RUN_SCORES, TOKENS_HEADER "test,16,16,0,9,4,8,2,7.3,5,plain,\n");
    RunScore *scores, bytes = score_of("test", 16, 7, 6), words = bytes, other = bytes;
    words.text_crc = other.text_crc = 8;
    other.bytes_crc = 4;
    ck_assert(!score_same_protocol(&bytes, &words, SCORE_PER_TOKEN));
    ck_assert(score_same_protocol(&bytes, &words, SCORE_PER_BYTE));
    ck_assert(!score_same_protocol(&bytes, &other, SCORE_PER_BYTE));
    ck_assert(scores_read(path, &scores, &error));
    ck_assert(score_same_protocol(&bytes, &scores[0], SCORE_PER_TOKEN));
    ck_assert(!score_same_protocol(&scores[0], &scores[0], SCORE_PER_BYTE));
    ck_assert(isnan(score_row_bits(&scores[0])));
    arrfree(scores);
}

/* The method is part of the protocol; the tuned values are not. */
TEST(methods_are_part_of_the_protocol)
{
    char *path = scratch_put(RUN_SCORES, OLD_HEADER "test,16,16,0,9,4,8,2,7.3,5\n"), *bytes;
    size_t size;
    RunScore *scores, plain = score_of("test", 16, 7, 6), cached = score_of("test", 16, 5, 6);
    strcpy(cached.method, "cache 9 theta tuned");
    strcpy(cached.found, "theta 0.1");
    ck_assert(scores_read(path, &scores, &error));
    ck_assert(score_is_plain(&scores[0]) &&
              score_same_protocol(&scores[0], &plain, SCORE_PER_TOKEN));
    ck_assert(!score_is_plain(&cached) &&
              !score_same_protocol(&cached, &plain, SCORE_PER_TOKEN));
    arrfree(scores);
    note(path, cached);
    strcpy(cached.found, "theta 0.2");
    cached.nats = 4;
    cached.accuracy = 0.75;
    note(path, cached);
    ck_assert(file_read(path, 1 << 20, &bytes, &size, &error));
    ck_assert_str_eq(
        bytes, SCORES_HEADER
        "test,16,16,0,9,4,8,2,7.3890561,5,plain,,0,0,\n"
        "test,16,16,0,9,4,4,1,2.71828183,6,cache 9 theta tuned,theta 0.2,20,3,0.75\n");
    free(bytes);
    ck_assert(scores_read(path, &scores, &error));
    ck_assert(score_same_protocol(&scores[1], &cached, SCORE_PER_TOKEN));
    ck_assert_str_eq(scores[1].found, "theta 0.2");
    ck_assert(isnan(scores[0].accuracy) && scores[1].accuracy == 0.75);
    arrfree(scores);
}

/* Valid rows under the old header, and invalid ones under the new header. */
#define WORDS_OF_42 "forty-two characters are in these words - 4"
TEST(hostile_scores_are_refused_with_the_line)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "scores.csv:1: not the scores"},
        {"a,b\n", "scores.csv:1: not the scores"},
        {OLD_HEADER "test,16,16,0,9,4,8,2\n", "scores.csv:2: not a score"},
        {OLD_HEADER "test,16,16,0,9,4,8,2,7,5,6\n", ":2: not a score"},
        {OLD_HEADER "a longer name than there is,16,16,0,9,4,8,2,7,5\n", ":2: not a score"},
        {OLD_HEADER "test,16,-1,0,9,4,8,2,7,5\n", ":2: not a score"},
        {OLD_HEADER "test,16,16,0,9,0,8,2,7,5\n", ":2: not a score"},
        {OLD_HEADER "test,16,16,0,9,4,nan,2,7,5\n", ":2: not a score"},
        {OLD_HEADER "test,16,16,0,9,4,8,2,7,5\n\ntest\n", ":3: not a score"},
        {OLD_HEADER "test,16,16,0,9,4,8,2,7,5,plain,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,plain,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,plain,,-1,1,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,plain,,1,1,1,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,plain,,1,1,x\n", ":2: not a score"},
        {TOKENS_HEADER "test,16,16,0,9,4,8,2,7,5,plain,,1\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,\033[31m,,1,1,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5,plain,caf\303\251,1,1,\n", ":2: not a score"},
        {SCORES_HEADER "test,16,16,0,9,4,8,2,7,5," WORDS_OF_42 WORDS_OF_42 WORDS_OF_42
                       ",,1,1,\n",
         ":2: not a score"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        RunScore *scores, score = score_of("test", 16, 8, 5);
        char *path = scratch_put(RUN_SCORES, cases[i].text), *bytes;
        size_t size;
        ck_assert(!scores_read(path, &scores, &error));
        ck_says(error, cases[i].message);
        ck_assert_ptr_null(scores);
        ck_assert(!scores_note(path, &score, &error)); /* a foreign file is not overwritten */
        ck_assert(file_read(path, 1 << 20, &bytes, &size, &error));
        ck_assert_str_eq(bytes, cases[i].text);
        free(bytes);
    }
    RunScore *scores;
    char *path = scratch_put_bytes(RUN_SCORES, OLD_HEADER "\0\n", sizeof OLD_HEADER + 1);
    ck_assert(!scores_read(path, &scores, &error));
    ck_says(error, "zero bytes");
}

/* A score counts if it is of the best checkpoint, plain, and by the most common protocol. */
TEST(a_run_shows_the_score_of_its_best_checkpoint)
{
    RunData runs[3];
    scratch_put(RUN_SETTINGS, "attn = linear\n");
    scratch_put(RUN_LOG, HEADER ROW_1 ROW_2 ROW_3); /* the best is step 2 */
    static const char *const texts[] = {
        TOKENS_HEADER "test,16,4,0,9,4,3,1,2.7,2,dynamic 4,\ntest,16,4,0,9,4,6,1.5,4.4,2,plain,"
                      "\ntest,16,16,0,9,4,8,2,7.3,2,plain,\n",
        TOKENS_HEADER
        "test,16,4,0,9,4,3,1,2.7,2,dynamic 4,\nvalid,16,4,0,9,4,6,1.5,4.4,2,plain,"
        "\ntest,16,16,0,9,4,9,2.25,9.4,2,plain,\n",
        OLD_HEADER "test,16,16,0,9,4,9,2.25,9.4,1\n"};
    for (size_t r = 0; r < 3; r++) {
        scratch_put(RUN_SCORES, texts[r]);
        ck_assert_msg(rundata_read(&runs[r], scratch_folder(), &error), "%s", error.text);
    }
    const RunScore *test = rundata_shared_test(runs, 3, SCORE_PER_TOKEN);
    ck_assert(test && test->stride == 16);
    ck_assert(score_row_loss(rundata_score(&runs[1], test, SCORE_PER_TOKEN)) == 2.25);
    ck_assert_ptr_null(
        rundata_score(&runs[2], test, SCORE_PER_TOKEN)); /* of an earlier checkpoint */
    ck_assert_ptr_null(rundata_shared_test(&runs[2], 1, SCORE_PER_TOKEN));
    for (size_t r = 0; r < 3; r++)
        rundata_free(&runs[r]);
    scratch_put(RUN_SCORES, "rubbish\n");
    ck_assert(!rundata_read(&runs[0], scratch_folder(), &error));
    ck_says(error, "scores.csv:1: ");
    rundata_free(&runs[0]);
}
