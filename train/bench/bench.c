/* bench: measures speed. */
#include "train/bench/bench.h"
#include "models/preset.h"
#include "models/update.h"
#include "src/math/gemm.h"
#include "src/base/memory.h"
#include "src/base/program.h"
#include "src/ranks/ranks.h"
#include "src/math/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets of commands. */
enum {
    GEMM = 1,
    TRAIN = 2,
    ATTENTION = 4,
    DECODE = 8,
    SCALE = 16,
    WITH_MODEL = TRAIN | DECODE | SCALE,
    ALL = GEMM | ATTENTION | WITH_MODEL
};

static const About about = {
    .name = "bench",
    .purpose = "measures how fast linnet is on this machine",
    .synopses = {"COMMAND [OPTIONS]"},
    .commands = {{"gemm",
                  "matrix products: peak of this machine, and the shapes of a training step"},
                 {"train", "training speed in tokens per second, and where the time goes"},
                 {"attention", "time of attention by sequence length, for any attention kinds"},
                 {"decode", "decoding speed at given positions"},
                 {"scale", "speed-up of data-parallel training over MPI ranks"}},
    .examples = {"train --attn linear --dim 256 --layers 4 --heads 4 --context 128"},
    .files = {{"../models/NAME.conf, ../share/linnet/models/NAME.conf",
               "presets, relative to the program's directory"}},
    .environment = {ABOUT_TERMINAL_SIZE, ABOUT_LOCALE},
};

/* In the order of the commands. */
static const struct {
    void (*run)(const BenchOptions *options);
    unsigned command_bit;
    size_t batch; /* where --batch is not given */
} works[] = {{bench_gemm, GEMM, 16},
             {bench_train, TRAIN, 16},
             {bench_attention, ATTENTION, 32},
             {bench_decode, DECODE, 1},
             {bench_scale, SCALE, 16}};
enum { COMMANDS = sizeof works / sizeof *works };

#define FIELD(name)  offsetof(BenchOptions, name)
#define OF_ATTENTION .section = "Only for attention"
#define OF_TRAINING  .section = "Only for train and scale"
/* clang-format off */
static const Option rows[] = {
    {.name = "preset", OPTION_STRING("NAME", FIELD(preset), NULL),
     .help = "model sizes from models/NAME.conf or a file",
     .also = "config",
     .common = true},
    {.name = "vocab", OPTION_WHOLE(FIELD(model.vocabulary), 2, 1e7, "10000"),
     .help = "vocabulary size",
     .also = "vocab-size n-vocab",
     .common = true},
    {.name = "batch", OPTION_WHOLE(FIELD(batch), 0, 1e6, "0"),
     .help = "batch size in sequences; 0: the default of the command (decode 1, attention 32, "
             "the others 16)",
     .also = "batch-size bsz",
     .common = true},
    {.name = "kinds", OPTION_STRING("LIST", FIELD(kinds), NULL), OF_ATTENTION,
     .help = "attention kinds, separated by commas; default: all",
     .common = true},
    {.name = "n", OPTION_STRING("LIST", FIELD(n), "128,512,1024,2048,4096"), OF_ATTENTION,
     .help = "sequence lengths",
     .also = "lengths seq-len",
     .common = true},
    {.name = "positions", OPTION_STRING("LIST", FIELD(positions), "10,100,1000,10000"),
     .help = "positions to measure at",
     .section = "Only for decode",
     .common = true},
    {.name = "repeats", OPTION_WHOLE(FIELD(repeats), 1, 1e6, "9"),
     .help = "timed repetitions after a warm-up; the median is reported (scale: the mean)",
     .also = "iterations iters",
     .common = true},
    {OPTION_THREADS(FIELD(threads), "0"), .common = true},
    {.name = "precision",
     OPTION_ONE_OF("KIND", FIELD(precision), gemm_precision_name, "single"),
     .help = "arithmetic of matrix products",
     .also = "dtype bf16",
     .common = true},
    {.name = "optimizer", OPTION_ONE_OF("KIND", FIELD(optimizer), optimizer_name, "muon"),
     OF_TRAINING,
     .help = "optimizer",
     .also = "optim"},
    {.name = "recompute", OPTION_SWITCH(FIELD(recompute), "no"), OF_TRAINING,
     .help = "gradient checkpointing",
     .also = "gradient-checkpointing"},
    {.name = "csv", OPTION_SWITCH(FIELD(csv), "no"),
     .help = "print the table as CSV instead"},
    {.name = "svg", OPTION_STRING("FILE", FIELD(svg), NULL), OF_ATTENTION,
     .help = "write a chart of time by length to this file"},
    {.name = "title", OPTION_STRING("TEXT", FIELD(title), NULL), OF_ATTENTION,
     .help = "title of the chart in --svg"},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print JSON instead",
     .common = true},
};
/* clang-format on */

/* The commands that have an option. Options of the model that are not listed need a model;
 * those of attention kinds also serve to time attention. */
