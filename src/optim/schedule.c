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

static const struct {
    const char *name;
    double (*factor)(double progress, double floor); /* at progress 0..1 */
} shapes[] = {
    {"cosine", cosine}, {"linear", linear}, {"trapezoid", trapezoid}, {"constant", constant}};

const char *schedule_name(size_t shape)
{
    return shape < sizeof shapes / sizeof *shapes ? shapes[shape].name : NULL;
}

size_t schedule_cycle_end(const Schedule *schedule, size_t cycle)
{
    return schedule->steps * (FIRST_PART + cycle) / (FIRST_PART + schedule->cycles);
}

size_t schedule_cycles_ended(const Schedule *schedule, size_t step)
{
    size_t ended = 0;
    while (ended <= schedule->cycles && schedule_cycle_end(schedule, ended) <= step)
        ended++;
    return ended;
}

double schedule_factor(const Schedule *schedule, size_t step)
{
    if (step < schedule->warmup)
        return (double)(step + 1) / (double)schedule->warmup;
    size_t ended = schedule_cycles_ended(schedule, step), last = schedule->cycles;
    size_t cycle = ended < last ? ended : last;
    size_t start = cycle ? schedule_cycle_end(schedule, cycle - 1) : schedule->warmup;
    size_t end = schedule_cycle_end(schedule, cycle);
    if (end <= start)
        return 1;
    double progress = (double)(step - start) / (double)(end - start);
    return cycle ? linear(progress, schedule->floor)
                 : shapes[schedule->shape].factor(progress, schedule->floor);
}
