#include "eval/sample/texts.h"
#include "data/tokenizers/tokenizers.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/memory.h"
#include "src/base/program.h"
#include "src/math/team.h"
#include "src/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(name) offsetof(TextOptions, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "length", OPTION_WHOLE(FIELD(length), 0, 1e12, "100"),
     .help = "tokens to generate",
     .also = "max-new-tokens max-tokens num-tokens n-predict tokens steps",
     .common = true},
    {.name = "count", OPTION_WHOLE(FIELD(count), 1, 1e6, "1"),
     .help = "number of texts, separated by lines ---",
     .also = "num-samples num-return-sequences n-samples samples batch-size",
     .common = true},
    {.name = "temperature",
     OPTION_NUMBER(FIELD(sampler.temperature), 0, SAMPLER_MOST_TEMPERATURE, "0.8"),
     .help = "sampling temperature; below 1 favours likely tokens, above 1 unlikely ones",
     .also = "temp",
     .common = true},
    {.name = "top-k", OPTION_WHOLE(FIELD(sampler.top_k), 0, 1e9, "0"),
     .help = "top-k sampling: choose among the N likeliest tokens; 0: all",
     .also = "topk",
     .common = true},
    {.name = "top-p", OPTION_PROBABILITY(FIELD(sampler.top_p), 1, "1"),
     .help = "nucleus (top-p) sampling: choose among the likeliest tokens of this total "
             "probability",
     .also = "nucleus topp",
     .common = true},
    {.name = "repetition-penalty",
     OPTION_NUMBER(FIELD(sampler.penalty), SAMPLER_LEAST_PENALTY, SAMPLER_MOST_PENALTY, "1"),
     .help = "repetition penalty (CTRL): above 1, tokens of prompt and text become less likely "
             "to come again",
     .also = "repeat-penalty",
     .common = true},
    {.name = "greedy", OPTION_SWITCH(FIELD(greedy), "no"),
     .help = "always choose the likeliest token",
     .also = "no-sample argmax",
     .common = true},
    {.name = "stop", OPTION_STRING("TEXT", FIELD(stop), NULL),
     .help = "stop sequence: end a text before the first TEXT in it; \\n is a line end, \\t a "
             "tab, \\\\ a backslash; may be given several times",
     .also = "stop-sequence stop-string stop-strings reverse-prompt",
     .common = true},
    {.name = "unk", OPTION_SWITCH(FIELD(unk), "yes"),
     .help = "allow <unk> in the output",
     .common = true},
    {.name = "seed", OPTION_WHOLE(FIELD(seed), 0, OPTION_MOST, "1"),
     .help = "random seed",
     .also = "random-seed",
     .common = true},
    {.name = "detok", OPTION_SWITCH(FIELD(detok), "no"),
     .help = "detokenise: spacing as in print; for word models",
     .also = "detokenize detokenise",
     .common = true},
    {.name = "columns", OPTION_SWITCH(FIELD(columns), "no"),
     .help = "show several texts side by side"},
    {.name = "show-probs", OPTION_SWITCH(FIELD(show_probs), "no"),
     .help = "show the probability of each token, by colour or number",
     .also = "logprobs probs"},
};
/* clang-format on */

/* Limits of a batch. More texts would hardly be faster, and neither their states, which may
 * grow with the context, nor their kept text, about this much per token, must fill the memory.
 */
#define MOST_TEXTS  ((size_t)64)
#define MOST_BYTES  ((size_t)256 << 20)
#define TOKEN_BYTES ((size_t)32)

Options text_options(TextOptions *options)
{
    return (Options){{OPTION_GROUP("Text", rows, options)}};
}

bool text_options_check(const TextOptions *options, const Vocabulary *vocabulary, Error *error)
{
    Stops stops;
    if (!stops_read(&stops, options->stop, error))
        return false;
    stops_free(&stops);
    if (options->detok && vocabulary->tokenizer != tokenizer_find(TOKENIZER_WORD) &&
        vocabulary->tokenizer != tokenizer_find(TOKENIZER_WORDPUNCT))
        return error_set(error,
                         "--detok is for word models, and the tokenizer of this one is '%s'; "
                         "leave it out",
                         vocabulary->tokenizer->name);
    size_t most = MOST_BYTES / TOKEN_BYTES;
    if ((options->columns || options->json) && options->length > most)
        return error_set(error, "--%s keeps its texts: --length %zu is more than %zu",
                         options->columns ? "columns" : "json", options->length, most);
    return true;
}

