#include "models/objectives.h"
#include "models/block.h"
#include "src/base/phase.h"
#include "src/math/vector.h"

#include <assert.h>

HeadTeacher objective_teacher(Pass *teacher, const int32_t *inputs, double share)
{
    const Model *model = teacher->model;
    return (HeadTeacher){.x = pass_forward(teacher, inputs, NULL),
                         .w = params_head(&model->config, &model->params),
                         .b = model->params.head_bias,
                         .width = model->config.dim,
                         .cap = (real)model->config.logit_cap,
                         .share = (real)share};
}

/* --- attention transfer --- */

/* With the outputs e of the model and z of the teacher, (B*T, C) each, adds mean((e - z)^2) / L
 * of each row that counts to the loss; e becomes the gradient of that. */
static void compare(real *e, const real *z, const Pass *pass, const int32_t *targets,
                    double *loss)
{
    const size_t T = pass->length, C = pass->model->config.dim;
    const double share = 1 / (double)(C * pass->model->config.layers);
    size_t counted = 0; /* the rows up to the last target of a sequence */
    for (size_t row = 0; row < pass->rows; row++, e += C, z += C) {
        if (row % T == 0)
            for (counted = T; counted > 0 && targets[row + counted - 1] < 0;)
                counted--;
        const bool counts = row % T < counted;
        vector_add_scaled(e, z, -1, C);
        if (counts)
            *loss += share * (double)vector_dot(e, e, C);
        for (size_t i = 0; i < C; i++)
            e[i] *= counts ? (real)(2 * share) : 0;
    }
}

/* One attention sublayer, on the teacher's state r[2 layer]. The model applies its own norm,
 * whose bias differs if output gates were opened (adopt.h). What the teacher's residual
 * connection adds is added to both outputs, where it cancels. No gradient reaches the first
 * layer through its values in later ones (value residual). */
static void transfer_layer(Pass *pass, const Pass *teacher, BlockParams *dw, size_t layer,
                           const int32_t *targets, double *loss)
{
    const size_t k = 2 * layer, C = pass->model->config.dim;
    const bool from_r = pass->model->config.norm == NORM_PRE || k == 0;
    const real *r = teacher->act.residual[k];
    const DropoutSum sum = {.base = from_r ? r : teacher->act.u, .width = C};
    real *e = pass->act.residual[k + 1];
    gemm_set_workspace(pass->scratch, pass->scratch_reals);
    memcpy(pass->act.residual[k], r, pass->rows * C * sizeof *r);
    const real *u = norm_forward(pass, k);
    attention_branch_forward(pass, layer, u, NULL, &sum);
    compare(e, teacher->act.residual[k + 1], pass, targets, loss);
    attention_branch_backward(pass, dw, layer, u, e, NULL);
    gemm_set_workspace(teacher->scratch, teacher->scratch_reals);
}

double objective_transfer_attention(Pass *pass, Pass *teacher, Params *dparams,
                                    const int32_t *inputs, const int32_t *targets)
{
    double loss = 0;
    assert(pass->use != PASS_EVALUATE);
    if (pass->grad.dfirst_values)
        vector_zero(pass->grad.dfirst_values,
                    pass->rows * config_value_width(&pass->model->config, 0));
    pass_embed(teacher, inputs, NULL);
    for (size_t layer = 0; layer < pass->model->config.layers; layer++) {
        attention_sublayer_forward(teacher, layer, NULL);
        transfer_layer(pass, teacher, &dparams->h[layer], layer, targets, &loss);
        mlp_sublayer_forward(teacher, layer, NULL);
    }
    phase_enter(PHASE_REST);
    return loss;
}
