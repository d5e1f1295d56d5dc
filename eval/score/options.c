#include "eval/score/options.h"
#include "data/vocabulary.h"
#include "src/gemm.h"

#include <string.h>

const char *split_name(size_t index)
{
    static const char *const names[] = {"valid", "test", "train"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

#define FIELD(name) offsetof(EvalOptions, name)
/* clang-format off */
static const Option text_rows[] = {
    {.name = "split", .argument = "NAME", .type = OPTION_CHOICE,
     .offset = FIELD(split), .fallback = "valid", .choice = split_name,
     .help = "the part of the corpus"},
    {.name = "valid", .argument = "FILE", .type = OPTION_TEXT,
     .offset = FIELD(valid),
     .help = "validation text of its own"},
    {.name = "test", .argument = "FILE", .type = OPTION_TEXT,
     .offset = FIELD(test),
     .help = "test text of its own"},
    {.name = "max-input-mb", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(max_input_mb), .low = 1, .high = 4000, .fallback = "1000",
     .help = "refuse a file that is larger, unpacked, than N megabytes"},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(threads), .low = 0, .high = 1024, .fallback = "0",
     .help = "threads; 0: one for each processor"},
    {.name = "json", .type = OPTION_FLAG,
     .offset = FIELD(json), .fallback = "no",
     .help = "print the same as JSON"},
};

static const Option reading_rows[] = {
    {.name = "window", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(window), .low = 0, .high = 65536, .fallback = "0",
     .help = "tokens that are read together; 0: the context of training"},
    {.name = "stride", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(stride), .low = 0, .high = 65536, .fallback = "0",
     .help = "tokens from one window to the next, the last of each being scored; 0: the "
             "window, so that windows do not overlap"},
    {.name = "batch", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(batch), .low = 0, .high = 1e6, .fallback = "0",
     .help = "windows that are computed together; 0: 16, or 1 where a state is carried"},
    {.name = "carry-state", .argument = "WHEN", .type = OPTION_CHOICE,
     .offset = FIELD(carry_state), .fallback = "auto", .choice = wish_name,
     .help = "let each window go on from the state that the one before it left, in as many "
             "streams as --batch says; auto: as the model was trained"},
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(precision), .fallback = "single", .choice = gemm_precision_name,
     .help = "of products with weights, as for training"},
};

/* Theta and lambda, the rate and the decay suit a small model of the Penn Treebank. */
static const Option way_rows[] = {
    {.name = "temperature", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(temperature), .low = 0, .high = 100, .fallback = "0",
     .help = "the model with its logits divided by X; 0: leave that out"},
    {.name = "tune-temperature", .type = OPTION_FLAG,
     .offset = FIELD(tune_temperature), .fallback = "no",
     .help = "the same with the temperature that is best on the validation text"},
    {.name = "cache", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(cache), .low = 0, .high = 100000, .fallback = "0",
     .help = "the model together with a cache of the last N tokens and the states before them"},
    {.name = "cache-theta", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(cache_theta), .low = 0, .high = 1000, .fallback = "0.01",
     .help = "how much more those count whose states are alike"},
    {.name = "cache-lambda", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(cache_lambda), .low = 0, .high = 0.999, .fallback = "0.15",
     .help = "the share of the cache"},
    {.name = "tune-cache", .type = OPTION_FLAG,
     .offset = FIELD(tune_cache), .fallback = "no",
     .help = "take those two that are best on the validation text, of 8 times 8"},
    {.name = "dynamic", .type = OPTION_FLAG,
     .offset = FIELD(dynamic), .fallback = "no",
     .help = "the model while it goes on learning from each segment once that is scored; the "
             "checkpoint stays as it is"},
    {.name = "dynamic-segment", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(dynamic_segment), .low = 0, .high = 65536, .fallback = "0",
     .help = "tokens of a segment, the last of a window; 0: the stride"},
    {.name = "dynamic-lr", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(dynamic_lr), .low = 0, .high = 1e6, .fallback = "0.0003",
     .help = "learning rate of its steps, each weight's by how large its gradient usually is"},
    {.name = "dynamic-decay", .argument = "X", .type = OPTION_REAL,
     .offset = FIELD(dynamic_decay), .low = 0, .high = 1, .fallback = "0.003",
     .help = "share of the way back to the trained weights that each step takes"},
    {.name = "dynamic-statistics", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(dynamic_statistics), .low = 1, .high = OPTION_MOST, .fallback = "200",
     .help = "segments of the training text that tell how large that is"},
    {.name = "tune-dynamic", .type = OPTION_FLAG,
     .offset = FIELD(tune_dynamic), .fallback = "no",
     .help = "take the rate and the decay that are best on the validation text, which is read "
             "some ten times for it"},
};

static const Option baseline_rows[] = {
    {.name = "baseline", .type = OPTION_FLAG,
     .offset = FIELD(baseline), .fallback = "no",
     .help = "score the corpus without a run, by the frequencies of its words and by "
             "Kneser-Ney n-grams"},
    {.name = "order", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(order), .low = 2, .high = 9, .fallback = "5",
     .help = "words of the longest n-gram"},
    {.name = "tokens", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(tokens), .fallback = "word", .choice = tokenizer_name,
     .help = "what a token is"},
    {.name = "trim", .type = OPTION_FLAG,
     .offset = FIELD(trim), .fallback = "no",
     .help = "leave out the blanks at both ends of lines, as for training"},
    {.name = "vocab-size", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(vocab_size), .low = 0, .high = OPTION_MOST, .fallback = "0",
     .help = "keep the N most frequent tokens, as for training; 0 keeps all"},
    {.name = "min-count", .argument = "N", .type = OPTION_SIZE,
     .offset = FIELD(min_count), .low = 1, .high = OPTION_MOST, .fallback = "1",
     .help = "tokens that come fewer than N times become <unk>, as for training"},
};
/* clang-format on */

