/* The options of eval, and their checks. */
#include "eval/score/ways.h"
#include "src/math/gemm.h"

#include <string.h>

static OPTION_NAMES(split_name, "valid", "test", "train");

#define FIELD(name) offsetof(EvalOptions, name)
/* clang-format off */
static const Option general_rows[] = {
    {.name = "split", OPTION_ONE_OF("NAME", FIELD(split), split_name, "valid"),
     .help = "the split to score",
     .also = "part subset",
     .common = true},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print JSON instead",
     .common = true},
};

static const Option reading_rows[] = {
    {.name = "context", OPTION_WHOLE(FIELD(window), 0, 65536, "0"),
     .help = "context length in tokens for scoring; 0: as in training",
     .also = "window block-size max-length seq-len",
     .common = true},
    {.name = "stride", OPTION_WHOLE(FIELD(stride), 0, 65536, "0"),
     .help = "sliding-window stride; the last N tokens of each window are scored. 0: "
             "windows do not overlap",
     .also = "sliding-window",
     .common = true},
    {.name = "batch", OPTION_WHOLE(FIELD(batch), 0, 1e6, "0"),
     .help = "batch size in windows; 0: 16, or 1 with a carried state",
     .also = "batch-size bsz"},
    {.name = "carry-state", OPTION_ONE_OF("WHEN", FIELD(carry_state), tristate_name, "auto"),
     .help = "carry the recurrent state from one window to the next, in --batch streams; "
             "auto: as in training",
     .also = "stateful"},
    {OPTION_THREADS(FIELD(threads), "0"), .common = true},
    {.name = "precision",
     OPTION_ONE_OF("KIND", FIELD(precision), gemm_precision_name, "single"),
     .help = "arithmetic of matrix products, as in training",
     .also = "dtype bf16"},
};

/* The defaults of theta, lambda, rate and decay suit a small model of the Penn Treebank. */
static const Option way_rows[] = {
    {.name = "temperature", OPTION_NUMBER(FIELD(temperature), 0, 100, "0"),
     .help = "score with logits divided by X; 0: leave this row out",
     .also = "temp"},
    {.name = "tune-temperature", OPTION_SWITCH(FIELD(tune_temperature), "no"),
     .help = "fit the temperature on the validation text",
     .common = true},
    {.name = "cache", OPTION_WHOLE(FIELD(cache), 0, 100000, "0"),
     .help = "neural cache (Grave et al.) of the last N hidden states; 0: none",
     .also = "neural-cache pointer",
     .common = true},
    {.name = "cache-theta", OPTION_NUMBER(FIELD(cache_settings.theta), 0, 1000, "0.01"),
     .help = "inverse temperature of the cache distribution (theta); 0: uniform",
     .also = "theta"},
    {.name = "cache-lambda", OPTION_NUMBER(FIELD(cache_settings.lambda), 0, 0.999, "0.15"),
     .help = "interpolation weight of the cache (lambda)",
     .also = "lambda lambdah"},
    {.name = "tune-cache", OPTION_SWITCH(FIELD(tune_cache), "no"),
     .help = "grid-search theta and lambda (8 x 8) on the validation text",
     .common = true},
    {.name = "dynamic", OPTION_SWITCH(FIELD(dynamic), "no"),
     .help = "dynamic evaluation (Krause et al.): train on each segment after scoring it; "
             "the checkpoint stays as it is",
     .also = "dynamic-evaluation",
     .common = true},
    {.name = "dynamic-segment", OPTION_WHOLE(FIELD(dynamic_segment), 0, 65536, "0"),
     .help = "segment length of dynamic evaluation in tokens; 0: the stride"},
    {.name = "dynamic-lr", OPTION_NUMBER(FIELD(dynamic_settings.rate), 0, 1e6, "0.0001"),
     .help = "learning rate of dynamic evaluation, scaled per weight by its RMS gradient"},
    {.name = "dynamic-decay", OPTION_NUMBER(FIELD(dynamic_settings.decay), 0, 1, "0.003"),
     .help = "decay towards the trained weights per step"},
    {.name = "dynamic-epsilon", OPTION_NUMBER(FIELD(dynamic_settings.epsilon), 1e-6, 1e6, "0.1"),
     .help = "added to RMS gradients, as a share of their mean; small: rare words learn fast"},
    {.name = "dynamic-statistics",
     OPTION_WHOLE(FIELD(dynamic_settings.statistics), 1, OPTION_MOST, "200"),
     .help = "training segments used to estimate the mean squared gradients"},
    {.name = "tune-dynamic", OPTION_SWITCH(FIELD(tune_dynamic), "no"),
     .help = "search learning rate and decay on the validation text, which is read about "
             "ten times",
     .common = true},
};

