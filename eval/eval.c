/* eval: how well a trained model predicts a text, by a protocol that the output states. */
#include "eval/baseline/baseline.h"
#include "eval/loaded.h"
#include "eval/score/ways.h"
#include "src/file.h"
#include "src/gemm.h"
#include "src/program.h"
#include "src/team.h"
#include "src/text.h"

#include <stdlib.h>

static const About about = {
    .name = "eval",
    .purpose = "measures how well a trained model predicts a text",
    .synopses = {"[OPTIONS] RUN CORPUS", "--baseline [OPTIONS] CORPUS"},
    .paragraphs =
        {"It tells the loss in nats per token, perplexity, and bits per character. Every token "
         "is scored, line ends included. RUN is the folder of a run, of which the best "
         "checkpoint is taken, or a checkpoint file; CORPUS is named as for training. In the "
         "folder of a run the score is noted, for compare to show.",
         "What a temperature, a cache or further learning make of the same model is told in "
         "rows of their own, which are not to be compared with scores of models as they are."},
    .files = {{"RUN/scores.csv", "the scores, a row for each way of scoring"}},
    .examples = {"runs/linear-ptb ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --stride 32",
                 "runs/linear-ptb ptb.txt --split test --cache 500 --tune-cache",
                 "--baseline ptb.txt --split test"},
    .environment = {&about_kernels},
};

static const CorpusSplit *load_split(Corpus *corpus, const char *name, const CorpusOptions *how,
                                     const Vocabulary *known, size_t split)
{
    Error error;
    if (!corpus_load(corpus, name, how, known, &error))
        die("%s", error.text);
    warn("the text is %s", corpus->source);
    return split == SPLIT_TRAIN  ? &corpus->train
           : split == SPLIT_TEST ? &corpus->test
                                 : &corpus->valid;
}

/* Leaves the scores in the run's folder; a checkpoint file has none. */
static void note(const ScoreRow *rows, size_t count, const ScoredText *text, const char *run,
                 const Checkpoint *checkpoint)
{
    size_t number;
    const char *step = checkpoint_extra(checkpoint, "step");
    if (file_is_folder(run) && step && text_to_size(step, &number))
        score_rows_note(rows, count, text, run, number);
}

static void score_run(EvalOptions *options, const char *run, const char *name)
{
    LoadedModel loaded;
    Corpus corpus;
    Error error;
    if (!gemm_set_precision(options->precision, &error))
        die("%s", error.text);
    team_start(options->threads ? options->threads : team_processors());
    if (!loaded_open(&loaded, run, &error))
        die("%s", error.text);
    eval_options_settle(options, &loaded.model.config);
    CorpusOptions how = loaded.checkpoint.corpus; /* a text of training is not read unseen */
    how.max_input_mb = options->max_input_mb;
    how.valid = options->valid ? options->valid : how.valid;
    how.test = options->test ? options->test : how.test;
    const CorpusSplit *split = load_split(&corpus, name, &how, &loaded.checkpoint.vocabulary,
                                          options->split);
    ScoreRow rows[WAYS_MOST];
    const ScoredText text = {split, split == &corpus.valid};
    size_t count = ways_score(rows, options, &loaded.model, &corpus, split);
    if (options->json)
        score_rows_print_json(rows, count, &text);
    else
        score_rows_print(rows, count, &text);
    note(rows, count, &text, run, &loaded.checkpoint);
    corpus_free(&corpus);
    loaded_close(&loaded);
    team_stop();
}

static void score_baseline(const EvalOptions *options, const char *name)
{
    Corpus corpus;
    const CorpusOptions how = {.valid = options->valid,
                               .test = options->test,
                               .tokenizer = options->tokens,
                               .trim = options->trim,
                               .vocab_size = options->vocab_size,
                               .min_count = options->min_count,
                               .max_input_mb = options->max_input_mb};
    const CorpusSplit *split = load_split(&corpus, name, &how, NULL, options->split);
    baseline_print(&corpus, split, options->order, options->json);
    corpus_free(&corpus);
}

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    EvalOptions options = {0};
    OptionGroup groups[EVAL_GROUPS];
    CommandLine line;
    eval_options_groups(&options, groups);
    program_read_command_line(&about, groups, EVAL_GROUPS, argc, argv, &line);
    eval_options_check(&options, groups, &line);
    if (options.baseline)
        score_baseline(&options, line.operands[0]);
    else
        score_run(&options, line.operands[0], line.operands[1]);
    options_free_texts(groups, EVAL_GROUPS);
    command_line_free(&line);
    program_finish_output();
    return 0;
}
