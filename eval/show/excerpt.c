#include "eval/show/excerpt.h"
#include "eval/show/writer.h"
#include "src/base/memory.h"

typedef struct Excerpt {
    Generator *generator;
    const Vocabulary *vocabulary;
    size_t tokens;
    RandomKey key;
    Writer writer;
} Excerpt;

static bool write_tokens(void *context, Error *error)
{
    (void)error;
    Excerpt *e = context;
    const SamplerOptions sampler = {.temperature = 0.8, .top_p = 1};
    int32_t id = vocabulary_start(e->vocabulary), unk = e->vocabulary->unk;
    generator_restart(e->generator);
    for (size_t i = 0; i < e->tokens; i++) {
        generator_read(e->generator, &id);
        id = generator_pick(e->generator, 0, &sampler, random_uniform(e->key, i), unk);
        writer_token(&e->writer, id, 1);
    }
    return true;
}

char *excerpt_make(Generator *generator, const Vocabulary *vocabulary, size_t tokens,
                   RandomKey key)
{
    char *text;
    size_t size;
    Error why;
    FILE *stream = memory_text_open(&text, &size, "a sample");
    Excerpt excerpt = {generator, vocabulary, tokens, key, {0}};
    writer_begin(&excerpt.writer, vocabulary, (WriterStyle){.safe = true, .utf8 = true});
    writer_direct(&excerpt.writer, stream);
    bool good = error_catch(write_tokens, &excerpt, &why);
    writer_pause(&excerpt.writer);
    if (!good)
        fprintf(stream, "[%s]\n", why.text);
    memory_text_close(stream, "a sample");
    return text;
}