static const Option comparing_rows[] = {
    {.name = "by-position", OPTION_SWITCH(FIELD(by_position), "no"),
     .help = "also print the mean loss by position in the window; a column for each run, a "
             "row for the positions 1, 2, 3-4, 5-8, 9-16 and so on",
     .also = "position per-position loss-by-position",
     .common = true},
    {.name = "svg", OPTION_STRING("FILE", FIELD(svg), NULL),
     .help = "write the chart of --by-position to FILE"},
    {.name = "paired", OPTION_SWITCH(FIELD(paired), "no"),
     .help = "paired bootstrap of differences from the first run; 95 % intervals by 10,000 "
             "resamples of the lines of the text, or of its windows if it has fewer than 20 "
             "lines, and p with Holm's correction",
     .also = "bootstrap paired-bootstrap holm",
     .common = true},
};

static const Option baseline_rows[] = {
    {.name = "baseline", OPTION_SWITCH(FIELD(baseline), "no"),
     .help = "score the corpus by unigrams and interpolated Kneser-Ney n-grams, without a "
             "model",
     .also = "ngram kneser-ney unigram",
     .common = true},
    {.name = "order", OPTION_WHOLE(FIELD(order), 2, 9, "5"),
     .help = "n-gram order",
     .also = "n ngram-order"},
};
/* clang-format on */

enum { GENERAL, READING, COMPARING, WAYS, BASELINE, CORPUS };

Options eval_options(EvalOptions *options)
{
    Options all = {
        {[GENERAL] = OPTION_GROUP("Options", general_rows, options),
         [READING] = OPTION_GROUP("Reading the text", reading_rows, options),
         [COMPARING] = OPTION_GROUP("Where and how surely runs differ", comparing_rows,
                                    options),
         [WAYS] = OPTION_GROUP("Other ways of scoring, one row each", way_rows, options),
         [BASELINE] = OPTION_GROUP("Baselines without a model", baseline_rows, options),
         [CORPUS] = corpus_group(&options->corpus)}};
    all.groups[CORPUS].title = "Text (tokenizer and vocabulary: with --baseline)";
    return all;
}

/* --- checks --- */

static bool belongs(const Option *option, const OptionGroup *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (option == &group->options[i])
            return true;
    return false;
}

static void check_groups(bool baseline, const Options *groups, const CommandLine *line)
{
    for (size_t i = 0; i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        bool of_corpus = belongs(option, &groups->groups[CORPUS]);
        bool of_baseline = belongs(option, &groups->groups[BASELINE]) ||
                           (of_corpus && option->fixed);
        if (baseline && !of_baseline && !of_corpus &&
            !belongs(option, &groups->groups[GENERAL]))
            die_usage("--%s needs a model; --baseline has none", option->name);
        if (!baseline && of_baseline)
            die_usage("--%s only has an effect with --baseline", option->name);
    }
}

/* Whether the option is given, other than as --no-NAME. */
static bool asked_for(const CommandLine *line, const char *name)
{
    const char *value = command_line_value(line, name);
    return value && strcmp(value, "no") != 0;
}

static void check_companions(const EvalOptions *options, const CommandLine *line)
{
    const struct {
        const char *name, *wanted;
        bool enabled;
    } rows[] = {{"svg", "by-position", options->by_position},
                {"cache-theta", "cache", options->cache > 0},
                {"cache-lambda", "cache", options->cache > 0},
                {"tune-cache", "cache", options->cache > 0},
                {"dynamic-segment", "dynamic", options->dynamic},
                {"dynamic-lr", "dynamic", options->dynamic},
                {"dynamic-decay", "dynamic", options->dynamic},
                {"dynamic-epsilon", "dynamic", options->dynamic},
                {"dynamic-statistics", "dynamic", options->dynamic},
                {"tune-dynamic", "dynamic", options->dynamic}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].enabled && asked_for(line, rows[i].name))
            die_usage("--%s only has an effect with --%s", rows[i].name, rows[i].wanted);
}

