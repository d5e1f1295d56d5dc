/* Optimizers, learning-rate schedules and the cross-entropy loss of the output head. */
#include "src/layers/head.h"
#include "src/base/memory.h"
#include "src/optim/adamw.h"
#include "src/optim/muon.h"
#include "src/optim/schedule.h"
#include "src/math/random.h"
#include "src/math/team.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SUITE("learning");

/* --- the optimizer --- */

typedef struct Slow { /* the formulas of adamw.h */
    double w, m, v;
} Slow;

static void slow_step(Slow *s, double g, AdamW adam, double t, double rate, double decay)
{
    s->m = adam.beta1 * s->m + (1 - adam.beta1) * g;
    s->v = adam.beta2 * s->v + (1 - adam.beta2) * g * g;
    double m = s->m / (1 - pow(adam.beta1, t)), v = s->v / (1 - pow(adam.beta2, t));
    s->w -= rate * (m / (sqrt(v) + adam.epsilon) + decay * s->w);
}

static void check_adamw(uint64_t first, double decay, double scale)
{
    enum { N = 70001, STEPS = 5 }; /* three tiles, the last one ragged */
    const AdamW adam = {0.9, 0.95, 1e-8};
    const double rate = 0.01;
    static real w[N], m[N], v[N], g[N];
    static Slow slow[N];
    for (size_t i = 0; i < N; i++) {
        RandomKey key = random_key(5, RANDOM_TEST, i);
        w[i] = (real)random_normal(key, 0);
        m[i] = first > 1 ? (real)random_normal(key, 1) : 0;
        v[i] = first > 1 ? (real)random_uniform(key, 2) : 0;
        slow[i] = (Slow){(double)w[i], (double)m[i], (double)v[i]};
    }
    for (uint64_t t = first; t < first + STEPS; t++) {
        for (size_t i = 0; i < N; i++) {
            g[i] = i % 1000 ? (real)random_normal(random_key(6, RANDOM_TEST, t), i) : 0;
            slow_step(&slow[i], (double)g[i] * scale, adam, (double)t, rate, decay);
        }
        adamw_step(w, m, v, g, N, adam, t, rate, decay, scale);
        double worst = 0; /* in units of a rounding error */
        for (size_t i = 0; i < N; i++) {
            double units[] = {fabs((double)w[i] - slow[i].w) / (1 + fabs(slow[i].w)),
                              fabs((double)m[i] - slow[i].m),
                              fabs((double)v[i] - slow[i].v) / (1 + slow[i].v)};
            for (size_t u = 0; u < COUNT(units); u++)
                worst = fmax(worst, isfinite(units[u]) ? units[u] / REAL_EPSILON : INFINITY);
        }
        ck_assert_msg(worst < 100, "step %zu is %g rounding errors off", (size_t)t, worst);
    }
}

TEST(adamw_matches_its_formula)
{
    for (size_t threads = 1; threads <= 3; threads += 2) {
        team_start(threads);
        check_adamw(1, 0, 1);
        check_adamw(1, 0.1, 0.25);
        check_adamw(1000000, 0, 1);
        check_adamw(1000000, 0.5, 1);
        team_stop();
    }
}

/* X = a X + b A X + c A A X with A = X X^T. */
static void slow_iteration(double *x, size_t rows, size_t columns, const double p[3])
{
    double *a = memory_new(rows * rows, sizeof *a, "a test");
    double *next = memory_new(rows * columns, sizeof *next, "a test");
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++)
            for (size_t k = 0; k < columns; k++)
                a[i * rows + j] += x[i * columns + k] * x[j * columns + k];
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            double factor = p[1] * a[i * rows + j] + (i == j ? p[0] : 0);
            for (size_t k = 0; k < rows; k++)
                factor += p[2] * a[i * rows + k] * a[k * rows + j];
            for (size_t k = 0; k < columns; k++)
                next[i * columns + k] += factor * x[j * columns + k];
        }
    memcpy(x, next, rows * columns * sizeof *x);
    free(next);
    free(a);
}

/* The square root of the length of X X^T. */
static double length_of_gram(const double *x, size_t rows, size_t columns)
{
    double squares = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < rows; j++) {
            double sum = 0;
            for (size_t k = 0; k < columns; k++)
                sum += x[i * columns + k] * x[j * columns + k];
            squares += sum * sum;
        }
    return sqrt(sqrt(squares));
}

