/* eval: scores a text with a trained model; the output states the protocol. */
#include "eval/score/baseline.h"
#include "eval/score/breakdown.h"
#include "eval/score/soften.h"
#include "eval/score/ways.h"
#include "data/corpora/tasks.h"
#include "data/tokenizers/tokenizers.h"
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
         "Several runs are scored each alone and as an ensemble: the average of the "
         "probabilities that they predict. Its score is not one of a single model; the "
         "mean of the single runs stands beside it."},
    .files = {{"RUN/scores.csv", "the scores, one row for each way of scoring"}},
    .examples = {"runs/linear-ptb ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --stride 32",
                 "runs/seed1 runs/seed2 runs/seed3 ptb.txt --split test",
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

_Noreturn static void die_of_loss(const char *run, const ScoreRow *row)
{
    if (row->setting_count > 0)
        die("%s: its loss with --%s is not finite; change the settings of --%s", run,
            row->settings[0].name, row->settings[0].name);
    die("%s: its loss on this text is not finite; use another checkpoint, or train again with "
        "a lower --lr",
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
        options->carry_state == TRISTATE_YES || options->soft_targets)
        die_usage("%s is a synthetic task; --baseline, --cache, --dynamic, --carry-state and "
                  "--soft-targets are for texts",
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

/* What the runs are read into beside their scores: the losses of parts of the text, the average
 * of their predictions, and soft targets. */
typedef struct Together {
    bool averages, breaks_down;
    Breakdown breakdown;
    Ensemble ensemble;
    Softener softener;
    ScoreListener listeners[3];
    size_t count;
} Together;

static void together_make(Together *together, const EvalOptions *options,
                          const ScoredText *text)
{
    Error error;
    together->averages = options->runs > 1 || options->soft_targets;
    together->breaks_down = options->by_position || options->paired;
    if (together->breaks_down) {
        breakdown_make(&together->breakdown, text, options->runs, options->window);
        together->listeners[together->count++] = breakdown_listener(&together->breakdown);
    }
    if (!together->averages)
        return;
    ensemble_make(&together->ensemble, text->split);
    together->listeners[together->count++] = ensemble_listener(&together->ensemble);
    if (!options->soft_targets)
        return;
    if (!softener_make(&together->softener, options->soft_targets, text->split,
                       text->corpus->vocabulary.count, &error))
        error_die(&error);
    together->listeners[together->count++] = softener_listener(&together->softener);
}

/* Adds the losses of parts of the text to the scores of all runs, or to those of the only one.
 */
static void add_breakdown_json(json_t *all, const Breakdown *breakdown,
                               const EvalOptions *options, const char *const *runs)
{
    json_t *objects = json_object_get(all, "runs");
    for (size_t run = 0; options->by_position && run < breakdown->runs; run++)
        json_object_set_new(objects ? json_array_get(objects, run) : all, "by_position",
                            positions_json(&breakdown->positions[run]));
    if (options->paired)
        json_object_set_new(all, "paired", paired_json(breakdown, runs));
}

static void print_breakdown(const Breakdown *breakdown, const EvalOptions *options,
                            const char *const *runs)
{
    if (options->by_position)
        positions_print(breakdown, runs);
    if (options->paired)
        paired_print(breakdown, runs);
}

/* Prints the rows of one run, or of each run its first and what is of all of them. */
static void print_scores(const Together *together, const EvalOptions *options,
                         const char *const *runs, const ScoreRow *rows, size_t count,
                         const ScoredText *text)
{
    if (options->json) {
        json_t *all = together->averages ? ensemble_json(&together->ensemble, runs, rows)
                                         : score_rows_json(rows, count, text);
        if (together->breaks_down)
            add_breakdown_json(all, &together->breakdown, options, runs);
        json_print(stdout, all);
        return;
    }
    if (together->averages)
        ensemble_print(&together->ensemble, runs, rows);
    else
        score_rows_print(rows, count, text);
    if (together->breaks_down)
        print_breakdown(&together->breakdown, options, runs);
}

static void together_finish(Together *together, const EvalOptions *options,
                            const char *const *runs)
{
    Error error;
    if (options->svg && !positions_write_svg(&together->breakdown, runs, options->svg, &error))
        die("%s", error.text);
    if (options->soft_targets && !softener_write(&together->softener, &error))
        die("%s", error.text);
    breakdown_free(&together->breakdown);
    ensemble_free(&together->ensemble);
    softener_free(&together->softener);
}

/* Opens all runs, so that what is wrong with one is found before hours of reading. */
static void check_runs(const EvalOptions *options, const char *const *runs, size_t count,
                       const char *name)
{
    LoadedModel first = {0}, later = {0};
    for (size_t i = 0; i < count; i++) {
        EvalOptions run_options = *options;
        LoadedModel *loaded = i == 0 ? &first : &later;
        open_run(loaded, &run_options, runs[i], name);
        if (!vocabulary_equal(&first.checkpoint.vocabulary, &loaded->checkpoint.vocabulary) ||
            loaded->checkpoint.corpus.trim != first.checkpoint.corpus.trim)
            die("%s: its tokenizer or --trim differs from that of %s; an ensemble needs the "
                "same tokens, so score the runs one by one",
                runs[i], runs[0]);
        if (i > 0)
            loaded_close(loaded);
    }
    loaded_close(&first);
}

/* Scores a run in all ways that the options ask for, prints the rows unless there is an average
 * to print, and saves them. Returns the row of the model alone. */
static ScoreRow score_run(const EvalOptions *options, const LoadedModel *loaded,
                          const char *run, const ScoredText *text, const Together *together)
{
    ScoreRow rows[WAYS_MOST];
    size_t all = ways_score(rows, options, loaded, text, together->listeners, together->count),
           count = 0;
    check_text(text->corpus);
    while (count < all && isfinite(rows[count].score.nats))
        count++;
    if (count > 0 && !together->averages)
        print_scores(together, options, &run, rows, count, text);
    if (count > 0)
        note(rows, count, text, options, run, &loaded->checkpoint);
    if (count < all)
        die_of_loss(run, &rows[count]);
    return rows[0];
}

/* Scores each run by its own protocol and, of several or with --soft-targets, the average of
 * what they predict. One model at a time is in memory. */
static void score_runs(const EvalOptions *options, const char *const *runs, const char *name)
{
    Corpus corpus;
    ScoredText text = {.corpus = &corpus};
    Together together = {0};
    ScoreRow *rows = NULL;
    if (options->runs > 1)
        check_runs(options, runs, options->runs, name);
    for (size_t i = 0; i < options->runs; i++) {
        LoadedModel loaded;
        EvalOptions run_options = *options;
        open_run(&loaded, &run_options, runs[i], name);
        if (i == 0) {
            text.split = load_text(&corpus, name, &run_options, &loaded.checkpoint);
            together_make(&together, &run_options, &text);
        }
        arrput(rows, score_run(&run_options, &loaded, runs[i], &text, &together));
        loaded_close(&loaded);
    }
    if (together.averages)
        print_scores(&together, options, runs, rows, arrlenu(rows), &text);
    together_finish(&together, options, runs);
    arrfree(rows);
    corpus_free(&corpus);
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
    if (options.baseline) {
        score_baseline(&options, line.operands[0]);
    } else {
        options.runs = line.operand_count - 1;
        if (!gemm_set_precision((GemmPrecision)options.precision, &error))
            die("%s", error.text);
        team_start(options.threads);
        score_runs(&options, line.operands, line.operands[options.runs]);
        team_stop();
    }
    program_end(&groups, &line);
    return 0;
}