/* Several runs together: what only makes sense for one model. */
static void check_together(const EvalOptions *options)
{
    const struct {
        const char *name;
        bool given;
    } rows[] = {{"temperature", options->temperature > 0},
                {"tune-temperature", options->tune_temperature},
                {"cache", options->cache > 0},
                {"dynamic", options->dynamic}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given)
            die_usage("--%s is for the scores of one run or of a grid, not for several runs "
                      "together",
                      rows[i].name);
}

void eval_options_check_runs(const EvalOptions *options)
{
    if (options->paired && options->runs < 2)
        die_usage("--paired compares runs: eval --paired RUN1 RUN2 CORPUS");
    if (options->runs > 1 && !options->separately)
        check_together(options);
}

void eval_options_check(const EvalOptions *options, const Options *groups,
                        const CommandLine *line)
{
    const double coldest = 0.01;
    check_groups(options->baseline, groups, line);
    check_companions(options, line);
    if (options->temperature > 0 && options->temperature < coldest)
        die_usage("--temperature %g: must be 0 or at least %g", options->temperature, coldest);
    if (options->temperature > 0 && options->tune_temperature)
        die_usage(
            "--temperature sets what --tune-temperature searches for; give only one of them");
    if (options->tune_cache &&
        (command_line_value(line, "cache-theta") || command_line_value(line, "cache-lambda")))
        die_usage("--tune-cache searches for theta and lambda; leave --cache-theta and "
                  "--cache-lambda out");
    if (options->tune_dynamic &&
        (command_line_value(line, "dynamic-lr") || command_line_value(line, "dynamic-decay")))
        die_usage(
            "--tune-dynamic searches for both; leave --dynamic-lr and --dynamic-decay out");
    if (options->baseline ? line->operand_count != 1 : line->operand_count < 2)
        die_usage(options->baseline ? "--baseline needs exactly one corpus"
                                    : "a run and a corpus are needed: eval RUN CORPUS");
}

/* --- how the model reads --- */

static void settle_segment(EvalOptions *options, const ModelConfig *config)
{
    if (options->dynamic_segment == 0)
        options->dynamic_segment = options->stride;
    if (options->dynamic_segment > options->window)
        die_usage("--dynamic-segment %zu is longer than --context %zu",
                  options->dynamic_segment, options->window);
    if (config->carry_state && options->dynamic_segment < options->window)
        die_usage("--dynamic-segment %zu: with a carried state it must equal --context",
                  options->dynamic_segment);
}

void eval_options_settle(EvalOptions *options, ModelConfig *config)
{
    Error error;
    if (options->carry_state != TRISTATE_AUTO)
        config->carry_state = options->carry_state == TRISTATE_YES;
    if (config->carry_state && !config_check_carrying(config, &error))
        die_usage("%s", error.text);
    if (options->batch == 0)
        options->batch = score_usual_batch(config);
    if (options->window == 0)
        options->window = config->context;
    if (options->stride == 0)
        options->stride = options->window;
    if (options->stride > options->window)
        die_usage("--stride %zu is longer than --context %zu and would skip tokens",
                  options->stride, options->window);
    if (options->stride < options->window && config->carry_state)
        die_usage("--stride %zu: with a carried state, windows cannot overlap; leave it out",
                  options->stride);
    if (options->window > config->context && config->positions == POSITIONS_LEARNED)
        die_usage("--context %zu: this model has learned positions for a context of %zu only",
                  options->window, config->context);
    if (config->carry_state && options->batch > 1 &&
        (options->cache > 0 || options->dynamic || (options->runs > 1 && !options->separately)))
        die_usage("--batch %zu: with a carried state, --cache, --dynamic and several runs "
                  "together read the text as one stream; use --batch 1",
                  options->batch);
    if (options->by_position && config->carry_state)
        die_usage("--by-position: with a carried state, all positions have the text before the "
                  "window for context; add --carry-state no");
    if (options->by_position && options->stride < options->window)
        die_usage("--by-position: windows must not overlap; leave --stride %zu out",
                  options->stride);
    settle_segment(options, config);
}