/* The direction of a first step with gradient G, where U of muon.h is a multiple of G. */
static double *slow_direction(const real *g, size_t rows, size_t columns, size_t stride)
{
    static const double polynomials[][3] = {{8.093369, -23.620432, 17.446152},
                                            {3.636586, -2.721927, 0.536546},
                                            {2.661300, -1.977155, 0.452616}};
    double *x = memory_new(rows * columns, sizeof *x, "a test");
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = (double)g[i / columns * stride + i % columns];
    double length = length_of_gram(x, rows, columns);
    for (size_t i = 0; i < rows * columns; i++)
        x[i] /= length;
    for (size_t i = 0; i < COUNT(polynomials); i++)
        slow_iteration(x, rows, columns, polynomials[i]);
    return x;
}

/* A first step must not touch neighbouring memory. Some gradient rows are a hundred times
 * larger than others. */
static void check_muon(size_t rows, size_t columns, size_t stride)
{
    const double rate = 0.01, decay = 0.5, momentum = 0.9;
    size_t all = rows * stride;
    real *w = memory_new(3 * all, sizeof *w, "a test"), *m = w + all, *g = m + all;
    real *scratch = memory_new(muon_scratch_reals(rows, columns), sizeof *scratch, "a test");
    for (size_t i = 0; i < all; i++) {
        w[i] = 1;
        g[i] = (real)random_normal(random_key(5, RANDOM_TEST, rows), i) *
               (i / stride % 2 ? 1 : (real)0.01);
    }
    double *direction = slow_direction(g, rows, columns, stride);
    double longest = sqrt((double)(rows > columns ? rows : columns)), squares = 0;
    muon_step(&(MuonMatrix){w, m, g, rows, columns, stride}, momentum, rate, decay, 3, scratch);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < stride; j++) {
            size_t at = i * stride + j;
            if (j >= columns) {
                ck_assert(w[at] == 1 && m[at] == 0);
                continue;
            }
            double x = (1 - rate * decay - (double)w[at]) / (rate * MUON_STEP * longest);
            squares += x * x;
            ck_assert_double_eq_tol(x, direction[i * columns + j], 1e-3);
            ck_assert_double_eq_tol((double)m[at], (1 - momentum) * 3 * (double)g[at], 1e-4);
        }
    double length = sqrt(squares / (double)(rows < columns ? rows : columns));
    ck_assert_msg(length > 0.6 && length < 1.3, "singular values of %g", length);
    free(direction);
    free(w);
    free(scratch);
}

TEST(muon_orthogonalises_the_update)
{
    check_muon(1, 1, 1);
    check_muon(24, 24, 24);
    check_muon(16, 64, 192);
    check_muon(64, 16, 20);
    check_muon(130, 70, 70); /* more than a band of rows */
    check_muon(70, 130, 130);
}

TEST(square_sums_use_double)
{
    enum { N = 100000 };
    static real g[N];
    double sum = 0;
    for (size_t i = 0; i < N; i++) {
        g[i] = (real)random_normal(random_key(8, RANDOM_TEST, 0), i);
        sum += (double)g[i] * (double)g[i];
    }
    ck_assert_double_eq_tol(gradient_square_sum(g, N), sum, 1e-9 * sum);
    ck_assert(gradient_square_sum(g, 0) == 0);
    g[N - 1] = (real)1e30; /* its square overflows a float */
    ck_assert_double_eq_tol(gradient_square_sum(g, N), 1e60, 1e54);
    g[0] = (real)NAN;
    ck_assert(isnan(gradient_square_sum(g, N)));
    g[0] = (real)INFINITY;
    ck_assert(isinf(gradient_square_sum(g, N)));
}

