/* train: from a text to a trained model.
 *
 * main reads the command line, makes or loads the run, and hands it to the loop. */
#include "eval/show/terminal.h"
#include "models/preset.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/math/gemm.h"
#include "src/ranks/ranks.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"
#include "train/advice.h"
#include "train/loop/settings.h"
#include "train/loop/lock.h"
#include "train/loop/loop.h"
#include "train/observers/observers.h"
#include "train/loop/signals.h"
#include "train/grid.h"

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
         "Comma-separated values, as in --attn softmax,linear --seed 1,2,3, train a grid: one "
         "model after the other, in all combinations, and compare them at the end. Values "
         "joined by slashes belong together: --context 128/1024 --batch 16/2 trains two "
         "models. "
         "The same command again, or --resume DIR, continues a grid; --dry-run shows what it "
         "would take.",
         "Settings, one line for each validation and the end of the training go to "
         "standard output; progress, warnings and errors to standard error."},
    .examples = {"--attn linear book.txt", "--preset tiny --attn softmax,linear ptb.txt",
                 "--resume runs/linear-book", "--init runs/linear-book letters.txt",
                 "--attn softmax --layers 2 --epochs 3 --run runs/first toy"},
    .more = "--attn help: attention kinds; --preset help: recipes; --help grid: many runs.",
    .files = {{"runs/NAME/", "the run directory, unless --run names another; it contains:"},
              {"settings.conf", "all settings; --preset reads such files"},
              {"../grid.json, ../NAME.grid.json",
               "the runs of a grid, their settings that differ and how far they are"},
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
    .environment = {ABOUT_TERMINAL_SIZE, ABOUT_COLOUR, ABOUT_LOCALE},
};

/* --- --attn help, --preset help --- */

/* Prints the options that belong to this kind, and explains each at the first kind that has it.
 */
static void print_kind_options(const AttentionKind *kind, const Options *options)
{
    const Option *option;
    for (size_t i = 0; (option = option_at(options, i)); i++) {
        if (!config_kind_uses(kind, option->name))
            continue;
        const char *first = option->owner(option, 0);
        printf("%14s--%s%s%s: ", "", option->name, option->argument ? " " : "",
               option->argument ? option->argument : "");
        if (strcmp(first, kind->name) == 0)
            printf("%s (default %s)\n", option->help, option->fallback);
        else
            printf("see %s\n", first);
    }
}

static void print_kind(const AttentionKind *kind, const LayerParts *parts,
                       const Options *options)
{
    const struct {
        bool has;
        const char *what;
    } needs[] = {{parts->convolution, "--conv yes"},
                 {parts->norm, "--head-norm yes"},
                 {parts->gate, "--out-gate yes"},
                 {kind->encodes_positions, "--pos none"},
                 {kind->no_rotary && !kind->encodes_positions, "--pos learned"}};
    printf("%-13s %s\n%14s%s per token and head; decoding keeps a %s%s\n", kind->name,
           kind->help, "", attention_cost(kind),
           kind->engine->finite_state ? "state of fixed size"
                                      : "cache that grows with the text",
           kind->engine->carry == CARRY_WHOLLY ? "; --carry-state" : "");
    bool first = true;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].has) {
            printf("%*s%s%s", first ? 14 : 0, "", first ? "default: " : " ", needs[i].what);
            first = false;
        }
    printf("%s", first ? "" : "\n");
    print_kind_options(kind, options);
}

