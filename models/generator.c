#include "models/generator.h"
#include "models/safetensors.h"

#include <math.h>
#include <string.h>

/* In effect no limit. */
#define ENDLESS ((size_t)1 << 40)

static void lay_out_seen(Generator *g, size_t texts, size_t vocabulary)
{
    size_t all = memory_product(texts, vocabulary, "the generator");
    g->kept = arena_reals(&g->arena, vocabulary);
    g->seen = arena_bytes(&g->arena, texts, sizeof *g->seen);
    bool *has = arena_bytes(&g->arena, all, sizeof *has);
    int32_t *ids = arena_bytes(&g->arena, all, sizeof *ids);
    for (size_t i = 0; g->seen && i < texts; i++)
        g->seen[i] = (SeenTokens){.has = has + i * vocabulary, .ids = ids + i * vocabulary};
}

static void lay_out(Generator *g)
{
    const ModelConfig *config = &g->pass.model->config;
    size_t texts = g->pass.batch;
    pass_layout(&g->pass, &g->arena);
    g->logits = arena_reals(&g->arena,
                            memory_product(texts, config->vocabulary, "the generator"));
    g->memory.weights = arena_reals(&g->arena, config->vocabulary);
    g->memory.candidates = arena_bytes(&g->arena, config->vocabulary,
                                       sizeof *g->memory.candidates);
    g->history = arena_bytes(&g->arena, memory_product(config->context, texts, "the generator"),
                             sizeof *g->history);
    lay_out_seen(g, texts, config->vocabulary);
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
    generator->read = 0;
    for (size_t i = 0; i < generator->pass.batch; i++)
        sampler_forget(&generator->seen[i]);
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
    size_t context = generator->pass.model->config.context, texts = generator->pass.batch;
    for (size_t i = 0; generator->read > 0 && i < texts; i++)
        sampler_see(&generator->seen[i], tokens[i]);
    if (!generator->endless) {
        if (generator->read == context)
            forget_half(generator, context);
        memcpy(generator->history + generator->read * texts, tokens, texts * sizeof *tokens);
    }
    generator->read++;
    pass_step(&generator->pass, generator->logits, tokens);
    size_t logits = texts * generator->pass.model->config.vocabulary;
    if (!tensor_is_finite(TENSOR_REAL, generator->logits, logits * sizeof(real)))
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
    real *logits = generator->logits + text * vocabulary, kept = 0;
    const SeenTokens *seen = &generator->seen[text];
    bool penalised = options->penalty > 0 && options->penalty != 1;
    if (penalised)
        sampler_penalise(logits, seen, options->penalty, generator->kept);
    if (banned >= 0) {
        kept = logits[banned];
        logits[banned] = -INFINITY;
    }
    int32_t id = sampler_pick(logits, vocabulary, options, uniform, generator->memory);
    if (banned >= 0) /* the logits are restored */
        logits[banned] = kept;
    if (penalised)
        sampler_restore(logits, seen, generator->kept);
    return id;
}

double generator_loss(const Generator *generator, size_t text, int32_t token)
{
    return sampler_loss(generator_logits(generator, text),
                        generator->pass.model->config.vocabulary, token);
}
