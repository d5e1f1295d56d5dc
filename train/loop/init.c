#include "train/loop/init.h"

#include <stdlib.h>
#include <string.h>

bool init_open(Init *init, const char *run, Error *error)
{
    char *path = checkpoint_path(run, error);
    init->is_open = path && checkpoint_open(&init->checkpoint, path, error);
    free(path);
    return init->is_open;
}

void init_close(Init *init)
{
    if (init->is_open)
        checkpoint_close(&init->checkpoint);
    init->is_open = false;
}

bool init_refuse(const CommandLine *line, Error *error)
{
    return !command_line_value(line, "init") ||
           error_set(error,
                     "--init and --resume contradict each other: --resume continues a run, "
                     "--init starts a new one from the weights of a run");
}

/* The option of the command line that asks for another tokenizer; NULL: none. */
static const char *tokenizer_option(const CommandLine *line)
{
    for (size_t i = 0; i < line->given_count; i++)
        if (adopt_sets_tokenizer(line->given[i].option->name))
            return line->given[i].option->name;
    return NULL;
}

/* Whether the new tokenizer is like the run's where no option says otherwise. A preset that
 * asks for one of the text's own says what it is like. */
static bool inherits_tokenizer(const TrainOptions *preset, const CommandLine *line)
{
    return preset->init_tokens != INIT_TOKENS_TEXT && !command_line_value(line, "tokens") &&
           !command_line_value(line, "tokenizer-file");
}

bool init_take(Init *init, Settings *settings, const Settings *preset, const CommandLine *line,
               Error *error)
{
    OptionGroup groups[GROUP_COUNT];
    const char *run = command_line_value(line, "init");
    if (!run)
        run = preset->train.init;
    if (!run)
        return true;
    init->preset_has_tokenizer_file = *preset->corpus.tokenizer_file != '\0';
    settings_groups(settings, groups);
    settings->init_unreadable = !init_open(init, run, error);
    return init->is_open && adopt_shape(groups, GROUP_COUNT, &init->checkpoint, error) &&
           (!inherits_tokenizer(&preset->train, line) ||
            adopt_tokenizer(groups, GROUP_COUNT, &init->checkpoint, error));
}

/* Options of kinds that the model does not have came with the run's. */
static bool drop_unused(Settings *settings, const CommandLine *line, Error *error)
{
    const OptionGroup group = config_group(&settings->model);
    bool good = true;
    for (size_t i = 0; good && i < group.count; i++) {
        const Option *option = &group.options[i];
        if (!config_has_option(&settings->model, option) &&
            !command_line_value(line, option->name))
            good = options_set(&group, 1, option->name, option->fallback, option->name, error);
    }
    return good;
}

bool init_settle(const Init *init, Settings *settings, const CommandLine *line, Error *error)
{
    TrainOptions *train = &settings->train;
    const char *asked = tokenizer_option(line);
    if (!init->is_open)
        return true;
    if (asked && train->init_tokens == INIT_TOKENS_RUN &&
        command_line_value(line, "init-tokens"))
        return error_set(error, "--%s and --init-tokens run contradict each other", asked);
    if (asked || train->init_tokens == INIT_TOKENS_AUTO)
        train->init_tokens = asked ? INIT_TOKENS_TEXT : INIT_TOKENS_RUN;
    if (train->init_tokens == INIT_TOKENS_TEXT && !command_line_value(line, "tokenizer-file") &&
        !init->preset_has_tokenizer_file) {
        free(settings->corpus.tokenizer_file); /* the run's */
        settings->corpus.tokenizer_file = NULL;
    }
    return drop_unused(settings, line, error);
}

bool init_check(const Init *init, const Settings *settings, Error *error)
{
    return !init->is_open || adopt_check(&settings->model, &init->checkpoint, error);
}