/* The layer that --attn NAME gives, with the parts of its authors or the common ones. */
static void print_layer(const AttentionKind *kind, const LayerParts *parts)
{
    const char *gate = parts->out_gate.form == GATE_SIGMOID ? " with sigmoid"
                       : parts->out_gate.form == GATE_SILU  ? " with SiLU"
                                                            : "";
    const struct {
        bool has;
        const char *what;
    } lines[] = {
        {!kind->encodes_positions, kind->no_rotary ? "learned positions" : "RoPE"},
        {kind->encodes_positions, "no position encoding"},
        {parts->token_shift, "token shift with learned shares for every projection"},
        {parts->shares_keys, "queries and keys shared by all heads"},
        {parts->convolution && !parts->convolution_bias,
         "convolution of queries, keys and values with SiLU"},
        {parts->convolution && parts->convolution_bias,
         "convolution of queries, keys and values with a bias and SiLU"},
        {parts->keeps_lengths, "never QK-norm"},
        {!parts->keeps_lengths, "QK-norm with --qk-norm, the default"},
        {attention_has(&kind->gates.count) && attention_has(&kind->gates.low.rank),
         "gates by a low-rank layer"},
        {attention_has(&kind->gates.count) && !attention_has(&kind->gates.low.rank),
         "gates by a linear layer"},
        {attention_has(&kind->rates.count) && attention_has(&kind->rates.low.rank),
         "rates by another low-rank layer"},
        {attention_has(&kind->rates.count) && !attention_has(&kind->rates.low.rank),
         "rates by another linear layer"},
        {attention_has(&parts->value_mix.count), "value residual by another low-rank layer"},
        {parts->norm && parts->group_norm, "GroupNorm: LayerNorm of each head"},
        {parts->norm && !parts->group_norm && !parts->norms_all_heads, "RMSNorm of each head"},
        {parts->norm && parts->norms_all_heads, "RMSNorm of all heads together"},
        {parts->has_bonus, "bonus: the position's own value, added behind the norm"},
    };
    printf("\n%14s%s%s\n", "", kind->source ? kind->source : "linnet's own",
           parts == &kind->parts ? "" : "; with --parts common");
    if (kind->most_keys)
        printf("%14squeries and keys at most %zu wide\n", "", kind->most_keys);
    if (parts->keys.parts)
        printf("%14squeries and keys %zu/%zu as wide as the head dimension\n", "",
               parts->keys.parts, parts->keys.of);
    if (parts->values.parts)
        printf("%14svalues %zu/%zu as wide as the head dimension\n", "", parts->values.parts,
               parts->values.of);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].has)
            printf("%14s%s\n", "", lines[i].what);
    if (parts->gate)
        printf("%14soutput gate%s%s%s\n", "", gate,
               attention_has(&parts->out_gate.low.rank) ? ", by a low-rank layer" : "",
               parts->gates_first ? ", before the norm" : "");
}

static const LayerParts *parts_of(const AttentionKind *kind, const CommandLine *line)
{
    const char *parts = command_line_value(line, "parts");
    return parts && strcmp(parts, "common") == 0 ? &attention_common_parts : &kind->parts;
}

static void print_kinds(const CommandLine *line, const Options *options)
{
    printf("Attention kinds by idea; T is the sequence length, D the head dimension.\n");
    for (size_t i = 0; attention_find(i); i++) {
        const AttentionKind *kind = attention_find(i);
        if (attention_group(i))
            printf("\n%s\n\n", attention_group(i));
        print_kind(kind, parts_of(kind, line), options);
    }
    printf("\nKinds joined by + take the layers in turn (window+softmax, 3xkda+softmax). "
           "Kinds with commas\nbetween (softmax,linear) are trained one after the other and "
           "then compared.\n");
}

static void print_presets(void)
{
    Error error;
    char **names;
    if (!preset_list(&names, &error))
        die("%s", error.text);
    printf("Presets, recipes of settings; options on the command line override them:\n\n");
    for (size_t i = 0; i < arrlenu(names); i++) {
        char *text = preset_about(names[i]);
        printf("  %-10s %s\n", names[i], text);
        free(text);
    }
    printf("\n--preset also takes a file, such as the settings.conf of a run directory.\n");
    text_lines_free(names);
}

/* --attn help and --preset help: prints the list and ends the program; else does nothing. */
static void answer_help(const CommandLine *line, const Options *options)
{
    const char *attention = command_line_value(line, "attn");
    const char *preset = command_line_value(line, "preset");
    if (attention && strcmp(attention, "help") == 0) {
        const AttentionKind *kind = NULL;
        for (size_t i = 0; line->operand_count > 0 && (kind = attention_find(i)); i++)
            if (strcmp(kind->name, line->operands[0]) == 0)
                break;
        if (line->operand_count > 0 && !kind)
            die_usage("--attn help %s: no such attention kind", line->operands[0]);
        if (kind) {
            print_kind(kind, parts_of(kind, line), options);
            print_layer(kind, parts_of(kind, line));
        } else {
            print_kinds(line, options);
        }
    } else if (preset && strcmp(preset, "help") == 0)
        print_presets();
    else
        return;
    program_finish_output();
    exit(EXIT_SUCCESS);
}

/* --- one run --- */

