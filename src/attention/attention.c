#include "src/attention/attention.h"
#include "src/base/memory.h"
#include "src/layers/rotary.h"
#include "src/math/team.h"
#include "src/math/vector.h"

const LayerParts attention_common_parts = {.convolution = true,
                                           .norm = true,
                                           .gate = true,
                                           .keeps_lengths = true,
                                           .out_gate = {.form = GATE_SILU}};

static size_t share_of(WidthShare share, size_t dim)
{
    return share.parts ? (share.parts * dim + 2 * share.of - 1) / (2 * share.of) * 2 : dim;
}

size_t attention_key_width(const AttentionKind *kind, const LayerParts *parts, size_t dim)
{
    size_t width = share_of(parts->keys, dim);
    return kind->most_keys && kind->most_keys < width ? kind->most_keys : width;
}

size_t attention_value_width(const LayerParts *parts, size_t dim)
{
    return share_of(parts->values, dim);
}

size_t attention_count(const HeadCount *count, const AttentionHead *head)
{
    return count->fixed + count->per_key * head->width + count->per_value * head->value_width +
           (count->more ? count->more(head) : 0);
}

AttentionHead attention_head(const AttentionSizes *sizes, size_t index)
{
    const AttentionKind *kind = sizes->kind;
    const LayerParts *parts = sizes->parts ? sizes->parts : &kind->parts;
    size_t width = attention_key_width(kind, parts, sizes->dim);
    size_t value_width = attention_value_width(parts, sizes->dim);
    AttentionHead head = {.kind = kind,
                          .parts = parts,
                          .options = sizes->options,
                          .length = sizes->length,
                          .width = width,
                          .value_width = value_width,
                          .index = index,
                          .heads = sizes->heads,
                          .layer = sizes->layer,
                          .layers = sizes->layers,
                          .out_stride = sizes->heads * value_width,
                          .rotary = sizes->rotary,
                          .carries = sizes->carries,
                          .position = sizes->position,
                          .dropout = sizes->dropout};
    head.copies = kind->copies ? kind->copies(&head) : 1;
    head.key_heads = parts->shares_keys ? 1 : sizes->heads;
    head.stride = head.key_heads * (1 + head.copies) * width +
                  sizes->heads * head.copies * value_width;
    head.gates_stride = head.heads * attention_count(&kind->gates.count, &head);
    head.rates_stride = head.heads * attention_count(&kind->rates.count, &head);
    return head;
}

real attention_scale(const AttentionHead *head)
{
    return 1 / (real)sqrt((double)head->width);
}

/* A place behind a pointer, which may be NULL. */
#define BEHIND(pointer, reals) ((pointer) ? (pointer) + (reals) : NULL)

AttentionData attention_rows(const AttentionData *data, size_t first, const AttentionHead *head)
{
    AttentionData rows = *data;
    const size_t in = first * head->stride, out = first * head->out_stride;
    const size_t gates = first * head->gates_stride, rates = first * head->rates_stride;
    rows.q += in;
    rows.k += in;
    rows.v += in;
    rows.out += out;
    rows.bonus = BEHIND(rows.bonus, out);
    rows.gates = BEHIND(rows.gates, gates);
    rows.rates = BEHIND(rows.rates, rates);
    if (!data->dq)
        return rows;
    rows.dq += in;
    rows.dk += in;
    rows.dv += in;
    rows.dout += out;
    rows.dbonus = BEHIND(rows.dbonus, out);
    rows.dgates = BEHIND(rows.dgates, gates);
    rows.drates = BEHIND(rows.drates, rates);
    return rows;
}

void attention_rotate(real *x, size_t position, const AttentionHead *head)
{
    if (head->rotary)
        rotary_rotate(x, head->rotary + position * head->width, head->width, false);
}

void attention_rotate_back(real *dx, size_t position, const AttentionHead *head)
{
    if (head->rotary)
        rotary_rotate(dx, head->rotary + position * head->width, head->width, true);
}

