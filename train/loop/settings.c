/* The settings of a training session: read from defaults, presets, stored settings and the
 * command line, and checked. */
#include "train/loop/init.h"
#include "data/corpora/tasks.h"
#include "data/tokenizers/utf8.h"
#include "models/preset.h"
#include "models/update.h"
#include "src/base/memory.h"
#include "src/optim/schedule.h"
#include "src/ranks/ranks.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

char *settings_text(const Settings *settings)
{
    const Options options = settings_options(settings);
    return options_write_text(&options);
}

static bool read_preset(const Options *options, const char *name, Error *error)
{
    char *path, *text = preset_text(name, &path, error);
    bool good = text && options_read_text(options, text, path, error);
    free(text);
    free(path);
    return good;
}

/* Notes the old length if the command line changes it. --epochs alone also takes a run to
 * epochs whose length was given in steps. */
static void note_length(Settings *settings, const TrainOptions *old, const CommandLine *line)
{
    TrainOptions *train = &settings->train;
    if (command_line_value(line, "epochs") && !command_line_value(line, "steps"))
        train->length.steps = 0;
    settings->before = (LengthBefore){.changed = train->length.epochs != old->length.epochs ||
                                                 train->length.steps != old->length.steps,
                                      .length = old->length,
                                      .patience = old->patience};
}

/* Whether the command line changes no fixed setting of the run. */
static bool keeps_fixed(const Options *before, const Options *after, const CommandLine *line,
                        bool lengthened, Error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        if (!option->fixed || (option->extends && lengthened))
            continue;
        char *old = option_value(before, option), *new = option_value(after, option);
        if (strcmp(old, new) != 0)
            good = error_set(error, "--%s %s: this run was started with %s and keeps it; %s",
                             option->name, new, old,
                             option->extends
                                 ? "it may change together with the length (--epochs, --steps)"
                                 : "start a new run, without --resume, to change it");
        free(old);
        free(new);
    }
    return good;
}

/* Checkpoints store the settings as JSON, which is UTF-8; fail now rather than at the first
 * checkpoint. */
static bool check_names(const Settings *settings, Error *error)
{
    const char *names[] = {settings->train.corpus,      settings->corpus.valid,
                           settings->corpus.test,       settings->corpus.tokenizer_file,
                           settings->train.init,        settings->train.distill,
                           settings->train.soft_targets};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *c = names[i]; c && *c;) {
            size_t length = utf8_length(c, strlen(c));
            if (length == 0)
                return error_set(
                    error,
                    "%s: this file name is not UTF-8, and a checkpoint cannot store "
                    "it; rename the file",
                    names[i]);
            c += length;
        }
    return true;
}

/* Each shard has a sequence of the batch at least, and each rank a shard. */
static bool check_shards(const TrainOptions *train, Error *error)
{
    size_t ranks = ranks_count(), shards = train->shards ? train->shards : ranks;
    if (shards > train->batch)
        return error_set(
            error,
            "--shards %zu: more than the sequences of a batch (--batch %zu); give a "
            "larger --batch, fewer --shards, or start fewer ranks",
            shards, train->batch);
    if (shards < ranks)
        return error_set(
            error, "--shards %zu: fewer shards than the %zu ranks; start at most %zu ranks",
            shards, ranks, shards);
    return true;
}

/* Settings that contradict one another. */
static bool check_together(const Settings *settings, Error *error)
{
    const TrainOptions *train = &settings->train;
    bool soft = train->soft_targets != NULL, cycles = train->length.cycles > 0;
    const struct {
        bool both;
        const char *one, *other;
    } pairs[] = {
        {soft && train->distill, "--soft-targets", "--distill, which has another teacher"},
        {soft && settings->model.logit_cap > 0, "--soft-targets", "--logit-cap"},
        {cycles && train->average != AVERAGE_NONE, "--cycles",
         "--average, since they average the weights at their ends"},
        {cycles && train->patience > 0, "--cycles",
         "--patience, since the validation loss rises at the start of each cycle"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].both)
            return error_set(error, "%s cannot be combined with %s; omit one of them",
                             pairs[i].one, pairs[i].other);
    return true;
}

