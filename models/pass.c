#include "models/pass.h"
#include "models/block.h"
#include "src/layers/embedding.h"
#include "src/base/phase.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <assert.h>

/* --- embedding --- */

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

void pass_embed(Pass *pass, const int32_t *inputs, const RandomKey *key)
{
    const Params *w = &pass->model->params;
    const EmbeddingSizes sizes = embedding_sizes(pass);
    real *positions = w->wpe ? w->wpe + pass->position * sizes.width : pass->position_rows;
    gemm_set_workspace(pass->scratch, pass->scratch_reals);
    if (pass->states_before)
        memcpy(pass->states_before, pass->states, pass->states_reals * sizeof(real));
    phase_enter(PHASE_EMBEDDING);
    embedding_find_ngrams(pass->slots, pass->states, inputs, sizes);
    embedding_forward(pass->act.residual[0], (EmbeddingTables){w->wte, positions, w->ngrams},
                      inputs, pass->slots, embedding_dropouts(pass, key), sizes);
}

static void embed_backward(Pass *pass, Params *dparams, const int32_t *inputs,
                           const RandomKey *key)
{
    phase_enter(PHASE_EMBEDDING);
    embedding_backward((EmbeddingTables){dparams->wte, dparams->wpe, dparams->ngrams},
                       pass->grad.dx, inputs, pass->slots, embedding_dropouts(pass, key),
                       embedding_sizes(pass));
}

/* --- the blocks --- */

const real *pass_forward(Pass *pass, const int32_t *inputs, const RandomKey *key)
{
    size_t layers = pass->model->config.layers;
    pass_embed(pass, inputs, key);
    for (size_t layer = 0; layer < layers; layer++) {
        attention_sublayer_forward(pass, layer, key);
        mlp_sublayer_forward(pass, layer, key);
    }
    return norm_forward(pass, 2 * layers);
}

static void blocks_backward(Pass *pass, Params *dparams, const RandomKey *key)
{
    const ModelConfig *config = &pass->model->config;
    if (pass->grad.dfirst_values)
        vector_zero(pass->grad.dfirst_values, pass->rows * config_value_width(config, 0));
    norm_backward(pass, dparams, 2 * config->layers);
    for (size_t layer = config->layers; layer-- > 0;) {
        mlp_sublayer_backward(pass, dparams, layer, key);
        attention_sublayer_backward(pass, dparams, layer, key);
    }
}

static void finish_batch(Pass *pass)
{
    phase_enter(PHASE_REST);
    if (pass->carries)
        pass_move(pass, pass->position + pass->length);
}

/* --- the output head --- */

static HeadSizes head_sizes(const Pass *pass, size_t rows)
{
    const ModelConfig *config = &pass->model->config;
    return (HeadSizes){rows, config->dim, config->vocabulary, (real)config->logit_cap};
}

/* Gathers the rows with a target. With overlapping windows these are few, and the head is the
 * most expensive part. */
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
        memcpy(scored->gathered + i * width, u + scored->rows[i] * width, width * sizeof *u);
    scored->u = scored->gathered;
}

/* Head loss of the gathered rows, given their (scaled) inputs. */
static double scored_loss(Pass *pass, const real *u, const real *bias, real cap)
{
    const Model *model = pass->model;
    ScoredRows *scored = &pass->scored;
    HeadSizes sizes = head_sizes(pass, scored->count);
    sizes.cap = cap;
    phase_enter(PHASE_HEAD);
    return head_loss(&scored->right, scored->losses, u,
                     params_head(&model->config, &model->params), bias, scored->targets, sizes,
                     pass->head_scratch);
}

double pass_loss(Pass *pass, const int32_t *inputs, const int32_t *targets)
{
    const ScoredRows *scored = &pass->scored;
    gather_scored(pass, pass_forward(pass, inputs, NULL), targets);
    double loss = scored_loss(pass, scored->u, pass->model->params.head_bias,
                              (real)pass->model->config.logit_cap);
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
    const real *bias = pass->model->params.head_bias;
    real share = (real)(1 / temperature);
    set_scaled(pass->cooled, scored->u, share, scored->count * config->dim);
    if (bias)
        set_scaled(pass->cooled_bias, bias, share, config->vocabulary);
    double loss = scored_loss(pass, pass->cooled, bias ? pass->cooled_bias : NULL,
                              (real)config->logit_cap * share);
    phase_enter(PHASE_REST);
    return loss;
}

static void write_logits(Pass *pass, real *logits, const real *u, size_t rows)
{
    const Model *model = pass->model;
    phase_enter(PHASE_HEAD);
    head_logits(logits, u, params_head(&model->config, &model->params), model->params.head_bias,
                head_sizes(pass, rows));
    phase_enter(PHASE_REST);
}

double pass_head_gradients(Pass *pass, Params *dparams, const int32_t *targets,
                           const RandomKey *key, const HeadTeacher *teacher)
{
    const Model *model = pass->model;
    const size_t rows = pass->rows, C = model->config.dim;
    const Dropout dropout = dropout_at(key, SITE_OUTPUT, model->config.output_dropout);
    real *du = pass->grad.du, *u = pass->act.u;
    assert(pass->use != PASS_EVALUATE);
    if (dropout.rate > 0)
        dropout_add(u, NULL, u, dropout, rows, C);
    phase_enter(PHASE_HEAD);
    double loss = head_gradients(
        pass->scored.losses, du, params_head(&model->config, dparams), dparams->head_bias, u,
        params_head(&model->config, &model->params), model->params.head_bias, targets, teacher,
        head_sizes(pass, rows), pass->head_scratch);
    if (dropout.rate > 0)
        dropout_add(du, NULL, du, dropout, rows, C);
    return loss;
}

/* --- training --- */

double pass_gradients(Pass *pass, Params *dparams, const int32_t *inputs,
                      const int32_t *targets, RandomKey key, const HeadTeacher *teacher)
{
    pass_forward(pass, inputs, &key); /* r[0] to u[2L] */
    double loss = pass_head_gradients(pass, dparams, targets, &key, teacher);
    blocks_backward(pass, dparams, &key); /* from grad.du to grad.dx of r[0] */
    embed_backward(pass, dparams, inputs, &key);
    finish_batch(pass);
    return loss;
}

/* --- decoding --- */

void pass_step(Pass *pass, real *logits, const int32_t *tokens)
{
    assert(pass->decoding && pass->position < pass->capacity);
    const real *u = pass_forward(pass, tokens, NULL);
    /* in groups of fixed size, so that a row's logits do not depend on the other rows */
    for (size_t row = 0; row < pass->rows; row += GEMM_FEW)
        write_logits(pass, logits + row * pass->model->config.vocabulary,
                     u + row * pass->model->config.dim,
                     team_extent(pass->rows, GEMM_FEW, row / GEMM_FEW));
    pass_move(pass, pass->position + pass->length);
}