/* Warns of words of the prompt that are not in the vocabulary. */
static void name_unknown(const Vocabulary *vocabulary, const char *prompt)
{
    enum { NAMED_MOST = 5 };
    static const char blanks[] = " \t\r\n\v\f";
    char *names = memory_copy_text("");
    size_t unknown = 0;
    for (const char *at = prompt + strspn(prompt, blanks); *at; at += strspn(at, blanks)) {
        size_t length = strcspn(at, blanks);
        int32_t *ids = NULL;
        if (vocabulary->tokenizer->encode(vocabulary, at, length, &ids) > 0 &&
            ++unknown <= NAMED_MOST)
            text_append(&names, "%s'%.*s'", unknown > 1 ? ", " : "", (int)length, at);
        arrfree(ids);
        at += length;
    }
    print_warning("not in the model's vocabulary and read as %s: %s%s",
                  vocabulary->words[vocabulary->unk], *names ? names : "white space",
                  unknown > NAMED_MOST ? " and others" : "");
    free(names);
}

bool texts_encode(const Vocabulary *vocabulary, Prompt prompt, int32_t **ids, Error *error)
{
    arrput(*ids, vocabulary_start(vocabulary));
    if (!prompt.text)
        return true;
    size_t unknown;
    if (!vocabulary_encode(vocabulary, "the prompt", prompt.text, prompt.size, ids, &unknown,
                           error))
        return false;
    if (unknown > 0)
        name_unknown(vocabulary, prompt.text);
    return true;
}

/* --- memory --- */

void texts_make(Texts *texts, const Model *model, const Vocabulary *vocabulary,
                const TextOptions *options, size_t positions)
{
    size_t most = MOST_BYTES / (generator_bytes(model) + positions * TOKEN_BYTES);
    most = most < 1 ? 1 : most > MOST_TEXTS ? MOST_TEXTS : most;
    *texts = (Texts){.vocabulary = vocabulary};
    /* Batches of equal size: the last may generate a few texts too many. */
    texts->count = team_tiles(options->count, team_tiles(options->count, most));
    texts->last = memory_new(texts->count, sizeof *texts->last, "the texts");
    texts->texts = memory_new(texts->count, sizeof *texts->texts, "the texts");
    generator_make(&texts->generator, model, texts->count);
}

void texts_free(Texts *texts)
{
    generator_free(&texts->generator);
    stops_free(&texts->stops);
    free(texts->stop_lines);
    free(texts->last);
    free(texts->texts);
}

/* --- where they go --- */

static void flush(void)
{
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno == EPIPE)
        exit(EXIT_SUCCESS); /* the reader has closed the pipe */
    program_finish_output();
}

/* JSON has the text alone. */
static WriterStyle choose_style(const TextOptions *options)
{
    bool terminal = terminal_is_interactive(STDOUT_FILENO);
    if (options->json)
        return (WriterStyle){.detok = options->detok};
    return (WriterStyle){.detok = options->detok,
                         .safe = terminal || options->columns,
                         .utf8 = !terminal || terminal_is_utf8(),
                         .probabilities = options->show_probs,
                         .colour = terminal_has_colour(STDOUT_FILENO)};
}

static void open_streams(Texts *texts, const TextOptions *options)
{
    bool buffered = options->columns || options->json;
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        text->stream = i == 0 && !buffered
                           ? stdout
                           : memory_text_open(&text->buffer, &text->buffer_size, "the texts");
        text->writer.style = choose_style(options);
        writer_direct(&text->writer, text->stream);
    }
}

void texts_print_between(const TextOptions *options)
{
    puts(options->columns ? "" : "---");
}

/* --- after the last token --- */

