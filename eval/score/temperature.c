#include "eval/score/temperature.h"

#include <math.h>

static void hear(void *context, Pass *pass)
{
    Temperatures *temperatures = context;
    for (size_t i = 0; i < temperatures->count; i++)
        temperatures->nats[i] += pass_loss_at(pass, temperatures->at[i]);
}

ScoreListener temperatures_listener(Temperatures *temperatures)
{
    return (ScoreListener){hear, temperatures};
}

/* --- the best one --- */

#define STEP 1.08 /* from one temperature to the next */
#define MOST 16.0

static Temperatures around(double centre)
{
    Temperatures temperatures = {.count = TEMPERATURES_MOST};
    for (int i = 0; i < TEMPERATURES_MOST; i++)
        temperatures.at[i] = centre * pow(STEP, i - TEMPERATURES_MOST / 2);
    return temperatures;
}

static size_t lowest(const double *nats, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = nats[i] < nats[best] ? i : best;
    return best;
}

/* The minimum of the parabola through three points, of which the middle one is the lowest. */
static double vertex(const double x[3], const double y[3])
{
    double left = (x[1] - x[0]) * (y[1] - y[2]), right = (x[1] - x[2]) * (y[1] - y[0]);
    double bend = left - right;
    if (bend == 0)
        return x[1];
    return x[1] - ((x[1] - x[0]) * left - (x[1] - x[2]) * right) / (2 * bend);
}

static double between(const Temperatures *temperatures, size_t best)
{
    double inverse[3];
    for (size_t i = 0; i < 3; i++)
        inverse[i] = 1 / temperatures->at[best - 1 + i];
    return 1 / vertex(inverse, temperatures->nats + best - 1);
}

static double rounded(double temperature)
{
    const double thousand = 1000;
    return round(temperature * thousand) / thousand;
}

double temperature_tune(Scorer *scorer, const CorpusSplit *split)
{
    double centre = 1;
    while (centre < MOST && centre > 1 / MOST) {
        Temperatures temperatures = around(centre);
        ScoreListener listener = temperatures_listener(&temperatures);
        scorer_score(scorer, split, &listener, 1);
        size_t best = lowest(temperatures.nats, temperatures.count);
        if (!isfinite(temperatures.nats[best]))
            return 1;
        if (best > 0 && best < temperatures.count - 1)
            return rounded(between(&temperatures, best));
        centre = temperatures.at[best];
    }
    return rounded(centre);
}
