/* People bring a text and take the default tokenizer, which is for texts that are tokenised
 * already. What then goes wrong is seen only in the numbers: a vocabulary that makes steps ten
 * times as slow, or words that validation does not know. Only the first hint that applies is
 * printed; after following it, one may see the next. The limits leave the Penn Treebank alone.
 */
#include "train/loop/hints.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Above these, a hint is due. */
#define LONGEST_MEAN    15.0 /* characters of a word; those of long-worded languages have 9 */
#define MARKED_SHARE    0.08 /* of the vocabulary: words with a mark at the end */
#define EMBEDDING_SHARE 0.5  /* of the parameters */
#define UNKNOWN_SHARE   0.05 /* of the tokens of a split */
enum { LEAST_WORDS = 500, LARGE_VOCABULARY = 16384, HUGE_VOCABULARY = 65536 };

static bool is(const Corpus *corpus, size_t tokenizer)
{
    return corpus->vocabulary.tokenizer == tokenizer_find(tokenizer);
}

#define SUBWORDS "--tokens bpe --vocab-size 8192"

/* Words such as "freedom," beside "freedom". Sets the most frequent one that is long enough to
 * be an example. */
static size_t count_marked(const Vocabulary *vocabulary, const char **example)
{
    enum { EXAMPLE = 4 };
    size_t marked = 0;
    *example = NULL;
    for (size_t i = 0; i < vocabulary->count; i++) {
        char stem[TOKEN_LONGEST + 1];
        const char *word = vocabulary->words[i];
        size_t length = strlen(word);
        if (length < 2 || length > TOKEN_LONGEST || !strchr(",.;:!?\")", word[length - 1]))
            continue;
        memcpy(stem, word, length - 1);
        stem[length - 1] = '\0';
        if (vocabulary_find(vocabulary, stem) == TOKEN_NONE)
            continue;
        marked++;
        if (!*example && length > EXAMPLE)
            *example = word;
    }
    return marked;
}

static char *hint_of_blanks(const Corpus *corpus)
{
    double mean = (double)corpus->train.characters / (double)corpus->train.count;
    if (mean <= LONGEST_MEAN)
        return NULL;
    return text_format("words have %.0f characters on average, as in a text without blanks; "
                       "%s%s would suit it",
                       mean, is(corpus, TOKENIZER_WORD) ? "--tokens wordpunct or " : "",
                       SUBWORDS);
}

static char *hint_of_marks(const Corpus *corpus)
{
    const Vocabulary *vocabulary = &corpus->vocabulary;
    const char *example;
    size_t marked = count_marked(vocabulary, &example);
    double share = (double)marked / (double)vocabulary->count;
    if (!example || share <= MARKED_SHARE)
        return NULL;
    return text_format("%.0f %% of the %zu words end in a punctuation mark, as '%s' does; "
                       "--tokens wordpunct --vocab-size 8192 takes the marks off",
                       100 * share, vocabulary->count, example);
}

static char *hint_of_size(const Corpus *corpus, const ModelConfig *config, size_t parameters)
{
    size_t count = corpus->vocabulary.count,
           embedding = count * config->dim * (config->tied ? 1 : 2);
    double share = (double)embedding / (double)parameters;
    if (count <= LARGE_VOCABULARY || (share <= EMBEDDING_SHARE && count <= HUGE_VOCABULARY))
        return NULL;
    return text_format("a vocabulary of %zu makes training slow: %.0f %% of the parameters are "
                       "its embedding; try --vocab-size 8192 or %s",
                       count, 100 * share, SUBWORDS);
}

static char *hint_of_unknown(const Corpus *corpus)
{
    const CorpusSplit *splits[] = {&corpus->valid, &corpus->test};
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        double share = split_unknown_share(splits[i]);
        if (share > UNKNOWN_SHARE)
            return text_format("%.1f %% of the %s tokens are unknown, which makes perplexities "
                               "look low; %s has no unknown tokens",
                               100 * share, i ? "test" : "validation",
                               is(corpus, TOKENIZER_CHAR) ? "--tokens byte" : SUBWORDS);
    }
    return NULL;
}

char *hint_about_tokens(const Corpus *corpus, const ModelConfig *config, size_t parameters)
{
    bool in_words = is(corpus, TOKENIZER_WORD) || is(corpus, TOKENIZER_WORDPUNCT);
    bool many = corpus->vocabulary.count >= LEAST_WORDS; /* else it is an experiment */
    char *hint = NULL;
    if (in_words)
        hint = hint_of_blanks(corpus);
    if (!hint && is(corpus, TOKENIZER_WORD) && many)
        hint = hint_of_marks(corpus);
    if (!hint && corpus->vocabulary.tokenizer->cut)
        hint = hint_of_size(corpus, config, parameters);
    if (!hint && many)
        hint = hint_of_unknown(corpus);
    return hint;
}

char *hint_about_shared_tokens(const Corpus *corpus, bool bound)
{
    double share = split_unknown_share(&corpus->valid);
    if (share <= UNKNOWN_SHARE)
        return NULL;
    return text_format(
        "%.1f %% of the validation tokens are unknown to the tokenizer of the earlier run%s",
        100 * share, bound ? "" : "; --init-tokens text learns a new one");
}
