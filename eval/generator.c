#include "eval/generator.h"

#include <math.h>
#include <string.h>

/* More positions than anybody will wait for. */
#define ENDLESS ((size_t)1 << 40)

static void lay_out(Generator *g, const Model *model)
{
    size_t vocabulary = model->config.vocabulary;
    pass_layout(&g->pass, &g->arena);
    g->logits = arena_reals(&g->arena, vocabulary);
    g->candidates = arena_bytes(&g->arena, vocabulary, sizeof *g->candidates);
    g->history = arena_bytes(&g->arena, model->config.context, sizeof *g->history);
}

void generator_make(Generator *generator, const Model *model)
{
    const ModelConfig *config = &model->config;
    *generator = (Generator){.endless = model->kind->finite_state &&
                                        config->positions != POSITIONS_LEARNED};
    pass_make_decoder(&generator->pass, model, 1,
                      generator->endless ? ENDLESS : config->context);
    lay_out(generator, model);
    arena_allocate(&generator->arena, "the generator");
    lay_out(generator, model);
    pass_restart(&generator->pass);
}

void generator_free(Generator *generator)
{
    pass_free(&generator->pass);
    arena_free(&generator->arena);
}

void generator_restart(Generator *generator)
{
    generator->read = 0;
    pass_restart(&generator->pass);
}

static void forget_half(Generator *g, size_t context)
{
    size_t kept = context / 2;
    memmove(g->history, g->history + g->read - kept, kept * sizeof *g->history);
    pass_restart(&g->pass);
    for (size_t i = 0; i < kept; i++)
        pass_step(&g->pass, g->logits, &g->history[i]);
    g->read = kept;
}

void generator_read(Generator *generator, int32_t token)
{
    size_t context = generator->pass.model->config.context;
    if (!generator->endless) {
        if (generator->read == context)
            forget_half(generator, context);
        generator->history[generator->read] = token;
    }
    generator->read++;
    pass_step(&generator->pass, generator->logits, &token);
}

int32_t generator_pick(Generator *generator, const SamplerOptions *options, double uniform,
                       int32_t banned)
{
    if (banned >= 0)
        generator->logits[banned] = -INFINITY;
    return sampler_pick(generator->logits, generator->pass.model->config.vocabulary, options,
                        uniform, generator->candidates);
}
