#include "models/pass_mixer.h"
#include "src/gemm.h"
#include "src/layers/embedding.h"
#include "src/layers/head.h"
#include "src/layers/layernorm.h"
#include "src/phase.h"
#include "src/vector.h"

#include <assert.h>

/* Dropout sites: embedding, sublayer outputs, attention weights of each layer, output, word
 * types. */
enum { SITE_EMBEDDING, SITE_BRANCH, SITE_WEIGHTS = 1 << 20, SITE_OUTPUT = 1 << 21, SITE_WORDS };

/* --- terms of the formulas in pass.h --- */

/* The norm from r[place] to u[place]; NULL for the embedding of a post-norm model. */
static const Affine *norm_at(const ModelConfig *config, const Params *params, size_t place)
{
    if (config->norm == NORM_PRE) {
        if (place == 2 * config->layers)
            return &params->ln_f;
        return place % 2 ? &params->h[place / 2].ln_2 : &params->h[place / 2].ln_1;
    }
    if (place == 0)
        return NULL;
    return place % 2 ? &params->h[place / 2].ln_1 : &params->h[place / 2 - 1].ln_2;
}

static real *head_weight(const ModelConfig *config, const Params *params)
{
    return config->tied ? params->wte : params->head_weight;
}

/* None without a key, which only training has. */
static Dropout dropout_at(const RandomKey *key, size_t site, double rate)
{
    return key ? (Dropout){random_subkey(*key, site), (real)rate} : (Dropout){0};
}

/* The state that sublayer `place` reads. */
static const real *state_at(const Pass *pass, size_t place)
{
    bool shared = pass->model->config.parallel && place % 2;
    return pass->stream[shared ? place - 1 : place];
}

/* Computes u[place]; returns r[place] itself if there is no norm. */
static const real *normed(Pass *pass, size_t place, bool again)
{
    const Model *model = pass->model;
    const Affine *norm = norm_at(&model->config, &model->at, place);
    phase_enter(PHASE_NORMS);
    if (!norm)
        return pass->stream[place];
    if (again)
        layernorm_again(pass->input, state_at(pass, place), pass->mean[place],
                        pass->rstd[place], norm->weight, norm->bias, pass->rows,
                        model->config.dim);
    else
        layernorm_forward(pass->input, pass->mean[place], pass->rstd[place],
                          state_at(pass, place), norm->weight, norm->bias,
                          (real)model->config.norm_eps, pass->rows, model->config.dim);
    return pass->input;
}

/* Gradient of the residual branch that was added to r[place]. */
static const real *branch_gradient(Pass *pass, size_t place, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    if (config->dropout == 0)
        return pass->dstream;
    phase_enter(PHASE_NORMS);
    dropout_add(pass->input, NULL, pass->dstream,
                dropout_at(key, SITE_BRANCH + place, config->dropout), pass->rows, config->dim);
    return pass->input;
}

/* --- the attention sublayer --- */

static Dropout weights_dropout(const Pass *pass, size_t place, const RandomKey *key)
{
    return dropout_at(key, SITE_WEIGHTS + place, pass->model->config.attention_dropout);
}

/* From the gradient of r[place + 1] to that of u[place]. */
static void attention_sublayer_backward(Pass *pass, BlockParams *gradients, size_t place,
                                        const RandomKey *key)
{
    size_t layer = place / 2;
    Dropout dropout = weights_dropout(pass, place, key);
    if (pass->use == PASS_RECOMPUTE)
        mixer_again(pass, layer, normed(pass, place, true), dropout);
    mixer_backward(pass, gradients, layer, branch_gradient(pass, place, key), dropout);
    mixer_backward_input(pass, gradients, layer, normed(pass, place, true));
}

/* --- the MLP sublayer --- */

static MlpWeights mlp_weights(const BlockParams *h)
{
    return (MlpWeights){h->c_fc.weight, h->c_fc.bias, h->mlp_proj.weight, h->mlp_proj.bias};
}

static void ffn_sublayer(Pass *pass, real *branch, size_t layer, const real *u,
                         GemmFinish finish)
{
    const MlpWeights weights = mlp_weights(&pass->model->at.h[layer]);
    phase_enter(PHASE_FFN);
    mlp_widen(pass->inner[layer], pass->wide, u, &weights, &pass->mlp);
    mlp_narrow(branch, pass->wide, &weights, &pass->mlp, finish);
}

