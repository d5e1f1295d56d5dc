/* Temperature scaling: divides every logit by T before the softmax.
 *
 * A model trained for long is overconfident, one trained with heavy dropout underconfident; one
 * number corrects that. The loss is a convex function of 1 / T, so there is one best
 * temperature. It must be tuned on another text than the one scored.
 *
 * Several temperatures share one reading of the text: only the head is computed for each. */
#ifndef LINNET_TEMPERATURE_H
#define LINNET_TEMPERATURE_H

#include "models/score.h"

enum { TEMPERATURES_MOST = 5 };

typedef struct Temperatures {
    double at[TEMPERATURES_MOST], nats[TEMPERATURES_MOST]; /* zeros before a text is read */
    size_t count;
} Temperatures;

/* Adds up the nats while a text is scored. */
ScoreListener temperatures_listener(Temperatures *temperatures);

/* The temperature with the lowest loss of a text, to three decimals, between 1/16 and 16.
 * Searches in steps of 8 % from 1 on, and between steps by a parabola. */
double temperature_tune(Scorer *scorer, const CorpusSplit *split);

#endif
