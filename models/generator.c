#include "models/generator.h"
#include "models/safetensors.h"

#include <math.h>
#include <string.h>

/* In effect no limit. */
#define ENDLESS ((size_t)1 << 40)

static void lay_out(Generator *g)
{
    const ModelConfig *config = &g->pass.model->config;
    size_t texts = g->pass.batch;
    size_t all = memory_product(texts, config->vocabulary, "the generator");
    pass_layout(&g->pass, &g->arena);
    g->logits = arena_reals(&g->arena, all);
    g->changed = arena_reals(&g->arena, config->vocabulary);
    g->seen = arena_bytes(&g->arena, all, sizeof *g->seen);
    g->memory.weights = arena_reals(&g->arena, config->vocabulary);
    g->memory.candidates = arena_bytes(&g->arena, config->vocabulary,
                                       sizeof *g->memory.candidates);
    g->history = arena_bytes(&g->arena, memory_product(config->context, texts, "the generator"),
                             sizeof *g->history);
}

/* Everything except the memory, which is only counted. */
static void measure(Generator *g, const Model *model, size_t texts)
{
    const ModelConfig *config = &model->config;
    *g = (Generator){.endless = model_is_endless(model)};
    pass_make_decoder(&g->pass, model, texts, g->endless ? ENDLESS : config->context);
    lay_out(g);
}

void generator_make(Generator *generator, const Model *model, size_t texts)
{
    measure(generator, model, texts);
    arena_allocate(&generator->arena, "the generator");
    lay_out(generator);
    pass_restart(&generator->pass);
}

void generator_free(Generator *generator)
{
    pass_free(&generator->pass);
    arena_free(&generator->arena);
}

size_t generator_bytes(const Model *model)
{
    Generator one;
    measure(&one, model, 1);
    size_t bytes = one.arena.used;
    pass_free(&one.pass);
    return bytes;
}

void generator_restart(Generator *generator)
{
    size_t all = generator->pass.batch * generator->pass.model->config.vocabulary;
    generator->read = 0;
    memset(generator->seen, 0, all * sizeof *generator->seen);
    pass_restart(&generator->pass);
}

static void forget_half(Generator *g, size_t context)
{
    size_t texts = g->pass.batch, kept = context / 2;
    memmove(g->history, g->history + (g->read - kept) * texts,
            kept * texts * sizeof *g->history);
    pass_restart(&g->pass);
    for (size_t i = 0; i < kept; i++)
        pass_step(&g->pass, g->logits, g->history + i * texts);
    g->read = kept;
}

void generator_read(Generator *generator, const int32_t *tokens)
{
    const ModelConfig *config = &generator->pass.model->config;
    size_t context = config->context, texts = generator->pass.batch;
    for (size_t i = 0; generator->read > 0 && i < texts; i++)
        generator->seen[i * config->vocabulary + (size_t)tokens[i]] = true;
    if (!generator->endless) {
        if (generator->read == context)
            forget_half(generator, context);
        memcpy(generator->history + generator->read * texts, tokens, texts * sizeof *tokens);
    }
    generator->read++;
    pass_step(&generator->pass, generator->logits, tokens);
    size_t bytes = texts * config->vocabulary * sizeof *generator->logits;
    if (!tensor_is_finite(TENSOR_REAL, generator->logits, bytes))
        die("the model's predictions are not finite; use another checkpoint, or train again "
            "with a lower --lr");
}

const real *generator_logits(const Generator *generator, size_t text)
{
    return generator->logits + text * generator->pass.model->config.vocabulary;
}

int32_t generator_pick(Generator *generator, size_t text, const SamplerOptions *options,
                       double uniform, int32_t banned)
{
    size_t vocabulary = generator->pass.model->config.vocabulary;
    real *logits = generator->changed;
    memcpy(logits, generator_logits(generator, text), vocabulary * sizeof *logits);
    if (options->penalty > 0 && options->penalty != 1)
        sampler_penalise(logits, vocabulary, generator->seen + text * vocabulary,
                         options->penalty);
    if (banned >= 0)
        logits[banned] = -INFINITY;
    return sampler_pick(logits, vocabulary, options, uniform, generator->memory);
}

double generator_loss(const Generator *generator, size_t text, int32_t token)
{
    return sampler_loss(generator_logits(generator, text),
                        generator->pass.model->config.vocabulary, token);
}