/* Refuses options on the command line that would have no effect. Presets may contain them. */
static bool check_effects(const Settings *settings, const CommandLine *line, Error *error)
{
    const TrainOptions *train = &settings->train;
    bool in_words = settings->corpus.tokenizer == TOKENIZER_WORD ||
                    settings->corpus.tokenizer == TOKENIZER_WORDPUNCT;
    bool is_constant = strcmp(schedule_name(train->length.schedule), "constant") == 0;
    const struct {
        const char *option;
        bool effective;
        const char *needs;
    } rules[] = {
        {"momentum", train->optimizer == OPTIMIZER_MUON, "--optimizer muon"},
        {"average-from", train->average == AVERAGE_TAIL || train->average == AVERAGE_EMA,
         "--average tail or ema"},
        {"average-decay", train->average == AVERAGE_EMA, "--average ema"},
        {"nan-limit", train->on_nan == ON_NAN_SKIP, "--on-nan skip"},
        {"lr-floor", train->length.cycles > 0 || !is_constant,
         "--cycles or a --schedule other than constant"},
        {"epochs", train->length.steps == 0,
         "--steps 0, since --steps decides when both are set"},
        {"rope-base", settings->model.positions == POSITIONS_ROTARY, "--pos rotary"},
        {"rope-share", settings->model.positions == POSITIONS_ROTARY, "--pos rotary"},
        {"ngram-rows", settings->model.ngrams > 1, "--ngrams 2 or more"},
        {"ngram-dropout", settings->model.ngrams > 1, "--ngrams 2 or more"},
        {"init-tokens", train->init != NULL, "--init"},
        {"distill-share", train->distill || train->soft_targets, "--distill or --soft-targets"},
        {"match-epochs", train->convert != NULL, "--convert"},
        {"match-lr", train->convert && train->match_epochs > 0, "--convert and --match-epochs"},
        {"trim", !settings->corpus.trim || !in_words, "--tokens char, byte or bpe"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (command_line_value(line, rules[i].option) && !rules[i].effective)
            return error_set(error, "--%s has no effect here: it needs %s", rules[i].option,
                             rules[i].needs);
    return true;
}

/* Those of the checkpoint of the run to resume. */
static bool read_resumed(const Options *options, const char *resumed, Error *error)
{
    /* Runs older than --eval-tokens validate on the whole text. */
    return options_set(options, "eval-tokens", "0", "", error) &&
           options_read_text(options, resumed, "the checkpoint", error);
}

/* What the command line changes: the defaults of a new run, or a run. `base` has what was
 * before the command line. */
static bool read_base(Settings *settings, Settings *base, const CommandLine *line,
                      const char *resumed, Init *init, Error *error)
{
    const Options options = settings_options(settings), before = settings_options(base);
    const char *preset = command_line_value(line, "preset");
    options_set_defaults(&options);
    options_set_defaults(&before);
    if (resumed)
        return init_refuse(line, error) && read_resumed(&before, resumed, error) &&
               read_resumed(&options, resumed, error);
    return (!preset || read_preset(&before, preset, error)) &&
           init_apply(init, settings, base, line, error) &&
           (!preset || read_preset(&options, preset, error));
}

/* The windows of a synthetic task are its lines. A context that a preset has gives way. */
static bool settle_task(Settings *settings, const CommandLine *line, Error *error)
{
    Task task;
    const char *name = settings->train.corpus;
    if (!name || !task_is_named(name))
        return true;
    if (!task_read(&task, name, error))
        return false;
    size_t tokens = task.length + 1;
    if (command_line_value(line, "context") && settings->model.context != tokens)
        return error_set(error,
                         "--context %zu: a line of %s has %zu tokens, which is the context; "
                         "leave the option out",
                         settings->model.context, name, tokens);
    if (settings->model.carry_state)
        return error_set(error,
                         "--carry-state: each line of %s is an example of its own; leave "
                         "the option out",
                         name);
    settings->model.context = tokens;
    return true;
}

bool settings_read(Settings *settings, const CommandLine *line, const char *resumed, Init *init,
                   Error *error)
{
    Settings base = {0};
    *init = (Init){0};
    const Options options = settings_options(settings), before = settings_options(&base);
    bool good = read_base(settings, &base, line, resumed, init, error) &&
                options_apply(&options, line, error);
    if (good && line->operand_count == 1)
        good = options_set(&options, "corpus", line->operands[0], "CORPUS", error);
    settings->corpus.tokenizer_given = command_line_value(line, "tokens") != NULL;
    good = good && settle_task(settings, line, error);
    if (good && resumed)
        note_length(settings, &base.train, line);
    if (good && resumed)
        good = keeps_fixed(&before, &options, line, settings->before.changed, error);
    options_free_texts(&before);
    good = good && check_names(settings, error) && init_settle(init, settings, line, error) &&
           config_check(&settings->model, error) &&
           config_check_kind_options(&settings->model, error) &&
           init_check(init, settings, error) && check_together(settings, error) &&
           check_shards(&settings->train, error) && check_effects(settings, line, error);
    error->usage = !init->is_named || init->is_open;
    if (!good)
        init_close(init);
    return good;
}

bool stop_after_read(StopAfter *stop, const char *text, Error *error)
{
    static const char units[] = "smh";
    static const double seconds[] = {1, 60, 3600};
    *stop = (StopAfter){0};
    if (!text || !*text)
        return true;
    char *number = memory_copy_text(text), *last = number + strlen(number) - 1;
    const char *unit = strchr(units, *last);
    bool good;
    if (unit) {
        *last = '\0';
        good = text_to_double(number, &stop->seconds) && stop->seconds > 0;
        stop->seconds *= seconds[unit - units];
    } else {
        good = text_to_size(number, &stop->steps) && stop->steps > 0;
    }
    free(number);
    return good || error_set(error,
                             "--stop-after: '%s' is neither a number of steps nor a "
                             "time such as 30s, 90m, 2h",
                             text);
}
