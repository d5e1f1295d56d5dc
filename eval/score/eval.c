/* eval: scores a text with a trained model; the output states the protocol. */
#include "eval/score/baseline.h"
#include "eval/score/together.h"
#include "data/corpora/tasks.h"
#include "data/tokenizers/tokenizers.h"
#include "eval/runs/gridfile.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>

static const About about = {
    .name = "eval",
    .purpose = "scores a text with a trained model: loss, perplexity and bits per byte",
    .synopses = {"[OPTIONS] RUN... CORPUS", "--baseline [OPTIONS] CORPUS"},
    .paragraphs =
        {"RUN is a run directory, whose best checkpoint is used, or a checkpoint "
         "file. CORPUS is "
         "named as for train. Every token is scored, <eos> included. Scores of "
         "the run's own texts, known by their checksums, are saved in its "
         "directory, where compare finds them.",
         "Results with a temperature, a neural cache or dynamic evaluation are rows "
         "of their own; "
         "do not compare them with plain scores of other models.",
         "Several runs are scored each alone, with the mean of runs that differ only in the "
         "seed, and as an ensemble: the average of their predicted probabilities. With "
         "--by-position or --paired there is no ensemble.",
         "The directory of a grid (or runs/NAME.grid.json) stands for its runs. They are "
         "scored one after the other, each as if it were given alone."},
    .files = {{"RUN/scores.csv", "the scores, one row for each way of scoring"}},
    .examples = {"runs/linear-ptb ptb.txt --split test",
                 "runs/seed1 runs/seed2 runs/seed3 ptb.txt --split test",
                 "runs/grid ptb.txt --split test --stride 32",
                 "--baseline ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --cache 500 --tune-cache",
                 "--by-position --paired runs/softmax runs/linear ptb.txt --split test"},
};

static void load(Corpus *corpus, const char *name, const CorpusOptions *how,
                 const Vocabulary *known)
{
    Error error;
    if (!corpus_load(corpus, name, how, known, &error))
        error_die(&error);
}

static const CorpusSplit *choose_split(const Corpus *corpus, const char *name, size_t split)
{
    print_warning("the text is %s", corpus->source);
    const CorpusSplit *chosen = split == SPLIT_TRAIN  ? &corpus->train
                                : split == SPLIT_TEST ? &corpus->test
                                                      : &corpus->valid;
    if (chosen->count == 0)
        die("%s: there is no %s text; name a file with --%s", name, chosen->name, chosen->name);
    return chosen;
}

/* A score is of the text only if nobody has changed that since it was loaded. */
static void check_text(const Corpus *corpus)
{
    Error error;
    if (!corpus_check(corpus, &error))
        die("%s", error.text);
}

/* Whether the run was trained on a corpus of this name; it may be another one. */
static bool is_namesake(const Checkpoint *checkpoint, const char *name)
{
    const char *settings = checkpoint_extra(checkpoint, TRAINING_KEY);
    const char *line = settings ? strstr(settings, "\ncorpus = ") : NULL;
    if (!line)
        return false;
    char *corpus = text_format("%.*s", (int)strcspn(line + 1, "\n"), line + 1);
    bool same = strcmp(file_base_name(corpus + strlen("corpus = ")), file_base_name(name)) == 0;
    free(corpus);
    return same;
}

/* Whether the text is the run's own, by its checksum; says so if it is not. The test text of an
 * older run, which has no checksum, goes with the other two. */
static bool is_text_of_run(const ScoredText *text, const EvalOptions *options, const char *run,
                           const Checkpoint *checkpoint)
{
    static const char *const keys[] = {[SPLIT_VALID] = VALID_CRC_KEY,
                                       [SPLIT_TEST] = TEST_CRC_KEY,
                                       [SPLIT_TRAIN] = TRAIN_CRC_KEY};
    const char *key = keys[options->split], *name = text->split->name;
    bool same = checkpoint_has_text(checkpoint, key, text->split);
    if (checkpoint_extra(checkpoint, key)) {
        if (!same)
            print_warning("%s: its own %s text is another one, so the score is not saved there",
                          run, name);
        return same;
    }
    same = !*options->corpus.test &&
           checkpoint_has_text(checkpoint, TRAIN_CRC_KEY, &text->corpus->train) &&
           checkpoint_has_text(checkpoint, VALID_CRC_KEY, &text->corpus->valid);
    print_warning(
        "%s: made by an earlier version, without a checksum of its %s text; %s", run, name,
        same ? "its training and validation texts are those given here, so this text is "
               "taken to be the run's own"
             : "this text may be another one, so the score is not saved there");
    return same;
}

