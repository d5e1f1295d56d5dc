/* What a session says before training, of settings that do not suit its text, and at its end.
 *
 * People bring a text and take the default tokenizer, which is for texts that are tokenised
 * already. What then goes wrong is seen only in the numbers: a vocabulary that makes steps ten
 * times as slow, or words that validation does not know. Only the first hint that applies is
 * printed; after following it, one may see the next. The limits leave the Penn Treebank alone.
 */
#include "train/advice.h"
#include "src/base/text.h"
#include "src/math/gemm.h"
#include "train/loop/signals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- before training: does the tokenizer suit the text? --- */

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

/* Says if another tokenizer would suit the text better. */
static void hint(const RunView *run)
{
    if (run->corpus->line > 0) /* a synthetic task has its own */
        return;
    const TrainOptions *train = &run->settings->train;
    char *text = train->init && train->init_tokens == INIT_TOKENS_RUN
                     ? hint_about_shared_tokens(run->corpus, train->distill != NULL)
                     : hint_about_tokens(run->corpus, &run->model->config,
                                         run->model->table.parameters);
    if (text)
        print_warning("%s", text);
    free(text);
}

void advise(const RunView *run)
{
    const TrainOptions *train = &run->settings->train;
    hint(run);
    if (train->warmup > 0 && 2 * train->warmup >= run->steps)
        print_warning("--warmup %zu takes half of the training of %zu steps or more; try "
                      "--warmup %zu",
                      train->warmup, run->steps, run->steps / 10);
    double gain = gemm_gain();
    if (gain < 1)
        print_warning(
            "--precision %s: this processor multiplies at %.2f of its speed in single "
            "precision; --precision single trains faster",
            gemm_precision_name(train->precision), gain);
}

/* --- at the end --- */

/* " --threads 4", for a flag " --recompute" or " --no-recompute". */
static void append_option(char **command, const Options *options, const Option *option)
{
    char *value = option_value(options, option);
    bool taken = option_takes_value(option), off = !taken && strcmp(value, "no") == 0;
    text_append(command, " --%s%s%s", off ? "no-" : "", option->name, taken ? " " : "");
    if (taken)
        text_append_shell_word(command, value);
    free(value);
}

/* The command that continues the run as this session went; the caller frees. */
static char *resume_command(const RunFolder *folder, const Settings *settings)
{
    const Options options = settings_options(settings);
    const Option *option;
    char *command = NULL;
    text_append_shell_word(&command, program_command);
    text_append(&command, " --resume ");
    text_append_shell_word(&command, folder->path);
    for (size_t i = 0; (option = option_at(&options, i)); i++)
        if (!option->stored && !option->once && !option_has_default(&options, option))
            append_option(&command, &options, option);
    return command;
}

/* A model that predicts worse than the uniform distribution has diverged, unless it began so
 * and has become better, as one of --init on another text may. */
static void warn_if_diverged(const RunView *run)
{
    const double margin = 0.5; /* untrained weights are a little worse too */
    const Progress *progress = run->progress;
    double uniform = log((double)run->model->config.vocabulary);
    double most = fmax(uniform, run->settings->train.init ? progress->best.loss : 0) + margin;
    if (progress->last.step > 0 && !(progress->last.loss < most))
        print_warning(
            "the run diverged: its last validation loss is %.4g, and equal probabilities for "
            "all tokens give %.4f; try a lower --lr, a longer --warmup or %s",
            progress->last.loss, uniform,
            run->settings->train.clip > 0 ? "a lower --clip" : "--clip 1");
}

/* "4.5296 (perplexity 92.72, 1.2057 bits per byte)", in a synthetic task "0.0121 (accuracy
 * 99.80 %)"; the caller frees. */
static char *loss_figures(const RunView *run, double loss, double accuracy)
{
    if (run->corpus->line > 0)
        return text_format("%.4f (accuracy %.2f %%)", loss, 100 * accuracy);
    return text_format("%.4f (perplexity %s, %.4f bits per byte)", loss,
                       text_perplexity(exp(loss)).text,
                       split_bits_per_byte(&run->corpus->valid, loss));
}

/* The best loss. If validations read a part of the text, the whole of it was read once, with
 * the last weights: that loss stands for the best one if the last weights are the best. */
static void say_best(const RunView *run, const RunFolder *folder, Screen *screen)
{
    const Progress *progress = run->progress;
    char *figures = loss_figures(run, progress->best.loss, progress->best.accuracy),
         *of_end = loss_figures(run, progress->final.loss, progress->final.accuracy);
    char *what = run->part_tokens > 0
                     ? text_format(" on a part of the text (%zu of %zu tokens):",
                                   run->part_tokens, split_scored(&run->corpus->valid))
                     : memory_copy_text("");
    screen_say(screen, text_format("Best validation loss%s %s after step %zu: %s", what,
                                   figures, progress->best.step, folder->best));
    if (progress->has_final)
        screen_say(
            screen,
            text_format("Validation loss on the whole text: %s after the last step%s", of_end,
                        progress->best.step == progress->step ? ", the same model" : ""));
    free(what);
    free(figures);
    free(of_end);
}

int farewell(LoopEnd end, const RunView *run, const RunFolder *folder, Screen *screen,
             const Error *error)
{
    const Progress *progress = run->progress;
    char *command = resume_command(folder, run->settings);
    if (end == LOOP_FAILED) {
        print_warning("%s", error->text);
        char *good = folder_newest_checkpoint(folder->path);
        if (good)
            print_warning("%s is intact; to continue from it: %s", good, command);
        free(good);
    }
    if (progress->skipped > 0)
        print_warning("%zu step%s skipped in this run: loss or gradient were not finite",
                      progress->skipped, progress->skipped == 1 ? " was" : "s were");
    if (end == LOOP_PATIENCE)
        screen_say(screen,
                   text_format("Early stopping: no better validation loss in %zu validation%s.",
                               progress->stale, text_plural(progress->stale)));
    if (end != LOOP_FAILED && isfinite(progress->best.loss))
        say_best(run, folder, screen);
    warn_if_diverged(run);
    if ((end == LOOP_STOPPED || end == LOOP_SIGNAL) && !run->grid)
        screen_say(screen, text_format("To continue: %s", command));
    free(command);
    return end == LOOP_FAILED ? 1 : end == LOOP_SIGNAL ? 128 + signals_caught() : 0;
}
