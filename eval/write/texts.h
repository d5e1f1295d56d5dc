/* A batch of texts with one beginning and different continuations.
 *
 * The first is printed while it is generated; the others are kept until it is complete, or all
 * are kept if they are printed side by side. Later they can be continued as if without a pause.
 */
#ifndef LINNET_TEXTS_H
#define LINNET_TEXTS_H

#include "models/generator.h"
#include "eval/show/writer.h"
#include "src/options.h"

#include <signal.h>

typedef struct TextOptions {
    size_t length, count, seed;
    SamplerOptions sampler;
    bool greedy, unk, detok, columns, show_probs;
} TextOptions;

/* Their option rows. */
OptionGroup text_option_group(TextOptions *options);
/* Checks the options against the model's tokenizer. */
bool text_options_check(const TextOptions *options, const Vocabulary *vocabulary, Error *error);

/* One of them, and where it goes. */
typedef struct OneText {
    Writer writer;
    FILE *stream; /* of kept, or for the first text usually standard output */
    char *kept;   /* what is not printed yet */
    size_t kept_size;
} OneText;

typedef struct Texts {
    Generator generator;
    const Vocabulary *vocabulary;
    size_t count;                      /* generated together */
    size_t wanted;                     /* of these, the first ones are printed */
    size_t number;                     /* of the first text; each number gives another text */
    size_t picked;                     /* tokens generated of each */
    int32_t *last;                     /* (count) tokens not yet read by the model */
    OneText *texts;                    /* (count) */
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
/* Generates as many more tokens of the last batch. */
void texts_go_on(Texts *texts, const TextOptions *options);

/* Prints as many texts side by side as fit into the width, the others below, each under its
 * number. */
void texts_print_columns(FILE *stream, char *const *texts, size_t count, size_t first_number,
                         size_t width, bool utf8);

/* The beginning of texts: a line end, then the prompt (or NULL). An stb_ds array. */
bool texts_encode(const Vocabulary *vocabulary, const char *prompt, int32_t **ids,
                  Error *error);

#endif