/* Saves the scores of the run's own texts in the run directory; a checkpoint file alone has
 * none. */
static void note(const ScoreRow *rows, size_t count, const ScoredText *text,
                 const EvalOptions *options, const char *run, const Checkpoint *checkpoint)
{
    size_t number;
    const char *step = checkpoint_extra(checkpoint, STEP_KEY);
    if (file_is_folder(run) && step && text_to_size(step, &number) &&
        is_text_of_run(text, options, run, checkpoint))
        score_rows_note(rows, count, text, run, number);
}

static void warn_of_loss(const char *run, const ScoreRow *row)
{
    if (row->setting_count > 0)
        print_warning("%s: its loss with --%s is not finite; change the settings of --%s", run,
                      row->settings[0].name, row->settings[0].name);
    else
        print_warning("%s: its loss on this text is not finite; use another checkpoint, or "
                      "train again with a lower --lr",
                      run);
}

/* A synthetic task is read line by line, and each line is one window. */
static void settle_task(EvalOptions *options, const char *name)
{
    Task task;
    Error error;
    if (!task_is_named(name))
        return;
    if (!task_read(&task, name, &error))
        die_usage("%s", error.text);
    size_t line = task.length + 1;
    if ((options->window > 0 && options->window != line) ||
        (options->stride > 0 && options->stride != line))
        die_usage("a line of %s has %zu tokens, which are the context and the stride; leave "
                  "--context and --stride out",
                  name, line);
    if (options->baseline || options->cache > 0 || options->dynamic ||
        options->carry_state == TRISTATE_YES)
        die_usage(
            "%s is a synthetic task; --baseline, --cache, --dynamic and --carry-state are "
            "for texts",
            name);
    options->window = options->stride = line;
    options->carry_state = TRISTATE_NO;
}

static void open_run(LoadedModel *loaded, EvalOptions *options, const char *run,
                     const char *name)
{
    Error error;
    if (!loaded_open(loaded, run, &error))
        die("%s%s", error.text,
            file_is_folder(name) ? "; the corpus comes last: eval RUN CORPUS" : "");
    settle_task(options, name);
    eval_options_settle(options, &loaded->model.config);
}

/* Reads the text as the run's training did; another corpus has texts of its own, also one of
 * the same name. */
static const CorpusSplit *load_text(Corpus *corpus, const char *name,
                                    const EvalOptions *options, const Checkpoint *checkpoint)
{
    const CorpusOptions *given = &options->corpus;
    CorpusOptions how = task_is_named(name) ? *given : checkpoint->corpus;
    how.max_input_mb = given->max_input_mb;
    how.tell = terminal_notice;
    CorpusOptions foreign = how;
    foreign.valid = given->valid;
    foreign.test = given->test;
    how.valid = *given->valid ? given->valid : how.valid;
    how.test = *given->test ? given->test : how.test;
    bool namesake = is_namesake(checkpoint, name);
    load(corpus, name, namesake ? &how : &foreign, &checkpoint->vocabulary);
    if (namesake && (*how.valid || *how.test) && !*given->valid && !*given->test &&
        !checkpoint_has_text(checkpoint, TRAIN_CRC_KEY, &corpus->train)) {
        corpus_free(corpus);
        load(corpus, name, &foreign, &checkpoint->vocabulary);
    }
    return choose_split(corpus, name, options->split);
}

/* Whether the run reads a text as tokens of this vocabulary. */
static bool same_tokens(const Checkpoint *run, const Vocabulary *vocabulary, bool trim)
{
    return vocabulary_equal(&run->vocabulary, vocabulary) && run->corpus.trim == trim;
}

/* Opens all runs, so that what is wrong with one is found before hours of reading, and learns
 * what their settings say of them together. */
static void check_runs(Together *together, const EvalOptions *options, const char *name)
{
    LoadedModel first = {0}, later = {0};
    Error error;
    for (size_t i = 0; i < options->runs; i++) {
        EvalOptions run_options = *options;
        LoadedModel *loaded = i == 0 ? &first : &later;
        const char *run = together->runs[i];
        open_run(loaded, &run_options, run, name);
        if (!options->separately &&
            !same_tokens(&loaded->checkpoint, &first.checkpoint.vocabulary,
                         first.checkpoint.corpus.trim))
            die("%s: its tokenizer or --trim differs from that of %s; runs that are scored "
                "together need the same tokens, so score them one by one",
                run, together->runs[0]);
        if (!together_meet(together, run, &loaded->checkpoint, &error))
            error_die(&error);
        if (i > 0)
            loaded_close(loaded);
    }
    loaded_close(&first);
}

