/* train: from a text to a trained model.
 *
 * main reads the command line, makes or loads the run, and hands it to the loop. */
#include "eval/terminal.h"
#include "models/preset.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/crc32c.h"
#include "src/gemm.h"
#include "src/ranks.h"
#include "src/program.h"
#include "src/team.h"
#include "src/text.h"
#include "train/checkpoints.h"
#include "train/lock.h"
#include "train/observers/audience.h"
#include "train/series.h"
#include "train/signals.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const About about = {
    .name = "train",
    .purpose = "trains a small Transformer language model on a text",
    .synopses = {"[OPTIONS] CORPUS", "--resume DIR [OPTIONS]"},
    .paragraphs =
        {"CORPUS is a text file, plain or gzip, or - for standard input. ptb.txt also "
         "stands for the three files ptb.train.txt, ptb.valid.txt and ptb.test.txt; "
         "toy is a made-up language that needs no file (a file of that name: ./toy).",
         "Several values with commas between, as in --attn softmax,linear --seed "
         "1,2,3, train one model after the other and compare them at the end.",
         "Settings, one line for each validation and the end of the training go to "
         "standard output; progress, warnings and errors to standard error."},
    .examples = {"--attn linear book.txt", "--preset tiny --attn softmax,linear ptb.txt",
                 "--resume runs/linear-book",
                 "--attn softmax --layers 2 --epochs 3 --run runs/first toy"},
    .more = "--attn help lists the attention kinds, --preset help the recipes.",
    .files = {{"runs/NAME/", "the run directory, unless --run names another; it contains:"},
              {"settings.conf", "all settings; --preset reads such files"},
              {"log.csv", "losses, speed and learning rate, one row every --log-every steps"},
              {"curves.svg, samples.txt, events.out.tfevents.*",
               "the loss curves, and what --sample-every and --tensorboard write"},
              {"best.safetensors", "the model with the best validation loss"},
              {"last.safetensors, previous.safetensors",
               "the newest checkpoint, which --resume continues from, and the one before it in "
               "case the newest is damaged"},
              {"../models/NAME.conf, ../share/linnet/models/NAME.conf",
               "presets, relative to the program's directory"}},
    .statuses = {{"128 + N",
                  "signal N ended the session (2 is Ctrl-C); the run is saved and can "
                  "be resumed"}},
    .environment = {&about_kernels, &about_terminal_size, &about_colour, &about_locale},
};

/* The options that only some kinds have, this one among them. */
static void print_kind_options(const AttentionKind *kind)
{
    for (size_t i = 0; i < model_option_count; i++) {
        const Option *option = &model_option_rows[i];
        if (config_is_own(option) && config_kind_uses(kind, option->name))
            printf("%14s--%s%s%s: %s (default %s)\n", "", option->name,
                   option->argument ? " " : "", option->argument ? option->argument : "",
                   option->help, option->fallback);
    }
}

static void print_kind(const AttentionKind *kind)
{
    const struct {
        bool has;
        const char *what;
    } needs[] = {{kind->wants_convolution, "a short convolution (--conv)"},
                 {kind->wants_norm, "per-head normalisation (--head-norm)"},
                 {kind->wants_gate, "an output gate (--out-gate)"},
                 {kind->knows_positions, "no position encoding"},
                 {kind->no_rotary, "learned positions"}};
    printf("%-13s %s\n%14scost per token and head: %s; decoding keeps %s%s\n", kind->name,
           kind->help, "", kind->cost,
           kind->finite_state ? "a state of fixed size" : "a cache of all tokens",
           kind->carry == CARRY_WHOLLY ? "; works with --carry-state" : "");
    bool first = true;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].has) {
            printf("%*s%s%s", first ? 14 : 0, "", first ? "by default with " : ", ",
                   needs[i].what);
            first = false;
        }
    printf("%s", first ? "" : "\n");
    print_kind_options(kind);
}

static void print_kinds(void)
{
    printf("Attention kinds; T is the sequence length, D the head dimension:\n\n");
    for (size_t i = 0; attention_find(i); i++)
        print_kind(attention_find(i));
    printf("\nKinds joined by + take the layers in turn (window+softmax). Kinds with commas "
           "between\n(softmax,linear) are trained one after the other and then compared.\n");
}

