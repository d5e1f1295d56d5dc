#include "train/options.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/optim/schedule.h"
#include "src/text.h"

#include <stdlib.h>
#include <string.h>

#define TRAIN(name)   offsetof(TrainOptions, name)
#define SESSION(name) offsetof(SessionOptions, name)

/* clang-format off: a table reads best in rows */
static const Option train_rows[] = {
    {"corpus", "FILE", OPTION_TEXT, TRAIN(corpus), 0, 0, NULL, NULL,
     "the text; the same as naming it without --corpus", true, false},
    {"epochs", "N", OPTION_SIZE, TRAIN(epochs), 1, 1e6, "10", NULL,
     "how often to go through the training text", true, true},
    {"steps", "N", OPTION_SIZE, TRAIN(steps), 0, 1e12, "0", NULL,
     "steps to train instead, where not 0", true, true},
    {"batch", "N", OPTION_SIZE, TRAIN(batch), 1, 1e6, "16", NULL,
     "windows that are computed together", true, true},
    {"accumulate", "N", OPTION_SIZE, TRAIN(accumulate), 1, 1e6, "1", NULL,
     "batches whose gradients make one step", true, true},
    {"lr", "X", OPTION_REAL, TRAIN(lr), 0, 100, "1e-3", NULL, "learning rate at its highest",
     true, true},
    {"lr-floor", "X", OPTION_REAL, TRAIN(lr_floor), 0, 1, "0.1", NULL,
     "share of it that the schedule ends at", true, true},
    {"warmup", "N", OPTION_SIZE, TRAIN(warmup), 0, 1e9, "100", NULL,
     "steps in which the learning rate rises", true, true},
    {"schedule", "KIND", OPTION_CHOICE, TRAIN(schedule), 0, 0, "cosine", schedule_name,
     "how the learning rate falls", true, true},
    {"weight-decay", "X", OPTION_REAL, TRAIN(weight_decay), 0, 100, "0.1", NULL,
     "decay of the matrices", true, true},
    {"beta1", "X", OPTION_REAL, TRAIN(beta1), 0, 0.99999, "0.9", NULL, "memory of AdamW's mean",
     true, true},
    {"beta2", "X", OPTION_REAL, TRAIN(beta2), 0, 0.99999, "0.95", NULL,
     "memory of AdamW's mean square", true, true},
    {"clip", "X", OPTION_REAL, TRAIN(clip), 0, 1e9, "1", NULL,
     "longest gradient that is not shortened; 0: never", true, true},
    {"seed", "N", OPTION_SIZE, TRAIN(seed), 0, OPTION_MOST, "1", NULL, "of everything random",
     true, true},
    {"eval-every", "N", OPTION_SIZE, TRAIN(eval_every), 0, 1e12, "0", NULL,
     "validate every so many steps, besides at the end of each epoch", true, false},
    {"save-every", "N", OPTION_SIZE, TRAIN(save_every), 0, 1e12, "0", NULL,
     "save every so many steps, besides at each validation", true, false},
    {"log-every", "N", OPTION_SIZE, TRAIN(log_every), 1, 1e9, "20", NULL,
     "write to the log every so many steps", true, false},
    {"patience", "N", OPTION_SIZE, TRAIN(patience), 0, 1e6, "0", NULL,
     "stop after so many validations without a best; 0: never", true, false},
};

static const Option session_rows[] = {
    {"run", "DIR", OPTION_TEXT, SESSION(run), 0, 0, NULL, NULL,
     "folder to leave the run in; otherwise a new one in runs/", false, false},
    {"resume", "DIR", OPTION_TEXT, SESSION(resume), 0, 0, NULL, NULL,
     "go on with the run in this folder, to the same bits", false, false},
    {"preset", "NAME", OPTION_TEXT, SESSION(preset), 0, 0, NULL, NULL,
     "settings from models/NAME.conf, or from a file", false, false},
    {"stop-after", "N", OPTION_TEXT, SESSION(stop_after), 0, 0, NULL, NULL,
     "end this session after so many steps, or a time such as 90m; saved and resumable", false,
     false},
    {"threads", "N", OPTION_SIZE, SESSION(threads), 0, 1024, "0", NULL,
     "threads; 0: one for each processor. The result is the same", false, false},
    {"max-mem", "MB", OPTION_SIZE, SESSION(max_mem), 0, 1e9, "0", NULL,
     "refuse to start if more memory is needed; 0: 80 % of what is free", false, false},
    {"quiet", NULL, OPTION_FLAG, SESSION(quiet), 0, 0, "no", NULL, "only warnings and errors",
     false, false},
    {"help", NULL, OPTION_ACTION, 0, 0, 0, NULL, NULL, "this text", false, false},
    {"version", NULL, OPTION_ACTION, 0, 0, 0, NULL, NULL, "what this is", false, false},
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

/* A file as named, else NAME.conf in the models folder beside the program's. */
static char *find_preset(const char *name, Error *error)
{
    if (file_exists(name) && !file_is_folder(name))
        return memory_copy_text(name);
    static const char *const places[] = {"../models", "../share/linnet/models"};
    char *folder = file_program_folder();
    char *found = NULL;
    for (size_t i = 0; !found && i < sizeof places / sizeof *places; i++) {
        char *path = text_format("%s/%s/%s.conf", folder, places[i], name);
        if (file_exists(path))
            found = path;
        else
            free(path);
    }
    if (!found)
        error_set(error, "--preset %s: no such file, and no %s.conf in %s/../models", name,
                  name, folder);
    free(folder);
    return found;
}

static bool read_preset(const OptionGroup *groups, const char *name, Error *error)
{
    enum { MOST = 1 << 20 };
    char *path = find_preset(name, error), *text = NULL;
    size_t size;
    bool good = path && file_read(path, MOST, &text, &size, error) &&
                options_read_text(groups, GROUP_COUNT, text, path, error);
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
            good = error_set(error, "--%s %s: this run has %s, and a run keeps it when resumed",
                             option->name, new, old);
        free(old);
        free(new);
    }
    return good;
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
    return good && config_check(&settings->model, error);
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
