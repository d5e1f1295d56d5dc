/* eval: how well a trained model predicts a text, by a protocol that the output states. */
#include "eval/loaded.h"
#include "eval/score.h"
#include "eval/runs/scores.h"
#include "src/file.h"
#include "src/gemm.h"
#include "src/program.h"
#include "src/team.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Settings {
    size_t split, window, stride, batch, carry_state, threads, max_input_mb, precision;
    char *valid, *test;
    bool json;
} Settings;

typedef enum SplitName { SPLIT_VALID, SPLIT_TEST, SPLIT_TRAIN } SplitName;

static const char *split_name(size_t index)
{
    static const char *const names[] = {"valid", "test", "train"};
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

#define FIELD(name) offsetof(Settings, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "split", .argument = "NAME", .type = OPTION_CHOICE,
     .offset = FIELD(split), .fallback = "valid", .choice = split_name,
     .help = "the part of the corpus"},
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
    {.name = "precision", .argument = "KIND", .type = OPTION_CHOICE,
     .offset = FIELD(precision), .fallback = "single", .choice = gemm_precision_name,
     .help = "of products with weights, as for training"},
    {.name = "json", .type = OPTION_FLAG,
     .offset = FIELD(json), .fallback = "no",
     .help = "print the same as JSON"},
};
/* clang-format on */

static const About about = {
    .name = "eval",
    .purpose = "measures how well a trained model predicts a text",
    .synopses = {"[OPTIONS] RUN CORPUS"},
    .paragraphs =
        {"It tells the loss in nats per token, perplexity, and bits per character. Every token "
         "is scored, line ends included. RUN is the folder of a run, of which the best "
         "checkpoint is taken, or a checkpoint file; CORPUS is named as for training. In the "
         "folder of a run the score is noted, for compare to show."},
    .files = {{"RUN/scores.csv", "the scores, a row for each way of scoring"}},
    .examples = {"runs/linear-ptb ptb.txt --split test",
                 "runs/linear-ptb ptb.txt --split test --stride 32"},
    .environment = {&about_kernels},
};

/* How the text is to be read; the model carries its state from then on, or does not. */
static void settle_windows(Settings *settings, ModelConfig *config)
{
    Error error;
    if (settings->carry_state != WISH_AUTO)
        config->carry_state = settings->carry_state == WISH_YES;
    if (config->carry_state && !config_check_carrying(config, &error))
        die_usage("%s", error.text);
    if (settings->batch == 0)
        settings->batch = config->carry_state ? 1 : 16;
    if (settings->window == 0)
        settings->window = config->context;
    if (settings->stride == 0)
        settings->stride = settings->window;
    if (settings->stride > settings->window)
        die_usage("--stride %zu leaves gaps between windows of %zu", settings->stride,
                  settings->window);
    if (settings->stride < settings->window && config->carry_state)
        die_usage(
            "--stride %zu: a state that is carried has read each window once; leave it out",
            settings->stride);
    if (settings->window > config->context && config->positions == POSITIONS_LEARNED)
        die_usage("--window %zu: this model learned positions for a context of %zu only",
                  settings->window, config->context);
}

/* The split that was asked for, of a corpus that is found and cut as in training. */
static const CorpusSplit *load_split(Corpus *corpus, const Settings *settings,
                                     const LoadedModel *loaded, const char *name)
{
    Error error;
    CorpusOptions options = loaded->checkpoint.corpus;
    options.max_input_mb = settings->max_input_mb;
    if (settings->valid) /* else as in training, whose text must not be scored unseen */
        options.valid = settings->valid;
    if (settings->test)
        options.test = settings->test;
    if (!corpus_load(corpus, name, &options, &loaded->checkpoint.vocabulary, &error))
        die("%s", error.text);
    warn("the text is %s", corpus->source);
    return settings->split == SPLIT_TRAIN  ? &corpus->train
           : settings->split == SPLIT_TEST ? &corpus->test
                                           : &corpus->valid;
}

