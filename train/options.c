#include "train/options.h"
#include "data/utf8.h"
#include "models/preset.h"
#include "models/update.h"
#include "src/gemm.h"
#include "src/memory.h"
#include "src/optim/schedule.h"
#include "src/text.h"
#include "train/average.h"

#include <stdlib.h>
#include <string.h>

#define TRAIN(name)   offsetof(TrainOptions, name)
#define SESSION(name) offsetof(SessionOptions, name)

static const char *on_nan_name(size_t index)
{
    static const char *const names[] = {"stop", "skip"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* clang-format off */
static const Option train_rows[] = {
    {.name = "corpus", .argument = "FILE", .type = OPTION_TEXT,
     .offset = TRAIN(corpus), .stored = true,
     .help = "the text; the same as naming it without --corpus"},
    {.name = "epochs", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(epochs), .low = 1, .high = 1e6, .fallback = "10", .stored = true,
     .fixed = true,
     .help = "how often to go through the training text"},
    {.name = "steps", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(steps), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "steps to train instead, where not 0"},
    {.name = "batch", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(batch), .low = 1, .high = 1e6, .fallback = "16", .stored = true,
     .fixed = true,
     .help = "windows that are computed together"},
    {.name = "accumulate", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(accumulate), .low = 1, .high = 1e6, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "batches whose gradients make one step"},
    {.name = "shards", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(shards), .low = 0, .high = 1e6, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "parts that a batch is computed in, which as many ranks can share (mpirun); the "
             "result depends on the parts and not on the ranks. 0: as many as there are ranks"},
    {.name = "lr", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(lr), .low = 0, .high = 100, .fallback = "2e-3", .stored = true,
     .fixed = true,
     .help = "learning rate at its highest"},
    {.name = "lr-floor", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(lr_floor), .low = 0, .high = 1, .fallback = "0.1", .stored = true,
     .fixed = true,
     .help = "share of it that the schedule ends at"},
    {.name = "warmup", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(warmup), .low = 0, .high = 1e9, .fallback = "200", .stored = true,
     .fixed = true,
     .help = "steps in which the learning rate rises"},
    {.name = "schedule", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(schedule), .fallback = "cosine", .choice = schedule_name, .stored = true,
     .fixed = true,
     .help = "how the learning rate falls"},
    {.name = "weight-decay", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(weight_decay), .low = 0, .high = 100, .fallback = "0.1", .stored = true,
     .fixed = true,
     .help = "decay of the matrices"},
    {.name = "optimizer", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(optimizer), .fallback = "adamw", .choice = optimizer_name,
     .stored = true, .fixed = true,
     .help = "what moves the matrices inside the blocks; AdamW moves all else"},
    {.name = "momentum", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(momentum), .low = 0, .high = 0.99999, .fallback = "0.95",
     .stored = true, .fixed = true,
     .help = "memory of Muon's mean"},
    {.name = "beta1", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(beta1), .low = 0, .high = 0.99999, .fallback = "0.9", .stored = true,
     .fixed = true,
     .help = "memory of AdamW's mean"},
    {.name = "beta2", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(beta2), .low = 0, .high = 0.99999, .fallback = "0.95", .stored = true,
     .fixed = true,
     .help = "memory of AdamW's mean square"},
    {.name = "clip", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(clip), .low = 0, .high = 1e9, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "longest gradient that is not shortened; 0: never"},
    {.name = "average", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(average), .fallback = "none", .choice = average_name, .stored = true,
     .fixed = true,
     .help = "validate and keep an average of the weights: of all since --average-from, or "
             "an exponential one"},
    {.name = "average-from", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(average_from), .low = 0, .high = 1, .fallback = "0.8", .stored = true,
     .fixed = true,
     .help = "share of the training after which averaging begins"},
    {.name = "average-decay", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(average_decay), .low = 0, .high = 0.9999999, .fallback = "0.998",
     .stored = true, .fixed = true,
     .help = "memory of an exponential average, a step"},
    {.name = "streams", .type = OPTION_FLAG,
     .offset = TRAIN(streams), .fallback = "no", .stored = true, .fixed = true,
     .help = "windows in the order of the text, each row of a batch a stream, in place of a "
             "random order"},
    {.name = "jitter", .argument = "X", .type = OPTION_REAL,
     .offset = TRAIN(jitter), .low = 0, .high = 0.9, .fallback = "0", .stored = true,
     .fixed = true,
     .help = "windows of random lengths, shorter than --context by up to this share of it"},
    {.name = "seed", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(seed), .low = 0, .high = OPTION_MOST, .fallback = "1", .stored = true,
     .fixed = true,
     .help = "of everything random"},
    {.name = "eval-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(eval_every), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .help = "validate every so many steps, besides at the end of each epoch"},
    {.name = "save-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(save_every), .low = 0, .high = 1e12, .fallback = "0", .stored = true,
     .help = "save every so many steps, besides at each validation"},
    {.name = "log-every", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(log_every), .low = 1, .high = 1e9, .fallback = "20", .stored = true,
     .help = "write to the log every so many steps"},
    {.name = "patience", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(patience), .low = 0, .high = 1e6, .fallback = "0", .stored = true,
     .help = "stop after so many validations without a best; 0: never"},
    {.name = "on-nan", .argument = "WHAT", .type = OPTION_CHOICE,
     .offset = TRAIN(on_nan), .fallback = "stop", .choice = on_nan_name, .stored = true,
     .help = "a step whose loss or gradient is not finite is never taken: stop there, or "
             "skip it"},
    {.name = "nan-limit", .argument = "N", .type = OPTION_SIZE,
     .offset = TRAIN(nan_limit), .low = 1, .high = 1e9, .fallback = "10", .stored = true,
     .help = "stop after so many skipped steps in a row"},
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = TRAIN(precision), .fallback = "single", .choice = gemm_precision_name,
     .stored = true,
     .help = "of products with weights; pair: pairs of bf16, right to 17 bits in place of 24, "
             "which pay where there are tiles (AMX); bf16: right to 8 bits and the fastest, "
             "where the processor multiplies them (AVX512_BF16)"},
};

static const Option session_rows[] = {
    {.name = "run", .argument = "DIR", .type = OPTION_TEXT,
     .offset = SESSION(run),
     .help = "folder to leave the run in; otherwise a new one in runs/"},
    {.name = "resume", .argument = "DIR", .type = OPTION_TEXT,
     .offset = SESSION(resume),
     .help = "go on with the run in this folder, to the same bits"},
    {.name = "preset", .argument = "NAME", .type = OPTION_TEXT,
     .offset = SESSION(preset),
     .help = "settings from models/NAME.conf, or from a file"},
    {.name = "stop-after", .argument = "N", .type = OPTION_TEXT,
     .offset = SESSION(stop_after),
     .help = "end this session after so many steps, or a time such as 90m; saved and "
             "resumable"},
    {.name = "threads", .argument = "N", .type = OPTION_SIZE,
     .offset = SESSION(threads), .low = 0, .high = 1024, .fallback = "0",
     .help = "threads; 0: one for each processor. The result is the same"},
    {.name = "max-mem", .argument = "MB", .type = OPTION_SIZE,
     .offset = SESSION(max_mem), .low = 0, .high = 1e9, .fallback = "0",
     .help = "refuse to start if more memory is needed; 0: 80 % of what is free. The limits "
             "of the system hold in any case"},
    {.name = "recompute", .type = OPTION_FLAG,
     .offset = SESSION(recompute), .fallback = "no",
     .help = "keep less for the backward pass and compute it again: slower, less memory, "
             "the same result"},
    {.name = "sample-every", .argument = "N", .type = OPTION_SIZE,
     .offset = SESSION(sample_every), .low = 0, .high = 1e9, .fallback = "0",
     .help = "at every N-th validation let the model write a few words, also into "
             "samples.txt; 0: never"},
    {.name = "tensorboard", .type = OPTION_FLAG,
     .offset = SESSION(tensorboard), .fallback = "no",
     .help = "write event files for TensorBoard into the run's folder"},
    {.name = "watch", .type = OPTION_FLAG,
     .offset = SESSION(watch), .fallback = "no",
     .help = "show curves and progress on the whole terminal"},
    {.name = "quiet", .type = OPTION_FLAG,
     .offset = SESSION(quiet), .fallback = "no",
     .help = "only warnings and errors"},
};
/* clang-format on */

#define ROWS(rows) rows, sizeof rows / sizeof *rows

void settings_groups(Settings *settings, OptionGroup groups[GROUP_COUNT])
{
    groups[GROUP_MODEL] = (OptionGroup){"The model", model_option_rows, model_option_count,
                                        &settings->model};
    groups[GROUP_CORPUS] = (OptionGroup){"The text", corpus_option_rows, corpus_option_count,
                                         &settings->corpus};
    groups[GROUP_TRAIN] = (OptionGroup){"Training", ROWS(train_rows), &settings->train};
    groups[GROUP_SESSION] = (OptionGroup){"This session", ROWS(session_rows),
                                          &settings->session};
}

char *settings_text(const Settings *settings)
{
    OptionGroup groups[GROUP_COUNT];
    settings_groups((Settings *)settings, groups);
    return options_write_text(groups, GROUP_COUNT);
}

static bool read_preset(const OptionGroup *groups, const char *name, Error *error)
{
    char *path, *text = preset_text(name, &path, error);
    bool good = text && options_read_text(groups, GROUP_COUNT, text, path, error);
    free(text);
    free(path);
    return good;
}

/* Whether the command line leaves every fixed setting as the run has it. */
static bool keeps_fixed(const OptionGroup *before, const OptionGroup *after,
                        const CommandLine *line, Error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        const OptionGroup *group_before, *group_after;
        if (!option->fixed)
            continue;
        option_find(before, GROUP_COUNT, option->name, &group_before);
        option_find(after, GROUP_COUNT, option->name, &group_after);
        char *old = option_value(group_before, option),
             *new = option_value(group_after, option);
        if (strcmp(old, new) != 0)
            good = error_set(error,
                             "--%s %s: this run has %s and keeps it; only a new run, without "
                             "--resume, can have another",
                             option->name, new, old);
        free(old);
        free(new);
    }
    return good;
}

/* Checkpoints keep the settings as JSON, which is UTF-8: better said now than after an epoch.
 */
static bool check_names(const Settings *settings, Error *error)
{
    const char *names[] = {settings->train.corpus, settings->corpus.valid,
                           settings->corpus.test};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (const char *c = names[i]; c && *c;) {
            size_t length = utf8_length(c, strlen(c));
            if (length == 0)
                return error_set(error,
                                 "%s: this name is not UTF-8, and a checkpoint cannot keep it; "
                                 "please rename the file",
                                 names[i]);
            c += length;
        }
    return true;
}

/* Ways of training that this model cannot bear. */
static bool check_together(const Settings *settings, Error *error)
{
    const TrainOptions *train = &settings->train;
    if (train->jitter > 0 && settings->model.carry_state)
        return error_set(error, "--jitter: what fills up a shorter window would get into the "
                                "state that --carry-state takes on to the next one");
    if (train->average != AVERAGE_NONE && settings->model.own.redraw > 0 &&
        train->average_from < 1 - 1.0 / SETTLING)
        return error_set(error,
                         "--average-from %g: --redraw draws features anew until %g of the "
                         "training, and the mean of different ones is of no use",
                         train->average_from, 1 - 1.0 / SETTLING);
    return true;
}

bool settings_read(Settings *settings, const CommandLine *line, const char *resumed,
                   Error *error)
{
    Settings base = {0};
    OptionGroup groups[GROUP_COUNT], base_groups[GROUP_COUNT];
    settings_groups(settings, groups);
    settings_groups(&base, base_groups);
    options_set_defaults(groups, GROUP_COUNT);
    options_set_defaults(base_groups, GROUP_COUNT);
    const char *preset = command_line_value(line, "preset");
    bool good;
    if (resumed)
        good = options_read_text(groups, GROUP_COUNT, resumed, "the checkpoint", error) &&
               options_read_text(base_groups, GROUP_COUNT, resumed, "the checkpoint", error);
    else
        good = !preset || read_preset(groups, preset, error);
    good = good && options_apply(groups, GROUP_COUNT, line, error);
    if (good && line->operand_count == 1)
        good = options_set(groups, GROUP_COUNT, "corpus", line->operands[0], "CORPUS", error);
    if (good && resumed)
        good = keeps_fixed(base_groups, groups, line, error);
    options_free_texts(base_groups, GROUP_COUNT);
    return good && check_names(settings, error) && config_check(&settings->model, error) &&
           config_check_own(&settings->model, error) && check_together(settings, error);
}

bool stop_after_read(StopAfter *stop, const char *text, Error *error)
{
    *stop = (StopAfter){0};
    if (!text || !*text)
        return true;
    char *number = memory_copy_text(text);
    char *unit = number + strlen(number) - 1;
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    bool good = false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*unit == units[i].letter) {
            *unit = '\0';
            good = text_to_double(number, &stop->seconds) && stop->seconds > 0;
            stop->seconds *= units[i].seconds;
            free(number);
            return good ||
                   error_set(error, "--stop-after: '%s' is not a time such as 90m", text);
        }
    good = text_to_size(number, &stop->steps) && stop->steps > 0;
    free(number);
    return good || error_set(error,
                             "--stop-after: '%s' is neither a number of steps nor a "
                             "time such as 30s, 90m, 2h",
                             text);
}
