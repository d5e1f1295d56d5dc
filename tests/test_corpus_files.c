/* From a corpus name as typed to its files. */
#include "data/corpora/corpus_parts.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/tests.h"

#include <stdlib.h>

SUITE("corpus files", .folder = true);

/* Looks for `name` with the test's directory as the data directory; checks parts of the title
 * or the error. */
static void expect_found(const char *name, const char *valid, const char *title)
{
    CorpusFiles files;
    Error error = {0};
    ck_assert_msg(corpus_files_find(&files, name, valid, NULL, scratch_folder(), &error), "%s",
                  error.text);
    ck_assert_str_eq(files.title, title);
    corpus_files_free(&files);
}

static void expect_not_found(const char *name, const char *part)
{
    CorpusFiles files;
    Error error = {0};
    ck_assert(!corpus_files_find(&files, name, NULL, "", scratch_folder(), &error));
    ck_says(error, part);
    corpus_files_free(&files);
}

TEST(three_split_files_are_found)
{
    char *expected;
    expect_not_found("abc.txt", "abc.txt: no such file, nor abc.train.txt");
    expect_not_found("abc.txt", scratch_folder());
    expect_not_found("/abc.txt", "no such file, nor /abc.train.txt (");
    expect_not_found("abc.txt", "the corpus 'toy' is built in");
    expect_not_found("x/wikitext-2.txt", "to download it: data/get wikitext-2)");
    const char *train = scratch_put("abc.train.txt", "a\n");
    expect_not_found("abc.txt", "abc.valid.txt: not found in the data folder");
    scratch_put("abc.valid.txt.gz", "b\n");
    expect_not_found("abc.txt", "abc.test.txt: not found in the data folder");
    expect_not_found("abc.txt", "--test FILE");
    scratch_put("abc.test.txt", "c\n");
    expect_found("abc.txt", NULL,
                 "abc.train.txt, abc.valid.txt.gz, abc.test.txt in the data folder");
    expect_found("abc.txt.gz", "",
                 "abc.train.txt, abc.valid.txt.gz, abc.test.txt in the data folder");
    expect_found("abc.txt", train, "abc.train.txt, abc.test.txt in the data folder");
    expect_not_found("abc", "abc: no such file, nor abc.train;");

    expected = text_format("abc.train.txt, abc.valid.txt.gz, abc.test.txt in %s",
                           scratch_folder());
    char *given = scratch_path("abc.txt");
    expect_found(given, NULL, expected);
    scratch_put("abc.txt", "one file goes before three\n");
    expect_found("abc.txt", NULL, "abc.txt in the data folder");
    expect_not_found(
        "/abc.txt",
        "no such file"); /* absolute names are not looked up in the data directory */
    free(expected);
    expected = text_format("abc.txt in %s", scratch_folder());
    expect_found(given, NULL, expected);
    free(expected);
    expect_not_found(scratch_folder(), "directory");
    expect_found("-", NULL, "standard input");
    expect_found("toy", NULL, "the built-in toy language");
    scratch_put("toy", "a real file\n");
    expect_found("toy", NULL, "the built-in toy language");
}