TEST(schedules_warm_up_and_decay)
{
    static const struct {
        const char *name;
        double middle, end;
    } expected[] = {{"cosine", 0.55, 0.1},
                    {"linear", 0.55, 0.1},
                    {"trapezoid", 1, 0.1},
                    {"constant", 1, 1}};
    for (size_t i = 0; i < COUNT(expected); i++) {
        Schedule schedule = {.shape = i, .warmup = 10, .steps = 110, .floor = 0.1};
        ck_assert_str_eq(schedule_name(i), expected[i].name);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 0), 0.1, 1e-12);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 4), 0.5, 1e-12);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 9), 1, 1e-12);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 10), 1, 1e-12);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 60), expected[i].middle, 1e-12);
        ck_assert_double_eq_tol(schedule_factor(&schedule, 110), expected[i].end, 1e-12);
        double before = 1;
        for (size_t step = 10; step < 110; step++) {
            double factor = schedule_factor(&schedule, step);
            ck_assert(factor <= before && factor >= 0.1 - 1e-12);
            before = factor;
        }
        schedule = (Schedule){.shape = i, .steps = 1, .floor = 0.1};
        ck_assert_double_eq_tol(schedule_factor(&schedule, 0), 1, 1e-12);
        schedule = (Schedule){.shape = i, .warmup = 5, .steps = 5, .floor = 0.1};
        ck_assert_double_eq_tol(schedule_factor(&schedule, 3), 0.8, 1e-12);
    }
    ck_assert_ptr_null(schedule_name(COUNT(expected)));
}

/* Checks that a schedule equals `first` until that ends, and then falls from the peak to the
 * floor in each cycle. */
static void check_cycles(const Schedule *schedule, const Schedule *first)
{
    size_t start = first->steps;
    for (size_t step = 0; step < start; step++) {
        ck_assert(schedule_factor(schedule, step) == schedule_factor(first, step));
        ck_assert_uint_eq(schedule_cycles_ended(schedule, step), 0);
    }
    ck_assert_uint_eq(schedule_cycle_end(schedule, 0), start);
    for (size_t cycle = 1; cycle <= schedule->cycles; cycle++) {
        size_t end = schedule_cycle_end(schedule, cycle);
        for (size_t step = start; step < end; step++) {
            double fallen = (double)(step - start) / (double)(end - start);
            ck_assert_double_eq_tol(schedule_factor(schedule, step), 1 - 0.9 * fallen, 1e-12);
            ck_assert_uint_eq(schedule_cycles_ended(schedule, step), cycle);
        }
        start = end;
    }
    ck_assert_uint_eq(start, schedule->steps);
    ck_assert_uint_eq(schedule_cycles_ended(schedule, start), schedule->cycles + 1);
}

TEST(cycles_fall_from_the_peak_after_the_schedule)
{
    for (size_t shape = 0; schedule_name(shape); shape++) {
        Schedule first = {.shape = shape, .warmup = 10, .steps = 60, .floor = 0.1};
        Schedule three = {shape, 10, 90, 3, 0.1}, six = {shape, 10, 120, 6, 0.1};
        check_cycles(&three, &first);
        check_cycles(&six, &first);
    }
}

/* Lengths that six does not divide, and fewer steps than cycles. */
TEST(added_cycles_leave_the_ends_of_earlier_ones)
{
    Schedule three = {.steps = 9534, .cycles = 3}, six = {.steps = 12712, .cycles = 6};
    for (size_t cycle = 0; cycle <= 3; cycle++)
        ck_assert_uint_eq(schedule_cycle_end(&three, cycle), schedule_cycle_end(&six, cycle));
    ck_assert_uint_eq(schedule_cycle_end(&three, 1), 7415);
    for (size_t steps = 1; steps < 20; steps++) {
        Schedule short_one = {.steps = steps, .cycles = 10};
        for (size_t step = 0; step < steps; step++)
            ck_assert(schedule_factor(&short_one, step) > 0);
        ck_assert_uint_eq(schedule_cycles_ended(&short_one, steps), 11);
        ck_assert_uint_lt(schedule_cycles_ended(&short_one, steps - 1), 11);
    }
}

/* --- the head --- */

typedef struct HeadRig {
    HeadSizes sizes;
    HeadTeacher teacher; /* width 0: none */
    real *x, *w, *b, *dx, *dw, *db, *loss, *scratch;
    int32_t *targets;
} HeadRig;

/* Whole numbers from -reach to reach. */
static real *draw_whole(size_t count, double reach, uint64_t stream)
{
    real *drawn = memory_new(count, sizeof *drawn, "a test");
    for (size_t i = 0; i < count; i++)
        drawn[i] = (real)round(reach *
                               (2 * random_uniform(random_key(9, RANDOM_TEST, stream), i) - 1));
    return drawn;
}

