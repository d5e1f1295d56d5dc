/* The settings of a training session: read from defaults, presets, stored settings and the
 * command line. */
#include "train/loop/settings.h"
#include "data/corpora/tasks.h"
#include "eval/runs/rundata.h"
#include "models/preset.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- a run to resume --- */

/* Notes whether the command line changes the length. --epochs alone also takes a run to epochs
 * whose length was given in steps. */
static void note_length(Settings *settings, const CommandLine *line)
{
    Length *now = &settings->train.length;
    const Length *old = &settings->before.length;
    if (command_line_value(line, "epochs") && !command_line_value(line, "steps"))
        now->steps = 0;
    settings->before.changed = now->epochs != old->epochs || now->steps != old->steps;
}

/* The fixed settings that the command line gives, as they are: an stb_ds array, NULL in the
 * place of other options. */
static char **fixed_values(const Options *options, const CommandLine *line)
{
    char **values = NULL;
    for (size_t i = 0; i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        arrput(values, option->fixed ? option_value(options, option) : NULL);
    }
    return values;
}

/* Whether the command line changes no fixed setting of the run, which were those. */
static bool fixed_options_match(char **old, const Options *options, const CommandLine *line,
                                bool lengthened, Error *error)
{
    bool good = true;
    for (size_t i = 0; good && i < line->given_count; i++) {
        const Option *option = line->given[i].option;
        if (!option->fixed || (option->extends && lengthened))
            continue;
        char *new = option_value(options, option);
        if (strcmp(old[i], new) != 0)
            good = error_set(error, "--%s %s: this run was started with %s and keeps it; %s",
                             option->name, new, old[i],
                             option->extends
                                 ? "it may change together with the length (--epochs, --steps)"
                                 : "start a new run, without --resume, to change it");
        free(new);
    }
    return good;
}

/* The settings that its checkpoint has; none of --init and --convert can be combined with it.
 */
