#include "models/pass_layers.h"
#include "src/gemm.h"
#include "src/layers/head.h"
#include "src/phase.h"
#include "src/team.h"
#include "src/vector.h"

#include <assert.h>

static real *head_weight(const ModelConfig *config, const Params *params)
{
    return config->tied ? params->wte : params->head_weight;
}

static HeadSizes head_sizes(const Pass *pass, size_t rows)
{
    const ModelConfig *config = &pass->model->config;
    return (HeadSizes){rows, config->dim, config->vocabulary, (real)config->logit_cap};
}

const real *pass_forward(Pass *pass, const int32_t *inputs)
{
    return layers_forward(pass, inputs, NULL);
}

static void finish_batch(Pass *pass)
{
    phase_enter(PHASE_REST);
    if (pass->carries)
        pass_advance(pass);
}

/* Gathers the rows with a target. With overlapping windows these are few, and the head is the
 * most expensive part. Uses the branch buffer, which is free by now. */
static void gather_scored(Pass *pass, const real *u, const int32_t *targets)
{
    ScoredRows *scored = &pass->scored;
    size_t width = pass->model->config.dim;
    scored->count = 0;
    for (size_t row = 0; row < pass->rows; row++)
        if (targets[row] >= 0) {
            scored->rows[scored->count] = row;
            scored->targets[scored->count++] = targets[row];
        }
    scored->u = u;
    if (scored->count == pass->rows)
        return;
    for (size_t i = 0; i < scored->count; i++)
        memcpy(pass->branch + i * width, u + scored->rows[i] * width, width * sizeof *u);
    scored->u = pass->branch;
}

/* Head loss of the gathered rows, given their (scaled) inputs. */
static double scored_loss(Pass *pass, const real *u, const real *bias, real cap)
{
    const Model *model = pass->model;
    ScoredRows *scored = &pass->scored;
    HeadSizes sizes = head_sizes(pass, scored->count);
    sizes.cap = cap;
    phase_enter(PHASE_HEAD);
    return head_loss(&scored->right, scored->losses, u, head_weight(&model->config, &model->at),
                     bias, scored->targets, sizes, pass->head_scratch);
}

double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets)
{
    const ScoredRows *scored = &pass->scored;
    gather_scored(pass, pass_forward(pass, inputs), targets);
    double loss = scored_loss(pass, scored->u, pass->model->at.head_bias,
                              (real)pass->model->config.logit_cap);
    vector_zero(pass->row_loss, pass->rows);
    for (size_t i = 0; i < scored->count; i++)
        pass->row_loss[scored->rows[i]] = scored->losses[i];
    finish_batch(pass);
    return loss;
}

static void set_scaled(real *restrict y, const real *restrict x, real a, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = a * x[i];
}

/* Dividing u and b by T divides the logits z = W u + b by T. The soft cap is divided too,
 * since cap / T tanh(z / T / (cap / T)) = cap tanh(z / cap) / T. */
double pass_loss_at(Pass *pass, double temperature)
{
    const ModelConfig *config = &pass->model->config;
    const ScoredRows *scored = &pass->scored;
    assert(pass->use == PASS_EVALUATE);
    const real *bias = pass->model->at.head_bias;
    real share = (real)(1 / temperature);
    real *u = scored->u == pass->branch ? pass->input : pass->branch;
    set_scaled(u, scored->u, share, scored->count * config->dim);
    if (bias)
        set_scaled(pass->cooled_bias, bias, share, config->vocabulary);
    double loss = scored_loss(pass, u, bias ? pass->cooled_bias : NULL,
                              (real)config->logit_cap * share);
    phase_enter(PHASE_REST);
    return loss;
}

static void write_logits(Pass *pass, real *logits, const real *u, size_t rows)
{
    const Model *model = pass->model;
    phase_enter(PHASE_HEAD);
    head_logits(logits, u, head_weight(&model->config, &model->at), model->at.head_bias,
                head_sizes(pass, rows));
    phase_enter(PHASE_REST);
}