static const HeadTeacher *teacher_of(const HeadRig *rig)
{
    return rig->teacher.width ? &rig->teacher : NULL;
}

/* With integer x, w and b, the logits are exact in float. */
static void head_rig_make(HeadRig *rig, HeadSizes sizes, double reach, HeadTeacher teacher)
{
    size_t xs = sizes.rows * sizes.width, ws = sizes.vocabulary * sizes.width;
    *rig = (HeadRig){.sizes = sizes, .teacher = teacher};
    rig->teacher.x = draw_whole(sizes.rows * teacher.width, 2, 2);
    rig->teacher.w = draw_whole(sizes.vocabulary * teacher.width, 2, 3);
    rig->teacher.b = draw_whole(sizes.vocabulary, 3, 4);
    rig->x = memory_new(xs, sizeof *rig->x, "a test");
    rig->dx = memory_new(xs, sizeof *rig->dx, "a test");
    rig->w = memory_new(ws, sizeof *rig->w, "a test");
    rig->dw = memory_new(ws, sizeof *rig->dw, "a test");
    rig->b = memory_new(sizes.vocabulary, sizeof *rig->b, "a test");
    rig->db = memory_new(sizes.vocabulary, sizeof *rig->db, "a test");
    rig->loss = memory_new(sizes.rows, sizeof *rig->loss, "a test");
    rig->scratch = memory_new(head_scratch_reals(sizes, teacher.width), sizeof *rig->scratch,
                              "a test");
    rig->targets = memory_new(sizes.rows, sizeof *rig->targets, "a test");
    RandomKey key = random_key(9, RANDOM_TEST, 0);
    for (size_t i = 0; i < xs; i++)
        rig->x[i] = (real)round(reach * (2 * random_uniform(key, i) - 1));
    for (size_t i = 0; i < ws; i++)
        rig->w[i] = (real)round(reach * (2 * random_uniform(key, xs + i) - 1));
    for (size_t i = 0; i < sizes.vocabulary; i++)
        rig->b[i] = (real)((double)(i % 5) - 2);
    for (size_t i = 0; i < sizes.rows; i++)
        rig->targets[i] = i % 4 == 1 ? -1
                                     : (int32_t)random_below(random_key(9, RANDOM_TEST, 1), i,
                                                             sizes.vocabulary);
    if (sizes.rows > 2)
        rig->targets[2] = (int32_t)sizes.vocabulary - 1;
}

static void head_rig_free(HeadRig *rig)
{
    real *buffers[] = {rig->x, rig->w, rig->b, rig->dx, rig->dw, rig->db, rig->loss};
    for (size_t i = 0; i < COUNT(buffers); i++)
        free(buffers[i]);
    free((real *)rig->teacher.x);
    free((real *)rig->teacher.w);
    free((real *)rig->teacher.b);
    free(rig->scratch);
    free(rig->targets);
}

/* Reference for one row x: writes the logits, returns log-sum-exp. */
static long double slow_logits(long double *z, const real *x, const real *w, const real *b,
                               size_t width, size_t vocabulary, real cap)
{
    long double most = -1e4000L, sum = 0;
    for (size_t v = 0; v < vocabulary; v++) {
        z[v] = b ? (long double)b[v] : 0;
        for (size_t i = 0; i < width; i++)
            z[v] += (long double)x[i] * (long double)w[v * width + i];
        if (cap > 0)
            z[v] = cap * tanhl(z[v] / cap);
        most = z[v] > most ? z[v] : most;
    }
    for (size_t v = 0; v < vocabulary; v++)
        sum += expl(z[v] - most);
    return most + logl(sum);
}

/* Gradient with respect to the logit before soft-capping; q: the teacher's logits, less their
 * log-sum-exp. */
static long double slow_gradient(const HeadRig *rig, const long double *z, long double lse,
                                 const long double *q, size_t v, int32_t target)
{
    long double cap = rig->sizes.cap, capped = cap > 0 ? z[v] / cap : 0;
    long double taught = rig->teacher.width ? rig->teacher.share : 0;
    return (expl(z[v] - lse) - (1 - taught) * (v == (size_t)target) - taught * expl(q[v])) *
           (1 - capped * capped);
}

