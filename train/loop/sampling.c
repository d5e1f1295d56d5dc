#include "train/loop/sampling.h"
#include "eval/show/writer.h"
#include "src/memory.h"

#include <stdio.h>

enum { SAMPLE_TOKENS = 40 };

void sampling_make(Sampling *sampling, const Trainer *trainer)
{
    *sampling = (Sampling){.trainer = trainer, .every = trainer->settings.session.sample_every};
    if (sampling->every > 0)
        generator_make(&sampling->generator, &trainer->model, 1);
}

void sampling_free(Sampling *sampling)
{
    if (sampling->every > 0)
        generator_free(&sampling->generator);
    *sampling = (Sampling){0};
}

char *sampling_write(Sampling *sampling)
{
    const SamplerOptions options = {.temperature = 0.8, .top_p = 1};
    const Trainer *trainer = sampling->trainer;
    const Vocabulary *vocabulary = &trainer->corpus.vocabulary;
    RandomKey key = random_key(trainer->settings.train.seed, RANDOM_SAMPLE,
                               trainer->progress.step);
    char *text;
    size_t size;
    FILE *stream = memory_text_open(&text, &size, "a sample");
    Writer writer;
    writer_begin(&writer, vocabulary, (WriterStyle){.safe = true, .utf8 = true});
    writer_direct(&writer, stream);
    generator_restart(&sampling->generator);
    int32_t token = vocabulary->eos; /* a text starts after a line end */
    for (size_t i = 0; i < SAMPLE_TOKENS; i++) {
        generator_read(&sampling->generator, &token);
        token = generator_pick(&sampling->generator, 0, &options, random_uniform(key, i),
                               vocabulary->unk);
        writer_token(&writer, token, 1);
    }
    writer_pause(&writer);
    memory_text_close(stream, "a sample");
    return text;
}
