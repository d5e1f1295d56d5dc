/* eval: scores a text with a trained model; the output states the protocol. */
#include "eval/score/baseline.h"
#include "data/puzzles.h"
#include "eval/show/terminal.h"
#include "models/checkpoint.h"
#include "eval/score/ways.h"
#include "src/file.h"
#include "src/gemm.h"
#include "src/program.h"
#include "src/team.h"
#include "src/text.h"

#include <stdlib.h>

static const About about = {
    .name = "eval",
    .purpose = "scores a text with a trained model: loss, perplexity and bits per byte",
    .synopses = {"[OPTIONS] RUN CORPUS", "--baseline [OPTIONS] CORPUS"},
    .paragraphs = {"RUN is a run directory, whose best checkpoint is used, or a checkpoint "
                   "file. CORPUS is "
                   "named as for train. Every token is scored, <eos> included. Scores are "
                   "saved in the run "
                   "directory, where compare finds them.",
                   "Results with a temperature, a neural cache or dynamic evaluation are rows "
                   "of their own; "
                   "do not compare them with plain scores of other models."},
    .files = {{"RUN/scores.csv", "the scores, one row for each way of scoring"}},
    .examples = {"runs/linear-ptb ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --stride 32",
                 "--baseline ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --cache 500 --tune-cache"},
    .environment = {&about_kernels},
};

static const CorpusSplit *load_split(Corpus *corpus, const char *name, const CorpusOptions *how,
                                     const Vocabulary *known, size_t split)
{
    Error error;
    if (!corpus_load(corpus, name, how, known, &error))
        die("%s", error.text);
    print_warning("the text is %s", corpus->source);
    const CorpusSplit *chosen = split == SPLIT_TRAIN  ? &corpus->train
                                : split == SPLIT_TEST ? &corpus->test
                                                      : &corpus->valid;
    if (chosen->count == 0)
        die("%s: there is no %s text; name a file with --%s", name, chosen->name, chosen->name);
    return chosen;
}

/* Saves the scores in the run directory; a checkpoint file alone has none. */
static void note(const ScoreRow *rows, size_t count, const ScoredText *text, const char *run,
                 const Checkpoint *checkpoint)
{
    size_t number;
    const char *step = checkpoint_extra(checkpoint, "step");
    if (file_is_folder(run) && step && text_to_size(step, &number))
        score_rows_note(rows, count, text, run, number);
}

/* A puzzle is read line by line, and each line is one window. */
static void settle_puzzle(EvalOptions *options, const char *name)
{
    Puzzle puzzle;
    Error error;
    if (!puzzle_is_named(name))
        return;
    if (!puzzle_read(&puzzle, name, &error))
        die("%s", error.text);
    size_t line = puzzle.length + 1;
    if ((options->window > 0 && options->window != line) ||
        (options->stride > 0 && options->stride != line))
        die_usage("a line of %s has %zu tokens, which are the context and the stride; leave "
                  "--context and --stride out",
                  name, line);
    if (options->baseline || options->cache > 0 || options->dynamic ||
        options->carry_state == WISH_YES)
        die_usage("%s is a puzzle; --baseline, --cache, --dynamic and --carry-state are for "
                  "texts",
                  name);
    options->window = options->stride = line;
    options->carry_state = WISH_NO;
}

static void score_run(EvalOptions *options, const char *run, const char *name)
{
    LoadedModel loaded;
    Corpus corpus;
    Error error;
    if (!gemm_set_precision((GemmPrecision)options->precision, &error))
        die("%s", error.text);
    team_start(options->threads);
    if (!loaded_open(&loaded, run, &error))
        die("%s%s", error.text,
            file_is_folder(name) ? "; the run comes first: eval RUN CORPUS" : "");
    settle_puzzle(options, name);
    eval_options_settle(options, &loaded.model.config);
    CorpusOptions how = loaded.checkpoint.corpus; /* read the text as training did */
    how.max_input_mb = options->corpus.max_input_mb;
    how.tell = terminal_notice;
    how.valid = *options->corpus.valid ? options->corpus.valid : how.valid;
    how.test = *options->corpus.test ? options->corpus.test : how.test;
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

static void score_baseline(EvalOptions *options, const char *name)
{
    Corpus corpus;
    CorpusOptions how = options->corpus;
    how.tell = terminal_notice;
    settle_puzzle(options, name);
    const CorpusSplit *split = load_split(&corpus, name, &how, NULL, options->split);
    baseline_print(&corpus, split, options->order, options->json);
    corpus_free(&corpus);
}

int main(int argc, char **argv)
{
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