static bool is_largest(const long double *z, size_t vocabulary, int32_t target)
{
    for (size_t v = 0; v < vocabulary; v++)
        if (z[v] > z[target])
            return false;
    return true;
}

/* Compares row losses, their sum, right answers, dX and the bias gradient with the reference.
 * The tolerance is the rounding error of a logit. */
static void check_taught_head(HeadSizes sizes, double reach, bool with_bias,
                              HeadTeacher teacher)
{
    HeadRig rig;
    head_rig_make(&rig, sizes, reach, teacher);
    const real *b = with_bias ? rig.b : NULL;
    double near = 8 * REAL_EPSILON * (10 + reach * reach * (double)sizes.width), total = 0;
    size_t right = 0, expected = 0;
    double sum = head_gradients(rig.loss, rig.dx, rig.dw, with_bias ? rig.db : NULL, rig.x,
                                rig.w, b, rig.targets, teacher_of(&rig), sizes, rig.scratch);
    long double *z = memory_new(sizes.vocabulary, sizeof *z, "a test");
    long double *q = memory_new(sizes.vocabulary, sizeof *q, "a test");
    double *db = memory_new(sizes.vocabulary, sizeof *db, "a test");
    for (size_t row = 0; row < sizes.rows; row++) {
        int32_t target = rig.targets[row];
        long double lse = slow_logits(z, rig.x + row * sizes.width, rig.w, b, sizes.width,
                                      sizes.vocabulary, sizes.cap);
        long double taught = slow_logits(q, rig.teacher.x + row * teacher.width, rig.teacher.w,
                                         rig.teacher.b, teacher.width, sizes.vocabulary,
                                         teacher.cap);
        for (size_t v = 0; v < sizes.vocabulary; v++)
            q[v] -= taught;
        double loss = target < 0 ? 0 : (double)(lse - z[target]);
        total += loss;
        expected += target >= 0 && is_largest(z, sizes.vocabulary, target);
        ck_assert_double_eq_tol((double)rig.loss[row], loss, near);
        for (size_t i = 0; i < sizes.width; i++) {
            long double dx = 0;
            for (size_t v = 0; v < sizes.vocabulary && target >= 0; v++)
                dx += slow_gradient(&rig, z, lse, q, v, target) *
                      (long double)rig.w[v * sizes.width + i];
            ck_assert_double_eq_tol((double)rig.dx[row * sizes.width + i], (double)dx,
                                    near * (1 + reach));
        }
        for (size_t v = 0; v < sizes.vocabulary && target >= 0; v++)
            db[v] += (double)slow_gradient(&rig, z, lse, q, v, target);
    }
    double rows = (double)sizes.rows;
    ck_assert_double_eq_tol(sum, total, near * rows);
    ck_assert(head_loss(&right, rig.loss, rig.x, rig.w, b, rig.targets, sizes, rig.scratch) ==
              sum);
    if (sizes.cap == 0) /* capped logits may differ in their last digits only */
        ck_assert_uint_eq(right, expected);
    for (size_t v = 0; v < sizes.vocabulary && with_bias; v++)
        ck_assert_double_eq_tol((double)rig.db[v], db[v], near * rows);
    free(z);
    free(q);
    free(db);
    head_rig_free(&rig);
}

static void check_head(HeadSizes sizes, double reach, bool with_bias)
{
    check_taught_head(sizes, reach, with_bias, (HeadTeacher){0});
}

TEST(cross_entropy_matches_reference)
{
    check_head((HeadSizes){1, 1, 2, 0}, 2, false);
    check_head((HeadSizes){7, 3, 11, 0}, 2, true);
    check_head((HeadSizes){130, 5, 1500, 0}, 1,
               true); /* several slices, several tiles of rows */
    check_head((HeadSizes){1100, 2, 70, 0}, 1, false); /* several blocks */
}

TEST(soft_capped_logits_match_reference)
{
    check_head((HeadSizes){7, 3, 11, 5}, 2, true);
    check_head((HeadSizes){130, 5, 1500, 30}, 4, true);
    check_head((HeadSizes){30, 1, 40, 40}, 100, false); /* all of them at the cap */
}

