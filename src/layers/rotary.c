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
    real *qkv;         /* (rows, 3 * heads * width) */
    const real *table; /* (length, width) */
    size_t length, heads, width;
    bool back;
} Job;

static void turn_row(const void *context, size_t row)
{
    const Job *job = context;
    real *qk = job->qkv + row * 3 * job->heads * job->width;
    const real *angles = job->table + row % job->length * job->width;
    for (size_t head = 0; head < 2 * job->heads; head++)
        rotary_turn(qk + head * job->width, angles, job->width, job->back);
}

void rotary_turn_rows(real *qkv, const real *table, size_t rows, size_t length, size_t heads,
                      size_t width, bool back)
{
    const Job job = {qkv, table, length, heads, width, back};
    team_run_rows(rows, TEAM_ROWS, turn_row, &job);
}