/* The texts of one band, already wrapped. */
static void print_band(FILE *stream, char ***wrapped, size_t count, size_t width, bool utf8)
{
    size_t height = 0;
    for (size_t i = 0; i < count; i++)
        height = arrlenu(wrapped[i]) > height ? arrlenu(wrapped[i]) : height;
    for (size_t row = 0; row < height; row++) {
        for (size_t i = 0; i < count; i++) {
            const char *line = row < arrlenu(wrapped[i]) ? wrapped[i][row] : "";
            size_t gap = i + 1 < count ? width - text_columns(line) : 0;
            fprintf(stream, "%s%*s", line, (int)gap, "");
            if (i + 1 < count)
                fputs(utf8 ? " │ " : " | ", stream);
        }
        fputc('\n', stream);
    }
}

void texts_print_columns(FILE *stream, char *const *texts, size_t count, size_t first_number,
                         size_t width, bool utf8)
{
    enum { NARROWEST = 24, BETWEEN = 3 };
    size_t room = (width + BETWEEN) / (NARROWEST + BETWEEN);
    room = room < 1 ? 1 : room;
    size_t most = team_tiles(count, team_tiles(count, room)); /* bands of about equal size */
    size_t each = (width + BETWEEN) / most;
    each = each > BETWEEN + 1 ? each - BETWEEN : 1;
    char ***wrapped = memory_new(most, sizeof *wrapped, "the columns");
    for (size_t first = 0; first < count; first += most) {
        size_t band = team_extent(count, most, first / most);
        for (size_t i = 0; i < band; i++) {
            char *headed = text_format("(%zu)\n%s", first_number + first + i, texts[first + i]);
            wrapped[i] = text_wrap(headed, each);
            free(headed);
        }
        print_band(stream, wrapped, band, each, utf8);
        for (size_t i = 0; i < band; i++)
            text_lines_free(wrapped[i]);
        if (first + band < count)
            fputc('\n', stream);
    }
    free(wrapped);
}

static void print_kept(const Texts *texts, const TextOptions *options)
{
    if (options->columns) {
        char **columns = memory_new(texts->wanted, sizeof *columns, "the texts");
        for (size_t i = 0; i < texts->wanted; i++)
            columns[i] = texts->texts[i].buffer;
        texts_print_columns(stdout, columns, texts->wanted, texts->number + 1,
                            terminal_width(STDOUT_FILENO), choose_style(options).utf8);
        free(columns);
        return;
    }
    for (size_t i = 0; i < texts->wanted; i++) {
        const OneText *text = &texts->texts[i];
        if (options->json) {
            texts_json_print(text, options->show_probs, texts->number + i == 0);
        } else if (text->stream != stdout) {
            texts_print_between(options);
            fwrite(text->buffer, 1, text->buffer_size, stdout);
        }
    }
}

static void close_streams(Texts *texts, const TextOptions *options)
{
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        (options->json ? writer_finish : writer_pause)(&text->writer);
        if (text->stream != stdout)
            memory_text_close(text->stream, "the texts");
    }
    print_kept(texts, options);
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        free(text->buffer);
        text->buffer = NULL;
        arrfree(text->ids);
        arrfree(text->losses);
    }
    flush();
}

/* --- making them --- */

static bool is_stopped(const Texts *texts)
{
    return texts->stop && *texts->stop;
}

static bool is_open(const Texts *texts)
{
    bool open = false;
    for (size_t i = 0; i < texts->count; i++)
        open |= !texts->texts[i].ended;
    return open;
}

static void write_tokens(Texts *texts, const TextOptions *options)
{
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        if (text->ended)
            continue;
        double probability = options->show_probs && !options->json
                                 ? exp(-generator_loss(&texts->generator, i, texts->last[i]))
                                 : 1;
        writer_token(&text->writer, texts->last[i], probability);
        text->ended = text->writer.stopped;
    }
    if (texts->texts[0].stream == stdout)
        flush();
}