void attention_rotated_copy(real *to, const real *x, size_t position, const AttentionHead *head)
{
    memcpy(to, x, head->width * sizeof(real));
    attention_rotate(to, position, head);
}

size_t attention_param_count(const AttentionSizes *sizes)
{
    AttentionHead head = attention_head(sizes, 0);
    return sizes->heads * attention_count(&head.kind->param_count, &head);
}

typedef struct Job {
    const AttentionSizes *sizes;
    const AttentionBatch *batch;
    void (*work)(const AttentionData *data, const AttentionHead *head);
    size_t length; /* rows of a sequence in the tensors */
    AttentionMemory per_head;
    size_t params_per_head, dparams_per_head, gates_per_head, rates_per_head;
    real *dparams_parts; /* (B, H, dparams_per_head) */
} Job;

/* Heads and workers, which write at the same time, must not share a cache line. */
static AttentionMemory apart(AttentionMemory per_head)
{
    return (AttentionMemory){.saved = memory_whole_lines(per_head.saved),
                             .scratch = memory_whole_lines(per_head.scratch),
                             .state = memory_whole_lines(per_head.state)};
}

static Job job_of(const AttentionSizes *sizes, const AttentionBatch *batch)
{
    const AttentionKind *kind = sizes->kind;
    AttentionHead head = attention_head(sizes, 0);
    size_t params = attention_count(&kind->param_count, &head);
    return (Job){.sizes = sizes,
                 .batch = batch,
                 .per_head = apart(kind->engine->memory(&head)),
                 .params_per_head = params,
                 .dparams_per_head = kind->params_random ? 0 : memory_whole_lines(params),
                 .gates_per_head = head.gates_stride / sizes->heads,
                 .rates_per_head = head.rates_stride / sizes->heads};
}

/* After the workers' scratch: each sequence's gradient of a head's own parameters. */
static size_t dparams_parts_reals(const Job *job)
{
    return job->dparams_per_head * job->sizes->batch * job->sizes->heads;
}

AttentionMemory attention_memory(const AttentionSizes *sizes)
{
    Job job = job_of(sizes, NULL);
    size_t heads = sizes->batch * sizes->heads;
    return (AttentionMemory){.saved = job.per_head.saved * heads,
                             .scratch = job.per_head.scratch * team_size() +
                                        dparams_parts_reals(&job),
                             .state = job.per_head.state * heads};
}

/* --- queries and keys that all heads share ---
 *
 * Heads, which run in parallel, read the same q and k but write gradients of their own. Engines
 * have one stride for q and dq, so these lie in matrices (B*T, stride) as well, those of as
 * many heads side by side as fit in a row. */

static size_t shared_width(const AttentionHead *head)
{
    return (1 + head->copies) * head->width;
}

size_t attention_dheads_reals(const AttentionSizes *sizes)
{
    AttentionHead head = attention_head(sizes, 0);
    size_t matrices = team_tiles(head.heads, head.stride / shared_width(&head));
    return head.parts->shares_keys ? matrices * sizes->batch * sizes->length * head.stride : 0;
}

/* A head's dq in a row, with dk behind it. */
static real *dheads_of(const Job *job, const AttentionHead *head, size_t row)
{
    size_t rows = job->sizes->batch * job->sizes->length;
    size_t beside = head->stride / shared_width(head);
    return job->batch->dheads + (head->index / beside * rows + row) * head->stride +
           head->index % beside * shared_width(head);
}

/* dq and dk are sums over the heads. */
static void sum_heads(const void *context, size_t row)
{
    const Job *job = context;
    AttentionHead head = attention_head(job->sizes, 0);
    real *sum = job->batch->dqkv + row * head.stride;
    vector_zero(sum, shared_width(&head));
    for (; head.index < head.heads; head.index++)
        vector_add_scaled(sum, dheads_of(job, &head, row), 1, shared_width(&head));
}