static Score score_split(const Settings *settings, const Model *model, const CorpusSplit *split,
                         int32_t prime)
{
    Pass pass;
    Arena arena = {0};
    pass_make(&pass, model, settings->batch, settings->window, PASS_EVALUATE);
    pass_layout(&pass, &arena);
    arena_allocate(&arena, "scoring");
    pass_layout(&pass, &arena);
    pass_prepare(&pass);
    int32_t *buffer = memory_take(score_buffer_size(&pass), sizeof *buffer, "scoring");
    Score score = score_text(&pass, split->ids, split->count, prime, settings->stride, buffer);
    free(buffer);
    pass_free(&pass);
    arena_free(&arena);
    return score;
}

static char *protocol_text(const Settings *settings, size_t streams)
{
    char *text = text_format("window %zu, stride %zu", settings->window, settings->stride);
    if (streams)
        text_append(&text, ", state carried through %zu stream%s", streams,
                    streams == 1 ? "" : "s");
    return text;
}

/* Streams: 0 if no state is carried. */
static void print_score(const Settings *settings, Score score, const CorpusSplit *split,
                        size_t streams)
{
    double loss = score_loss(score), bits = score.nats / log(2) / (double)split->characters;
    const char *name = split_name(settings->split);
    if (!settings->json) {
        char *protocol = protocol_text(settings, streams);
        printf("%s: loss %.4f nats per token, perplexity %.2f, %.4f bits per character\n"
               "%zu tokens, %zu of them unknown; %zu characters; %s; %.2f nats in all\n",
               name, loss, exp(loss), bits, score.tokens, split->unknown, split->characters,
               protocol, score.nats);
        free(protocol);
        return;
    }
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"loss", loss},
                   {"perplexity", exp(loss)},
                   {"bits_per_character", bits},
                   {"nats", score.nats},
                   {"tokens", (double)score.tokens},
                   {"unknown", (double)split->unknown},
                   {"characters", (double)split->characters},
                   {"window", (double)settings->window},
                   {"stride", (double)settings->stride},
                   {"carried_streams", (double)streams}};
    char *json = text_format("{\"split\": \"%s\"", name);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        text_append(&json, ", \"%s\": ", numbers[i].key);
        text_append_json_number(&json, numbers[i].value);
    }
    printf("%s}\n", json);
    free(json);
}

/* Leaves the score in the run's folder, where compare finds it; a checkpoint file has none. */
static void note_score(const char *run, const Settings *settings, Score score,
                       const CorpusSplit *split, size_t streams, const LoadedModel *loaded)
{
    const char *step = checkpoint_extra(&loaded->checkpoint, "step");
    RunScore row = {.window = settings->window,
                    .stride = settings->stride,
                    .carried_streams = streams,
                    .text_crc = split->crc,
                    .tokens = score.tokens,
                    .nats = score.nats};
    if (!file_is_folder(run) || !isfinite(score.nats) || !step ||
        !text_to_size(step, &row.step))
        return;
    snprintf(row.split, sizeof row.split, "%s", split_name(settings->split));
    Error error;
    char *path = file_join(run, RUN_SCORES);
    if (!scores_note(path, &row, &error))
        warn("the score is not kept for compare: %s", error.text);
    free(path);
}

int main(int argc, char **argv)
{
    gemm_choose_kernels(argv);
    Settings settings = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &settings};
    CommandLine line;
    program_read_command_line(&about, &group, 1, argc, argv, &line);
    if (line.operand_count != 2)
        die_usage("it takes a run and a corpus");

    LoadedModel loaded;
    Corpus corpus;
    Error error;
    if (!gemm_set_precision(settings.precision, &error))
        die("%s", error.text);
    team_start(settings.threads ? settings.threads : team_processors());
    if (!loaded_open(&loaded, line.operands[0], &error))
        die("%s", error.text);
    settle_windows(&settings, &loaded.model.config);
    const CorpusSplit *split = load_split(&corpus, &settings, &loaded, line.operands[1]);
    Score score = score_split(&settings, &loaded.model, split,
                              loaded.checkpoint.vocabulary.eos);
    size_t streams = loaded.model.config.carry_state ? settings.batch : 0;
    print_score(&settings, score, split, streams);
    note_score(line.operands[0], &settings, score, split, streams, &loaded);
    corpus_free(&corpus);
    loaded_close(&loaded);
    options_free_texts(&group, 1);
    command_line_free(&line);
    team_stop();
    program_finish_output();
    return 0;
}
