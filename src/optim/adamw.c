#include "src/optim/adamw.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <math.h>

#define TILE ((size_t)32768)

typedef struct Job {
    real *w, *m, *v;      /* (count) */
    const real *gradient; /* (count) */
    size_t count;
    real beta1, beta2, epsilon, rate, shrink, scale, correction2;
} Job;

static void step_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    const Job job = *(const Job *)context;
    size_t first = tile * TILE, count = team_extent(job.count, TILE, tile);
    real *restrict w = job.w + first, *restrict m = job.m + first, *restrict v = job.v + first;
    const real *restrict gradient = job.gradient + first;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        real g = gradient[i] * job.scale;
        m[i] = vector_clean(job.beta1 * m[i] + (1 - job.beta1) * g);
        v[i] = vector_clean(job.beta2 * v[i] + (1 - job.beta2) * g * g);
#ifdef LINNET_DOUBLE
        real root = sqrt(v[i] * job.correction2);
#else
        real root = sqrtf(v[i] * job.correction2);
#endif
        w[i] = w[i] * job.shrink - job.rate * m[i] / (root + job.epsilon);
    }
}

void adamw_step(real *w, real *m, real *v, const real *gradient, size_t count, AdamW adam,
                uint64_t t, double learning_rate, double decay, double scale)
{
    Job job = {.w = w,
               .m = m,
               .v = v,
               .gradient = gradient,
               .count = count,
               .beta1 = (real)adam.beta1,
               .beta2 = (real)adam.beta2,
               .epsilon = (real)adam.epsilon,
               .scale = (real)scale,
               .rate = (real)(learning_rate / (1 - pow(adam.beta1, (double)t))),
               .correction2 = (real)(1 / (1 - pow(adam.beta2, (double)t))),
               .shrink = (real)(1 - learning_rate * decay)};
    team_run(team_tiles(count, TILE), step_tile, &job);
}

double gradient_square_sum(const real *gradient, size_t count)
{
    double total = 0;
    for (size_t start = 0; start < count; start += TILE) {
        size_t end = start + TILE < count ? start + TILE : count;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = start; i < end; i++)
            sum += (double)gradient[i] * (double)gradient[i];
        total += sum;
    }
    return total;
}
