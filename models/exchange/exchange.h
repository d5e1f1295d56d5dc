/* Which models other programs compute: export decides by it, and train says so before. */
#ifndef LINNET_EXCHANGE_H
#define LINNET_EXCHANGE_H

#include "models/config.h"

/* Whether the model has only parts that all families of transformers have, or those of its
 * GPT-2; otherwise `lacks` names a part that GPT-2 does not have. */
bool exchange_is_plain(const ModelConfig *config, Error *lacks);
bool exchange_is_gpt2(const ModelConfig *config, Error *lacks);

/* An architecture of llama.cpp. */
typedef struct LlamaCppArchitecture {
    const char *name, *activation;
    bool rms_norm, rotary, parallel, whole_rotary;
    bool splits;       /* query, key, value, gate have tensors of their own */
    bool needs_biases; /* in all layers */
    bool needs_head;   /* has no tied embeddings */
} LlamaCppArchitecture;

/* The architecture that computes the model; else NULL, and `lacks` names a part that none has.
 */
const LlamaCppArchitecture *exchange_llama_cpp(const ModelConfig *config, Error *lacks);

#endif
