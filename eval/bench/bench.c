/* bench: measures speed. */
#include "eval/bench/bench.h"
#include "models/preset.h"
#include "models/update.h"
#include "src/gemm.h"
#include "src/program.h"
#include "src/ranks.h"
#include "src/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *help;
    void (*run)(const BenchOptions *options);
    size_t batch; /* where --batch is not given */
} commands[] = {
    {"gemm", "matrix products: peak of this machine, and the shapes of a training step",
     bench_gemm, 16},
    {"train", "training speed in tokens per second, and where the time goes", bench_train, 16},
    {"attention", "time of attention by sequence length, for any attention kinds",
     bench_attention, 32},
    {"decode", "decoding speed at given positions", bench_decode, 1},
    {"scale", "speed-up of data-parallel training over MPI ranks", bench_scale, 16},
};

#define FIELD(name) offsetof(BenchOptions, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "preset", .argument = "NAME", .type = OPTION_TEXT, .offset = FIELD(preset),
     .help = "model sizes from models/NAME.conf or a file",
     .also = "config",
     .common = true},
    {.name = "vocab", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(model.vocabulary), .low = 2, .high = 1e7, .fallback = "10000",
     .help = "vocabulary size",
     .also = "vocab-size n-vocab",
     .common = true},
    {.name = "batch", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(batch), .low = 0, .high = 1e6, .fallback = "0",
     .help = "batch size in sequences; 0: the command's usual one",
     .also = "batch-size bsz",
     .common = true},
    {.name = "kinds", .argument = "LIST", .type = OPTION_TEXT, .offset = FIELD(kinds),
     .help = "attention: attention kinds, separated by commas; default: all",
     .common = true},
    {.name = "n", .argument = "LIST", .type = OPTION_TEXT,
     .offset = FIELD(n), .fallback = "128,512,1024,2048,4096",
     .help = "attention: sequence lengths",
     .also = "lengths seq-len",
     .common = true},
    {.name = "positions", .argument = "LIST", .type = OPTION_TEXT,
     .offset = FIELD(positions), .fallback = "10,100,1000,10000",
     .help = "decode: positions to measure at",
     .common = true},
    {.name = "repeats", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(repeats), .low = 1, .high = 1e6, .fallback = "9",
     .help = "timed repetitions after a warm-up; the median is reported",
     .also = "iterations iters",
     .common = true},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(threads), .low = 0, .high = 1024, .fallback = "0",
     .help = "CPU threads; 0: one per processor",
     .also = "device num-threads",
     .common = true},
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(precision), .fallback = "single", .choice = gemm_precision_name,
     .help = "arithmetic of matrix products",
     .also = "dtype bf16",
     .common = true},
    {.name = "optimizer", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(optimizer), .fallback = "muon", .choice = optimizer_name,
     .help = "train: optimizer",
     .also = "optim"},
    {.name = "recompute", .type = OPTION_FLAG, .offset = FIELD(recompute), .fallback = "no",
     .help = "train: gradient checkpointing",
     .also = "gradient-checkpointing"},
    {.name = "csv", .argument = "FILE", .type = OPTION_TEXT, .offset = FIELD(csv),
     .help = "attention: also write the table to this file"},
    {.name = "svg", .argument = "FILE", .type = OPTION_TEXT, .offset = FIELD(svg),
     .help = "attention: write a chart of time by length to this file"},
    {.name = "title", .argument = "TEXT", .type = OPTION_TEXT, .offset = FIELD(title),
     .help = "attention: title of the chart"},
    {.name = "json", .type = OPTION_FLAG, .offset = FIELD(json), .fallback = "no",
     .help = "print JSON",
     .common = true},
};
/* clang-format on */

static AboutItem command_item(size_t index)
{
    if (index >= sizeof commands / sizeof *commands)
        return (AboutItem){0};
    return (AboutItem){commands[index].name, commands[index].help};
}

static const About about = {
    .name = "bench",
    .purpose = "measures how fast linnet is on this machine",
    .synopses = {"COMMAND [OPTIONS]"},
    .command = command_item,
    .examples = {"train --attn linear --dim 256 --layers 4 --heads 4 --context 128"},
    .files = {{"../models/NAME.conf, ../share/linnet/models/NAME.conf",
               "presets, relative to the program's directory"}},
    .environment = {&about_kernels, &about_terminal_size, &about_locale},
};

/* Defaults, then the model settings of a preset, then the command line. */
static void read_settings(const OptionGroup groups[2], int argc, char **argv, CommandLine *line)
{
    Error error;
    program_scan_command_line(&about, groups, 2, argc, argv, line);
    options_set_defaults(groups, 2);
    const char *preset = command_line_value(line, "preset");
    char *path, *text = preset ? preset_text(preset, &path, &error) : NULL;
    if (preset && (!text || !options_read_known(groups, 2, text, path, &error)))
        die_usage("%s", error.text);
    if (preset) {
        free(text);
        free(path);
    }
    if (!options_apply(groups, 2, line, &error))
        die_usage("%s", error.text);
}

int main(int argc, char **argv)
{
    ranks_begin(&argc, &argv);
    BenchOptions options = {0};
    const OptionGroup groups[] = {
        {"Model", model_option_rows, model_option_count, &options.model},
        {"Benchmark", rows, sizeof rows / sizeof *rows, &options}};
    CommandLine line;
    Error error;
    read_settings(groups, argc, argv, &line);
    if (!config_check(&options.model, &error))
        die_usage("%s", error.text);
    if (line.operand_count != 1)
        die_usage("a command is missing: gemm, train, attention, decode or scale");
    if (!gemm_set_precision(options.precision, &error))
        die("%s", error.text);
    ranks_lead();
    team_start(options.threads ? options.threads : ranks_threads());
    size_t chosen = 0, count = sizeof commands / sizeof *commands;
    while (chosen < count && strcmp(commands[chosen].name, line.operands[0]) != 0)
        chosen++;
    if (chosen == count)
        die_usage("unknown command '%s'; use gemm, train, attention, decode or scale",
                  line.operands[0]);
    if (options.batch == 0)
        options.batch = commands[chosen].batch;
    if (ranks_count() > 1 && commands[chosen].run != bench_scale)
        die_usage("only 'bench scale' works under mpirun; start '%s' without it",
                  commands[chosen].name);
    commands[chosen].run(&options);
    team_stop();
    options_free_texts(groups, 2);
    command_line_free(&line);
    program_finish_output();
    ranks_end();
    return EXIT_SUCCESS;
}
