/* Generating text token by token.
 *
 * Each token costs one position: attention kinds with a finite state carry that state for ever,
 * and their ten-thousandth token costs what the tenth does. Other kinds, and learned positions,
 * end at the model's context: there the generator forgets all but the last half of it, reads
 * that once more, and goes on. */
#ifndef LINNET_GENERATOR_H
#define LINNET_GENERATOR_H

#include "eval/sampler.h"
#include "models/pass.h"

typedef struct Generator {
    Pass pass;
    Arena arena;
    real *logits;          /* (V) of the next token */
    Candidate *candidates; /* (V) work memory */
    int32_t *history; /* (context) the tokens since the last restart, where there is an end */
    size_t read;      /* tokens since the last restart */
    bool endless;
} Generator;

void generator_make(Generator *generator, const Model *model);
void generator_free(Generator *generator);

/* Begins a text; the next call must be a read. */
void generator_restart(Generator *generator);
/* Reads a token, the text's own or one that was picked; afterwards logits say what follows. */
void generator_read(Generator *generator, int32_t token);
/* Picks what follows; a banned token (or TOKEN_NONE) is never picked. */
int32_t generator_pick(Generator *generator, const SamplerOptions *options, double uniform,
                       int32_t banned);

#endif
