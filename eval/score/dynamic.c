#include "eval/score/dynamic.h"
#include "src/math/team.h"
#include "src/math/vector.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#define TILE ((size_t)32768) /* weights of a tile */

typedef struct Learner {
    Model model; /* its own copy */
    Pass pass;
    Params gradients;
    Arena arena;
    size_t weights;      /* table.total, the size of the following */
    const real *trained; /* w_0, those of the given model */
    real *gradient_base;
    real *usual; /* r; first the sum of squares */
    double mean; /* R */
    real scale;  /* of the gradient in the next step or sum */
    real decay;  /* of the next step, for r = 1 */
    real least;  /* epsilon R */
    int32_t *inputs, *targets;
} Learner;

/* --- its memory --- */

static void lay_out(Learner *l)
{
    model_layout(&l->model, &l->arena);
    l->gradient_base = arena_reals(&l->arena, l->weights);
    l->usual = arena_reals(&l->arena, l->weights);
    pass_layout(&l->pass, &l->arena);
    l->inputs = arena_bytes(&l->arena, l->pass.rows, sizeof *l->inputs);
    l->targets = arena_bytes(&l->arena, l->pass.rows, sizeof *l->targets);
}

static ModelConfig without_regularisation(ModelConfig config)
{
    config.word_dropout = config.ngram_dropout = config.input_dropout = 0;
    config.dropout = config.attention_dropout = config.output_dropout = 0;
    return config;
}

static void learner_make(Learner *l, const Model *model, size_t window)
{
    ModelConfig config = without_regularisation(model->config);
    *l = (Learner){0};
    model_make(&l->model, &config);
    l->weights = l->model.table.total;
    pass_make(&l->pass, &l->model, 1, window, PASS_TRAIN);
    l->gradients.h = memory_new(config.layers, sizeof *l->gradients.h, "the layers");
    lay_out(l);
    arena_allocate(&l->arena, "dynamic evaluation");
    lay_out(l);
    params_bind(&l->gradients, &config, l->gradient_base);
    memcpy(l->model.base, model->base, l->weights * sizeof *model->base);
    l->trained = model->base;
}

static void learner_free(Learner *l)
{
    pass_free(&l->pass);
    model_free(&l->model);
    free(l->gradients.h);
    arena_free(&l->arena);
}

/* --- a window --- */

/* Returns its loss and adds its gradients; *tokens: the number it scored. */
static double read_window(Learner *l, const Windows *windows, size_t index, size_t *tokens)
{
    windows_fill(windows, index, l->inputs, l->targets);
    *tokens = 0;
    for (size_t i = 0; i < windows->window; i++)
        *tokens += l->targets[i] >= 0;
    vector_zero(l->gradient_base, l->weights);
    return pass_gradients(&l->pass, &l->gradients, l->inputs, l->targets, (RandomKey){0}, NULL);
}

/* --- the statistics --- */

static void square_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Learner *l = context;
    real *sum = l->usual, scale = l->scale;
    const real *gradient = l->gradient_base;
    size_t first = tile * TILE, end = first + team_extent(l->weights, TILE, tile);
    for (size_t i = first; i < end; i++) {
        real g = gradient[i] * scale;
        sum[i] += g * g;
    }
}

/* Computes r and R from sums of squares. */
static void compute_roots(Learner *l, size_t segments)
{
    double sum = 0;
    for (size_t i = 0; i < l->weights; i++) {
        double root = sqrt((double)l->usual[i] / (double)segments);
        l->usual[i] = (real)root;
        sum += root;
    }
    l->mean = fmax(sum / (double)l->model.table.parameters, FLT_MIN); /* never zero */
}

/* From segments spread over the training text. */
static void gather_statistics(Learner *l, const Windows *training, size_t segments)
{
    size_t all = windows_number(training), tokens;
    segments = segments < all ? segments : all;
    for (size_t i = 0; i < segments; i++) {
        if (l->pass.carries)
            pass_restart(&l->pass);
        read_window(l, training, i * all / segments, &tokens);
        l->scale = 1 / (real)tokens;
        team_run(team_tiles(l->weights, TILE), square_tile, l);
    }
    compute_roots(l, segments);
}

