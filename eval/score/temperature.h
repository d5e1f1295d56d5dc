/* Scores at a temperature: every logit divided by it before the softmax.
 *
 * A model that was trained for long is too sure of itself, one that was trained under heavy
 * dropout not sure enough; a temperature puts that right with a single number. The loss is a
 * convex function of 1 / T, so that there is one best temperature. It is to be found on another
 * text than the one that is scored.
 *
 * Several temperatures share one reading of the text: only the head is computed for each. */
#ifndef LINNET_TEMPERATURE_H
#define LINNET_TEMPERATURE_H

#include "eval/score/scorer.h"

enum { TEMPERATURES_MOST = 5 };

typedef struct Temperatures {
    double at[TEMPERATURES_MOST], nats[TEMPERATURES_MOST]; /* zeros before a text is read */
    size_t count;
} Temperatures;

/* What sums the nats while a text is scored. */
ScoreListener temperatures_listener(Temperatures *temperatures);

/* The temperature, to three decimals, at which a text has the lowest loss. It is looked for in
 * steps of 8 % from 1 on and between the steps by a parabola; to a sixteenth and sixteenfold.
 */
double temperature_tune(Scorer *scorer, const CorpusSplit *split);

#endif