static void print_presets(void)
{
    Error error;
    PresetLine *presets;
    if (!preset_list(&presets, &error))
        die("%s", error.text);
    printf("Presets, recipes of settings; options on the command line override them:\n\n");
    for (size_t i = 0; i < arrlenu(presets); i++)
        printf("  %-10s %s\n", presets[i].name, presets[i].text);
    printf("\n--preset also takes a file, such as the settings.conf of a run directory.\n");
    preset_list_free(presets);
}

/* Answers --attn help and --preset help. */
static void answer_help(const CommandLine *line)
{
    const char *attention = command_line_value(line, "attn");
    const char *preset = command_line_value(line, "preset");
    if (attention && strcmp(attention, "help") == 0)
        print_kinds();
    else if (preset && strcmp(preset, "help") == 0)
        print_presets();
    else
        return;
    program_finish_output();
    exit(EXIT_SUCCESS);
}

/* The checkpoint that a run continues from; its folder is locked first. */
static Checkpoint open_run(const char *folder)
{
    Checkpoint checkpoint;
    Error error;
    if (!file_is_folder(folder))
        die("--resume %s: no such run folder", folder);
    bool good = (!ranks_first() || lock_take(folder, &error)) &&
                checkpoints_open(&checkpoint, folder, &error);
    if (!good)
        die("%s", error.text);
    return checkpoint;
}

static void read_settings(Settings *settings, const CommandLine *line,
                          const Checkpoint *checkpoint)
{
    Error error;
    const char *resumed = checkpoint ? checkpoint_extra(checkpoint, TRAINING_KEY) : NULL;
    if (line->operand_count > 1)
        die_usage("one corpus at a time, not '%s' and '%s'", line->operands[0],
                  line->operands[1]);
    if (!settings_read(settings, line, resumed, &error))
        die_usage("%s", error.text);
    if (!settings->train.corpus)
        die_usage("a corpus is missing");
    if (settings->session.watch && settings->session.quiet)
        die_usage("--watch and --quiet do not go together");
    if (checkpoint && settings->session.run)
        die_usage("--run and --resume do not go together: a run goes on in its own folder");
    if (checkpoint && settings->session.preset)
        die_usage("--preset and --resume do not go together: a run keeps its settings");
}

/* What to type to go on with the run; the caller frees. */
static char *resume_command(const RunFolder *folder)
{
    char *command = NULL;
    text_append_shell_word(&command, program_command);
    text_append(&command, " --resume ");
    text_append_shell_word(&command, folder->path);
    return command;
}

/* Says how it ended; returns the exit status. */
static int farewell(LoopEnd end, Screen *screen, const RunFolder *folder, const Error *error)
{
    const Progress *progress = &screen->trainer->progress;
    char *command = resume_command(folder);
    if (end == LOOP_FAILED) {
        warn("%s", error->text);
        char *good = checkpoints_newest(folder->path);
        if (good)
            warn("%s is as it was saved last; to go on from it: %s", good, command);
        free(good);
    }
    if (progress->skipped > 0)
        warn("%zu steps were skipped in this run: their loss or gradient was not finite",
             progress->skipped);
    if (end == LOOP_PATIENCE)
        screen_say(screen, "No better validation for %zu times: training ends here.",
                   progress->stale);
    if (end != LOOP_FAILED && isfinite(progress->best_loss))
        screen_say(screen, "Best validation loss %.4f (perplexity %.2f) after step %zu: %s",
                   progress->best_loss, exp(progress->best_loss), progress->best_step,
                   folder->best);
    if (end == LOOP_STOPPED || end == LOOP_SIGNAL)
        screen_say(screen, "To go on: %s", command);
    free(command);
    return end == LOOP_FAILED ? 1 : end == LOOP_SIGNAL ? 128 + signals_caught() : 0;
}

/* Goes on if all ranks are well; if not, the first says why, and all end. */
static void go_on_if(bool good, Error *error)
{
    if (ranks_agree(good, error))
        return;
    if (ranks_first())
        warn("%s", error->text);
    ranks_end();
    exit(EXIT_FAILURE);
}

