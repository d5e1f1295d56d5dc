#include "src/layers/rotary.h"
#include "src/math/team.h"

#include <math.h>

void rotary_row(real *row, size_t position, size_t width, size_t pairs, double base)
{
    size_t half = width / 2;
    for (size_t i = 0; i < half; i++) {
        double frequency = pow(base, -(double)(2 * i) / (double)(2 * pairs));
        double angle = i < pairs ? (double)position * frequency : 0;
        row[i] = (real)cos(angle);
        row[half + i] = (real)sin(angle);
    }
}

typedef struct Job {
    real *x;           /* (rows, heads * width), rows `stride` apart */
    const real *table; /* (length, width) */
    size_t stride, length, heads, width;
    bool back;
} Job;

static void turn_row(const void *context, size_t row)
{
    const Job *job = context;
    real *x = job->x + row * job->stride;
    const real *angles = job->table + row % job->length * job->width;
    for (size_t head = 0; head < job->heads; head++)
        rotary_rotate(x + head * job->width, angles, job->width, job->back);
}

void rotary_rotate_rows(real *x, size_t stride, const real *table, size_t rows, size_t length,
                        size_t heads, size_t width, bool back)
{
    const Job job = {x, table, stride, length, heads, width, back};
    team_run_rows(rows, TEAM_ROWS, turn_row, &job);
}
