#include "train/loop/sampling.h"
#include "eval/show/writer.h"

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
    const Trainer *trainer = sampling->trainer;
    RandomKey key = random_key(trainer->settings.train.seed, RANDOM_SAMPLE,
                               trainer->progress.step);
    return writer_sample(&sampling->generator, &trainer->corpus.vocabulary, key, SAMPLE_TOKENS);
}
