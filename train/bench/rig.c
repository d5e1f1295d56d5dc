#include "train/bench/rig.h"
#include "src/base/containers.h"
#include "src/base/phase.h"
#include "src/ranks/ranks.h"

#include <stdlib.h>

static void lay_out(Rig *rig)
{
    size_t total = rig->model.table.total, optimizer = rig->update.optimizer;
    model_layout(&rig->model, &rig->arena);
    shards_layout(&rig->shards, &rig->arena);
    rig->m = arena_reals(&rig->arena, total);
    rig->v = arena_reals(&rig->arena, total);
    pass_layout(&rig->pass, &rig->arena);
    rig->inputs = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->inputs);
    rig->targets = arena_bytes(&rig->arena, rig->pass.rows, sizeof *rig->targets);
    rig->square_sums = arena_bytes(&rig->arena, rig->pieces[ranks_count()],
                                   sizeof *rig->square_sums);
    rig->scratch = arena_reals(&rig->arena, update_scratch_reals(&rig->model, optimizer));
}

void rig_make(Rig *rig, const BenchOptions *options)
{
    const ModelConfig *config = &options->model;
    size_t ranks = ranks_count(), *bounds = NULL;
    *rig = (Rig){.update = {.adam = {0.9, 0.95, 1e-8},
                            .optimizer = options->optimizer,
                            .momentum = 0.95,
                            .learning_rate = 1e-3,
                            .weight_decay = 0.1,
                            .embedding_decay = 0.1,
                            .clip = 1}};
    model_make(&rig->model, config);
    pass_make(&rig->pass, &rig->model, options->batch / ranks, config->context,
              options->recompute ? PASS_RECOMPUTE : PASS_TRAIN);
    rig->gradients.h = memory_take(config->layers, sizeof *rig->gradients.h, "the layers");
    rig->pieces = memory_take(ranks + 1, sizeof *rig->pieces, "the slices");
    arrsetlen(bounds, ranks + 1);
    update_slices(&rig->model, rig->update.optimizer, ranks, rig->pieces, bounds);
    shards_make(&rig->shards, ranks, rig->model.table.total, bounds);
    lay_out(rig);
    arena_allocate(&rig->arena, "the benchmark");
    lay_out(rig);
    params_initialise(&rig->model.table, config, rig->model.base, 1);
    RandomKey key = random_key(1, RANDOM_TEST, ranks_own());
    for (size_t i = 0; i < rig->pass.rows; i++) {
        rig->inputs[i] = (int32_t)random_below(key, 2 * i, config->vocabulary);
        rig->targets[i] = (int32_t)random_below(key, 2 * i + 1, config->vocabulary);
    }
}

void rig_free(Rig *rig)
{
    shards_free(&rig->shards);
    free(rig->pieces);
    free(rig->gradients.h);
    pass_free(&rig->pass);
    model_free(&rig->model);
    arena_free(&rig->arena);
}

void rig_compute(Rig *rig)
{
    phase_enter(PHASE_OPTIMIZER);
    real *base = shards_begin(&rig->shards, rig->shards.first);
    phase_enter(PHASE_REST);
    params_bind(&rig->gradients, &rig->model.config, base);
    pass_gradients(&rig->pass, &rig->gradients, rig->inputs, rig->targets,
                   random_key(1, RANDOM_DROPOUT, rig->step));
}

void rig_update(Rig *rig, const real *gradient, UpdateSlice slice)
{
    size_t pieces = rig->pieces[ranks_count()], tokens = rig->pass.rows * ranks_count();
    update_square_sums(&rig->model, rig->update.optimizer, gradient, slice, rig->square_sums);
    if (slice.end - slice.first < pieces)
        ranks_collect(rig->square_sums, sizeof *rig->square_sums, rig->pieces);
    double norm = update_gradient_norm(rig->square_sums, pieces, tokens);
    update_apply(&rig->model, rig->m, rig->v, gradient, &rig->update, slice, ++rig->step, norm,
                 tokens, rig->scratch);
}

void rig_step_alone(Rig *rig)
{
    for (size_t shard = 0; shard < ranks_count(); shard++)
        rig_compute(rig);
    rig_update(rig, rig->shards.memory[0], (UpdateSlice){0, rig->pieces[ranks_count()]});
}
