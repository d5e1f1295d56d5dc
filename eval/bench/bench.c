/* bench: how fast linnet is on this machine, against what the machine can do. */
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
    {"gemm", "the machine's rate, and that of the products of a training step", bench_gemm, 16},
    {"train", "tokens per second of training, and where the time goes", bench_train, 16},
    {"attention", "time against length, for any kinds", bench_attention, 32},
    {"decode", "tokens per second, one after another, at given positions", bench_decode, 1},
    {"scale", "what ranks that mpirun started gain by sharing a step, and what they lose",
     bench_scale, 16},
};

#define FIELD(name) offsetof(BenchOptions, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "preset", .argument = "NAME", .type = OPTION_TEXT, .offset = FIELD(preset),
     .help = "sizes from models/NAME.conf, or from a file"},
    {.name = "vocab", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(model.vocabulary), .low = 2, .high = 1e7, .fallback = "10000",
     .help = "tokens in the vocabulary"},
    {.name = "batch", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(batch), .low = 0, .high = 1e6, .fallback = "0",
     .help = "sequences at a time; 0: what the command is usually quoted for"},
    {.name = "kinds", .argument = "LIST", .type = OPTION_TEXT, .offset = FIELD(kinds),
     .help = "attention: the kinds, with commas; otherwise all"},
    {.name = "n", .argument = "LIST", .type = OPTION_TEXT,
     .offset = FIELD(n), .fallback = "128,512,1024,2048,4096",
     .help = "attention: the lengths"},
    {.name = "positions", .argument = "LIST", .type = OPTION_TEXT,
     .offset = FIELD(positions), .fallback = "10,100,1000,10000",
     .help = "decode: the positions"},
    {.name = "repeats", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(repeats), .low = 1, .high = 1e6, .fallback = "9",
     .help = "measurements after the first, of which the median counts"},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(threads), .low = 0, .high = 1024, .fallback = "0",
     .help = "threads; 0: one for each processor"},
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(precision), .fallback = "single", .choice = gemm_precision_name,
     .help = "of products with weights, as for training"},
    {.name = "optimizer", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(optimizer), .fallback = "adamw", .choice = optimizer_name,
     .help = "train: as for training"},
    {.name = "recompute", .type = OPTION_FLAG, .offset = FIELD(recompute), .fallback = "no",
     .help = "train: with less memory, computing activations again"},
    {.name = "csv", .argument = "FILE", .type = OPTION_TEXT, .offset = FIELD(csv),
     .help = "attention: write the table to this file as well"},
    {.name = "svg", .argument = "FILE", .type = OPTION_TEXT, .offset = FIELD(svg),
     .help = "attention: write a chart of time by length to this file"},
    {.name = "title", .argument = "TEXT", .type = OPTION_TEXT, .offset = FIELD(title),
     .help = "attention: title of the chart"},
    {.name = "json", .type = OPTION_FLAG, .offset = FIELD(json), .fallback = "no",
     .help = "print JSON"},
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
    .purpose = "measures how fast linnet is on this machine, against what the machine can do",
    .synopses = {"COMMAND [OPTIONS]"},
    .command = command_item,
    .examples = {"train --attn linear --dim 256 --layers 4 --heads 4 --context 128"},
    .files = {{"../models/NAME.conf, ../share/linnet/models/NAME.conf",
               "presets, looked for from the folder of the program"}},
    .environment = {&about_kernels, &about_terminal_size, &about_locale},
};

/* What of a preset concerns the benchmark stands between the defaults and the command line. */
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
    gemm_choose_kernels(argv);
    ranks_begin(&argc, &argv);
    BenchOptions options = {0};
    const OptionGroup groups[] = {
        {"The model", model_option_rows, model_option_count, &options.model},
        {"The benchmark", rows, sizeof rows / sizeof *rows, &options}};
    CommandLine line;
    Error error;
    read_settings(groups, argc, argv, &line);
    if (!config_check(&options.model, &error))
        die_usage("%s", error.text);
    if (line.operand_count != 1)
        die_usage("which command? gemm, train, attention, decode or scale");
    if (!gemm_set_precision(options.precision, &error))
        die("%s", error.text);
    ranks_lead();
    team_start(options.threads ? options.threads : ranks_threads());
    size_t chosen = 0, count = sizeof commands / sizeof *commands;
    while (chosen < count && strcmp(commands[chosen].name, line.operands[0]) != 0)
        chosen++;
    if (chosen == count)
        die_usage("there is no command '%s'", line.operands[0]);
    if (options.batch == 0)
        options.batch = commands[chosen].batch;
    if (ranks_count() > 1 && commands[chosen].run != bench_scale)
        die_usage("only 'bench scale' is for several ranks; start '%s' without mpirun",
                  commands[chosen].name);
    commands[chosen].run(&options);
    team_stop();
    options_free_texts(groups, 2);
    command_line_free(&line);
    program_finish_output();
    ranks_end();
    return EXIT_SUCCESS;
}
