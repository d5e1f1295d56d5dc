/* A batch of texts with one beginning and different continuations.
 *
 * The first is printed while it is generated; the others are kept until it is complete, or all
 * are kept if they are printed side by side or as JSON. A text that meets a stop text ends, the
 * others go on. Later they can be continued as if without a pause. */
#ifndef LINNET_TEXTS_H
#define LINNET_TEXTS_H

#include "models/generator.h"
#include "eval/show/writer.h"
#include "src/base/options.h"

#include <signal.h>

typedef struct TextOptions {
    size_t length, count, seed;
    SamplerOptions sampler;
    char *stop; /* stop texts as typed, one in each line; NULL: none */
    bool greedy, unk, detok, columns, show_probs;
    bool json; /* print them for programs; a session does not */
} TextOptions;

/* Their option rows. */
Options text_options(TextOptions *options);
/* Checks the options against the model's tokenizer. */
bool text_options_check(const TextOptions *options, const Vocabulary *vocabulary, Error *error);

/* What texts begin with; a zero byte follows. Without a prompt, the text is NULL. */
typedef struct Prompt {
    const char *text;
    size_t size;
} Prompt;

/* One of them, and where it goes. */
typedef struct OneText {
    Writer writer;
    FILE *stream; /* of kept, or for the first text usually standard output */
    char *buffer; /* what is not printed yet */
    size_t buffer_size;
    bool ended; /* before a stop text, or not wanted */
    /* For JSON: where the text begins in `kept`, after the prompt; the ids of its tokens, and
     * their losses with --show-probs (stb_ds arrays). */
    size_t begin;
    int32_t *ids;
    double *losses;
} OneText;

typedef struct Texts {
    Generator generator;
    const Vocabulary *vocabulary;
    size_t count;     /* generated together */
    size_t wanted;    /* of these, the first ones are printed */
    size_t number;    /* of the first text; each number gives another text */
    size_t picked;    /* tokens generated of each */
    int32_t *last;    /* (count) tokens not yet read by the model */
    OneText *texts;   /* (count) */
    char *stop_lines; /* what `stops` was read from; NULL: nothing yet */
    Stops stops;
    const volatile sig_atomic_t *stop; /* nonzero: stop generating; or NULL */
} Texts;

/* Allocates the texts, fewer than options->count if memory is short; positions are the tokens
 * that each will have. */
void texts_make(Texts *texts, const Model *model, const Vocabulary *vocabulary,
                const TextOptions *options, size_t positions);
void texts_free(Texts *texts);

/* Reads a beginning of at least one token, the first of which is not printed, and generates
 * options->length more; does so in batches until options->count texts are printed, from this
 * number on. */
void texts_begin(Texts *texts, const TextOptions *options, const int32_t *beginning,
                 size_t number);
/* Generates as many more tokens of the last batch. Texts that ended before a stop text stay so,
 * but a single one goes on behind it. */
void texts_go_on(Texts *texts, const TextOptions *options);

/* The line between two texts, or between two bands of columns. */
void texts_print_between(const TextOptions *options);

/* Prints as many texts side by side as fit into the width, the others below, each under its
 * number. */
void texts_print_columns(FILE *stream, char *const *texts, size_t count, size_t first_number,
                         size_t width, bool utf8);

/* The beginning of texts: the start token, then the prompt. An stb_ds array. */
bool texts_encode(const Vocabulary *vocabulary, Prompt prompt, int32_t **ids, Error *error);

/* --- for programs: one JSON object, printed in parts, so that its texts need not be kept ---
 */

/* The run, the prompt and the settings. */
void texts_json_begin(const char *run, Prompt prompt, const Options *settings);
/* A complete text. */
void texts_json_print(const OneText *text, bool show_probs, bool first);
/* The end, without a line end. */
void texts_json_end(void);

#endif
