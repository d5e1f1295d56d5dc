#include "tests/support.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/math/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool support_same_files(const char *a, const char *b)
{
    char *bytes_a, *bytes_b;
    size_t size_a, size_b;
    Error error;
    ck_assert_msg(file_read(a, SIZE_MAX / 2, &bytes_a, &size_a, &error), "%s", error.text);
    ck_assert_msg(file_read(b, SIZE_MAX / 2, &bytes_b, &size_b, &error), "%s", error.text);
    bool same = size_a == size_b && memcmp(bytes_a, bytes_b, size_a) == 0;
    free(bytes_a);
    free(bytes_b);
    return same;
}

void support_check_error(const Error *error, const char *about, const char *phrase)
{
    ck_assert_msg(strstr(error->text, about) != NULL, "'%s' does not name %s", error->text,
                  about);
    ck_assert_msg(strstr(error->text, phrase) != NULL, "'%s' does not say '%s'", error->text,
                  phrase);
    for (const char *c = error->text; *c; c++)
        ck_assert_msg((unsigned char)*c >= ' ' && *c != 0x7f, "'%s' holds byte %d", error->text,
                      *c);
}

void support_settle(Settings *settings, const char *lines)
{
    const Options groups = settings_options(settings);
    Error error;
    options_set_defaults(&groups);
    ck_assert_msg(options_read_text(&groups, lines, "here", &error), "%s", error.text);
    ck_assert_msg(config_check(&settings->model, &error), "%s", error.text);
}

bool support_check_config(ModelConfig *config, Error *error)
{
    const Options options = {{config_group(config)}};
    const Option *option;
    if (config->attention.count == 0)
        config->attention.count = 1;
    for (size_t i = 0; (option = option_at(&options, i)); i++) {
        const void *field = option_field(&options, option);
        bool open = (option->type == OPTION_SIZE && *(const size_t *)field == 0) ||
                    (option->type == OPTION_REAL && *(const double *)field == 0);
        if (open && option->low > 0)
            options_set(&options, option->name, option->fallback, "a default", error);
    }
    return config_check(config, error);
}

int count_kinds(void)
{
    int kinds = 0;
    while (attention_find((size_t)kinds))
        kinds++;
    return kinds;
}

Choices one_kind(size_t kind)
{
    return (Choices){1, {kind}};
}

size_t positions_for(size_t kind, size_t wanted)
{
    const AttentionKind *row = attention_find(kind);
    bool rotates = !row->no_rotary && row->parts.keys.parts == row->parts.keys.of;
    return wanted == POSITIONS_ROTARY && !rotates ? POSITIONS_NONE : wanted;
}

void small_model_make(SmallModel *small, ModelConfig config, double spread)
{
    *small = (SmallModel){0};
    Error error;
    ck_assert_msg(support_check_config(&config, &error), "%s", error.text);
    model_make(&small->model, &config);
    model_allocate(&small->model);
    params_initialise(&small->model.table, &small->model.config, small->model.base, 1);
    RandomKey key = random_key(1, RANDOM_TEST, 0);
    for (size_t r = 0; r < small->model.table.count; r++) {
        const ParamRow *row = &small->model.table.rows[r];
        for (size_t i = row->offset; i < row->offset + row->count; i++)
            small->model.base[i] += (real)(spread * random_normal(key, i));
    }
}

void small_model_free(SmallModel *small)
{
    model_free(&small->model);
}

/* --- gradients --- */

#define ALL SIZE_MAX

/* The direction of a difference: one element, or all in random directions. */
static double direction(size_t element, size_t one)
{
    return one == ALL ? random_normal(random_key(8, RANDOM_TEST, 0), element) : element == one;
}

static size_t place(const Variable *x, size_t element)
{
    return element / x->columns * x->stride + element % x->columns;
}

/* If a step crosses a kink or changes a hash, a shorter one decides. */
static void check_slope(const Variable *x, const real *origin, size_t one,
                        double (*loss)(void *of), void *of, const char *label)
{
    const size_t elements = x->rows * x->columns;
    double analytic = 0, numeric = 0;
    bool agree = false;
    for (size_t i = 0; i < elements; i++)
        analytic += (double)(x->gradient[place(x, i)] - x->base) * direction(i, one);
    for (double step = 1e-5; step > 5e-8 && !agree; step /= 10) {
        double losses[2];
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < elements; i++)
                x->value[place(x, i)] = origin[i] +
                                        (real)((side ? step : -step) * direction(i, one));
            losses[side] = loss(of);
        }
        numeric = (losses[1] - losses[0]) / (2 * step);
        agree = fabs(analytic - numeric) <= 1e-6 + 1e-6 * fabs(numeric);
    }
    for (size_t i = 0; i < elements; i++)
        x->value[place(x, i)] = origin[i];
    ck_assert_msg(agree,
                  "%s: d %s, element %td (-1: all) of (%zu, %zu), is %.9g, should be %.9g",
                  label, x->name, (ptrdiff_t)one, x->rows, x->columns, analytic, numeric);
}

void check_slopes(const Variable *x, double (*loss)(void *of), void *of, const char *label)
{
    enum { SOME = 6 };
    const size_t elements = x->rows * x->columns;
    real *origin = memory_new(elements, sizeof *origin, "a test");
    for (size_t i = 0; i < elements; i++)
        origin[i] = x->value[place(x, i)];
    check_slope(x, origin, ALL, loss, of, label);
    for (size_t i = 0; i < elements; i += 1 + elements / SOME)
        check_slope(x, origin, i, loss, of, label);
    free(origin);
}

double gradient_norm(const Model *model, const real *gradient, size_t tokens)
{
    size_t pieces[2], bounds[2];
    update_slices(model, OPTIMIZER_ADAMW, 1, pieces, bounds);
    double *sums = memory_new(pieces[1], sizeof *sums, "a test");
    update_square_sums(model, OPTIMIZER_ADAMW, gradient, (UpdateSlice){0, bounds[1]}, sums);
    double norm = update_gradient_norm(sums, pieces[1], tokens);
    free(sums);
    return norm;
}