/* Whether this rank is about to do the same as the others. */
static bool is_like_others(const Trainer *t, Error *error)
{
    char *text = settings_text(&t->settings);
    uint64_t settings = crc32c(text, strlen(text));
    free(text);
    uint64_t corpus = (uint64_t)t->corpus.train.crc << 32 | t->corpus.valid.crc;
    return ranks_same("what it was told to do", settings, error) &&
           ranks_same("its text", corpus, error);
}

/* A trainer and its folder, new or as the checkpoint left them. The settings are shown, and
 * with them how much memory it is going to be, before that is taken. */
static void prepare_run(Trainer *trainer, RunFolder *folder, const char *resumed,
                        Checkpoint *checkpoint, const Screen *screen)
{
    Error error;
    bool first = ranks_first();
    go_on_if(trainer_plan(trainer, resumed ? &checkpoint->vocabulary : NULL, &error), &error);
    go_on_if(is_like_others(trainer, &error), &error);
    bool good = resumed ? trainer_check_text(trainer, checkpoint, &error)
                        : !first || folder_create(folder, trainer, &error);
    go_on_if(good, &error);
    screen_settings(screen, resumed ? resumed : folder->path);
    trainer_allocate(trainer);
    if (resumed) {
        go_on_if(trainer_load(trainer, checkpoint, &error), &error);
        good = !first || folder_reopen(folder, resumed, trainer, checkpoint, &error);
        checkpoint_close(checkpoint);
    } else {
        trainer_start(trainer);
    }
    go_on_if(good, &error);
    go_on_if(trainer_check_weights(trainer, &error), &error);
}

/* Only the first rank may say what is wrong here, which the others find out as well. */
static void read_all(Settings *settings, StopAfter *stop, const CommandLine *line,
                     const Checkpoint *checkpoint)
{
    Error error;
    read_settings(settings, line, checkpoint);
    if (!stop_after_read(stop, settings->session.stop_after, &error))
        die_usage("%s", error.text);
    if (!audience_check(&settings->session, &error) ||
        !gemm_set_precision(settings->train.precision, &error))
        die("%s", error.text);
}

/* One run, from its settings to its end; returns the exit status, and the folder's path, the
 * caller's. */
static int train_one(const CommandLine *line, char **path)
{
    Trainer trainer = {0};
    RunFolder folder = {0};
    Error error;
    StopAfter stop;
    const char *resumed = command_line_value(line, "resume");
    Checkpoint checkpoint = {0};
    if (resumed)
        checkpoint = open_run(resumed);
    read_all(&trainer.settings, &stop, line, resumed ? &checkpoint : NULL);
    ranks_lead();
    const SessionOptions *session = &trainer.settings.session;
    team_start(session->threads ? session->threads : ranks_threads());
    Screen screen;
    screen_open(&screen, &trainer, session->quiet || !ranks_first());
    prepare_run(&trainer, &folder, resumed, &checkpoint, &screen);
    *path = memory_copy_text(ranks_first() ? folder.path : "");
    signals_catch();
    LoopEnd end = LOOP_FINISHED;
    if (loop_has_work(&trainer))
        end = audience_train(&trainer, &folder, &screen, stop, &error);
    else
        screen_say(&screen, "Nothing to do: the run ended after step %zu.",
                   trainer.progress.step);
    int status = ranks_first() ? farewell(end, &screen, &folder, &error) : 0;
    team_stop();
    trainer_free(&trainer);
    folder_free(&folder);
    lock_release();
    return status;
}

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    ranks_begin(&argc, &argv);
    signal(SIGPIPE, SIG_IGN); /* a reader of our messages may leave; the training goes on */
    signal(SIGXFSZ, SIG_IGN); /* a file at its limit is an error with a message, like any */
    Settings settings = {0};
    OptionGroup groups[GROUP_COUNT];
    CommandLine line;
    char *path = NULL;
    settings_groups(&settings, groups);
    program_scan_command_line(&about, groups, GROUP_COUNT, argc, argv, &line);
    answer_help(&line);
    int status = series_asked_for(&line) ? series_train(&line, train_one)
                                         : train_one(&line, &path);
    free(path);
    command_line_free(&line);
    ranks_end();
    return status;
}
