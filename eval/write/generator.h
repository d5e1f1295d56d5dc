/* Generating texts token by token, as many as one likes in step: they are at the same position,
 * so that all of them go through a matrix product together. With the kernel of kernel.h a text
 * is the same, bit for bit, alone and in any company; libraries may round otherwise.
 *
 * Each token costs one position: attention kinds with a finite state carry that state for ever,
 * and their ten-thousandth token costs what the tenth does. Other kinds, and learned positions,
 * end at the model's context: there the generator forgets all but the last half of it, reads
 * that once more, and goes on. */
#ifndef LINNET_GENERATOR_H
#define LINNET_GENERATOR_H

#include "eval/write/sampler.h"
#include "models/pass.h"

typedef struct Generator {
    Pass pass; /* its batch B is the number of texts */
    Arena arena;
    real *logits;         /* (B, V) of the next tokens */
    SamplerMemory memory; /* for V tokens */
    int32_t *history; /* (context, B) tokens since the last restart, where there is an end */
    size_t read;      /* how many of them each text has */
    bool endless;
} Generator;

void generator_make(Generator *generator, const Model *model, size_t texts);
void generator_free(Generator *generator);
/* Memory for one text; n of them take n times that or less. */
size_t generator_bytes(const Model *model);

/* Begins new texts; the next call must be a read. */
void generator_restart(Generator *generator);
/* Reads a token (B) of each text, its own or one that was picked; afterwards logits say what
 * follows. */
void generator_read(Generator *generator, const int32_t *tokens);
/* Picks what follows in one of the texts; a banned token (or TOKEN_NONE) is never picked. */
int32_t generator_pick(Generator *generator, size_t text, const SamplerOptions *options,
                       double uniform, int32_t banned);
/* The model's own word on what follows, whatever the options are: the logits (V), and the loss
 * of a token in nats. */
const real *generator_logits(const Generator *generator, size_t text);
double generator_loss(const Generator *generator, size_t text, int32_t token);

#endif