/* A tile is one head of one sequence. */
static AttentionData data_of(const Job *job, const AttentionHead *head, size_t sequence,
                             size_t worker)
{
    const AttentionBatch *batch = job->batch;
    size_t row = sequence * job->length, tile = sequence * job->sizes->heads + head->index;
    size_t q = row * head->stride + head->index % head->key_heads * head->width;
    size_t k = q + head->key_heads * head->width;
    size_t v = row * head->stride + (1 + head->copies) * head->key_heads * head->width +
               head->index * head->value_width;
    size_t out = row * head->out_stride + head->index * head->value_width;
    size_t gates = row * head->gates_stride + head->index * job->gates_per_head;
    size_t rates = row * head->rates_stride + head->index * job->rates_per_head;
    size_t params = head->index * job->params_per_head;
    AttentionData data = {
        .q = batch->qkv + q,
        .k = batch->qkv + k,
        .v = batch->qkv + v,
        .gates = BEHIND(batch->gates, gates),
        .rates = BEHIND(batch->rates, rates),
        .params = job->params_per_head ? batch->params + params : NULL,
        .out = batch->out + out,
        .bonus = BEHIND(batch->bonus, out),
        .saved = BEHIND(batch->saved, tile * job->per_head.saved),
        .scratch = batch->scratch + worker * job->per_head.scratch,
        .state = BEHIND(batch->state, tile * job->per_head.state),
        .dout = BEHIND(batch->dout, out),
        .dbonus = BEHIND(batch->dbonus, out),
        .dq = BEHIND(batch->dqkv, q),
        .dk = BEHIND(batch->dqkv, k),
        .dv = BEHIND(batch->dqkv, v),
        .dgates = BEHIND(batch->dgates, gates),
        .drates = BEHIND(batch->drates, rates),
        .dparams = BEHIND(job->dparams_parts, tile * job->dparams_per_head),
    };
    if (data.dq && head->parts->shares_keys) {
        data.dq = dheads_of(job, head, row);
        data.dk = data.dq + head->width;
    }
    return data;
}

static void do_tile(void *context, size_t tile, size_t worker)
{
    const Job *job = context;
    AttentionHead head = attention_head(job->sizes, tile % job->sizes->heads);
    head.dropout.key = random_subkey(job->sizes->dropout.key, tile);
    AttentionData data = data_of(job, &head, tile / job->sizes->heads, worker);
    job->work(&data, &head);
}

static void run(Job *job, size_t length,
                void (*work)(const AttentionData *data, const AttentionHead *head))
{
    job->length = length;
    job->work = work;
    team_run(job->sizes->batch * job->sizes->heads, do_tile, job);
}

void attention_forward(const AttentionBatch *batch, const AttentionSizes *sizes)
{
    Job job = job_of(sizes, batch);
    run(&job, sizes->length, sizes->kind->engine->forward);
}

void attention_backward(const AttentionBatch *batch, const AttentionSizes *sizes)
{
    Job job = job_of(sizes, batch);
    size_t parts = dparams_parts_reals(&job), tiles = sizes->batch * sizes->heads;
    if (parts) {
        job.dparams_parts = batch->scratch + team_size() * job.per_head.scratch;
        vector_zero(job.dparams_parts, parts);
    }
    run(&job, sizes->length, sizes->kind->engine->backward);
    if (attention_dheads_reals(sizes) > 0)
        team_run_rows(sizes->batch * sizes->length, TEAM_ROWS, sum_heads, &job);
    for (size_t tile = 0; parts && tile < tiles; tile++)
        vector_add_scaled(batch->dparams + tile % sizes->heads * job.params_per_head,
                          job.dparams_parts + tile * job.dparams_per_head, 1,
                          job.params_per_head);
}

void attention_step(const AttentionBatch *batch, const AttentionSizes *sizes)
{
    Job job = job_of(sizes, batch);
    run(&job, 1, sizes->kind->engine->step);
}
