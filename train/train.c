/* train: from a text to a trained model.
 *
 * main reads the command line, makes or loads the run, and hands it to the loop. */
#include "eval/show/terminal.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/ranks/ranks.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"
#include "train/loop/hints.h"
#include "train/loop/init.h"
#include "train/loop/lock.h"
#include "train/loop/loop.h"
#include "train/observers/observers.h"
#include "train/farewell.h"
#include "train/help.h"
#include "train/loop/signals.h"
#include "train/series.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const About about = {
    .name = "train",
    .purpose = "trains a small Transformer language model on a text",
    .synopses = {"[OPTIONS] CORPUS", "--resume DIR [OPTIONS]"},
    .paragraphs =
        {"CORPUS is a text file, plain or gzip, or - for standard input. ptb.txt also stands "
         "for the three files ptb.train.txt, ptb.valid.txt and ptb.test.txt. Built in are toy, "
         "an artificial language (./toy: a file of that name), and synthetic tasks such as "
         "recall (toy --tasks). NAME.bin holds token ids, as linnet-tokens, nanoGPT and llm.c "
         "write them; a directory stands for the train.bin in it.",
         "Comma-separated values, as in --attn softmax,linear --seed 1,2,3, train one model "
         "after the other and compare them at the end.",
         "Settings, one line for each validation and the end of the training go to "
         "standard output; progress, warnings and errors to standard error."},
    .examples = {"--attn linear book.txt", "--preset tiny --attn softmax,linear ptb.txt",
                 "--resume runs/linear-book", "--init runs/linear-book letters.txt",
                 "--attn softmax --layers 2 --epochs 3 --run runs/first toy"},
    .more = "--attn help lists the attention kinds, --preset help the recipes.",
    .files = {{"runs/NAME/", "the run directory, unless --run names another; it contains:"},
              {"settings.conf", "all settings; --preset reads such files"},
              {"log.csv", "losses, speed and learning rate, one row every --log-every steps"},
              {"curves.svg, samples.txt, events.out.tfevents.*",
               "the loss curves, and what --sample-every and --tensorboard write"},
              {"best.safetensors", "the model with the best validation loss"},
              {"step-N.safetensors",
               "the last checkpoint of a finished run that was then extended"},
              {"last.safetensors, previous.safetensors",
               "the newest checkpoint, which --resume continues from, and the one before it in "
               "case the newest is damaged"},
              {"../models/NAME.conf, ../share/linnet/models/NAME.conf",
               "presets, relative to the program's directory"}},
    .statuses = {{"128 + N",
                  "signal N ended the session (2 is Ctrl-C); the run is saved and can "
                  "be resumed"}},
    .environment = {&about_terminal_size, &about_colour, &about_locale},
};

/* Opens the checkpoint to continue from; locks the run directory first. */
static Checkpoint open_run(const char *folder)
{
    Checkpoint checkpoint;
    Error error;
    if (!file_is_folder(folder))
        die("--resume %s: no such run directory", folder);
    bool good = (!ranks_first() || lock_take(folder, &error)) &&
                folder_open_checkpoint(&checkpoint, folder, &error);
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
        error_die(&error);
    if (!settings->train.corpus)
        die_usage("a corpus is missing: train [OPTIONS] CORPUS, for example toy");
    if (settings->session.watch && settings->session.quiet)
        die_usage("--watch and --quiet contradict each other");
    if (checkpoint && settings->session.run)
        die_usage(
            "--run and --resume contradict each other: a resumed run stays in its directory");
    if (checkpoint && settings->session.preset)
        die_usage(
            "--preset and --resume contradict each other: a resumed run keeps its settings");
}

/* Returns if all ranks succeeded; otherwise the first rank prints the error and all exit. */
static void go_on_if(bool good, Error *error)
{
    if (ranks_agree(good, error))
        return;
    ranks_end();
    if (ranks_first())
        error_die(error);
    exit(error->usage ? 2 : EXIT_FAILURE); /* mpirun returns that of any rank */
}

