/* Scores of a model that goes on learning while it is scored (dynamic evaluation, after Krause,
 * Kahembwe, Murray and Renals).
 *
 * The text is read window by window. A window's last tokens, its segment, are scored; only then
 * the model takes one step along the gradient g of their mean loss, and one back towards the
 * weights w_0 that it was trained to:
 *
 *   w += -rate g / (r + R)  +  min(decay r / R, 1) (w_0 - w)
 *
 * r is the root mean square of the weight's gradient over segments of the training text, and R
 * the mean of r over all weights: steps are short where gradients are large anyway.
 *
 * No token is learned from before it has been scored. The model that is given stays as it is;
 * nothing is dropped out, and no penalty counts. */
#ifndef LINNET_DYNAMIC_H
#define LINNET_DYNAMIC_H

#include "eval/score/scorer.h"

typedef struct DynamicOptions {
    double rate, decay;
    size_t statistics; /* segments of the training text that r is taken from; not 0 */
} DynamicOptions;

/* The batch of the protocol is 1, and its stride is the segment. */
Score dynamic_score(const Model *model, const Protocol *protocol, const DynamicOptions *options,
                    const CorpusSplit *split, const CorpusSplit *training);

/* The rate and the decay with which a text has the lowest loss: from those to start with, first
 * the rate, then the decay is halved, or else doubled, for as long as that saves a
 * ten-thousandth of the nats. */
DynamicOptions dynamic_tune(const Model *model, const Protocol *protocol,
                            const DynamicOptions *start, const CorpusSplit *split,
                            const CorpusSplit *training);

#endif