static unsigned commands_with(const Option *option, bool of_model)
{
    static const struct {
        const char *name; /* of an option or a section */
        unsigned commands;
    } some[] = {{"Only for attention", ATTENTION},
                {"Only for decode", DECODE},
                {"Only for train and scale", TRAIN | SCALE},
                {"Regularisation", TRAIN | SCALE},
                {"Order of the text and stateful training", TRAIN | SCALE},
                {"dim", ALL},
                {"heads", ALL},
                {"parts", ATTENTION | WITH_MODEL},
                {"ffn", GEMM | WITH_MODEL},
                {"context", GEMM | WITH_MODEL},
                {"vocab", WITH_MODEL},
                {"precision", GEMM | WITH_MODEL},
                {"csv", ALL & ~(unsigned)TRAIN}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (strcmp(some[i].name, option->name) == 0 ||
            (option->section && strcmp(some[i].name, option->section) == 0))
            return some[i].commands;
    return !of_model ? ALL : option->owner ? ATTENTION | WITH_MODEL : WITH_MODEL;
}

/* The rows of a group that a command has; the caller frees them. */
static OptionGroup group_of(size_t command, const OptionGroup *group)
{
    Option *chosen = memory_new(group->count, sizeof *chosen, "the options");
    OptionGroup result = {group->title, chosen, 0, group->target};
    for (size_t i = 0; i < group->count; i++)
        if (commands_with(&group->options[i], group->options != rows) &
            works[command].command_bit)
            chosen[result.count++] = group->options[i];
    return result;
}

/* The help of one command. */
static About about_of(const AboutItem *command)
{
    static char synopsis[64];
    snprintf(synopsis, sizeof synopsis, "%s [OPTIONS]", command->name);
    return (About){.name = about.name, .purpose = command->text, .synopses = {synopsis}};
}

/* Whether the word after this one is its value. */
static bool needs_value(const Options *options, const char *word)
{
    const Option *option = strncmp(word, "--", 2) == 0 ? option_find(options, word + 2) : NULL;
    return option && option_takes_value(option);
}

/* The first word of a command line that is a command; COMMANDS if there is none. The forms of
 * --help= that become the manual and the completions are about all commands. */
static size_t find_command(const Options *options, int argc, char **argv)
{
    if (argc > 1 && strncmp(argv[1], "--help=", strlen("--help=")) == 0)
        return COMMANDS;
    for (int word = 1; word < argc; word += needs_value(options, argv[word]) ? 2 : 1)
        for (size_t i = 0; i < COMMANDS; i++)
            if (strcmp(argv[word], about.commands[i].name) == 0)
                return i;
    return COMMANDS;
}

/* The defaults, then the settings of --preset that bench has, then the command line. */
static void read_settings(const Options *options, size_t command, int argc, char **argv,
                          CommandLine *line)
{
    Error error;
    const bool any = command < COMMANDS;
    const About chosen_about = any ? about_of(&about.commands[command]) : about;
    Options chosen = *options;
    for (size_t g = 0; any && g < 2; g++)
        chosen.groups[g] = group_of(command, &options->groups[g]);
    program_scan_command_line(&chosen_about, &chosen, argc, argv, line);
    if (!any && line->operand_count == 1)
        die_usage("unknown command '%s'; use gemm, train, attention, decode or scale",
                  line->operands[0]);
    if (!any || line->operand_count != 1)
        die_usage("one command is needed: gemm, train, attention, decode or scale");
    options_set_defaults(options);
    const char *preset = command_line_value(line, "preset");
    if ((preset && !preset_read(options, preset, true, &error)) ||
        !options_apply(options, line, &error))
        die_usage("%s", error.text);
    for (size_t g = 0; g < 2; g++)
        free((Option *)chosen.groups[g].options);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    BenchOptions options = {0};
    const Options groups = {
        {config_group(&options.model), OPTION_GROUP("Benchmark", rows, &options)}};
    CommandLine line;
    Error error;
    size_t command = find_command(&groups, argc, argv);
    read_settings(&groups, command, argc, argv, &line);
    if (options.json && options.csv)
        die_usage("--json and --csv: give only one of them");
    if (options.title && !options.svg)
        die_usage("--title has no effect without --svg; leave it out");
    if (!config_check(&options.model, &error))
        die_usage("%s", error.text);
    if (!gemm_set_precision((GemmPrecision)options.precision, &error))
        die("%s", error.text);
    ranks_lead();
    ranks_start_team(options.threads);
    if (options.batch == 0)
        options.batch = works[command].batch;
    if (ranks_count() > 1 && works[command].run != bench_scale)
        die_usage("only 'bench scale' works under mpirun; start '%s' without it",
                  about.commands[command].name);
    works[command].run(&options);
    team_stop();
    program_end(&groups, &line);
    ranks_end();
    return EXIT_SUCCESS;
}