TEST(gradients_with_a_teacher_match_reference)
{
    check_taught_head((HeadSizes){7, 3, 11, 0}, 2, true,
                      (HeadTeacher){.width = 4, .share = 0.5});
    check_taught_head((HeadSizes){130, 5, 1500, 30}, 2, true,
                      (HeadTeacher){.width = 2, .cap = 5, .share = 0.25});
    check_taught_head((HeadSizes){1100, 2, 70, 0}, 1, false,
                      (HeadTeacher){.width = 1, .cap = 40, .share = 1});
    check_taught_head((HeadSizes){30, 1, 40, 0}, 100, false,
                      (HeadTeacher){.width = 3, .share = 0.75});
}

#ifdef LINNET_DOUBLE
/* (1 - share) loss + share KL(Q || P), less the entropy of Q, which is constant. */
static double mixed_loss(void *of)
{
    const HeadRig *rig = of;
    const HeadSizes sizes = rig->sizes;
    const HeadTeacher *teacher = &rig->teacher;
    long double z[20], q[20], sum = 0;
    for (size_t row = 0; row < sizes.rows; row++) {
        long double lse = slow_logits(z, rig->x + row * sizes.width, rig->w, rig->b,
                                      sizes.width, sizes.vocabulary, sizes.cap);
        long double taught = slow_logits(q, teacher->x + row * teacher->width, teacher->w,
                                         teacher->b, teacher->width, sizes.vocabulary,
                                         teacher->cap);
        if (rig->targets[row] < 0)
            continue;
        sum += (1 - teacher->share) * (lse - z[rig->targets[row]]);
        for (size_t v = 0; v < sizes.vocabulary; v++)
            sum += teacher->share * expl(q[v] - taught) * (lse - z[v]);
    }
    return (double)sum;
}

TEST(gradients_with_a_teacher_match_central_differences)
{
    HeadRig rig;
    head_rig_make(&rig, (HeadSizes){8, 3, 20, 12}, 2,
                  (HeadTeacher){.width = 4, .cap = 9, .share = 0.4});
    head_gradients(rig.loss, rig.dx, rig.dw, rig.db, rig.x, rig.w, rig.b, rig.targets,
                   &rig.teacher, rig.sizes, rig.scratch);
    const Variable list[] = {{"x", rig.x, rig.dx, 0, 8, 3, 3},
                             {"w", rig.w, rig.dw, 0, 20, 3, 3},
                             {"b", rig.b, rig.db, 0, 1, 20, 0}};
    for (size_t i = 0; i < COUNT(list); i++)
        check_slopes(&list[i], mixed_loss, &rig, "head");
    head_rig_free(&rig);
}
#endif

TEST(huge_logits_do_not_overflow)
{
    check_head((HeadSizes){30, 1, 40, 0}, 100, false); /* logits up to 1e4 and down to -1e4 */
    check_head((HeadSizes){30, 2, 400, 0}, 70, true);
}

TEST(rows_without_label_are_ignored)
{
    HeadRig rig;
    head_rig_make(&rig, (HeadSizes){8, 3, 20, 0}, 2, (HeadTeacher){.width = 2, .share = 0.5});
    for (size_t row = 0; row < rig.sizes.rows; row++)
        rig.targets[row] = -1;
    memset(rig.dx, 0xff, rig.sizes.rows * rig.sizes.width * sizeof(real)); /* NaN */
    ck_assert(head_gradients(rig.loss, rig.dx, rig.dw, rig.db, rig.x, rig.w, rig.b, rig.targets,
                             &rig.teacher, rig.sizes, rig.scratch) == 0);
    for (size_t i = 0; i < rig.sizes.rows * rig.sizes.width; i++)
        ck_assert(rig.dx[i] == 0);
    for (size_t i = 0; i < rig.sizes.vocabulary * rig.sizes.width; i++)
        ck_assert(rig.dw[i] == 0);
    for (size_t i = 0; i < rig.sizes.vocabulary; i++)
        ck_assert(rig.db[i] == 0);
    head_rig_free(&rig);
}

/* The pass scores fewer rows than it has memory for. */
TEST(fewer_rows_never_need_more_memory)
{
    size_t most = 0;
    for (size_t rows = 1; rows < 1100; rows++) {
        size_t reals = head_scratch_reals((HeadSizes){rows, 2, 1000, 0}, 0);
        ck_assert_uint_ge(reals, most);
        most = reals;
    }
}