static void read_beginning(Texts *texts, const TextOptions *options, const int32_t *beginning)
{
    for (size_t i = 0; i < arrlenu(beginning) && (i == 0 || !is_stopped(texts)); i++) {
        if (i > 0)
            generator_read(&texts->generator, texts->last);
        for (size_t text = 0; text < texts->count; text++)
            texts->last[text] = beginning[i];
        if (i > 0)
            write_tokens(texts, options);
    }
}

/* Looks for the stop texts in what follows. Those that were looked for before may have begun
 * already. */
static void look_for_stops(Texts *texts, const TextOptions *options)
{
    Error error;
    const char *lines = options->stop ? options->stop : "";
    if (texts->stop_lines && strcmp(texts->stop_lines, lines) == 0)
        return;
    stops_free(&texts->stops);
    free(texts->stop_lines);
    texts->stop_lines = memory_copy_text(lines);
    if (!stops_read(&texts->stops, lines, &error))
        die("%s", error.text); /* text_options_check has passed them */
    for (size_t i = 0; i < texts->count; i++)
        writer_stop_at(&texts->texts[i].writer, &texts->stops);
}

/* For JSON. */
static void note_token(Texts *texts, const TextOptions *options, size_t i)
{
    OneText *text = &texts->texts[i];
    arrput(text->ids, texts->last[i]);
    if (options->show_probs)
        arrput(text->losses, generator_loss(&texts->generator, i, texts->last[i]));
}

/* One more token of each text that has not ended. The others read their last token again; what
 * that gives is not used. */
static void pick_tokens(Texts *texts, const TextOptions *options)
{
    int32_t banned = options->unk ? TOKEN_NONE : texts->vocabulary->unk;
    SamplerOptions sampler = options->sampler;
    if (options->greedy)
        sampler.temperature = 0;
    generator_read(&texts->generator, texts->last);
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->texts[i].ended)
            continue;
        RandomKey key = random_key(options->seed, RANDOM_SAMPLE, texts->number + i);
        texts->last[i] = generator_pick(&texts->generator, i, &sampler,
                                        random_uniform(key, texts->picked), banned);
        if (options->json)
            note_token(texts, options, i);
    }
    texts->picked++;
}

static void make_tokens(Texts *texts, const TextOptions *options)
{
    look_for_stops(texts, options);
    for (size_t i = 0; i < options->length && is_open(texts) && !is_stopped(texts); i++) {
        pick_tokens(texts, options);
        write_tokens(texts, options);
    }
}

void texts_go_on(Texts *texts, const TextOptions *options)
{
    OneText *first = &texts->texts[0];
    if (texts->count == 1 && first->ended) {
        first->ended = false;
        writer_stop_at(&first->writer, &texts->stops);
    }
    if (!is_open(texts)) {
        print_warning("all texts have ended before a stop text; a prompt begins new ones");
        return;
    }
    open_streams(texts, options);
    make_tokens(texts, options);
    close_streams(texts, options);
}

static void begin_batch(Texts *texts, const TextOptions *options, const int32_t *beginning)
{
    texts->picked = 0;
    free(texts->stop_lines);
    texts->stop_lines = NULL;
    for (size_t i = 0; i < texts->count; i++) {
        writer_begin(&texts->texts[i].writer, texts->vocabulary, choose_style(options));
        texts->texts[i].ended = i >= texts->wanted;
    }
    generator_restart(&texts->generator);
    open_streams(texts, options);
    read_beginning(texts, options, beginning);
    for (size_t i = 0; options->json && i < texts->count; i++) {
        fflush(texts->texts[i].stream); /* sets the size of what is kept */
        texts->texts[i].begin = texts->texts[i].buffer_size;
    }
    make_tokens(texts, options);
    close_streams(texts, options);
}

void texts_begin(Texts *texts, const TextOptions *options, const int32_t *beginning,
                 size_t number)
{
    size_t made = 0;
    do { /* the first batch begins even if stopped already, so that it can go on */
        size_t left = options->count - made;
        texts->number = number + made;
        texts->wanted = left < texts->count ? left : texts->count;
        if (made > 0 && !options->json)
            texts_print_between(options);
        begin_batch(texts, options, beginning);
        made += texts->count;
    } while (made < options->count && !is_stopped(texts));
}
