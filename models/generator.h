/* Generates a batch of texts token by token; all are at the same position and share matrix
 * products. A text is the same, bit for bit, alone or in any batch.
 *
 * Attention kinds with a finite state carry it on, so the ten-thousandth token costs as much as
 * the tenth. Other kinds, and learned positions, end at the model's context length: there the
 * generator keeps the last half of the context, reads it again, and continues. */
#ifndef LINNET_GENERATOR_H
#define LINNET_GENERATOR_H

#include "models/sampler.h"
#include "models/pass.h"

typedef struct Generator {
    Pass pass; /* batch B: the number of texts */
    Arena arena;
    real *logits;         /* (B, V) of the next tokens */
    SamplerMemory memory; /* for V tokens */
    int32_t *history;     /* (context, B) tokens since the last restart, if the context ends */
    size_t read;          /* tokens of each text in it */
    bool *seen;           /* (B, V) for a repetition penalty */
    real *changed;        /* (V) logits with it */
    bool endless;
} Generator;

void generator_make(Generator *generator, const Model *model, size_t texts);
void generator_free(Generator *generator);
/* Memory for one text; n texts take at most n times as much. */
size_t generator_bytes(const Model *model);

/* Starts new texts; call generator_read next. */
void generator_restart(Generator *generator);
/* Reads one token of each text (B) and computes the logits of the next ones. The first is the
 * start token: a repetition penalty counts the tokens after it. Dies if the logits are not
 * finite: what is made of them would be no text. */
void generator_read(Generator *generator, const int32_t *tokens);
/* Samples the next token of a text, with the options' repetition penalty; never the banned one
 * (or TOKEN_NONE). */
int32_t generator_pick(Generator *generator, size_t text, const SamplerOptions *options,
                       double uniform, int32_t banned);
/* The model's logits (V) and the loss of a token in nats, independent of sampling options. */
const real *generator_logits(const Generator *generator, size_t text);
double generator_loss(const Generator *generator, size_t text, int32_t token);

#endif
