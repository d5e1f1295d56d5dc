#include "train/loop/init.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

void init_close(Init *init)
{
    if (init->is_open)
        checkpoint_close(&init->checkpoint);
    init->is_open = false;
}

bool init_refuse(const CommandLine *line, Error *error)
{
    const char *const names[] = {"init", "convert"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (command_line_value(line, names[i]))
            return error_set(error,
                             "--%s and --resume contradict each other: --resume continues a "
                             "run, --%s starts a new one from the weights of a run",
                             names[i], names[i]);
    return true;
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

/* What a conversion has in place of the run's settings. Unless a corpus is named, the text is
 * the run's, too. */
static bool apply_recipe(const Init *init, Settings *settings, const char *run, bool other_text,
                         Error *error)
{
    const Options options = settings_options(settings);
    const char *text = checkpoint_extra(&init->checkpoint, TRAINING_KEY);
    if (text && !options_read_text(&options, text, init->checkpoint.file.path, error))
        return false;
    free(settings->train.soft_targets); /* the teacher is RUN itself */
    settings->train.soft_targets = NULL;
    char *lr = text_format("%.9g", settings->train.length.lr / 5);
    const struct {
        const char *name, *value;
    } changes[] = {{"convert", run},
                   {"init", run},
                   {"distill", run},
                   {"init-tokens", "run"},
                   {"distill-share", "1"},
                   {"word-dropout", "0"}, /* a student under dropout overshoots */
                   {"ngram-dropout", "0"},
                   {"input-dropout", "0"},
                   {"dropout", "0"},
                   {"attn-dropout", "0"},
                   {"output-dropout", "0"},
                   {"match-epochs", "1"},
                   {"match-lr", "1e-2"},
                   {"lr", lr},
                   {"epochs", "3"},
                   {"steps", "0"},
                   {"warmup", "auto"},
                   {"patience", "0"},
                   {"shards", "0"},
                   {"valid", ""},
                   {"test", ""}};
    size_t count = sizeof changes / sizeof *changes - (other_text ? 0 : 2);
    bool good = true;
    for (size_t i = 0; good && i < count; i++)
        good = options_set(&options, changes[i].name, changes[i].value, changes[i].name, error);
    free(lr);
    return good;
}

bool init_apply(Init *init, Settings *settings, const Settings *preset, const CommandLine *line,
                Error *error)
{
    const Options options = settings_options(settings);
    const char *convert = command_line_value(line, "convert"), *run = convert;
    if (!run)
        run = command_line_value(line, "init");
    if (!run)
        run = convert = preset->train.convert;
    if (!run)
        run = preset->train.init;
    if (!run)
        return true;
    init->preset_has_tokenizer_file = *preset->corpus.tokenizer_file != '\0';
    init->is_named = true;
    init->is_open = checkpoint_open_run(&init->checkpoint, run, error);
    bool other_text = line->operand_count > 0 || command_line_value(line, "corpus") ||
                      preset->train.corpus;
    return init->is_open &&
           (!convert || apply_recipe(init, settings, run, other_text, error)) &&
           adopt_shape(&options, &init->checkpoint, error) &&
           (!inherits_tokenizer(&preset->train, line) ||
            adopt_tokenizer(&options, &init->checkpoint, error));
}

/* Options of kinds that the model does not have came with the run's. */
static bool drop_unused(Settings *settings, const CommandLine *line, Error *error)
{
    const Options options = {{config_group(&settings->model)}};
    const Option *option;
    bool good = true;
    for (size_t i = 0; good && (option = option_at(&options, i)); i++)
        if (!config_has_option(&settings->model, option) &&
            !command_line_value(line, option->name))
            good = options_set(&options, option->name, option->fallback, option->name, error);
    return good;
}

/* A conversion starts from the run that teaches. */
static bool check_conversion(const Settings *settings, Error *error)
{
    const TrainOptions *train = &settings->train;
    const char *names[] = {"init", "distill"}, *values[] = {train->init, train->distill};
    for (size_t i = 0; train->convert && i < sizeof names / sizeof *names; i++)
        if (!values[i] || strcmp(values[i], train->convert) != 0)
            return error_set(error,
                             "--%s %s and --convert %s contradict each other: a conversion "
                             "starts from the run that teaches; leave --%s out, or use --init "
                             "and --distill without --convert",
                             names[i], values[i] ? values[i] : "", train->convert, names[i]);
    if (train->convert && settings->model.carry_state)
        return error_set(error,
                         "--convert %s: it cannot be combined with --carry-state; give "
                         "--no-carry-state",
                         train->convert);
    return true;
}

bool init_settle(const Init *init, Settings *settings, const CommandLine *line, Error *error)
{
    TrainOptions *train = &settings->train;
    const char *asked = tokenizer_option(line);
    if (!init->is_open)
        return true;
    if (!check_conversion(settings, error))
        return false;
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
    const char *convert = settings->train.convert;
    if (!init->is_open)
        return true;
    if (convert && adopt_keeps_kinds(&settings->model, &init->checkpoint))
        return error_set(error,
                         "--convert %s: it has this attention kind already; name another with "
                         "--attn, such as --attn linear",
                         convert);
    return adopt_check(&settings->model, &init->checkpoint, error);
}
