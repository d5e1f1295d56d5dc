#include "models/pass_layers.h"
#include "models/pass_mixer.h"
#include "src/gemm.h"
#include "src/layers/embedding.h"
#include "src/layers/layernorm.h"
#include "src/phase.h"
#include "src/vector.h"

#include <assert.h>

/* Dropout sites: embedding, sublayer outputs, attention weights of each layer, output, word
 * types, n-grams. */
enum {
    SITE_EMBEDDING,
    SITE_BRANCH,
    SITE_WEIGHTS = 1 << 20,
    SITE_OUTPUT = 1 << 21,
    SITE_WORDS,
    SITE_NGRAMS
};

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

static real *position_rows(const Pass *pass)
{
    const Model *model = pass->model;
    if (model->config.positions == POSITIONS_LEARNED)
        return model->at.wpe + pass->position * model->config.dim;
    return pass->position_rows;
}

static EmbeddingSizes embedding_sizes(const Pass *pass)
{
    const ModelConfig *config = &pass->model->config;
    return (EmbeddingSizes){.rows = pass->rows,
                            .length = pass->length,
                            .width = config->dim,
                            .vocabulary = config->vocabulary,
                            .order = config->ngrams,
                            .slots = config->ngram_rows};
}

static EmbeddingDropouts embedding_dropouts(const Pass *pass, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    return (EmbeddingDropouts){
        .words = dropout_at(key, SITE_WORDS, config->word_dropout),
        .ngrams = dropout_at(key, SITE_NGRAMS, config->ngram_dropout),
        .inputs = dropout_at(key, SITE_EMBEDDING, config->input_dropout)};
}

static void embed(Pass *pass, const int32_t *inputs, const RandomKey *key)
{
    const Model *model = pass->model;
    const EmbeddingTables tables = {model->at.wte, position_rows(pass), model->at.ngrams};
    const EmbeddingSizes sizes = embedding_sizes(pass);
    phase_enter(PHASE_EMBEDDING);
    embedding_find_ngrams(pass->slots, pass->states, inputs, sizes);
    embedding_forward(pass->stream[0], tables, inputs, pass->slots,
                      embedding_dropouts(pass, key), sizes);
}

static void embed_backward(Pass *pass, Params *gradients, const int32_t *inputs,
                           const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    const EmbeddingTables tables = {gradients->wte, gradients->wpe, gradients->ngrams};
    phase_enter(PHASE_EMBEDDING);
    embedding_backward(tables, config->norm == NORM_PRE ? pass->dstream : pass->branch, inputs,
                       pass->slots, embedding_dropouts(pass, key), embedding_sizes(pass));
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
    embed(pass, inputs, key);
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

Dropout layers_output_dropout(const Pass *pass, const RandomKey *key)
{
    return dropout_at(key, SITE_OUTPUT, pass->model->config.output_dropout);
}

const real *layers_forward(Pass *pass, const int32_t *inputs, const RandomKey *key)
{
    return forward(pass, inputs, key, NULL);
}

const real *layers_output(Pass *pass)
{
    return normed(pass, 2 * pass->model->config.layers, true);
}

void layers_backward(Pass *pass, Params *gradients, const int32_t *inputs, const RandomKey *key)
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
    embed_backward(pass, gradients, inputs, key);
}

/* --- attention transfer --- */

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