/* From the gradient of r[place + 1] to that of u[place]; gradients overwrite activations in
 * place. */
static void ffn_sublayer_backward(Pass *pass, BlockParams *gradients, size_t place,
                                  const RandomKey *key)
{
    const MlpWeights weights = mlp_weights(&pass->model->at.h[place / 2]);
    const MlpWeights down = mlp_weights(gradients);
    real *inner = pass->inner[place / 2];
    if (pass->use == PASS_RECOMPUTE) {
        const real *u = normed(pass, place, true);
        phase_enter(PHASE_FFN);
        mlp_widen(inner, pass->wide, u, &weights, &pass->mlp);
    }
    const real *dbranch = branch_gradient(pass, place, key);
    phase_enter(PHASE_FFN);
    mlp_narrow_backward(inner, pass->wide, &down, dbranch, &weights, &pass->mlp);
    const real *u = normed(pass, place, true);
    phase_enter(PHASE_FFN);
    mlp_widen_backward(pass->branch, &down, inner, u, &weights, &pass->mlp);
}

/* --- all layers --- */

static const real *position_rows(const Pass *pass)
{
    const Model *model = pass->model;
    if (model->config.positions == POSITIONS_LEARNED)
        return model->at.wpe + pass->position * model->config.dim;
    return pass->position_rows;
}

/* The model that learns to match the attention outputs of the pass (pass_match). */
typedef struct Matching {
    Pass *student;
    Params *gradients;
    const bool *counts; /* (rows) */
    double loss;
} Matching;

/* One attention sublayer, with the output y of the student and z of the teacher on the same
 * state: adds mean((y - z)^2) / L of each row that counts to the loss, and the gradient. The
 * student applies its own norm, whose bias differs if output gates were opened (adopt.h). `sum`
 * adds the residual stream to both outputs, where it cancels. */
static void match_sublayer(Matching *matching, size_t place, const real *state, const real *z,
                           const DropoutSum *sum)
{
    Pass *student = matching->student;
    BlockParams *gradients = &matching->gradients->h[place / 2];
    size_t rows = student->rows, width = student->model->config.dim;
    double share = 1 / (double)(width * student->model->config.layers);
    gemm_lend(student->scratch, student->scratch_reals);
    memcpy(student->stream[place], state, rows * width * sizeof *state);
    const real *u = normed(student, place, false);
    real *e = student->stream[place + 1];
    mixer_forward(student, e, place / 2, u, (Dropout){0}, dropout_finish(sum));
    for (size_t row = 0; row < rows; row++) {
        real *at = e + row * width;
        vector_add_scaled(at, z + row * width, -1, width);
        if (matching->counts[row])
            matching->loss += share * (double)vector_dot(at, at, width);
        for (size_t i = 0; i < width; i++)
            at[i] *= matching->counts[row] ? (real)(2 * share) : 0;
    }
    mixer_backward(student, gradients, place / 2, e, (Dropout){0});
    mixer_backward_input(student, gradients, place / 2, u);
}

/* Without dropout if the key is NULL; matching may be NULL. */
static const real *forward(Pass *pass, const int32_t *inputs, const RandomKey *key,
                           Matching *matching)
{
    const ModelConfig *config = &pass->model->config;
    gemm_lend(pass->scratch, pass->scratch_reals);
    if (pass->begun)
        memcpy(pass->begun, pass->states, pass->states_reals * sizeof(real));
    phase_enter(PHASE_EMBEDDING);
    embedding_forward(pass->stream[0], pass->model->at.wte, position_rows(pass), inputs,
                      dropout_at(key, SITE_WORDS, config->word_dropout),
                      dropout_at(key, SITE_EMBEDDING, config->input_dropout), pass->rows,
                      pass->length, config->dim);
    for (size_t place = 0; place < 2 * config->layers; place++) {
        const real *u = normed(pass, place, false);
        const DropoutSum sum = {config->norm == NORM_PRE ? pass->stream[place] : u,
                                dropout_at(key, SITE_BRANCH + place, config->dropout),
                                config->dim};
        real *next = pass->stream[place + 1];
        if (place % 2)
            ffn_sublayer(pass, next, place / 2, u, dropout_finish(&sum));
        else
            mixer_forward(pass, next, place / 2, u, weights_dropout(pass, place, key),
                          dropout_finish(&sum));
        if (matching && place % 2 == 0) {
            match_sublayer(matching, place, pass->stream[place], next, &sum);
            gemm_lend(pass->scratch, pass->scratch_reals);
        }
    }
    return normed(pass, 2 * config->layers, false);
}

