#include "eval/inspect/weights.h"

#include "src/math/vector.h"

#include <assert.h>
#include <string.h>

/* Reruns the attention of a layer with unit vectors as values. */
typedef struct Probe {
    const AttentionKind *kind;
    AttentionSizes sizes;
    AttentionBatch batch;
    size_t width; /* all heads together */
    real *qkv, *out, *saved;
} Probe;

static AttentionSizes sizes_of(const Pass *pass, const AttentionKind *kind, size_t layer)
{
    AttentionSizes sizes = config_attention_sizes(&pass->model->config, layer);
    sizes.batch = 1;
    sizes.length = pass->length;
    sizes.rotary = kind->turns_itself ? pass->angles : NULL;
    return sizes;
}

static void lay_out(Probe *probe, Arena *arena)
{
    size_t all = memory_product(probe->sizes.length, probe->width, "the weights");
    probe->qkv = arena_reals(arena, 3 * all);
    probe->out = arena_reals(arena, all);
    probe->saved = arena_reals(arena, attention_memory(probe->kind, &probe->sizes).saved);
}

/* In every head, sets v[first + c] to the unit vector c, and all others to zero. */
static void set_values(const Probe *probe, size_t first)
{
    size_t width = probe->sizes.width;
    for (size_t t = 0; t < probe->sizes.length; t++) {
        real *v = probe->qkv + t * 3 * probe->width + 2 * probe->width;
        memset(v, 0, probe->width * sizeof *v);
        for (size_t head = 0; t >= first && t < first + width && head < probe->sizes.heads;
             head++)
            v[head * width + t - first] = 1;
    }
}

static void read_columns(const Probe *probe, size_t first, real *weights)
{
    size_t length = probe->sizes.length, width = probe->sizes.width;
    size_t count = first + width < length ? width : length - first;
    for (size_t head = 0; head < probe->sizes.heads; head++)
        for (size_t t = 0; t < length; t++)
            memcpy(weights + (head * length + t) * length + first,
                   probe->out + t * probe->width + head * width, count * sizeof *weights);
}

/* For kinds with a weight per feature: sets v[first] to ones, and reads the means. */
static void probe_means(const Probe *probe, size_t first, real *weights)
{
    size_t length = probe->sizes.length, width = probe->sizes.width;
    for (size_t t = 0; t < length; t++)
        for (size_t i = 0; i < probe->width; i++)
            probe->qkv[(3 * t + 2) * probe->width + i] = t == first ? 1 : 0;
    attention_forward(probe->kind, &probe->batch, &probe->sizes);
    for (size_t head = 0; head < probe->sizes.heads; head++)
        for (size_t t = 0; t < length; t++)
            weights[(head * length + t) * length + first] =
                vector_sum(probe->out + t * probe->width + head * width, width) / (real)width;
}

void weights_of_layer(const Pass *pass, size_t layer, real *weights)
{
    assert(pass->batch == 1 && pass->use == PASS_TRAIN && !pass->carries);
    const LayerActivations *a = &pass->act.layer[layer];
    const AttentionKind *kind = config_kind(&pass->model->config, layer);
    Probe probe = {
        .kind = kind, .sizes = sizes_of(pass, kind, layer), .width = pass->model->config.dim};
    Arena arena = {0};
    lay_out(&probe, &arena);
    arena_allocate(&arena, "the weights");
    lay_out(&probe, &arena);
    memcpy(probe.qkv, a->qkv, 3 * probe.sizes.length * probe.width * sizeof(real));
    probe.batch = (AttentionBatch){.qkv = probe.qkv,
                                   .gates = a->gates,
                                   .params = pass->model->at.h[layer].kind_params,
                                   .out = probe.out,
                                   .saved = probe.saved,
                                   .scratch = pass->scratch};
    for (size_t first = 0; first < probe.sizes.length;) {
        if (kind->gates_values) {
            probe_means(&probe, first++, weights);
            continue;
        }
        set_values(&probe, first);
        attention_forward(kind, &probe.batch, &probe.sizes);
        read_columns(&probe, first, weights);
        first += probe.sizes.width;
    }
    arena_free(&arena);
}