/* Whether all ranks have the same settings, text and teacher. */
static bool is_like_others(const RunView *run, Error *error)
{
    char *text = settings_text(run->settings);
    uint64_t settings = crc32_z(0, (const Bytef *)text, strlen(text));
    free(text);
    uint64_t corpus = (uint64_t)run->corpus->train.crc << 32 | run->corpus->valid.crc;
    const char *of = run->history->teacher ? run->history->teacher : "";
    uint64_t teacher = crc32_z(0, (const Bytef *)of, strlen(of));
    return ranks_same("its settings", settings, error) &&
           ranks_same("its text", corpus, error) && ranks_same("its teacher", teacher, error);
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

/* What a new run may want to change. */
static void advise(const RunView *run)
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

/* Whether the text and the teacher are those of the run, and its length may change so. */
static bool check_resumed(Trainer *trainer, const Checkpoint *checkpoint, Error *error)
{
    return trainer_check_text(trainer, checkpoint, error) &&
           trainer_check_teacher(trainer, checkpoint, error) &&
           trainer_plan_extension(trainer, checkpoint, error);
}

/* Makes the trainer and its run directory, or restores them from the checkpoint. Prints the
 * settings and the memory needed before allocating it. Returns what is shown of the run. */
static RunView prepare_run(Trainer *trainer, RunFolder *folder, Checkpoint *checkpoint,
                           Init *init, const Screen *screen)
{
    Error error;
    bool first = ranks_first();
    const char *resumed = trainer->settings.session.resume;
    const Checkpoint *from = init->is_open ? &init->checkpoint : NULL;
    const Vocabulary *known = resumed ? &checkpoint->vocabulary
                                      : trainer_init_vocabulary(trainer, from);
    go_on_if(trainer_plan(trainer, known, &error) &&
                 (!from || trainer_plan_init(trainer, from, &error)),
             &error);
    RunView run = trainer_view(trainer);
    go_on_if(is_like_others(&run, &error), &error);
    signals_catch(); /* from here on there is a directory to end in */
    go_on_if(resumed ? check_resumed(trainer, checkpoint, &error)
                     : !first || folder_create(folder, &run, &error),
             &error);
    run.folder = resumed ? resumed : folder->path;
    screen_settings(screen, &run);
    if (first && !resumed)
        advise(&run);
    trainer_allocate(trainer);
    if (resumed) {
        go_on_if(trainer_load(trainer, checkpoint, &error), &error);
        go_on_if(!first || folder_reopen(folder, resumed, &run, checkpoint,
                                         &trainer->progress.seconds, &error),
                 &error);
        checkpoint_close(checkpoint);
    } else {
        go_on_if(trainer_start(trainer, &error), &error);
        init_close(init);
    }
    go_on_if(trainer_check_weights(trainer, &error), &error);
    return run;
}

/* Trains, and tells the observers. Only the first rank has any: people look at its output. */
static LoopEnd train_observed(Trainer *trainer, RunFolder *folder, Screen *screen,
                              StopAfter stop, Error *error)
{
    const SessionOptions *session = &trainer->settings.session;
    Observers observers = {0};
    Samples samples = {0};
    Curves curves = {0};
    EventFile events = {.fd = -1};
    Watch watch = {.curves = &curves};
    if (ranks_first()) {
        observers_add(&observers, &log_calls, &folder->log);
        observers_add(&observers, &samples_calls, &samples);
        observers_add(&observers, &curves_calls, &curves);
        if (session->tensorboard)
            observers_add(&observers, &events_calls, &events);
        if (session->watch)
            observers_add(&observers, &watch_calls, &watch);
        else
            observers_add(&observers, &screen_calls, screen);
    }
    LoopEnd end = loop_run(trainer, folder, &observers, stop, error);
    observers_free(&observers);
    return end;
}

/* Until ranks_lead, only the first rank prints errors; all ranks find the same ones. */
static void read_all(Settings *settings, StopAfter *stop, const CommandLine *line,
                     const Checkpoint *checkpoint)
{
    Error error;
    read_settings(settings, line, checkpoint);
    if (!stop_after_read(stop, settings->session.stop_after, &error))
        die_usage("%s", error.text);
    if (!watch_check(&settings->session, &error) ||
        !gemm_set_precision((GemmPrecision)settings->train.precision, &error))
        die("%s", error.text);
}

/* Trains one run; returns the exit status. */
static int train_one(const CommandLine *line)
{
    Trainer trainer = {0};
    RunFolder folder = {0};
    Error error;
    StopAfter stop;
    const char *resumed = command_line_value(line, "resume");
    Checkpoint checkpoint = {0};
    Init init = {0};
    if (resumed)
        checkpoint = open_run(resumed);
    read_all(&trainer.settings, &stop, line, resumed ? &checkpoint : NULL);
    if (!resumed && trainer.settings.train.init &&
        !init_open(&init, trainer.settings.train.init, &error))
        die("%s", error.text);
    ranks_lead();
    const SessionOptions *session = &trainer.settings.session;
    ranks_start_team(session->threads);
    if (ranks_first() && !session->quiet)
        trainer.settings.corpus.tell = terminal_notice;
    Screen screen;
    screen_open(&screen, session->quiet || !ranks_first());
    RunView run = prepare_run(&trainer, &folder, &checkpoint, &init, &screen);
    LoopEnd end = LOOP_FINISHED;
    size_t step = trainer.progress.step;
    if (loop_has_work(&trainer))
        end = train_observed(&trainer, &folder, &screen, stop, &error);
    else if (step < trainer.steps)
        screen_say(&screen, text_format("Nothing to do: the run stopped early after step %zu. "
                                        "A larger --patience continues it.",
                                        step));
    else
        screen_say(&screen, text_format("Nothing to do: the run finished after step %zu. "
                                        "More --epochs or --steps extend it.",
                                        step));
    int status = ranks_first() ? farewell(end, &run, &folder, &screen, &error) : 0;
    signals_release();
    ranks_share(&status, sizeof status, 0); /* all ranks go on to the next run, or none */
    team_stop();
    trainer_free(&trainer);
    folder_free(&folder);
    lock_release();
    return status;
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    signal(SIGPIPE, SIG_IGN); /* the reader of the output may leave; training continues */
    Settings settings = {0};
    OptionGroup groups[GROUP_COUNT];
    CommandLine line;
    settings_groups(&settings, groups);
    program_scan_command_line(&about, groups, GROUP_COUNT, argc, argv, &line);
    help_answer(&line);
    int status = series_asked_for(&line) ? series_train(&line, train_one) : train_one(&line);
    command_line_free(&line);
    ranks_end();
    return status;
}
