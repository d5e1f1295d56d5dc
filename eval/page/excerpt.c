#include "eval/page/excerpt.h"
#include "models/generator.h"
#include "eval/show/writer.h"
#include "src/memory.h"
#include "src/random.h"

static void write_tokens(Writer *writer, const Model *model, size_t tokens, uint64_t seed)
{
    const SamplerOptions sampler = {.temperature = 0.8, .top_p = 1};
    const Vocabulary *vocabulary = writer->vocabulary;
    RandomKey key = random_key(seed, RANDOM_SAMPLE, 0);
    Generator generator;
    generator_make(&generator, model, 1);
    generator_restart(&generator);
    int32_t id = vocabulary->eos; /* the line end in front of the text */
    for (size_t i = 0; i < tokens; i++) {
        generator_read(&generator, &id);
        id = generator_pick(&generator, 0, &sampler, random_uniform(key, i), vocabulary->unk);
        writer_token(writer, id, 1);
    }
    generator_free(&generator);
}

char *excerpt_make(const Model *model, const Vocabulary *vocabulary, size_t tokens,
                   uint64_t seed)
{
    char *text;
    size_t size;
    FILE *stream = memory_text_open(&text, &size, "a sample");
    Writer writer;
    writer_begin(&writer, vocabulary, (WriterStyle){.safe = true, .utf8 = true});
    writer_direct(&writer, stream);
    write_tokens(&writer, model, tokens, seed);
    writer_pause(&writer);
    memory_text_close(stream, "a sample");
    return text;
}