/* Opens the checkpoint to continue from; locks the run directory first. */
static Checkpoint open_run(const char *folder)
{
    Checkpoint checkpoint;
    Error error;
    if (!file_is_folder(folder))
        die("--resume %s: no such run directory", folder);
    bool good = (!ranks_first() || lock_acquire(LOCK_RUN, folder, &error)) &&
                folder_open_checkpoint(&checkpoint, folder, &error);
    if (!good)
        die("%s", error.text);
    return checkpoint;
}

/* Until ranks_lead, only the first rank prints errors; all ranks find the same ones. */
static void read_settings(Settings *settings, const CommandLine *line,
                          const Checkpoint *checkpoint, Init *init)
{
    Error error;
    const char *resumed = checkpoint ? checkpoint_extra(checkpoint, TRAINING_KEY) : NULL;
    if (line->operand_count > 1)
        die_usage("one corpus at a time, not '%s' and '%s'", line->operands[0],
                  line->operands[1]);
    if (!settings_read(settings, line, resumed, init, &error))
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
    if (checkpoint && (settings->session.match_params || settings->session.batch_tokens))
        die_usage("--%s and --resume contradict each other: a resumed run keeps its settings",
                  settings->session.match_params ? "match-params" : "batch-tokens");
    if (!stop_after_read(&settings->session.stop, settings->session.stop_after, &error))
        die_usage("%s", error.text);
    if (!watch_check(&settings->session, &error) ||
        !gemm_set_precision((GemmPrecision)settings->train.precision, &error))
        die("%s", error.text);
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
    const char *of = run->history[HISTORY_TEACHER] ? run->history[HISTORY_TEACHER] : "";
    uint64_t teacher = crc32_z(0, (const Bytef *)of, strlen(of));
    return ranks_same("its settings", settings, error) &&
           ranks_same("its text", corpus, error) && ranks_same("its teacher", teacher, error);
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
    trainer->init = init->is_open ? &init->checkpoint : NULL;
    go_on_if(trainer_plan(trainer, resumed ? &checkpoint->vocabulary : NULL, &error), &error);
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
        bool started = trainer_start(trainer, &error);
        if (!started)
            folder_abandon(folder);
        go_on_if(started, &error);
        init_close(init);
    }
    go_on_if(trainer_check_weights(trainer, &error), &error);
    return run;
}

/* Trains, and tells the observers. Only the first rank has any: people look at its output. */
static LoopEnd train_observed(Trainer *trainer, RunFolder *folder, RunView *view,
                              Screen *screen, Error *error)
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
    LoopEnd end = loop_run(trainer, folder, view, &observers, error);
    observers_free(&observers);
    return end;
}

/* Trains one run, perhaps of a grid; returns the exit status. */
static int train_one(const CommandLine *line, const GridPlace *place)
{
    Trainer trainer = {0};
    RunFolder folder = {0};
    Error error;
    const char *resumed = command_line_value(line, "resume");
    Checkpoint checkpoint = {0};
    Init init;
    if (resumed)
        checkpoint = open_run(resumed);
    read_settings(&trainer.settings, line, resumed ? &checkpoint : NULL, &init);
    ranks_lead();
    const SessionOptions *session = &trainer.settings.session;
    ranks_start_team(session->threads);
    if (ranks_first() && !session->quiet)
        trainer.settings.corpus.tell = terminal_notice;
    Screen screen;
    screen_open(&screen, session->quiet || !ranks_first());
    RunView run = prepare_run(&trainer, &folder, &checkpoint, &init, &screen);
    run.grid = place;
    if (place && ranks_first())
        place->begun(place->grid);
    LoopEnd end = LOOP_FINISHED;
    size_t step = trainer.progress.step;
    if (loop_has_work(&trainer))
        end = train_observed(&trainer, &folder, &run, &screen, &error);
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
    lock_release(LOCK_RUN);
    return status;
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    signal(SIGPIPE, SIG_IGN); /* the reader of the output may leave; training continues */
    Settings settings = {0};
    const Options options = settings_options(&settings);
    CommandLine line;
    program_scan_command_line(&about, &options, argc, argv, &line);
    answer_help(&line, &options);
    char **words = grid_continue(&options, &line);
    const char *dry = command_line_value(&line, "dry-run");
    int status = dry && strcmp(dry, "yes") == 0 ? grid_plan(&line)
                 : grid_asked_for(&line)        ? grid_train(&line, train_one)
                                                : train_one(&line, NULL);
    command_line_free(&line);
    text_lines_free(words);
    ranks_end();
    return status;
}