enum { TEXT, READING, WAYS, BASELINE };
#define GROUP(title, rows) ((OptionGroup){title, rows, sizeof rows / sizeof *rows, options})

void eval_options_groups(EvalOptions *options, OptionGroup groups[EVAL_GROUPS])
{
    groups[TEXT] = GROUP("Options", text_rows);
    groups[READING] = GROUP("How a model reads", reading_rows);
    groups[WAYS] = GROUP("Other ways of scoring it, a row for each", way_rows);
    groups[BASELINE] = GROUP("What it is to be compared with", baseline_rows);
}

/* --- what goes with what --- */

static bool belongs(const Option *option, const OptionGroup *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (option == &group->options[i])
            return true;
    return false;
}

static void check_groups(bool baseline, const OptionGroup groups[EVAL_GROUPS],
                         const CommandLine *line)
{
    for (size_t i = 0; i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        bool of_baseline = belongs(option, &groups[BASELINE]);
        if (baseline && !of_baseline && !belongs(option, &groups[TEXT]))
            die_usage("--%s is for models; --baseline has none", option->name);
        if (!baseline && of_baseline)
            die_usage("--%s is for --baseline, which was not given", option->name);
    }
}

/* Whether it is given, and not as a flag that says no. */
static bool asked_for(const CommandLine *line, const char *name)
{
    const char *value = command_line_value(line, name);
    return value && strcmp(value, "no") != 0;
}

static void check_companions(const EvalOptions *options, const CommandLine *line)
{
    const struct {
        const char *name, *wanted;
        bool there;
    } rows[] = {{"cache-theta", "cache", options->cache > 0},
                {"cache-lambda", "cache", options->cache > 0},
                {"tune-cache", "cache", options->cache > 0},
                {"dynamic-segment", "dynamic", options->dynamic},
                {"dynamic-lr", "dynamic", options->dynamic},
                {"dynamic-decay", "dynamic", options->dynamic},
                {"dynamic-statistics", "dynamic", options->dynamic},
                {"tune-dynamic", "dynamic", options->dynamic}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].there && asked_for(line, rows[i].name))
            die_usage("--%s is for --%s, which was not given", rows[i].name, rows[i].wanted);
}

void eval_options_check(const EvalOptions *options, const OptionGroup groups[EVAL_GROUPS],
                        const CommandLine *line)
{
    const double coldest = 0.01;
    check_groups(options->baseline, groups, line);
    check_companions(options, line);
    if (options->temperature > 0 && options->temperature < coldest)
        die_usage("--temperature %g: it takes 0, or at least %g", options->temperature,
                  coldest);
    if (options->temperature > 0 && options->tune_temperature)
        die_usage(
            "--temperature and --tune-temperature: the one says what the other looks for");
    if (options->tune_cache &&
        (command_line_value(line, "cache-theta") || command_line_value(line, "cache-lambda")))
        die_usage("--tune-cache looks for theta and lambda itself; leave them out");
    if (options->tune_dynamic &&
        (command_line_value(line, "dynamic-lr") || command_line_value(line, "dynamic-decay")))
        die_usage("--tune-dynamic looks for the rate and the decay itself; leave them out");
    if (options->baseline ? line->operand_count != 1 : line->operand_count != 2)
        die_usage(options->baseline ? "--baseline takes a corpus and nothing else"
                                    : "it takes a run and a corpus");
}

/* --- how the model reads --- */

static void settle_segment(EvalOptions *options, const ModelConfig *config)
{
    if (options->dynamic_segment == 0)
        options->dynamic_segment = options->stride;
    if (options->dynamic_segment > options->window)
        die_usage("--dynamic-segment %zu is longer than the window of %zu",
                  options->dynamic_segment, options->window);
    if (config->carry_state && options->dynamic_segment < options->window)
        die_usage("--dynamic-segment %zu: where a state is carried it is the --window",
                  options->dynamic_segment);
}

void eval_options_settle(EvalOptions *options, ModelConfig *config)
{
    Error error;
    if (options->carry_state != WISH_AUTO)
        config->carry_state = options->carry_state == WISH_YES;
    if (config->carry_state && !config_check_carrying(config, &error))
        die_usage("%s", error.text);
    if (options->batch == 0)
        options->batch = config->carry_state ? 1 : 16;
    if (options->window == 0)
        options->window = config->context;
    if (options->stride == 0)
        options->stride = options->window;
    if (options->stride > options->window)
        die_usage("--stride %zu leaves gaps between windows of %zu", options->stride,
                  options->window);
    if (options->stride < options->window && config->carry_state)
        die_usage(
            "--stride %zu: a state that is carried has read each window once; leave it out",
            options->stride);
    if (options->window > config->context && config->positions == POSITIONS_LEARNED)
        die_usage("--window %zu: this model learned positions for a context of %zu only",
                  options->window, config->context);
    if (config->carry_state && options->batch > 1 && (options->cache > 0 || options->dynamic))
        die_usage("--batch %zu: --cache and --dynamic read the text in one stream",
                  options->batch);
    settle_segment(options, config);
}