static bool read_resumed(const Options *options, const CommandLine *line, const char *resumed,
                         Error *error)
{
    const char *const names[] = {"init", "convert"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (command_line_value(line, names[i]))
            return error_set(error,
                             "--%s and --resume contradict each other: --resume continues a "
                             "run, --%s starts a new one from the weights of a run",
                             names[i], names[i]);
    /* Runs older than --eval-tokens validate on the whole text. */
    return options_set(options, "eval-tokens", "0", "", error) &&
           options_read_text(options, resumed, "the checkpoint", error);
}

/* --- a run that starts from another --- */

void init_close(Init *init)
{
    if (init->is_open)
        checkpoint_close(&init->checkpoint);
    init->is_open = false;
}

/* The option of the command line that asks for another tokenizer; NULL: none. */
static const char *tokenizer_option(const CommandLine *line)
{
    for (size_t i = 0; i < line->given_count; i++)
        if (adopt_sets_tokenizer(line->given[i].option->name))
            return line->given[i].option->name;
    return NULL;
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
    char *lr = text_format("%.9g", settings->train.length.lr / 5);
    bool good = options_set(&options, "convert", run, "convert", error) &&
                options_set(&options, "init", run, "init", error) &&
                options_set(&options, "distill", run, "distill", error) &&
                options_set(&options, "lr", lr, "lr", error) &&
                options_read_text(&options,
                                  "init-tokens = run\ndistill-share = 1\nmatch-epochs = 1\n"
                                  "match-lr = 1e-2\nepochs = 3\nsteps = 0\nwarmup = auto\n"
                                  "patience = 0\nshards = 0\n",
                                  "--convert", error) &&
                /* a student under dropout overshoots */
                options_read_text(&options,
                                  "word-dropout = 0\nngram-dropout = 0\ninput-dropout = 0\n"
                                  "dropout = 0\nattn-dropout = 0\noutput-dropout = 0\n",
                                  "--convert", error) &&
                (!other_text ||
                 options_read_text(&options, "valid =\ntest =\n", "--convert", error));
    free(lr);
    return good;
}

/* If the command line or the preset, which the settings have, names a run, opens it and sets
 * the model's shape, and the tokenizer unless another is asked for; with --convert, all
 * settings. The preset is read again over them. */
static bool read_init(Init *init, Settings *settings, const CommandLine *line, Error *error)
{
    const Options options = settings_options(settings);
    const TrainOptions *train = &settings->train;
    const char *preset = command_line_value(line, "preset"),
               *convert = command_line_value(line, "convert"),
               *run = convert ? convert : command_line_value(line, "init");
    bool converts = convert || (!run && train->convert);
    if (!run)
        run = train->convert ? train->convert : train->init;
    if (!run)
        return true;
    char *name = memory_copy_text(run);
    bool other_text = line->operand_count > 0 || command_line_value(line, "corpus") ||
                      train->corpus;
    /* A preset that asks for a tokenizer of the text's own says what it is like. */
    bool inherits = train->init_tokens != INIT_TOKENS_TEXT &&
                    !command_line_value(line, "tokens") &&
                    !command_line_value(line, "tokenizer-file");
    init->preset_has_tokenizer_file = *settings->corpus.tokenizer_file != '\0';
    init->is_named = true;
    init->is_open = checkpoint_open_run(&init->checkpoint, name, error);
    options_set_defaults(&options);
    bool good = init->is_open &&
                (!converts || apply_recipe(init, settings, name, other_text, error)) &&
                adopt_settings(&options, &init->checkpoint, inherits, error) &&
                (!preset || preset_read(&options, preset, false, error));
    free(name);
    return good;
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

/* After the command line: decides whose tokenizer it is, drops options of attention kinds that
 * the model no longer has, and refuses what contradicts --convert. */
static bool init_settle(const Init *init, Settings *settings, const CommandLine *line,
                        Error *error)
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

/* Whether the weights fit. */
static bool init_check(const Init *init, const Settings *settings, Error *error)
{
    const char *convert = settings->train.convert;
    if (!init->is_open)
        return true;
    if (convert && adopt_has_same_kinds(&settings->model, &init->checkpoint))
        return error_set(error,
                         "--convert %s: it has this attention kind already; name another with "
                         "--attn, such as --attn linear",
                         convert);
    return adopt_check(&settings->model, &init->checkpoint, error);
}

/* --- fair comparisons --- */

/* --match-params: the model whose parameters count has the kind that it names and else the same
 * settings. Call it before config_check, which resolves what depends on the kind. */
static bool read_match(Settings *settings, Error *error)
{
    const char *which = settings->session.match_params;
    Match *match = &settings->match;
    const Options options = {{config_group(&match->model)}};
    RunData run;
    Error ignored;
    *match = (Match){0};
    if (!which)
        return true;
    if (settings->train.init)
        return error_set(error, "--match-params and --init contradict each other: a run that "
                                "starts from weights has their --ffn");
    if (text_to_size(which, &match->parameters) && match->parameters > 0)
        return true;
    match->model = settings->model;
    if (options_set(&options, "attn", which, "--match-params", &ignored))
        return config_check(&match->model, error);
    if (rundata_read(&run, which, &ignored))
        match->parameters = run.parameters;
    rundata_free(&run);
    return match->parameters > 0 ||
           error_set(error,
                     "--match-params: '%s' is neither an attention kind, nor a run directory, "
                     "nor a number of parameters",
                     which);
}

/* --batch-tokens, unless the command line overrides that of a preset. */
static bool settle_batch(Settings *settings, const CommandLine *line, Error *error)
{
    size_t tokens = settings->session.batch_tokens, context = settings->model.context;
    bool asks_both = command_line_value(line, "batch") != NULL;
    if (asks_both && command_line_value(line, "batch-tokens") && tokens > 0)
        return error_set(error, "--batch and --batch-tokens contradict each other; give one");
    if (tokens == 0 || asks_both)
        return true;
    if (tokens % context != 0)
        return error_set(error, "--batch-tokens %zu: no multiple of --context %zu", tokens,
                         context);
    settings->train.batch = tokens / context;
    return true;
}

/* --- all --- */

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
    const Options options = settings_options(settings);
    const char *preset = command_line_value(line, "preset");
    *init = (Init){0};
    options_set_defaults(&options);
    bool good = resumed ? read_resumed(&options, line, resumed, error)
                        : (!preset || preset_read(&options, preset, false, error)) &&
                              read_init(init, settings, line, error);
    if (resumed)
        settings->before = (LengthBefore){.length = settings->train.length,
                                          .patience = settings->train.patience};
    char **old = fixed_values(&options, line);
    good = good && options_apply(&options, line, error);
    if (good && line->operand_count == 1)
        good = options_set(&options, "corpus", line->operands[0], "CORPUS", error);
    settings->corpus.tokenizer_given = command_line_value(line, "tokens") != NULL;
    good = good && settle_task(settings, line, error) && settle_batch(settings, line, error);
    if (good && resumed) {
        note_length(settings, line);
        good = fixed_options_match(old, &options, line, settings->before.changed, error);
    }
    text_lines_free(old);
    good = good && init_settle(init, settings, line, error) && read_match(settings, error) &&
           config_check(&settings->model, error) &&
           config_check_kind_options(&settings->model, error) &&
           init_check(init, settings, error) && settings_check(settings, line, error);
    error->usage = !init->is_named || init->is_open;
    if (!good)
        init_close(init);
    return good;
}
