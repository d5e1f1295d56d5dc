#include "eval/show/excerpt.h"
#include "eval/show/writer.h"
#include "src/memory.h"

char *excerpt_make(Generator *generator, const Vocabulary *vocabulary, size_t tokens,
                   RandomKey key)
{
    const SamplerOptions sampler = {.temperature = 0.8, .top_p = 1};
    char *text;
    size_t size;
    FILE *stream = memory_text_open(&text, &size, "a sample");
    Writer writer;
    writer_begin(&writer, vocabulary, (WriterStyle){.safe = true, .utf8 = true});
    writer_direct(&writer, stream);
    generator_restart(generator);
    int32_t id = vocabulary_start(vocabulary);
    for (size_t i = 0; i < tokens; i++) {
        generator_read(generator, &id);
        id = generator_pick(generator, 0, &sampler, random_uniform(key, i), vocabulary->unk);
        writer_token(&writer, id, 1);
    }
    writer_pause(&writer);
    memory_text_close(stream, "a sample");
    return text;
}
