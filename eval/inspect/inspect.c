/* inspect: attention weights and next-token predictions of a trained model on a text. */
#include "data/corpora/reader.h"
#include "eval/inspect/views.h"
#include "eval/show/terminal.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Settings {
    char *text, *html, *svg;
    InspectionOptions look;
    size_t threads;
    bool json;
} Settings;

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "text", OPTION_STRING("TEXT", FIELD(text), NULL),
     .help = "the text; default: standard input",
     .also = "prompt"},
    {.name = "layer", OPTION_WHOLE(FIELD(look.layer), 0, 256, "0"),
     .help = "only layer N, with its attention weights; 0: all layers"},
    {.name = "head", OPTION_WHOLE(FIELD(look.head), 0, 4096, "0"),
     .help = "only head N, with its attention weights; 0: all heads"},
    {.name = "top", OPTION_WHOLE(FIELD(look.guesses), 1, 100, "5"),
     .help = "number of likeliest tokens to show at each position",
     .also = "top-k"},
    {.name = "last", OPTION_WHOLE(FIELD(look.shown), 1, 512, "64"),
     .help = "show only the last N tokens; the model reads the whole text",
     .also = "tokens"},
    {.name = "html", OPTION_STRING("FILE", FIELD(html), NULL),
     .help = "write a page with all weights and predictions to this file",
     .also = "report"},
    {.name = "svg", OPTION_STRING("FILE", FIELD(svg), NULL),
     .help = "also write all weights as an SVG picture to this file"},
    {.name = "json", OPTION_SWITCH(FIELD(json), "no"),
     .help = "print all weights and predictions as JSON instead"},
    {OPTION_THREADS(FIELD(threads), "1")},
};
/* clang-format on */

static const About about = {
    .name = "inspect",
    .purpose = "shows a model's predictions and attention weights for a text",
    .synopses = {"[OPTIONS] RUN [RUN] [RUN]"},
    .paragraphs =
        {"RUN is a run directory, whose best checkpoint is used, or a checkpoint file. Weights "
         "are "
         "shown for every attention kind, including those that never compute a weight matrix: "
         "all are linear in the values, so unit vectors as values reveal the weights.",
         "Up to three runs of one tokenizer read the same tokens and are shown side by side."},
    .examples = {"--text 'the company said it would' runs/linear-ptb",
                 "--text 'the company said' --layer 2 --head 1 runs/linear-ptb",
                 "--html look.html runs/linear-ptb < text.txt",
                 "--html look.html --text 'the company said' runs/softmax runs/linear"},
    .environment = {ABOUT_TERMINAL_SIZE, ABOUT_LOCALE},
};

/* --- the text --- */

/* Reads all of standard input without its last line end, which comes from the shell. */
static char *read_input(bool raw, size_t *size)
{
    char *text;
    Error error;
    if (terminal_is_interactive(STDIN_FILENO))
        print_warning("reading the text from standard input; Ctrl-D ends it");
    if (!reader_read(READER_STANDARD_INPUT, raw, READER_USUAL_MB, NULL, &text, size, &error))
        die("%s", error.text);
    if (*size > 0 && text[*size - 1] == '\n')
        --*size;
    return text;
}

/* The tokens of the text, after the start token. */
static int32_t *encode_text(const Vocabulary *vocabulary, const char *option)
{
    Error error;
    int32_t *ids = NULL;
    size_t size = option ? strlen(option) : 0;
    char *input = option ? NULL : read_input(vocabulary->tokenizer->raw, &size);
    const char *text = option ? option : input;
    size_t unknown;
    arrput(ids, vocabulary_start(vocabulary));
    if (!vocabulary_encode(vocabulary, option ? "--text" : "standard input", text, size, &ids,
                           &unknown, &error))
        die_usage("%s", error.text);
    if (unknown)
        print_warning("the text has %zu unknown token%s; the model reads %s instead", unknown,
                      text_plural(unknown), vocabulary->words[vocabulary->unk]);
    if (arrlenu(ids) == 1)
        die_usage("the text is empty; give one with --text");
    free(input);
    return ids;
}