/* --- the steps --- */

static void step_tile(void *context, size_t tile, size_t worker)
{
    (void)worker;
    Learner *l = context;
    real *weights = l->model.base, rate = l->scale, decay = l->decay, least = l->least;
    const real *gradient = l->gradient_base, *trained = l->trained, *usual = l->usual;
    size_t first = tile * TILE, end = first + team_extent(l->weights, TILE, tile);
    for (size_t i = first; i < end; i++) {
        real back = decay * usual[i];
        back = back < 1 ? back : 1;
        weights[i] += back * (trained[i] - weights[i]) -
                      rate * gradient[i] / (usual[i] + least);
    }
}

static void step(Learner *l, const DynamicOptions *options, size_t tokens)
{
    l->scale = (real)(options->rate / (double)tokens);
    l->decay = (real)(options->decay / l->mean);
    l->least = (real)(options->epsilon * l->mean);
    team_run(team_tiles(l->weights, TILE), step_tile, l);
}

/* Scores a text, starting from the trained weights; stops when the nats exceed `enough`. */
static Score read_text(Learner *l, const DynamicOptions *options, const Windows *windows,
                       double enough)
{
    Score score = {.tokens = windows->count};
    memcpy(l->model.base, l->trained, l->weights * sizeof *l->trained);
    if (l->pass.carries)
        pass_restart(&l->pass);
    for (size_t i = 0; i < windows_number(windows) && score.nats <= enough; i++) {
        size_t tokens;
        score.nats += read_window(l, windows, i, &tokens);
        step(l, options, tokens);
    }
    return score;
}

static void learner_start(Learner *l, const Model *model, const Protocol *protocol,
                          const CorpusSplit *training, size_t statistics)
{
    assert(protocol->batch == 1 && statistics > 0);
    Windows learned = protocol_windows(protocol, training);
    learner_make(l, model, protocol->window);
    gather_statistics(l, &learned, statistics);
}

Score dynamic_score(const Model *model, const Protocol *protocol, const DynamicOptions *options,
                    const CorpusSplit *split, const CorpusSplit *training)
{
    Learner l;
    Windows windows = protocol_windows(protocol, split);
    learner_start(&l, model, protocol, training, options->statistics);
    Score score = read_text(&l, options, &windows, INFINITY);
    learner_free(&l);
    return score;
}

/* --- the best rate and decay --- */

typedef struct Tuning {
    Learner learner;
    Windows windows;
    DynamicOptions best;
    double nats; /* of the best; infinite or NaN as long as all diverge */
} Tuning;

/* Keeps these settings if they are better by enough, or if there is no best yet. */
static bool keep_if_better(Tuning *t, DynamicOptions options)
{
    const double worth = 1e-4; /* as a share of the nats */
    double most = isfinite(t->nats) ? (1 - worth) * t->nats : INFINITY;
    double nats = read_text(&t->learner, &options, &t->windows, most).nats;
    if (isfinite(t->nats) && !(nats <= most))
        return false;
    t->nats = nats;
    t->best = options;
    return true;
}

/* Multiplies the best settings by these factors while that lowers the loss and the decay is at
 * most 1; returns whether it did. */
static bool walk(Tuning *t, double rate, double decay)
{
    const int most = 16;
    int steps = 0;
    for (; steps < most && t->best.decay * decay <= 1; steps++) {
        DynamicOptions next = t->best;
        next.rate *= rate;
        next.decay *= decay;
        if (!keep_if_better(t, next))
            break;
    }
    return steps > 0;
}

DynamicOptions dynamic_tune(const Model *model, const Protocol *protocol,
                            const DynamicOptions *start, const CorpusSplit *split,
                            const CorpusSplit *training)
{
    Tuning t = {.windows = protocol_windows(protocol, split), .nats = INFINITY};
    learner_start(&t.learner, model, protocol, training, start->statistics);
    keep_if_better(&t, *start);
    if (!walk(&t, 0.5, 1)) /* smaller steps first: large ones may diverge */
        walk(&t, 2, 1);
    if (!walk(&t, 1, 0.5))
        walk(&t, 1, 2);
    learner_free(&t.learner);
    return t.best;
}
