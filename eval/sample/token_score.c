#include "eval/sample/token_score.h"

double token_score_text(const Model *model, const int32_t *ids, size_t count, int32_t prime,
                        void (*tell)(void *listener, size_t at, TokenScore score),
                        void *listener)
{
    Generator generator;
    const ModelConfig *config = &model->config;
    double nats = 0;
    generator_make(&generator, model, 1);
    for (size_t i = 0; i < count; i++) {
        const int32_t *before = i ? &ids[i - 1] : &prime;
        if (i % config->context == 0 && (i == 0 || !config->carry_state))
            generator_restart(&generator);
        generator_read(&generator, before);
        TokenScore score = {
            .nats = generator_loss(&generator, 0, ids[i]),
            .rank = sampler_rank(generator_logits(&generator, 0), config->vocabulary, ids[i])};
        nats += score.nats;
        tell(listener, i, score);
    }
    generator_free(&generator);
    return nats;
}