/* The number of last tokens to read, which all models can; warns of those left out. */
static size_t settle_length(size_t count, const LoadedModel *models, size_t model_count,
                            const Settings *settings)
{
    size_t read = count;
    const Model *shortest = NULL;
    for (size_t m = 0; m < model_count; m++)
        if (inspection_limit(&models[m].model) < read) {
            shortest = &models[m].model;
            read = inspection_limit(shortest);
        }
    if (shortest)
        print_warning("the text has %zu tokens; only the last %zu are read (%s)", count, read,
                      read == shortest->config.context ? "the model's context length"
                                                       : "the limit of inspect");
    if (settings->look.shown < read)
        print_warning("showing the last %zu of %zu tokens; --last N shows more",
                      settings->look.shown, read);
    return read;
}

static void check_choice(const Settings *settings, const ModelConfig *config)
{
    if (settings->look.layer > config->layers)
        die_usage("--layer %zu: this model has %zu", settings->look.layer, config->layers);
    if (settings->look.head > config->heads)
        die_usage("--head %zu: this model has %zu", settings->look.head, config->heads);
}

/* Opens the runs and checks that they have what is asked for. */
static void open_runs(LoadedModel *models, const char *const *runs, size_t count,
                      const Settings *settings)
{
    Error error;
    for (size_t m = 0; m < count; m++) {
        if (!loaded_open(&models[m], runs[m], &error))
            die("%s", error.text);
        if (!vocabulary_equal(&models[0].checkpoint.vocabulary,
                              &models[m].checkpoint.vocabulary))
            die("%s: its tokenizer differs from that of %s; side by side, models read the same "
                "tokens",
                runs[m], runs[0]);
        models[m].model.config.carry_state = false; /* nothing precedes the text */
        check_choice(settings, &models[m].model.config);
    }
}

/* --- what comes out --- */

static void write_files(const Settings *settings, const Inspections *all)
{
    Error error;
    if (settings->html &&
        !file_replace_printed(settings->html, inspect_print_page, all, &error))
        die("%s", error.text);
    if (settings->svg &&
        !file_replace_printed(settings->svg, heatmap_print_document, all, &error))
        die("%s", error.text);
}

static void print_all(const Settings *settings, const Inspections *all)
{
    TextShape shape = {terminal_width(STDOUT_FILENO), terminal_is_utf8()};
    if (settings->json) {
        inspect_print_json(stdout, all);
        return;
    }
    inspect_print_predictions(stdout, all, shape);
    for (size_t m = 0; m < all->count; m++) {
        putchar('\n');
        inspect_print_heads(stdout, &all->each[m], shape);
    }
    if (settings->look.layer == 0 && settings->look.head == 0)
        return;
    for (size_t i = 0; i < inspections_heads(all); i++)
        for (size_t m = 0; m < all->count; m++) {
            const Inspection *inspection = &all->each[m];
            if (i < inspection->head_count) {
                putchar('\n');
                inspect_print_picture(stdout, inspection, &inspection->heads[i], shape);
            }
        }
}

static void inspect(const Settings *settings, const char *const *runs, size_t count)
{
    LoadedModel models[INSPECT_MOST];
    Inspection each[INSPECT_MOST];
    const Inspections all = {runs, each, count};
    open_runs(models, runs, count, settings);
    const Vocabulary *vocabulary = &models[0].checkpoint.vocabulary;
    int32_t *ids = encode_text(vocabulary, settings->text);
    size_t length = arrlenu(ids), read = settle_length(length, models, count, settings);
    for (size_t m = 0; m < count; m++) {
        inspection_make(&each[m], &models[m].model, vocabulary, ids + length - read, read,
                        &settings->look);
        each[m].label = count > 1 ? runs[m] : NULL;
    }
    write_files(settings, &all);
    print_all(settings, &all);
    for (size_t m = 0; m < count; m++) {
        inspection_free(&each[m]);
        loaded_close(&models[m]);
    }
    arrfree(ids);
}

int main(int argc, char **argv)
{
    Settings settings = {0};
    const Options group = {{OPTION_GROUP("Options", rows, &settings)}};
    CommandLine line;
    program_read_command_line(&about, &group, argc, argv, &line);
    if (line.operand_count < 1 || line.operand_count > INSPECT_MOST)
        die_usage(line.operand_count
                      ? "give one run, or up to three to show side by side"
                      : "no run given; give a run directory, such as runs/linear");
    team_start(settings.threads);
    inspect(&settings, line.operands, line.operand_count);
    team_stop();
    program_end(&group, &line);
    return 0;
}
