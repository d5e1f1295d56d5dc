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

typedef struct Texts {
    Generator generator;
    const Vocabulary *vocabulary;
    size_t count;
    size_t number;         /* of the first text; each number gives another text */
    size_t picked;         /* tokens generated of each */
    int32_t *last;         /* (count) tokens not yet read by the model */
    double *probabilities; /* (count) of these tokens */
    Writer *writers;       /* (count) */
    char **kept;           /* (count) text not printed yet; see streams */
    size_t *kept_size;
    FILE **streams; /* (count) they write to kept; the first usually to standard output */
    const volatile sig_atomic_t *stop; /* nonzero: stop generating; or NULL */
} Texts;

/* Allocates the texts, fewer than the count if memory is short; positions are the tokens that
 * each will have. */
void texts_make(Texts *texts, const Model *model, const Vocabulary *vocabulary, size_t count,
                size_t positions);
void texts_free(Texts *texts);

/* Reads a beginning of at least one token, the first of which is not printed, and generates
 * options->length more; prints `wanted` of the texts. */
void texts_begin(Texts *texts, const TextOptions *options, const int32_t *beginning,
                 size_t number, size_t wanted);
/* Generates as many more. */
void texts_go_on(Texts *texts, const TextOptions *options, size_t wanted);
/* The separator of two texts or two bands of columns. */
void texts_print_between(const TextOptions *options);

/* The beginning of texts: a line end, then the prompt (or NULL). An stb_ds array. */
bool texts_encode(const Vocabulary *vocabulary, const char *prompt, int32_t **ids,
                  Error *error);

#endif
