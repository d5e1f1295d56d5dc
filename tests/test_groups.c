/* Groups of runs with equal settings, and the statistics over their seeds: in numbers,
 * sentences and a Markdown table. */
#include "eval/runs/sentences.h"
#include "eval/runs/groups.h"
#include "eval/runs/results.h"
#include "eval/runs/runchart.h"
#include "eval/show/palette.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "src/math/random.h"
#include "src/math/team.h"
#include "tests/tests.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

SUITE("groups");

/* --- Student's t --- */

TEST(quantiles_agree_with_published_tables)
{
    static const struct {
        double tails, freedom, t;
    } known[] = {
        {0.05, 1, 12.706204736}, {0.05, 2, 4.302652730},  {0.05, 3, 3.182446305},
        {0.05, 5, 2.570581836},  {0.05, 10, 2.228138852}, {0.05, 30, 2.042272456},
        {0.05, 120, 1.97993041}, {0.01, 4, 4.604094871},  {0.5, 1, 1},
        {0.1, 7, 1.894578605},   {0.05, 1e6, 1.95996636}, {0.001, 2, 31.599054577},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_double_eq_tol(student_quantile(known[i].tails, known[i].freedom) / known[i].t,
                                1, 1e-8);
    ck_assert(isnan(student_quantile(0.05, 0)) && isnan(student_quantile(0, 3)) &&
              isnan(student_quantile(0.05, NAN)));
}

/* For any degrees of freedom, the density integrates from 0 to the quantile to half of the
 * probability between the tails. */
TEST(quantiles_agree_with_the_density)
{
    static const double freedoms[] = {1.5, 2.12, 3.7, 11.3};
    enum { STEPS = 200000 };
    for (size_t i = 0; i < COUNT(freedoms); i++) {
        double n = freedoms[i], t = student_quantile(0.05, n), step = t / STEPS, sum = 0;
        double scale = exp(lgamma((n + 1) / 2) - lgamma(n / 2)) / sqrt(n * acos(-1));
        for (size_t k = 0; k < STEPS; k++) {
            double x = ((double)k + 0.5) * step;
            sum += scale * pow(1 + x * x / n, -(n + 1) / 2) * step;
        }
        ck_assert_double_eq_tol(sum, 0.475, 1e-8);
    }
}

#define SAMPLE(...)                               \
    student_sample((const double[]){__VA_ARGS__}, \
                   sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

TEST(a_sample_has_its_mean_and_deviation)
{
    const Sample four = SAMPLE(4, 2, 8, 6), one = SAMPLE(5), none = student_sample(NULL, 0);
    ck_assert(four.count == 4 && four.mean == 5 && four.low == 2 && four.high == 8);
    ck_assert_double_eq_tol(four.deviation, sqrt(20.0 / 3), 1e-12);
    ck_assert(one.count == 1 && one.mean == 5 && one.low == 5 && one.high == 5);
    ck_assert(isnan(one.deviation));
    ck_assert(none.count == 0 && isnan(none.mean) && isnan(none.deviation) && isnan(none.low) &&
              isnan(none.high));
}

/* Three kinds of three seeds each; the numbers were computed by hand from the formulas. */
TEST(comparisons_with_a_control_agree_with_known_numbers)
{
    const Sample of[] = {SAMPLE(4.320, 4.322, 4.320), SAMPLE(4.417, 4.423, 4.423),
                         SAMPLE(4.333, 4.330, 4.353)};
    const struct {
        double mean, per_cent, t, p, holm;
    } known[] = {{0.10033, 10.55, 16.34, 3.3e-6, 6.7e-6},
                 {0.01800, 1.82, 2.93, 0.0262, 0.0262}};
    const Pool pool = student_pool(of, COUNT(of));
    const double error = 0.00614;
    double p[COUNT(known)];
    ck_assert_double_eq_tol(pool.deviation, 0.00752, 5e-6);
    ck_assert_double_eq(pool.freedom, 6);
    for (size_t i = 0; i < COUNT(known); i++) {
        const Difference to = student_difference(of[0], of[i + 1], pool, 0.05);
        const double reach = student_reach(pool, 3, 3, 0.05);
        ck_assert_double_eq_tol(to.mean, known[i].mean, 5e-6);
        ck_assert_double_eq_tol(100 * expm1(to.mean), known[i].per_cent, 0.005);
        ck_assert_double_eq_tol(reach / student_quantile(0.05, 6), error, 5e-6);
        ck_assert_double_eq_tol(to.mean / error, known[i].t, 0.02);
        ck_assert_double_eq_tol(to.p / known[i].p, 1, 0.02);
        ck_assert_double_eq_tol(to.high - to.low, 2 * reach, 1e-12);
        p[i] = to.p;
    }
    student_holm(p, COUNT(known));
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_double_eq_tol(p[i] / known[i].holm, 1, 0.02);
}

TEST(an_interval_needs_two_seeds_that_differ)
{
    const Sample two = SAMPLE(1, 2), one = SAMPLE(5), flat = SAMPLE(2, 2, 2);
    const Pool pool = student_pool((const Sample[]){two, one, flat}, 3),
               none = student_pool(&one, 1);
    ck_assert_double_eq(pool.freedom, 3); /* none of a single seed */
    ck_assert(isnan(none.deviation) && none.freedom == 0);
    ck_assert(isnan(student_difference(two, one, pool, 0.05).p));
    ck_assert(isnan(student_difference(one, two, pool, 0.05).low));
    ck_assert(isnan(student_difference(flat, flat, student_pool(&flat, 1), 0.05).low));
    ck_assert_double_eq(student_difference(flat, flat, pool, 0.05).p, 1);
    ck_assert(isfinite(student_difference(flat, two, pool, 0.05).low));
    ck_assert_double_eq_tol(student_mean_reach(SAMPLE(1, 2, 3), 0.05), 4.302652730 / sqrt(3),
                            1e-8);
    ck_assert(isnan(student_mean_reach(one, 0.05)));
}

/* --- the paired bootstrap --- */

enum { UNITS = 400 };

/* Of many units with sizes of their own, the interval is that of the ratio estimator: the mean
 * residual over the root of their number, and its quantile. */
TEST(the_bootstrap_covers_what_the_normal_approximation_does)
{
    double differences[UNITS], sizes[UNITS], sum = 0, size = 0, squares = 0;
    const RandomKey key = random_key(7, RANDOM_TEST, 0);
    for (size_t i = 0; i < UNITS; i++) {
        sizes[i] = (double)(5 + i % 30);
        differences[i] = sizes[i] * (0.1 + 0.4 * random_normal(key, i));
        sum += differences[i];
        size += sizes[i];
    }
    double mean = sum / size;
    for (size_t i = 0; i < UNITS; i++)
        squares += pow(differences[i] - mean * sizes[i], 2);
    double reach = 1.959964 * sqrt(squares) / size;
    Bootstrap of = student_bootstrap(differences, sizes, UNITS, 0.05);
    ck_assert_double_eq_tol(of.low, mean - reach, 0.06 * reach);
    ck_assert_double_eq_tol(of.high, mean + reach, 0.06 * reach);
    ck_assert(of.p < 0.05 && of.low > 0);
    team_start(3);
    Bootstrap again = student_bootstrap(differences, sizes, UNITS, 0.05);
    team_stop();
    ck_assert(again.low == of.low && again.high == of.high);
    Bootstrap narrower = student_bootstrap(differences, sizes, UNITS, 0.5);
    ck_assert(narrower.low > of.low && narrower.high < of.high);
}

/* Shifted by a bound of its interval, the difference is told apart from zero or just not. */
TEST(the_p_of_the_bootstrap_agrees_with_its_interval)
{
    double differences[UNITS], sizes[UNITS];
    const RandomKey key = random_key(8, RANDOM_TEST, 0);
    for (size_t i = 0; i < UNITS; i++) {
        sizes[i] = 1;
        differences[i] = random_normal(key, i);
    }
    const Bootstrap of = student_bootstrap(differences, sizes, UNITS, 0.05);
    const double shifts[] = {-of.low, -of.high, -(of.low + of.high) / 2};
    for (size_t s = 0; s < COUNT(shifts); s++)
        for (int side = -1; side <= 1; side += 2) {
            double shifted[UNITS];
            for (size_t i = 0; i < UNITS; i++)
                shifted[i] = differences[i] + shifts[s] + side * 1e-6;
            const Bootstrap again = student_bootstrap(shifted, sizes, UNITS, 0.05);
            ck_assert_int_eq(again.low > 0 || again.high < 0, again.p < 0.05);
            ck_assert_double_eq_tol(again.p, s < 2 ? 0.05 : 1, s < 2 ? 0.001 : 0.1);
        }
}

TEST(a_bootstrap_of_equal_units_has_no_width)
{
    const double differences[] = {0.25, 0.5, 0.25}, sizes[] = {1, 2, 1};
    Bootstrap of = student_bootstrap(differences, sizes, 3, 0.05);
    ck_assert(of.low == 0.25 && of.high == 0.25);
    ck_assert_double_eq_tol(of.p, 2.0 / (BOOTSTRAP_RESAMPLES + 1), 1e-12);
    of = student_bootstrap(differences, sizes, 1, 0.05);
    ck_assert(isnan(of.low) && isnan(of.high) && isnan(of.p));
}

TEST(holm_corrects_in_ascending_order)
{
    double p[] = {0.04, (double)NAN, 0.01, 0.03, 0.6, 0.02}, one[] = {0.3};
    const double known[] = {0.09, (double)NAN, 0.05, 0.09, 0.6, 0.08};
    student_holm(p, COUNT(p));
    for (size_t i = 0; i < COUNT(p); i++)
        if (i != 1)
            ck_assert_double_eq_tol(p[i], known[i], 1e-12);
    ck_assert(isnan(p[1]));
    student_holm(one, 1);
    student_holm(NULL, 0);
    ck_assert_double_eq(one[0], 0.3);
}

/* --- groups --- */

/* A run in memory; its best loss is the best of its rows. */
static RunData make_run(const char *name, const char *attn, const char *seed)
{
    RunData run = {.path = text_format("runs/%s", name),
                   .name = memory_copy_text(name),
                   .entropy_floor = NAN,
                   .best_val_loss = NAN,
                   .best_accuracy = NAN,
                   .tokens = NAN};
    const struct {
        const char *name, *value;
    } settings[] = {{"attn", attn}, {"save-every", seed}, {"corpus", "a.txt"}, {"seed", seed}};
    for (size_t i = 0; i < COUNT(settings); i++) {
        RunSetting setting = {memory_copy_text(settings[i].name),
                              memory_copy_text(settings[i].value)};
        arrput(run.settings, setting);
    }
    run.attn = rundata_setting(&run, "attn");
    return run;
}

static void add_validation(RunData *run, size_t step, double loss)
{
    RunLogRow row = {.step = step,
                     .epoch = (double)step / 10,
                     .tokens = step * 100,
                     .val_loss = loss,
                     .val_accuracy = NAN,
                     .has_val_loss = true};
    arrput(run->rows, row);
    run->validations++;
    run->best_val_loss = fmin(run->best_val_loss, loss);
}

static void set_setting(RunData *run, const char *name, const char *value)
{
    RunSetting setting = {memory_copy_text(name), memory_copy_text(value)};
    arrput(run->settings, setting);
    run->attn = rundata_setting(run, "attn");
}

/* A score of the best checkpoint, as eval saves it. */
static void add_test(RunData *run, double loss)
{
    enum { TOKENS = 4 };
    const RunScore score = {.split = "test",
                            .window = 16,
                            .stride = 8,
                            .tokens = TOKENS,
                            .nats = loss * TOKENS,
                            .step = run->best_step,
                            .method = SCORE_PLAIN};
    arrput(run->scores, score);
}

enum { RUNS = 6 };

/* Three seeds of softmax, two of linear, and another run of softmax with a repeated seed. */
static void make_runs(RunData runs[RUNS])
{
    runs[0] = make_run("softmax-seed1", "softmax", "1");
    runs[1] = make_run("linear-1", "linear", "1");
    runs[2] = make_run("softmax-seed2", "softmax", "2");
    runs[3] = make_run("softmax-seed3", "softmax", "3");
    runs[4] = make_run("linear-2", "linear", "2");
    runs[5] = make_run("again", "softmax", "2");
}

static void free_runs(RunData runs[RUNS])
{
    for (size_t r = 0; r < RUNS; r++)
        rundata_free(&runs[r]);
}

TEST(runs_that_differ_in_the_seed_are_a_group)
{
    RunData runs[RUNS];
    make_runs(runs);
    RunGroup *groups = groups_make(runs, RUNS, true);
    ck_assert_uint_eq(arrlenu(groups), 3);
    ck_assert_str_eq(groups[0].name, "softmax");
    ck_assert_str_eq(groups[1].name, "linear");
    ck_assert_str_eq(groups[2].name, "again");
    ck_assert_uint_eq(arrlenu(groups[0].runs), 3);
    ck_assert_ptr_eq(groups[0].runs[2], &runs[3]);
    ck_assert_uint_eq(arrlenu(groups[1].runs), 2);
    ck_assert_ptr_eq(groups[2].runs[0], &runs[5]);
    ck_assert_ptr_null(groups[0].points);
    ck_assert(isnan(groups[0].losses[GROUP_BEST].mean) &&
              groups[0].losses[GROUP_BEST].count == 0);
    groups_identify(groups, runs);
    static const size_t looks[RUNS] = {
        0, 1, PALETTE_COLOURS, 2 * PALETTE_COLOURS, 1 + PALETTE_COLOURS, 2};
    for (size_t r = 0; r < RUNS; r++)
        ck_assert_uint_eq(runs[r].identity, looks[r]);
    groups_free(groups);
    groups = groups_make(runs, RUNS, false);
    ck_assert_uint_eq(arrlenu(groups), RUNS);
    ck_assert_str_eq(groups[2].name, "softmax-seed2");
    groups_free(groups);
    runs[2].parameters = 7; /* perhaps another vocabulary */
    groups = groups_make(runs, RUNS, true);
    ck_assert_uint_eq(arrlenu(groups[0].runs), 3); /* replaced by "again" */
    ck_assert_ptr_eq(groups[2].runs[0], &runs[2]);
    groups_free(groups);
    free_runs(runs);
}

/* Empty or equal names are replaced by paths. */
TEST(a_group_is_named_after_what_its_runs_share)
{
    static const char *const names[][3] = {
        {"a", "b", "runs/a and 1 more"},
        {"softmax", "seed", "runs/softmax and 1 more"},
        {"n\xc3\xa4", "n\xc3\xb6", "runs/n\xc3\xa4 and 1 more"},
        {"x1", "x12", "x1"},
        {"y1", "y2", "runs/y1 and 1 more"},
        {"z-long-s1", "z-long-s2", "z-long"},
        {"wide-one", "wide-only", "wide"}};
    enum { PAIRS = COUNT(names) };
    RunData runs[2 * PAIRS + 1];
    for (size_t i = 0; i < PAIRS; i++) {
        runs[2 * i] = make_run(names[i][0], names[i][2], "1");
        runs[2 * i + 1] = make_run(names[i][1], names[i][2], "2");
    }
    runs[2 * PAIRS] = make_run("y", "alone", "1");
    RunGroup *groups = groups_make(runs, 2 * PAIRS + 1, true);
    ck_assert_uint_eq(arrlenu(groups), PAIRS + 1);
    for (size_t i = 0; i < PAIRS; i++)
        ck_assert_str_eq(groups[i].name, names[i][2]);
    ck_assert_str_eq(groups[PAIRS].name, "runs/y");
    groups_free(groups);
    for (size_t r = 0; r < 2 * PAIRS + 1; r++)
        rundata_free(&runs[r]);
}

/* Words at both ends that all names share are not shown; numbers are not cut. */
TEST(names_lose_what_all_share)
{
    static const char *const names[][3][2] = {
        {{"grid-kda-lr1e-2-wide", "kda-lr1e-2"},
         {"grid-kda-lr1e-3-wide", "kda-lr1e-3"},
         {"grid-gla-lr1e-2-wide", "gla-lr1e-2"}},
        {{"kda-lr1e-2", "lr1e-2"}, {"kda-lr1e-3", "lr1e-3"}, {"kda-lr3e-3", "lr3e-3"}},
        {{"a-lr0.01", "lr0.01"}, {"a-lr0.03", "lr0.03"}, {"a-lr0.05", "lr0.05"}},
        {{"softmax-ptb", "softmax"}, {"linear-ptb", "linear"}, {"soft-ptb", "soft"}},
        {{"grid", "grid"}, {"grid-2", "grid-2"}, {"grid-3", "grid-3"}},
        {{"a-b", "b"}, {"a-x-b", "x-b"}, {"a-y-b", "y-b"}},
    };
    for (size_t i = 0; i < COUNT(names); i++) {
        RunData runs[COUNT(names[0])];
        for (size_t r = 0; r < COUNT(runs); r++)
            runs[r] = make_run(names[i][r][0], names[i][r][0], "1");
        RunGroup *groups = groups_make(runs, COUNT(runs), true);
        for (size_t r = 0; r < COUNT(runs); r++) {
            ck_assert_str_eq(groups[r].name, names[i][r][1]);
            ck_assert_str_eq(groups[r].whole_name, names[i][r][0]);
        }
        groups_free(groups);
        for (size_t r = 0; r < COUNT(runs); r++)
            rundata_free(&runs[r]);
    }
}

TEST(a_group_has_the_mean_curve_of_its_runs)
{
    RunData runs[RUNS];
    make_runs(runs);
    add_validation(&runs[0], 10, 4);
    add_validation(&runs[0], 15, 9);
    add_validation(&runs[0], 20, 3);
    add_validation(&runs[0], 30, 2);
    add_validation(&runs[0], SIZE_MAX, 2);
    add_validation(&runs[2], 10, 6);
    add_validation(&runs[2], 20, NAN);
    add_validation(&runs[2], 30, 3);
    add_validation(&runs[2], 40, 2.5);
    add_validation(&runs[2], SIZE_MAX, 2.5);
    RunGroup *groups = groups_make(runs, RUNS, true); /* the third seed has no validation yet */
    const GroupPoint *points = groups[0].points;
    ck_assert_uint_eq(arrlenu(points), 4);
    ck_assert(points[0].step == 10 && points[0].mean == 5 && points[0].low == 4 &&
              points[0].high == 6 && points[0].epoch == 1 && points[0].tokens == 1000);
    ck_assert(points[1].step == 20 && isnan(points[1].mean) && isnan(points[1].low));
    ck_assert(points[2].step == 30 && points[2].mean == 2.5);
    ck_assert(points[3].step == SIZE_MAX);
    ck_assert(groups[0].losses[GROUP_BEST].count == 2 &&
              groups[0].losses[GROUP_BEST].mean == 2.25);
    ck_assert(groups[0].losses[GROUP_BEST].low == 2 &&
              groups[0].losses[GROUP_BEST].high == 2.5);
    ck_assert_double_eq_tol(groups[0].losses[GROUP_BEST].deviation, 0.5 / sqrt(2), 1e-12);
    ck_assert(isnan(group_epoch_to_reach(&groups[0], 4))); /* without the third */
    arrpop(groups[0].runs);
    ck_assert(group_epoch_to_reach(&groups[0], 4) == 2);
    groups_free(groups);
    free_runs(runs);
}

/* The control comes first, whatever it is called by; without one the order stays. */
TEST(a_control_is_found_by_name_run_or_kind)
{
    static const char *const names[] = {"linear", "linear-2", "again", "nowhere"};
    static const char *const kinds[] = {"linear", "linear", "softmax", "softmax"};
    RunData runs[RUNS];
    make_runs(runs);
    for (size_t r = 0; r < RUNS; r++)
        add_validation(&runs[r], 10, 4 + 0.1 * (double)r);
    for (size_t i = 0; i < COUNT(names); i++) {
        Comparison all = comparison_make(runs, RUNS, true, names[i]);
        ck_assert_uint_eq(all.controls, i < 3);
        ck_assert_str_eq(all.groups[0].runs[0]->attn, kinds[i]);
        ck_assert_str_eq(all.sections[0].groups[0].name, all.groups[0].name);
        ck_assert(isnan(all.groups[0].differences[GROUP_BEST].of.mean));
        ck_assert_double_eq_tol(all.groups[1].differences[GROUP_BEST].of.mean,
                                all.groups[1].losses[GROUP_BEST].mean -
                                    all.groups[0].losses[GROUP_BEST].mean,
                                1e-12);
        comparison_free(&all);
    }
    free_runs(runs);
}

/* --- test losses --- */

TEST(a_group_has_the_mean_test_loss_of_its_runs)
{
    RunData runs[RUNS];
    make_runs(runs);
    for (size_t r = 0; r < RUNS; r++)
        if (r != 4) /* one of the two seeds of linear */
            add_test(&runs[r], 4 + 0.25 * (double)r);
    RunGroup *groups = groups_make(runs, RUNS, true);
    ck_assert(groups[0].losses[GROUP_TEST].count == 0 &&
              isnan(groups[0].losses[GROUP_TEST].mean)); /* no protocol yet */
    groups_free(groups);
    groups_choose_scales(runs, RUNS);
    groups = groups_make(runs, RUNS, true);
    ck_assert(groups[0].losses[GROUP_TEST].count == 3 && groups[0].losses[GROUP_TEST].low == 4);
    ck_assert(groups[1].losses[GROUP_TEST].count == 0 &&
              isnan(groups[1].losses[GROUP_TEST].mean));
    ck_assert(isnan(groups[1].differences[GROUP_TEST].of.mean));
    groups_free(groups);
    add_test(&runs[4], 6);
    groups_choose_scales(runs, RUNS);
    groups = groups_make(runs, RUNS, true);
    const Sample control = SAMPLE(4, 4.5, 4.75), other = SAMPLE(4.25, 6);
    const Pool pool = student_pool((const Sample[]){control, other}, 2);
    ck_assert(groups[1].differences[GROUP_TEST].of.low ==
              student_difference(control, other, pool, 0.05).low);
    groups_free(groups);
    runs[4].best_step = 7; /* later than the scored checkpoint */
    groups = groups_make(runs, RUNS, true);
    ck_assert(groups[0].losses[GROUP_TEST].count == 3 &&
              groups[1].losses[GROUP_TEST].count == 0);
    groups_free(groups);
    free_runs(runs);
}

/* Each corpus has a test text of its own, and a protocol. */
TEST(runs_of_each_corpus_have_their_own_test_losses)
{
    enum { FEW = 2 };
    RunData runs[] = {make_run("a", "softmax", "1"), make_run("b", "softmax", "1")};
    set_setting(&runs[1], "corpus", "b.txt");
    for (size_t r = 0; r < FEW; r++) {
        add_test(&runs[r], 4 + (double)r);
        runs[r].scores[0].text_crc = r;
    }
    runs[1].scores[0].stride = 4;
    Comparison all = comparison_make(runs, FEW, true, NULL);
    for (size_t g = 0; g < FEW; g++)
        ck_assert_double_eq(all.groups[g].losses[GROUP_TEST].mean, 4 + (double)g);
    ck_assert(isnan(all.groups[1].differences[GROUP_TEST].of.mean));
    char *text = sentences_test(&runs[1]);
    ck_assert_ptr_nonnull(strstr(text, "stride 4"));
    free(text);
    comparison_free(&all);
    for (size_t r = 0; r < FEW; r++)
        rundata_free(&runs[r]);
}

/* --- sentences --- */

static void name_groups(RunGroup *groups, const char *const *names)
{
    for (size_t g = 0; g < arrlenu(groups); g++) {
        free(groups[g].name);
        groups[g].name = memory_copy_text(names[g]);
    }
}

static char *sentences(RunGroup *groups, size_t width)
{
    static const char *const names[RUNS] = {"A", "B", "C", "D", "E", "F"};
    char *text = memory_copy_text("");
    name_groups(groups, names);
    sentences_differences(&text, groups, width);
    return text;
}

static void check_sentence(RunData *runs, size_t count, const char *sentence)
{
    groups_choose_scales(runs, count);
    RunGroup *groups = groups_make(runs, count, true);
    char *text = sentences(groups, 1000);
    ck_assert_msg(*sentence ? strstr(text, sentence) != NULL : !*text, "%s", text);
    free(text);
    text = sentences(groups, 40);
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
        ck_assert_uint_le(strlen(line), 40);
    free(text);
    groups_free(groups);
}

TEST(differences_are_explained_in_words)
{
    RunData runs[RUNS];
    make_runs(runs);
    check_sentence(runs, RUNS, "");
    add_validation(&runs[0], 10, 4);
    check_sentence(runs, RUNS, "");
    add_validation(&runs[1], 10, 5);
    check_sentence(runs, RUNS, "One seed each: differences may be due to chance");
    add_validation(&runs[2], 10, 4.1);
    check_sentence(
        runs, RUNS,
        "B (1 seed): +0.9500 (+158.57 %); no confidence interval, as B has one seed; "
        "by the pooled standard deviation a difference below 1.1004 may be due to");
    add_validation(&runs[4], 10, 4);
    check_sentence(runs, RUNS, ": not told apart\n");
    add_validation(&runs[3], 10, 4.05);
    add_validation(&runs[4], 20, 4.99);
    runs[4].best_val_loss = 4.99;
    check_sentence(runs, RUNS, "Best validation loss against A (3 seeds):\n  B (2 seeds): ");
    check_sentence(runs, RUNS, ": worse\n");
    free_runs(runs);
}

/* Test losses are compared only with seeds on both sides, after the validation losses. */
TEST(test_losses_are_compared_over_seeds_only)
{
    RunData runs[RUNS];
    make_runs(runs);
    for (size_t r = 0; r < RUNS; r++) {
        add_validation(&runs[r], 10, 4 + 0.1 * (double)r);
        add_test(&runs[r], 5 + 0.1 * (double)r);
    }
    RunGroup *groups = groups_make(runs, RUNS, true);
    char *without = sentences(groups, 1000);
    ck_assert_ptr_null(strstr(without, "Test"));
    groups_free(groups);
    groups_choose_scales(runs, RUNS);
    groups = groups_make(runs, RUNS, true);
    char *with = sentences(groups, 1000);
    const GroupDifference *from = &groups[1].differences[GROUP_TEST];
    char *expected = text_format(
        "%sTest loss against A (3 seeds):\n"
        "  B (2 seeds): %+.4f (%+.2f %%), 95 %% confidence interval %+.4f to %+.4f, "
        "p %.2g (Holm %.2g): not told apart\n"
        "  Standard deviation over seeds, pooled over all groups: %.4g (3 degrees of freedom). "
        "Intervals cover seeds, not texts. Verdicts: p of Student's t below 0.05 after Holm's "
        "correction for 1 comparison.\n",
        without, 0.25 - 0.5 / 3, 100 * expm1(0.25 - 0.5 / 3), from->of.low, from->of.high,
        from->of.p, from->of.p, from->pool.deviation);
    ck_assert_str_eq(with, expected);
    free(expected);
    free(with);
    free(without);
    groups_free(groups);
    check_sentence(runs, RUNS, "Test loss against A");
    free_runs(runs);
}

/* --- fairness --- */

/* Only what differs is named; what belongs to the kind, the seed and one per cent is not. */
TEST(what_groups_differ_in_besides_the_kind_is_named)
{
    RunData runs[RUNS];
    make_runs(runs);
    for (size_t r = 0; r < RUNS; r++) {
        runs[r].parameters = r == 1 || r == 4 ? 100900 : 100000;
        arrput(runs[r].rows, ((RunLogRow){0}));
        runs[r].tokens = 5000;
        set_setting(&runs[r], "lr", "0.1");
        set_setting(&runs[r], "pos", r == 1 || r == 4 ? "none" : "rotary");
    }
    RunGroup *groups = groups_make(runs, RUNS - 1, true);
    ck_assert_ptr_null(sentences_unequal(groups, NULL));
    groups_free(groups);
    for (size_t r = 1; r < RUNS; r += 3) { /* linear */
        runs[r].parameters = 101100;
        runs[r].tokens = 40000;
        set_setting(&runs[r], "lr", "0.3");
        set_setting(&runs[r], "dropout", "0");
    }
    set_setting(&runs[0], "dropout", "0.2");
    set_setting(&runs[2], RUN_MACHINE, "old");
    set_setting(&runs[3], RUN_MACHINE, "new");
    set_setting(&runs[0], RUN_MACHINE, "new");
    groups = groups_make(runs, RUNS - 1, true);
    char *text = sentences_unequal(groups, NULL), *besides = sentences_unequal(groups, "lr");
    ck_assert_str_eq(text,
                     "the groups differ in more than the model: tokens seen (softmax-seed1: "
                     "5.00k, linear: 40k); parameters (softmax-seed1: 100k, linear: "
                     "101k); recipe (lr 0.1, 0.3; dropout 0.2, 0); machine (machine new, "
                     "old); --by lr compares each at its best learning rate");
    ck_assert_ptr_nonnull(strstr(besides, "recipe (dropout 0.2, 0)"));
    free(text);
    free(besides);
    groups_free(groups);
    free_runs(runs);
}

/* --- Markdown --- */

/* The table of the runs' groups; the caller frees it. */
static char *markdown_of(const RunData *runs, size_t count, const char *const *names)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    RunGroup *groups = groups_make(runs, count, true);
    name_groups(groups, names);
    Table table = results_for_markdown(groups);
    table_print(stream, &table, TABLE_MARKDOWN, 0);
    table_free(&table);
    fclose(stream);
    groups_free(groups);
    return text;
}

static void check_markdown(const RunData *runs, size_t count, const char *expected)
{
    const char *const names[] = {"A", "B", "C"};
    char *text = markdown_of(runs, count, names);
    ck_assert_str_eq(text, expected);
    free(text);
}

/* Two seeds whose confidence interval is +-0.01 nats: +-1.01 at a perplexity of 100. For the
 * difference of two such groups it is 4.30265 sqrt(2) times the deviation of one seed. */
TEST(the_markdown_table_has_intervals)
{
    const double off = 0.01 / 12.706204736, middle = log(100);
    RunData runs[] = {make_run("a1", "softmax", "1"), make_run("a2", "softmax", "2"),
                      make_run("b1", "linear", "1"), make_run("b2", "linear", "2"),
                      make_run("c", "window+a-b-c-d-e-f-g", "1")};
    enum { COUNT = sizeof runs / sizeof *runs };
    for (size_t r = 0; r < COUNT; r++) {
        double loss = middle + (r == 4 ? -0.5 : r % 2 ? off : -off) + (r / 2 == 1) * log(1.1);
        add_validation(&runs[r], 10, loss);
        add_test(&runs[r], loss + log(2));
        runs[r].peak_mb = NAN;
        runs[r].parameters = 1680000;
        runs[r].tokens = 64000;
        runs[r].tokens_per_second = 12900;
        runs[r].seconds = 3661;
    }
    check_markdown(
        runs, COUNT,
        "| run | attn | params | tokens | seeds | validation ppl | validation ppl vs. first | "
        "verdict | "
        "tokens/s | time |\n|---|---|---:|---:|---:|---:|---:|---|---:|---:|\n"
        "| A | softmax | 1.68M | 64k | 2 | 100.00 ± 1.01 | - | - | 12.9k | 1:01:01 |\n"
        "| B | linear | 1.68M | 64k | 2 | 110.00 ± 1.11 | +10.0 % (+9.5 to +10.5) | worse | "
        "12.9k | "
        "1:01:01 |\n"
        "| C | window+a-b-c-d-e-f-g | 1.68M | 64k | - | 60.65 | -39.3 % | - | 12.9k | "
        "1:01:01 "
        "|\n");
    arrpop(runs[2].scores); /* so that the second group has no score */
    runs[2].peak_mb = 75;
    groups_choose_scales(runs, COUNT);
    check_markdown(
        runs, COUNT,
        "| run | attn | params | tokens | seeds | validation ppl | test ppl | "
        "validation ppl vs. first | verdict | tokens/s | time | MB |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|---:|\n"
        "| A | softmax | 1.68M | 64k | 2 | 100.00 ± 1.01 | 200.00 ± 2.01 | - | - | 12.9k | "
        "1:01:01 | - |\n"
        "| B | linear | 1.68M | 64k | 2 | 110.00 ± 1.11 | - | +10.0 % (+9.5 to +10.5) | worse "
        "| "
        "12.9k | 1:01:01 | 75 |\n"
        "| C | window+a-b-c-d-e-f-g | 1.68M | 64k | - | 60.65 | 121.31 | -39.3 % | - | 12.9k | "
        "1:01:01 | - |\n");
    runs[0].test = NULL;
    check_markdown(runs, 1,
                   "| run | attn | params | tokens | validation ppl | tokens/s | time |\n"
                   "|---|---|---:|---:|---:|---:|---:|\n"
                   "| A | softmax | 1.68M | 64k | 99.92 | 12.9k | 1:01:01 |\n");
    for (size_t r = 0; r < COUNT; r++)
        rundata_free(&runs[r]);
}

/* Without comparable losses in two groups, there is no comparison. */
TEST(the_markdown_table_compares_comparable_losses_only)
{
    RunData runs[RUNS];
    make_runs(runs);
    free(runs[1].settings[2].value);
    runs[1].settings[2].value = memory_copy_text("b.txt");
    add_validation(&runs[0], 10, 4);
    add_validation(&runs[1], 10, 1000);
    const char *const names[] = {"A", "B"};
    char *text = markdown_of(runs, 2, names);
    ck_assert_ptr_null(strstr(text, "vs. first"));
    ck_assert_ptr_nonnull(strstr(text, "| B | linear | diverged | "));
    free(text);
    add_test(&runs[0], 4);
    groups_choose_scales(runs, 2);
    text = markdown_of(runs, 2, names);
    ck_assert_ptr_null(strstr(text, "vs. first"));
    ck_assert_ptr_nonnull(strstr(text, "| A | softmax | 54.60 | 54.60 | "));
    free(text);
    free_runs(runs);
}

/* Odd names of directories and settings. */
TEST(the_markdown_table_escapes_names)
{
    static const struct {
        const char *name, *expected;
    } known[] = {
        {"gated-delta, lr 0.002 (10 %)/+", "gated-delta, lr 0.002 (10 %)/+"},
        {"a|b", "a\\|b"},
        {"a\\|b", "a\\\\\\|b"},
        {"`a` *b* _c_ ~~d~~ $e$", "\\`a\\` \\*b\\* \\_c\\_ \\~\\~d\\~\\~ \\$e\\$"},
        {"![x](y)", "!\\[x\\](y)"},
        {"<script>&lt;", "&lt;script&gt;&amp;lt;"},
        {"http://a.b www.c", "http\\://a\\.b www\\.c"},
        {"at 12:30", "at 12:30"},
        {"they differ: so. what.", "they differ: so. what."},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        RunData run = make_run("a", known[i].name, "1");
        char *text = markdown_of(&run, 1, &known[i].name);
        char *expected = text_format("\n| %s | - | ", known[i].expected);
        ck_assert_msg(strstr(text, expected) != NULL, "%s", text);
        free(expected);
        free(text);
        rundata_free(&run);
    }
}

/* The column of the loss in the table of a page. */
enum { LOSS = 3 };

/* A diverged run is never the best, even if it was for a while, and is named. */
TEST(a_diverged_run_is_never_the_best)
{
    RunData runs[RUNS];
    make_runs(runs);
    add_validation(&runs[0], 10, 4);
    add_validation(&runs[1], 10, 3);
    add_validation(&runs[1], 20, 17);
    add_validation(&runs[5], 10, 4.5);
    RunGroup *groups = groups_make(runs, RUNS, false);
    char *verdict = sentences_verdict(groups);
    ck_assert_str_eq(
        verdict, "softmax-seed1 has the lowest validation loss: 4.0000 (perplexity 54.60), "
                 "0.5000 below again. One seed per model gives no confidence interval, so the "
                 "difference may be due to chance. linear-1 diverged.");
    free(verdict);
    add_validation(&runs[2], 10, 4.1);
    RunGroup *seeds = groups_make(runs, RUNS, true);
    verdict = sentences_verdict(seeds);
    ck_assert_ptr_nonnull(strstr(verdict, "again has one seed, which gives no confidence"));
    free(verdict);
    groups_free(seeds);
    const char *const names[] = {"A", "B", "C", "D", "E", "F"};
    char *text = markdown_of(runs, 2, names);
    ck_assert_ptr_nonnull(strstr(text, "| B | linear | diverged | "));
    free(text);
    check_sentence(runs, RUNS, "B (1 seed): diverged\n");
    Comparison all = comparison_make(runs, RUNS, false, NULL);
    Table page = results_for_page(&all);
    size_t last = arrlenu(page.rows) - 1; /* of those that have a loss, behind the others */
    while (!table_cell(&page, last, LOSS)->text)
        last--;
    ck_assert_str_eq(table_cell(&page, last, LOSS)->text, "diverged");
    ck_assert(table_cell(&page, 0, LOSS)->strong && !table_cell(&page, last, LOSS)->strong);
    table_free(&page);
    comparison_free(&all);
    Chart chart = runchart_make(groups, (double)NAN, &(RunChartAxes){0});
    for (size_t s = 0; s < arrlenu(chart.series); s++)
        ck_assert(chart.series[s].diverged == (strcmp(chart.series[s].name, "linear-1") == 0));
    chart_free(&chart);
    groups_free(groups);
    free_runs(runs);
}

/* The order of the groups, and how certain it is: Holm's correction for all pairs. */
TEST(the_verdict_ranks_groups_with_certainty)
{
    static const double losses[] = {4.1, 4, 4.001, 5};
    enum { KINDS = COUNT(losses), SEEDS = 3 };
    static const char *const kinds[KINDS] = {"softmax", "linear", "gla", "delta"};
    static const char *const seeds[SEEDS] = {"1", "2", "3"};
    RunData runs[KINDS * SEEDS];
    for (size_t i = 0; i < COUNT(runs); i++) {
        char *name = text_format("%s-%s", kinds[i / SEEDS], seeds[i % SEEDS]);
        runs[i] = make_run(name, kinds[i / SEEDS], seeds[i % SEEDS]);
        add_validation(&runs[i], 10, losses[i / SEEDS] + 0.001 * (double)(i % SEEDS));
        free(name);
    }
    Comparison all = comparison_make(runs, COUNT(runs), true, NULL);
    size_t *order = groups_rank(all.groups);
    static const size_t wanted[KINDS] = {1, 2, 0, 3};
    for (size_t i = 0; i < KINDS; i++)
        ck_assert_uint_eq(order[i], wanted[i]);
    char *verdict = sentences_verdict(all.groups);
    ck_assert_ptr_nonnull(
        strstr(verdict, "so not told apart). Behind linear, in this order: gla (not told "
                        "apart), softmax (worse), delta (worse). Worse: p of Student's t is "
                        "below 0.05 after Holm's correction for 6 pairs."));
    free(verdict);
    arrfree(order);
    comparison_free(&all);
    for (size_t i = 0; i < COUNT(runs); i++)
        rundata_free(&runs[i]);
}

/* All curves are of the steps that every seed has. */
TEST(groups_have_curves_of_training_and_speed)
{
    enum { ROWS = 4, SEEDS = 2 };
    RunData runs[SEEDS] = {make_run("a-1", "softmax", "1"), make_run("a-2", "softmax", "2")};
    for (size_t r = 0; r < SEEDS; r++)
        for (size_t i = r; i < ROWS; i++)
            arrput(runs[r].rows, ((RunLogRow){.step = 10 * i,
                                              .train_loss = (double)(4 + r),
                                              .tokens_per_second = 100 * (double)(1 + r)}));
    RunGroup *groups = groups_make(runs, SEEDS, true);
    ck_assert_uint_eq(arrlenu(groups), 1);
    ck_assert_uint_eq(arrlenu(groups[0].points), 0);
    for (GroupCurve curve = GROUP_TRAINING; curve <= GROUP_SPEED; curve++) {
        GroupPoint *points = group_curve(&groups[0], curve);
        const double low = curve == GROUP_SPEED ? 100 : 4,
                     high = curve == GROUP_SPEED ? 200 : 5;
        ck_assert_uint_eq(arrlenu(points), ROWS - 1); /* nothing was trained at step 0 */
        ck_assert_uint_eq(points[0].step, 10);
        ck_assert_double_eq(points[0].low, low);
        ck_assert_double_eq(points[0].mean, (low + high) / 2);
        ck_assert_double_eq(points[0].high, high);
        arrfree(points);
    }
    groups_free(groups);
    for (size_t r = 0; r < SEEDS; r++)
        rundata_free(&runs[r]);
}

/* --- the forest plot --- */

/* Kinds of one idea are neighbours, sorted by the estimate; the control stands at 0. */
TEST(a_forest_plot_is_grouped_and_sorted)
{
    static const struct {
        const char *kind, *heading;
        double loss;
        bool filled;
    } known[] = {{"softmax", "Softmax over the whole past", 4, false},
                 {"linear", "Linear attention", 4.001, false},
                 {"relu", NULL, 4.2, true},
                 {"kda", "Delta rule", 3.8, true},
                 {"delta", NULL, 3.9, true},
                 {"mixed", "Mixed or other kinds", 4.1, true}};
    static const size_t given[] = {3, 4, 2, 1, 5, 0};
    enum { KINDS = COUNT(known), SEEDS = 2 };
    RunData runs[KINDS * SEEDS];
    for (size_t i = 0; i < COUNT(runs); i++) {
        const char *kind = known[given[i / SEEDS]].kind;
        char *name = text_format("%s-%zu", kind, i % SEEDS + 1);
        runs[i] = make_run(name, kind, i % SEEDS ? "2" : "1");
        add_validation(&runs[i], 10,
                       known[given[i / SEEDS]].loss + (i % SEEDS ? 0.001 : -0.001));
        free(name);
    }
    Comparison all = comparison_make(runs, COUNT(runs), true, "softmax");
    Forest forest = runchart_forest(all.groups);
    ck_assert_uint_eq(arrlenu(forest.marks), KINDS);
    for (size_t r = 0; r < KINDS; r++) {
        const ForestMark *mark = &forest.marks[r];
        ck_assert_str_eq(table_cell(&forest.table, r, 0)->text, known[r].kind);
        ck_assert(!mark->heading == !known[r].heading);
        ck_assert(!mark->heading || strcmp(mark->heading, known[r].heading) == 0);
        ck_assert_double_eq_tol(mark->estimate, 100 * expm1(known[r].loss - 4), 1e-9);
        ck_assert(mark->filled == known[r].filled);
        ck_assert(r == 0 ? isnan(mark->low) : mark->low < mark->estimate);
    }
    ck_assert_str_eq(forest.x_label, "validation perplexity vs. softmax, %");
    forest_free(&forest);
    comparison_free(&all);
    for (size_t i = 0; i < COUNT(runs); i++)
        rundata_free(&runs[i]);
}

/* --- bits per byte --- */

/* Words of four bytes, and bytes, of one text: the words have the higher loss per token and the
 * fewer bits per byte. */
static void make_words_and_bytes(RunData runs[RUNS])
{
    make_runs(runs);
    for (size_t r = 0; r < RUNS; r++) {
        bool words = strcmp(runs[r].attn, "linear") == 0;
        set_setting(&runs[r], "tokens", words ? "word" : "byte");
        runs[r].val_bits = (words ? 0.25 : 1) / log(2);
        add_validation(&runs[r], 10, (words ? 3 : 1) * log(2) + 0.001 * (double)r);
        runs[r].best_step = 10;
        add_test(&runs[r], (words ? 3 : 1) * log(2) + 0.001 * (double)r);
        RunScore *score = &arrlast(runs[r].scores);
        score->bytes = 16;
        score->tokens = words ? 4 : 16;
        score->nats = score->nats / 4 * (double)score->tokens;
        score->text_crc = words;
    }
}

/* Also their tests, and the epochs of --reach. */
TEST(runs_with_other_tokens_compare_in_bits_per_byte)
{
    RunData runs[RUNS];
    make_words_and_bytes(runs);
    Comparison all = comparison_make(runs, RUNS, true, NULL);
    ck_assert(runs[0].scale == 0 && runs[RUNS - 1].scale == 0 && runs[0].by_bits);
    ck_assert_uint_eq(groups_measure(all.groups), GROUP_BITS);
    const GroupDifference *from = all.groups[1].differences;
    ck_assert(isnan(from[GROUP_BEST].of.mean));
    ck_assert_double_eq_tol(from[GROUP_BITS].of.mean, -0.25, 0.01);
    ck_assert(from[GROUP_BITS].of.low < from[GROUP_BITS].of.mean &&
              from[GROUP_BITS].of.high < 0);
    ck_assert_double_eq_tol(group_per_cent(&from[GROUP_BITS], -0.25, GROUP_BITS), -25, 0.2);
    ck_assert(from[GROUP_TEST_BITS].of.high < 0);
    ck_assert_double_eq_tol(all.groups[0].losses[GROUP_TEST_BITS].mean, 1, 0.01);
    ck_assert_double_eq_tol(all.groups[1].losses[GROUP_TEST_BITS].mean, 0.75, 0.01);
    ck_assert(isnan(group_epoch_to_reach(&all.groups[0], 0.9)));
    ck_assert_double_eq(group_epoch_to_reach(&all.groups[1], 0.9), 1);
    ck_assert_uint_eq(arrlenu(all.sections), 1); /* the tokens do not divide the corpus */
    ck_assert_str_eq(all.sections[0].name, "unknown corpus");
    char *verdict = sentences_verdict(all.groups), *test = sentences_test(&runs[0]),
         *text = memory_copy_text("");
    ck_assert_ptr_nonnull(strstr(verdict, "linear has the fewest bits per byte"));
    ck_assert_ptr_nonnull(strstr(test, "Test bits per byte: 16 bytes, window 16"));
    sentences_differences(&text, all.groups, 1000);
    ck_assert_ptr_nonnull(strstr(text, "Best bits per byte of the validation text against "
                                       "softmax"));
    ck_assert_ptr_nonnull(strstr(text, "Bits per byte of the test text against softmax"));
    free(verdict);
    free(test);
    free(text);
    Chart chart = runchart_make(all.groups, (double)NAN, &(RunChartAxes){0});
    ck_assert_str_eq(chart.y_label, "validation bits per byte");
    ck_assert_double_eq_tol(chart.series[1].points[0].y, 0.75, 0.01);
    chart_free(&chart);
    Table page = results_for_page(&all); /* the best first, each before its runs */
    ck_assert_str_eq(table_cell(&page, 0, 0)->text, "linear");
    ck_assert_str_eq(page.rows[0].class, "group");
    ck_assert_str_eq(page.rows[1].class, "run");
    ck_assert(table_cell(&page, 0, LOSS + 2)->strong);
    for (size_t r = 1; r < arrlenu(page.rows); r++)
        ck_assert(!table_cell(&page, r, LOSS + 2)->strong);
    ck_assert(!table_cell(&page, 0, LOSS)->strong);
    table_free(&page);
    comparison_free(&all);
    free_runs(runs);
}

/* Runs of earlier versions, or one of them, do not know their bits per byte. */
TEST(losses_compare_within_a_tokenizer_where_bits_are_unknown)
{
    RunData runs[RUNS];
    make_words_and_bytes(runs);
    runs[3].val_bits = (double)NAN;
    groups_choose_scales(runs, RUNS);
    ck_assert(!runs[0].by_bits && !groups_same_scale(&runs[0], &runs[1]));
    ck_assert(groups_same_scale(&runs[0], &runs[3]) && groups_same_scale(&runs[1], &runs[4]));
    runs[3].val_bits = runs[0].val_bits;
    set_setting(&runs[1], "corpus", "b.txt"); /* another text is always another scale */
    set_setting(&runs[4], "corpus", "b.txt");
    groups_choose_scales(runs, RUNS);
    ck_assert(!runs[0].by_bits && !runs[1].by_bits && !groups_same_scale(&runs[0], &runs[1]));
    free_runs(runs);
}

/* A run with --init may have the tokenizer of another run, which its settings do not show. */
TEST(known_vocabularies_decide_whether_tokens_differ)
{
    RunData runs[RUNS];
    make_words_and_bytes(runs);
    for (size_t r = 0; r < RUNS; r++) {
        set_setting(&runs[r], "tokens", "word");
        runs[r].vocabulary = r == 3 ? "9 tokens, crc32 2" : "9 tokens, crc32 1";
    }
    groups_choose_scales(runs, RUNS);
    ck_assert(runs[0].by_bits && groups_same_scale(&runs[0], &runs[3]));
    runs[3].vocabulary = runs[0].vocabulary;
    set_setting(&runs[3], "tokens", "char"); /* whatever the settings say */
    groups_choose_scales(runs, RUNS);
    ck_assert(!runs[0].by_bits && groups_same_scale(&runs[0], &runs[3]));
    for (size_t r = 0; r < RUNS; r++)
        runs[r].vocabulary = NULL;
    free_runs(runs);
}

TEST(the_origin_and_extensions_of_runs_are_told)
{
    RunData runs[RUNS];
    make_runs(runs);
    RunGroup *groups = groups_make(runs, RUNS, true);
    ck_assert_ptr_null(sentences_history(groups));
    groups_free(groups);
    set_setting(&runs[0], RUN_ORIGIN, "a/best.safetensors, step 3");
    set_setting(&runs[1], RUN_EXTENDED, "step 4: 4 to 8 steps");
    groups = groups_make(runs, RUNS, true);
    char *text = sentences_history(groups);
    ck_assert_ptr_nonnull(strstr(text, " started from a/best.safetensors, step 3."));
    ck_assert_ptr_nonnull(strstr(text, " was extended after step 4: 4 to 8 steps."));
    ck_assert_uint_eq(arrlenu(groups), 5); /* neither is a seed of the others */
    free(text);
    groups_free(groups);
    free_runs(runs);
}

TEST(notes_name_unknown_words_and_parts)
{
    RunData runs[RUNS];
    make_words_and_bytes(runs);
    runs[1].unknown = runs[4].unknown = 0.125;
    for (size_t r = 0; r < RUNS; r++) {
        runs[r].part_tokens = 20;
        runs[r].valid_tokens = 50;
    }
    Comparison all = comparison_make(runs, RUNS, true, NULL);
    char *bits = sentences_bits(all.groups), *part = sentences_part(all.groups);
    ck_assert_ptr_nonnull(strstr(bits, "where tokens are unknown: linear (12 %)."));
    ck_assert_ptr_null(part); /* the best losses are of the whole text */
    free(bits);
    runs[1].best_is_part = true;
    part = sentences_part(all.groups);
    ck_assert_ptr_nonnull(strstr(part, "20 of 50 tokens"));
    free(part);
    Table table = results_for_terminal(all.groups, NULL);
    ck_assert_ptr_nonnull(strchr(table_cell(&table, 1, 5)->text, '~'));
    ck_assert_ptr_null(strchr(table_cell(&table, 0, 5)->text, '~'));
    table_free(&table);
    runs[0].best_is_part = true;
    runs[0].part_tokens = 10;
    part = sentences_part(all.groups);
    ck_assert_ptr_nonnull(strstr(part, "whose size differs between the runs"));
    free(part);
    Chart chart = runchart_make(all.groups, (double)NAN, &(RunChartAxes){.y = 1});
    ck_assert_str_eq(chart.y_label, "validation loss on a part (nats)");
    chart_free(&chart);
    comparison_free(&all);
    free_runs(runs);
}
