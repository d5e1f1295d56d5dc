#include "src/optim/schedule.h"

#include <math.h>

static double cosine(double progress, double floor)
{
    const double pi = 3.141592653589793;
    return floor + (1 - floor) * 0.5 * (1 + cos(pi * progress));
}

static double linear(double progress, double floor)
{
    return 1 - (1 - floor) * progress;
}

/* WSD: constant, then linear to the floor over the last two fifths. */
static double trapezoid(double progress, double floor)
{
    const double fall = 0.4;
    double fallen = (progress - (1 - fall)) / fall;
    return fallen <= 0 ? 1 : linear(fallen, floor);
}

static double constant(double progress, double floor)
{
    (void)progress;
    (void)floor;
    return 1;
}

/* A trapezoid; the last third is divided into cycles, each a ninth of the whole. */
enum { CYCLES = 3, LENGTHS = 9 };

static size_t falls(double progress)
{
    size_t lengths = (size_t)(progress * LENGTHS);
    return lengths < LENGTHS - CYCLES ? 0 : lengths - (LENGTHS - CYCLES) + 1;
}

static double cycles(double progress, double floor)
{
    double lengths = progress * LENGTHS;
    if (falls(progress) == 0)
        return trapezoid(lengths / (LENGTHS - CYCLES), floor);
    return progress < 1 ? linear(lengths - trunc(lengths), floor) : floor;
}

static const Schedule schedules[] = {
    {"cosine", cosine, NULL},     {"linear", linear, NULL},  {"trapezoid", trapezoid, NULL},
    {"constant", constant, NULL}, {"cycles", cycles, falls},
};

const Schedule *schedule_find(size_t index)
{
    return index < sizeof schedules / sizeof *schedules ? &schedules[index] : NULL;
}

const char *schedule_name(size_t index)
{
    const Schedule *schedule = schedule_find(index);
    return schedule ? schedule->name : NULL;
}

double schedule_factor(const Schedule *schedule, size_t step, size_t warmup, size_t steps,
                       double floor)
{
    if (step < warmup)
        return (double)(step + 1) / (double)warmup;
    if (steps <= warmup)
        return 1;
    return schedule->factor((double)(step - warmup) / (double)(steps - warmup), floor);
}

size_t schedule_falls(const Schedule *schedule, size_t step, size_t warmup, size_t steps)
{
    if (!schedule->falls || step <= warmup)
        return 0;
    return schedule->falls((double)(step - warmup) / (double)(steps - warmup));
}