/* Scores a run in all ways that the options ask for, prints the rows and saves them. Returns
 * whether all losses are finite. Without a loss of the model alone only a grid goes on. */
static bool score_run(Together *together, size_t index, const EvalOptions *options,
                      const LoadedModel *loaded, const ScoredText *text)
{
    const char *run = together->runs[index];
    ScoreRow rows[WAYS_MOST];
    size_t all = ways_score(rows, options, loaded, text, together->listeners, together->count),
           count = 0;
    check_text(text->corpus);
    while (count < all && isfinite(rows[count].score.nats))
        count++;
    if (count > 0) {
        together_add(together, index, rows, count, text);
        note(rows, count, text, options, run, &loaded->checkpoint);
    }
    if (count < all)
        warn_of_loss(run, &rows[count]);
    if (count == 0 && !options->separately)
        exit(EXIT_FAILURE);
    return count == all;
}

/* Scores each run by its own protocol, and what the options ask for of all of them together.
 * One model at a time is in memory. Returns whether all were scored. */
static bool score_runs(const EvalOptions *options, char *const *runs, const char *name)
{
    Corpus corpus;
    ScoredText text = {.corpus = &corpus};
    Together together = {.options = options, .runs = runs};
    bool trim = false, good = true;
    if (options->runs > 1)
        check_runs(&together, options, name);
    for (size_t i = 0; i < options->runs; i++) {
        LoadedModel loaded;
        EvalOptions run_options = *options;
        open_run(&loaded, &run_options, runs[i], name);
        bool reads_on = i > 0 && same_tokens(&loaded.checkpoint, &corpus.vocabulary, trim);
        if (i > 0 && !reads_on)
            corpus_free(&corpus);
        if (!reads_on) {
            text.split = load_text(&corpus, name, &run_options, &loaded.checkpoint);
            trim = loaded.checkpoint.corpus.trim;
        }
        if (i == 0)
            together_begin(&together, &text, run_options.window);
        good &= score_run(&together, i, &run_options, &loaded, &text);
        loaded_close(&loaded);
    }
    together_end(&together, text.split);
    corpus_free(&corpus);
    return good;
}

static bool has_checkpoint(const char *run)
{
    Error error;
    char *path = checkpoint_path(run, &error);
    bool has = path != NULL;
    free(path);
    return has;
}

/* An stb_ds array for text_lines_free: the runs that the command line names before the corpus,
 * and those of the grids there, which are scored separately unless they are to be compared. */
static char **find_runs(EvalOptions *options, const CommandLine *line)
{
    char **runs = NULL;
    Error error;
    for (size_t i = 0; i + 1 < line->operand_count; i++) {
        size_t missing = 0;
        char *grid = gridfile_find(line->operands[i]);
        if (!grid)
            gridfile_add_run(&runs, line->operands[i]);
        else if (!gridfile_add_runs(&runs, grid, has_checkpoint, &missing, &error))
            error_die(&error);
        if (missing > 0)
            print_warning("%s: left out %zu run%s without a checkpoint", line->operands[i],
                          missing, text_plural(missing));
        options->separately |= grid != NULL;
        free(grid);
    }
    options->separately &= !options->by_position && !options->paired;
    options->runs = arrlenu(runs);
    return runs;
}

static void score_baseline(EvalOptions *options, const char *name)
{
    Corpus corpus;
    CorpusOptions how = options->corpus;
    how.tell = terminal_notice;
    settle_task(options, name);
    load(&corpus, name, &how, NULL);
    const CorpusSplit *split = choose_split(&corpus, name, options->split);
    baseline_print(&corpus, split, options->order, options->json);
    corpus_free(&corpus);
}

int main(int argc, char **argv)
{
    EvalOptions options = {0};
    const Options groups = eval_options(&options);
    CommandLine line;
    Error error;
    program_read_command_line(&about, &groups, argc, argv, &line);
    options.corpus.tokenizer_given = command_line_value(&line, "tokens") != NULL;
    eval_options_check(&options, &groups, &line);
    bool good = true;
    if (options.baseline) {
        score_baseline(&options, line.operands[0]);
    } else {
        char **runs = find_runs(&options, &line);
        eval_options_check_runs(&options);
        if (!gemm_set_precision((GemmPrecision)options.precision, &error))
            die("%s", error.text);
        team_start(options.threads);
        good = score_runs(&options, runs, line.operands[line.operand_count - 1]);
        team_stop();
        text_lines_free(runs);
    }
    program_end(&groups, &line);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
