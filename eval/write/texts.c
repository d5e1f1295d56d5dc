#include "eval/write/texts.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/memory.h"
#include "src/program.h"
#include "src/team.h"
#include "src/text.h"

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
    {.name = "temperature", OPTION_NUMBER(FIELD(sampler.temperature), 0, 100, "0.8"),
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
    {.name = "repetition-penalty", OPTION_NUMBER(FIELD(sampler.penalty), 0.01, 100, "1"),
     .help = "repetition penalty (CTRL): above 1, tokens of prompt and text become less likely "
             "to come again",
     .also = "repeat-penalty",
     .common = true},
    {.name = "greedy", OPTION_SWITCH(FIELD(greedy), "no"),
     .help = "always choose the likeliest token",
     .also = "no-sample argmax",
     .common = true},
    {.name = "unk", OPTION_SWITCH(FIELD(unk), "yes"),
     .help = "allow <unk> in the output",
     .common = true},
    {.name = "seed", OPTION_WHOLE(FIELD(seed), 0, OPTION_MOST, "1"),
     .help = "random seed",
     .also = "random-seed",
     .common = true},
    {.name = "detok", OPTION_SWITCH(FIELD(detok), "no"),
     .help = "detokenise: spacing and capitals as in print; for word models",
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

OptionGroup text_option_group(TextOptions *options)
{
    return OPTION_GROUP("Text", rows, options);
}

bool text_options_check(const TextOptions *options, const Vocabulary *vocabulary, Error *error)
{
    if (options->detok && vocabulary->tokenizer != tokenizer_find(TOKENIZER_WORD))
        return error_set(error,
                         "--detok is for word models, and the tokenizer of this one is '%s'; "
                         "leave it out",
                         vocabulary->tokenizer->name);
    size_t most = MOST_BYTES / TOKEN_BYTES;
    if (options->columns && options->length > most)
        return error_set(error, "--columns keeps its texts: --length %zu is more than %zu",
                         options->length, most);
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
                  vocabulary->words[vocabulary->unk], names,
                  unknown > NAMED_MOST ? " and others" : "");
    free(names);
}

bool texts_encode(const Vocabulary *vocabulary, const char *prompt, int32_t **ids, Error *error)
{
    arrput(*ids, vocabulary->eos);
    if (!prompt)
        return true;
    if (!tokenizer_check(vocabulary->tokenizer, "the prompt", prompt, strlen(prompt), error))
        return false;
    if (vocabulary->tokenizer->encode(vocabulary, prompt, strlen(prompt), ids))
        name_unknown(vocabulary, prompt);
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
    texts->last = memory_take(texts->count, sizeof *texts->last, "the texts");
    texts->texts = memory_take(texts->count, sizeof *texts->texts, "the texts");
    generator_make(&texts->generator, model, texts->count);
}

void texts_free(Texts *texts)
{
    generator_free(&texts->generator);
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

static WriterStyle choose_style(const TextOptions *options)
{
    bool terminal = terminal_is_interactive(STDOUT_FILENO);
    return (WriterStyle){.detok = options->detok,
                         .safe = terminal || options->columns,
                         .utf8 = !terminal || terminal_is_utf8(),
                         .probabilities = options->show_probs,
                         .colour = terminal_has_colour(STDOUT_FILENO)};
}

static void open_streams(Texts *texts, const TextOptions *options)
{
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        text->stream = i == 0 && !options->columns
                           ? stdout
                           : memory_text_open(&text->kept, &text->kept_size, "the texts");
        text->writer.style = choose_style(options);
        writer_direct(&text->writer, text->stream);
    }
}

/* Separates two texts, or two bands of columns. */
static void print_between(const TextOptions *options)
{
    puts(options->columns ? "" : "---");
}

/* --- side by side --- */

#define NARROWEST ((size_t)24)

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

static char **wrap_under_number(const char *text, size_t number, size_t width)
{
    char *headed = text_format("(%zu)\n%s", number, text);
    char **lines = text_wrap(headed, width);
    free(headed);
    return lines;
}

void texts_print_columns(FILE *stream, char *const *texts, size_t count, size_t first_number,
                         size_t width, bool utf8)
{
    enum { BETWEEN = 3 };
    size_t room = (width + BETWEEN) / (NARROWEST + BETWEEN);
    room = room < 1 ? 1 : room;
    size_t most = team_tiles(count, team_tiles(count, room)); /* bands of about equal size */
    size_t each = (width + BETWEEN) / most;
    each = each > BETWEEN + 1 ? each - BETWEEN : 1;
    char ***wrapped = memory_take(most, sizeof *wrapped, "the columns");
    for (size_t first = 0; first < count; first += most) {
        size_t band = team_extent(count, most, first / most);
        for (size_t i = 0; i < band; i++)
            wrapped[i] = wrap_under_number(texts[first + i], first_number + first + i, each);
        print_band(stream, wrapped, band, each, utf8);
        for (size_t i = 0; i < band; i++)
            text_lines_free(wrapped[i]);
        if (first + band < count)
            fputc('\n', stream);
    }
    free(wrapped);
}

/* --- after the last token --- */

static void close_streams(Texts *texts, const TextOptions *options)
{
    char **columns = memory_take(texts->count, sizeof *columns, "the texts");
    for (size_t i = 0; i < texts->count; i++) {
        OneText *text = &texts->texts[i];
        writer_pause(&text->writer);
        if (text->stream == stdout)
            continue;
        memory_text_close(text->stream, "the texts");
        columns[i] = text->kept;
        if (!options->columns && i < texts->wanted) {
            print_between(options);
            fwrite(text->kept, 1, text->kept_size, stdout);
        }
    }
    if (options->columns)
        texts_print_columns(stdout, columns, texts->wanted, texts->number + 1,
                            terminal_width(STDOUT_FILENO), choose_style(options).utf8);
    for (size_t i = 0; i < texts->count; i++)
        free(columns[i]);
    free(columns);
    flush();
}

/* --- making them --- */

static bool is_stopped(const Texts *texts)
{
    return texts->stop && *texts->stop;
}

static void write_tokens(Texts *texts, const TextOptions *options)
{
    for (size_t i = 0; i < texts->count; i++) {
        double probability = options->show_probs
                                 ? exp(-generator_loss(&texts->generator, i, texts->last[i]))
                                 : 1;
        writer_token(&texts->texts[i].writer, texts->last[i], probability);
    }
    if (texts->texts[0].stream == stdout)
        flush();
}

static void read_beginning(Texts *texts, const TextOptions *options, const int32_t *beginning)
{
    for (size_t i = 0; i < arrlenu(beginning) && !is_stopped(texts); i++) {
        if (i > 0)
            generator_read(&texts->generator, texts->last);
        for (size_t text = 0; text < texts->count; text++)
            texts->last[text] = beginning[i];
        if (i > 0)
            write_tokens(texts, options);
    }
}

static void make_tokens(Texts *texts, const TextOptions *options)
{
    int32_t banned = options->unk ? TOKEN_NONE : texts->vocabulary->unk;
    SamplerOptions sampler = options->sampler;
    if (options->greedy)
        sampler.temperature = 0;
    for (size_t i = 0; i < options->length && !is_stopped(texts); i++) {
        generator_read(&texts->generator, texts->last);
        for (size_t text = 0; text < texts->count; text++) {
            RandomKey key = random_key(options->seed, RANDOM_SAMPLE, texts->number + text);
            texts->last[text] = generator_pick(&texts->generator, text, &sampler,
                                               random_uniform(key, texts->picked), banned);
        }
        texts->picked++;
        write_tokens(texts, options);
    }
}

void texts_go_on(Texts *texts, const TextOptions *options)
{
    open_streams(texts, options);
    make_tokens(texts, options);
    close_streams(texts, options);
}

static void begin_batch(Texts *texts, const TextOptions *options, const int32_t *beginning)
{
    texts->picked = 0;
    for (size_t i = 0; i < texts->count; i++)
        writer_begin(&texts->texts[i].writer, texts->vocabulary, choose_style(options));
    generator_restart(&texts->generator);
    open_streams(texts, options);
    read_beginning(texts, options, beginning);
    make_tokens(texts, options);
    close_streams(texts, options);
}

void texts_begin(Texts *texts, const TextOptions *options, const int32_t *beginning,
                 size_t number)
{
    for (size_t made = 0; made < options->count && !is_stopped(texts); made += texts->count) {
        size_t left = options->count - made;
        texts->number = number + made;
        texts->wanted = left < texts->count ? left : texts->count;
        if (made > 0)
            print_between(options);
        begin_batch(texts, options, beginning);
    }
}
