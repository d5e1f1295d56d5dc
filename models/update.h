/* One step of the optimizer over all parameters: from a buffer of summed gradients to new
 * weights. */
#ifndef LINNET_UPDATE_H
#define LINNET_UPDATE_H

#include "models/model.h"
#include "src/optim/adamw.h"

/* What moves the matrices inside the blocks; AdamW moves everything else in any case. */
typedef enum Optimizer { OPTIMIZER_ADAMW, OPTIMIZER_MUON } Optimizer;
const char *optimizer_name(size_t index);

typedef struct Update {
    AdamW adam;
    size_t optimizer;
    double momentum; /* of Muon */
    double learning_rate, weight_decay;
    double clip; /* the longest gradient that is not shortened; 0: never */
} Update;

/* The parameters fall into pieces that are updated each by itself: stretches of a tensor, or a
 * whole matrix where the optimizer wants that. A slice is a range of pieces. */
typedef struct UpdateSlice {
    size_t first, end;
} UpdateSlice;

size_t update_pieces(const Model *model, size_t optimizer);
UpdateSlice update_whole(const Model *model, size_t optimizer);
/* Cuts them into so many slices of about equal length. Slice i is the pieces from pieces[i] to
 * pieces[i + 1], the numbers from reals[i] to reals[i + 1]; both arrays have room for count
 * + 1.
 */
void update_slices(const Model *model, size_t optimizer, size_t count, size_t *pieces,
                   size_t *reals);

/* The length of the gradient of the mean over so many tokens, from the squares of the pieces,
 * of which those of a slice can be written. */
void update_square_sums(const Model *model, size_t optimizer, const real *gradient,
                        UpdateSlice slice, double *sums);
double update_gradient_norm(const double *sums, size_t pieces, size_t tokens);

/* Reals that an update needs while it works, with the team that there is. */
size_t update_scratch_reals(const Model *model, size_t optimizer);

/* The t-th step, from 1, of a slice. The norm is the one above: the gradient is divided by the
 * tokens and shortened to the clip on its way. */
void update_apply(Model *model, real *m, real *v, const real *gradient, const Update *update,
                  UpdateSlice slice, uint64_t t, double norm, size_t tokens, real *scratch);

#endif
