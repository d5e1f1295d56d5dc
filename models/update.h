/* The optimizer step: from summed gradients to new weights. */
#ifndef LINNET_UPDATE_H
#define LINNET_UPDATE_H

#include "models/model.h"
#include "src/optim/adamw.h"

/* Optimizer of the matrices inside the blocks; AdamW updates all other parameters. */
typedef enum Optimizer { OPTIMIZER_ADAMW, OPTIMIZER_MUON } Optimizer;
const char *optimizer_name(size_t index);

typedef struct Update {
    AdamW adam;
    size_t optimizer;
    double momentum; /* Muon momentum */
    double learning_rate;
    double weight_decay, embedding_decay; /* the latter of the embeddings and the head */
    double clip;                          /* gradient clipping: maximum norm; 0: off */
} Update;

/* Frozen tensors (model.h) are not updated, and the gradient norm leaves them out.
 *
 * Parameters are updated in independent pieces: ranges of a tensor, or a whole matrix for
 * Muon. A slice is a range of pieces, which are the numbers from `first` to `end`. */
typedef struct UpdateSlice {
    size_t first, end;
} UpdateSlice;

/* Cuts the pieces into `count` slices of about equal size. Slice i holds the numbers bounds[i]
 * to bounds[i + 1], which are the pieces pieces[i] to pieces[i + 1]; both arrays need count + 1
 * places. */
void update_slices(const Model *model, size_t optimizer, size_t count, size_t *pieces,
                   size_t *bounds);

/* Gradient norm, for the mean loss over `tokens`: update_square_sums writes the squared sums
 * of the pieces of a slice, update_gradient_norm adds all pieces. */
void update_square_sums(const Model *model, size_t optimizer,
                        const real *gradient,             /* (table.total) */
                        UpdateSlice slice, double *sums); /* (pieces) of all slices */
double update_gradient_norm(const double *sums, size_t pieces, size_t tokens);

/* Floating-point operations of the products of an update; AdamW has none. */
double update_flop(const Model *model, size_t optimizer);

/* Scratch reals of an update, for the current number of threads. */
size_t update_scratch_reals(const Model *model, size_t optimizer);

/* The factor of the gradient: divides it by `tokens` and clips it by `norm`, the gradient norm
 * from above. */
double update_scale(const Update *update, double norm, size_t tokens);

/* Step t (from 1) of a slice. */
void update_apply(Model *model, real *m, real *v, /* (table.total) */
                  const real *gradient,           /* (table.total) */
                  const Update *update, UpdateSlice slice, uint64_t t, double scale,
                  real *scratch); /* (update_scratch_reals) */

#endif
