/* Texts that a model makes in step: one beginning, several ways to go on.
 *
 * The first is written as it is made; the others are kept until it is complete, or all of them
 * are, where they are to stand side by side. After a pause they can go on where they stopped,
 * as if there had been none. */
#ifndef LINNET_TEXTS_H
#define LINNET_TEXTS_H

#include "eval/write/generator.h"
#include "eval/write/writer.h"
#include "src/options.h"

#include <signal.h>

typedef struct TextOptions {
    size_t length, count, seed;
    SamplerOptions sampler;
    bool greedy, unk, detok, columns, show_probs;
} TextOptions;

/* The rows that describe them. */
OptionGroup text_option_group(TextOptions *options);
/* What the rows cannot know: whether it all suits the model's tokens. */
bool text_options_check(const TextOptions *options, const Vocabulary *vocabulary, Error *error);

typedef struct Texts {
    Generator generator;
    const Vocabulary *vocabulary;
    size_t count;
    size_t number;         /* of the first of them; each number is a text of its own */
    size_t picked;         /* tokens of each */
    int32_t *last;         /* (count) tokens that have not been read yet */
    double *probabilities; /* (count) of these */
    Writer *writers;       /* (count) */
    char **kept;           /* (count) what has not been printed; see streams */
    size_t *kept_size;
    FILE **streams; /* (count) into kept; standard output for the first, as a rule */
    const volatile sig_atomic_t *stop; /* set by whoever wants no more; or NULL */
} Texts;

/* Room for as many as the count, or fewer if their memory would be too much; positions are the
 * tokens that each will have. */
void texts_make(Texts *texts, const Model *model, const Vocabulary *vocabulary, size_t count,
                size_t positions);
void texts_free(Texts *texts);

/* Reads a beginning of at least one token, of which the first is not written, and makes
 * options->length tokens more; prints `wanted` of the texts. */
void texts_begin(Texts *texts, const TextOptions *options, const int32_t *beginning,
                 size_t number, size_t wanted);
/* Makes as many more. */
void texts_go_on(Texts *texts, const TextOptions *options, size_t wanted);
/* What stands between two texts, or between two bands of columns. */
void texts_print_between(const TextOptions *options);

/* What texts begin with: the line end in front of them, then the prompt (or NULL). An stb_ds
 * array. */
bool texts_encode(const Vocabulary *vocabulary, const char *prompt, int32_t **ids,
                  Error *error);

#endif