void pass_scored_logits(Pass *pass, real *logits, size_t first, size_t rows)
{
    write_logits(pass, logits, pass->scored.u + first * pass->model->config.dim, rows);
}

/* Adds the gradients of the AR penalty (squared output) and the TAR penalty (squared change
 * between positions) to the gradient of u in branch. Both are means over features, for
 * positions with a target. */
static void penalise(Pass *pass, const int32_t *targets)
{
    const ModelConfig *config = &pass->model->config;
    size_t width = config->dim;
    pass->penalty = 0;
    if (config->output_penalty == 0 && config->change_penalty == 0)
        return;
    const real *u = layers_output(pass);
    double size = config->output_penalty / (double)width;
    double change = config->change_penalty / (double)width;
    for (size_t row = 0; row < pass->rows; row++) {
        if (targets[row] < 0)
            continue;
        const real *at = u + row * width;
        real *gradient = pass->branch + row * width;
        pass->penalty += size * (double)vector_dot(at, at, width);
        vector_add_scaled(gradient, at, (real)(2 * size), width);
        if (row % pass->length == 0 || change == 0)
            continue;
        const real *before = at - width;
        real *gradient_before = gradient - width;
        for (size_t i = 0; i < width; i++) {
            real step = at[i] - before[i];
            pass->penalty += change * (double)(step * step);
            gradient[i] += (real)(2 * change) * step;
            gradient_before[i] -= (real)(2 * change) * step;
        }
    }
}

/* What the head takes from the teacher, after its forward pass. */
static HeadTeacher teach(Pass *pass, const int32_t *inputs)
{
    if (!pass->teacher)
        return pass->stored;
    const Model *model = pass->teacher->model;
    return (HeadTeacher){.x = pass_forward(pass->teacher, inputs),
                         .w = head_weight(&model->config, &model->at),
                         .b = model->at.head_bias,
                         .width = model->config.dim,
                         .cap = (real)model->config.logit_cap,
                         .share = (real)pass->teacher_share};
}

double pass_gradients(Pass *pass, Params *gradients, const int32_t *inputs,
                      const int32_t *targets, RandomKey key)
{
    const Model *model = pass->model;
    assert(pass->use != PASS_EVALUATE);
    const HeadTeacher teacher = teach(pass, inputs);
    const real *u = layers_forward(pass, inputs, &key);
    Dropout output = layers_output_dropout(pass, &key);
    if (output.rate > 0)
        dropout_add(pass->input, NULL, u, output, pass->rows, model->config.dim);
    phase_enter(PHASE_HEAD);
    double loss = head_gradients(
        pass->row_loss, pass->branch, head_weight(&model->config, gradients),
        gradients->head_bias, u, head_weight(&model->config, &model->at), model->at.head_bias,
        targets, teacher.x || teacher.records ? &teacher : NULL, (real)pass->margin,
        head_sizes(pass, pass->rows), pass->head_scratch);
    if (output.rate > 0)
        dropout_add(pass->branch, NULL, pass->branch, output, pass->rows, model->config.dim);
    penalise(pass, targets);
    layers_backward(pass, gradients, inputs, &key);
    finish_batch(pass);
    return loss;
}

void pass_step(Pass *pass, real *logits, const int32_t *tokens)
{
    assert(pass->decoding && pass->position < pass->capacity);
    const real *u = pass_forward(pass, tokens);
    /* in groups of fixed size, so that a row's logits do not depend on the other rows */
    for (size_t row = 0; row < pass->rows; row += GEMM_FEW)
        write_logits(pass, logits + row * pass->model->config.vocabulary,
                     u + row * pass->model->config.dim,
                     team_extent(pass->rows, GEMM_FEW, row / GEMM_FEW));
    pass_advance(pass);
}