/* From the gradient of u[place] in branch to that of r[place] in dstream. With pre-norm,
 * dstream already holds the gradient of the skip connection. With a parallel residual,
 * attention has yet to read dstream when the MLP is done: its part waits in stream[1], which
 * the backward pass does not need. */
static void norm_backward(Pass *pass, Params *gradients, size_t place, bool carries)
{
    const Model *model = pass->model;
    const bool waits = model->config.parallel && place % 2;
    const Affine *norm = norm_at(&model->config, &model->at, place);
    const Affine *dnorm = norm_at(&model->config, gradients, place);
    phase_enter(PHASE_NORMS);
    layernorm_backward(waits ? pass->stream[1] : pass->dstream, carries && !waits ? 1 : 0,
                       dnorm->weight, dnorm->bias, pass->branch, state_at(pass, place),
                       pass->mean[place], pass->rstd[place], norm->weight, pass->rows,
                       model->config.dim);
    if (model->config.parallel && carries && !waits)
        dropout_add(pass->dstream, pass->dstream, pass->stream[1], (Dropout){0}, pass->rows,
                    model->config.dim);
}

static void backward(Pass *pass, Params *gradients, const int32_t *inputs, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    bool pre = config->norm == NORM_PRE;
    if (pass->dfirst_values)
        vector_zero(pass->dfirst_values, pass->rows * config->dim);
    norm_backward(pass, gradients, 2 * config->layers, false);
    for (size_t place = 2 * config->layers; place-- > 0;) {
        BlockParams *h = &gradients->h[place / 2];
        if (place % 2)
            ffn_sublayer_backward(pass, h, place, key);
        else
            attention_sublayer_backward(pass, h, place, key);
        phase_enter(PHASE_NORMS);
        if (!pre) /* add the gradient of the skip connection */
            dropout_add(pass->branch, pass->dstream, pass->branch, (Dropout){0}, pass->rows,
                        config->dim);
        if (pre || place > 0)
            norm_backward(pass, gradients, place, pre);
    }
    phase_enter(PHASE_EMBEDDING);
    embedding_backward(gradients->wte, gradients->wpe, pre ? pass->dstream : pass->branch,
                       inputs, dropout_at(key, SITE_WORDS, config->word_dropout),
                       dropout_at(key, SITE_EMBEDDING, config->input_dropout), pass->rows,
                       pass->length, config->dim);
}

static HeadSizes head_sizes(const Pass *pass, size_t rows)
{
    const ModelConfig *config = &pass->model->config;
    return (HeadSizes){rows, config->dim, config->vocabulary, (real)config->logit_cap};
}

const real *pass_forward(Pass *pass, const int32_t *inputs)
{
    return forward(pass, inputs, NULL, NULL);
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
    const real *u = normed(pass, 2 * config->layers, true);
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
    const real *u = forward(pass, inputs, &key, NULL);
    Dropout output = dropout_at(&key, SITE_OUTPUT, model->config.output_dropout);
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
    backward(pass, gradients, inputs, &key);
    finish_batch(pass);
    return loss;
}

/* A row counts if it or a later row of its sequence has a target. */
static void mark_rows(bool *counts, const Pass *pass, const int32_t *targets)
{
    for (size_t row = pass->rows; row-- > 0;) {
        bool last = (row + 1) % pass->length == 0;
        counts[row] = targets[row] >= 0 || (!last && counts[row + 1]);
    }
}

double pass_match(Pass *pass, Params *gradients, const int32_t *inputs, const int32_t *targets)
{
    assert(pass->use != PASS_EVALUATE && pass->teacher);
    Matching matching = {.student = pass, .gradients = gradients, .counts = pass->counts};
    mark_rows(pass->counts, pass, targets);
    if (pass->dfirst_values)
        vector_zero(pass->dfirst_values, pass->rows * pass->model->config.dim);
    forward(pass->teacher, inputs, NULL, &matching);
    phase_enter(PHASE_REST);
    return matching.loss;
}

void pass_step(Pass *pass, real *logits, const int32_t *tokens)
{
    assert(pass->decoding && pass->position < pass->capacity);
    write_logits(pass, logits, pass_forward(pass, tokens), pass->rows);
    pass_advance(pass);
}
