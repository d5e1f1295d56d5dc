#include "models/objectives.h"
#include "models/block.h"
#include "src/layers/linear.h"
#include "src/base/phase.h"
#include "src/math/vector.h"

#include <assert.h>

HeadTeacher objective_teacher(Pass *teacher, const int32_t *inputs, double share)
{
    const Model *model = teacher->model;
    return (HeadTeacher){.x = pass_forward(teacher, inputs),
                         .w = params_head(&model->config, &model->at),
                         .b = model->at.head_bias,
                         .width = model->config.dim,
                         .cap = (real)model->config.logit_cap,
                         .share = (real)share};
}

/* --- attention transfer --- */

/* The rows up to the last target of a sequence. */
static size_t count_rows(const int32_t *targets, size_t length)
{
    while (length > 0 && targets[length - 1] < 0)
        length--;
    return length;
}

/* One attention sublayer, on the teacher's state r[2 layer]: with the outputs y of the model
 * and z of the teacher, adds mean((y - z)^2) / L of each row that counts to the loss. The model
 * applies its own norm, whose bias differs if output gates were opened (adopt.h). What the
 * teacher's residual connection adds is added to both outputs, where it cancels. */
static void match_layer(Pass *pass, const Pass *teacher, BlockParams *dw, size_t layer,
                        const int32_t *targets, double *loss)
{
    const ModelConfig *config = &pass->model->config;
    const BlockParams *w = &pass->model->at.h[layer];
    const size_t k = 2 * layer, rows = pass->rows, T = pass->length, C = config->dim;
    const double share = 1 / (double)(C * config->layers);
    const real *r = teacher->act.residual[k], *z = teacher->act.residual[k + 1];
    const DropoutSum sum = {
        config->norm == NORM_PRE || k == 0 ? r : teacher->act.u, {.rate = 0}, C};
    real *y = pass->act.residual[k + 1], *dy = y;
    size_t counted = 0;
    gemm_lend(pass->scratch, pass->scratch_reals);
    memcpy(pass->act.residual[k], r, rows * C * sizeof *r);
    const real *u = norm_forward(pass, k);
    queries_forward(pass, layer, u);
    mixing_forward(pass, layer, u, NULL);
    linear_forward(y, pass->act.layer[layer].y, w->attn_proj.weight, w->attn_proj.bias, rows, C,
                   C, &sum);
    for (size_t row = 0; row < rows; row++) {
        if (row % T == 0)
            counted = count_rows(targets + row, T);
        real *e = y + row * C;
        const bool counts = row % T < counted;
        vector_add_scaled(e, z + row * C, -1, C);
        if (counts)
            *loss += share * (double)vector_dot(e, e, C);
        for (size_t i = 0; i < C; i++)
            dy[row * C + i] = e[i] * (counts ? (real)(2 * share) : 0);
    }
    mixing_backward(pass, dw, layer, dy, NULL);
    queries_backward(pass, dw, layer, u);
    gemm_lend(teacher->scratch, teacher->scratch_reals);
}

double objective_match(Pass *pass, Pass *teacher, Params *dparams, const int32_t *inputs,
                       const int32_t *targets)
{
    double loss = 0;
    assert(pass->use != PASS_EVALUATE);
    if (pass->grad.dfirst_values)
        vector_zero(pass->grad.dfirst_values, pass->rows * pass->model->config.dim);
    pass_embed(teacher, inputs, NULL);
    for (size_t layer = 0; layer < pass->model->config.layers; layer++) {
        attention_sublayer_forward(teacher, layer, NULL);
        match_layer(pass, teacher, &dparams->h[layer], layer, targets, &loss);
        mlp_sublayer_forward(teacher, layer, NULL);
    }
    phase_enter(PHASE_REST);
    return loss;
}
