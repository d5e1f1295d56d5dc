/* Dynamic evaluation (Krause, Kahembwe, Murray and Renals): the model keeps learning while it
 * is scored.
 *
 * The text is read window by window. A window's last tokens, its segment, are scored. Then the
 * model takes a step along the gradient g of their mean loss, and decays towards the trained
 * weights w_0:
 *
 *   w += -rate g / (r + epsilon R)  +  min(decay r / R, 1) (w_0 - w)
 *
 * r is the root mean square of the weight's gradient over segments of the training text, R the
 * mean of r over all weights: steps are small where gradients tend to be large. With a small
 * epsilon, weights that are rarely needed, the embeddings of rare words above all, learn fast.
 *
 * The model learns from a token only after scoring it. The given model is not changed. Dropout
 * is off. */
#ifndef LINNET_DYNAMIC_H
#define LINNET_DYNAMIC_H

#include "models/score.h"

typedef struct DynamicOptions {
    double rate, decay, epsilon; /* epsilon is not 0 */
    size_t statistics;           /* segments of the training text to estimate r from; not 0 */
} DynamicOptions;

/* The protocol has batch 1; its stride is the segment. */
Score dynamic_score(const Model *model, const Protocol *protocol, const DynamicOptions *options,
                    const CorpusSplit *split, const CorpusSplit *training);

/* Tunes the rate, then the decay, for the lowest loss of a text: from the given values, halves
 * or else doubles each while that saves a ten-thousandth of the nats. */
DynamicOptions dynamic_tune(const Model *model, const Protocol *protocol,
                            const DynamicOptions *start, const CorpusSplit *split,
                            const CorpusSplit *training);

#endif
