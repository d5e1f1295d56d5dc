#include "src/attention/attention.h"
#include "src/team.h"

typedef struct Job {
    const AttentionKind *kind;
    const AttentionSizes *sizes;
    real *out, *saved, *scratch, *dqkv, *states;
    const real *qkv, *dout;
    size_t saved_each, scratch_each, state_each, position;
} Job;

static AttentionHead head_of(const AttentionSizes *sizes)
{
    size_t all = sizes->heads * sizes->width;
    return (AttentionHead){.length = sizes->length,
                           .width = sizes->width,
                           .stride = 3 * all,
                           .out_stride = all,
                           .rotary = sizes->rotary,
                           .dropout = sizes->dropout};
}

/* Regions of different heads and workers must not share a cache line. */
static size_t padded(size_t reals)
{
    return (reals + 15) / 16 * 16;
}

static Job job_of(const AttentionKind *kind, const AttentionSizes *sizes)
{
    AttentionHead head = head_of(sizes);
    return (Job){.kind = kind,
                 .sizes = sizes,
                 .saved_each = padded(kind->saved_reals(&head)),
                 .scratch_each = padded(kind->scratch_reals(&head)),
                 .state_each = padded(kind->state_reals(&head))};
}

size_t attention_saved_reals(const AttentionKind *kind, const AttentionSizes *sizes)
{
    return job_of(kind, sizes).saved_each * sizes->batch * sizes->heads;
}

size_t attention_scratch_reals(const AttentionKind *kind, const AttentionSizes *sizes)
{
    return job_of(kind, sizes).scratch_each * team_size();
}

size_t attention_state_reals(const AttentionKind *kind, const AttentionSizes *sizes)
{
    return job_of(kind, sizes).state_each * sizes->batch * sizes->heads;
}

/* A tile is one head of one sequence. */
static void do_tile(void *context, size_t tile, size_t worker)
{
    const Job *job = context;
    const AttentionSizes *sizes = job->sizes;
    AttentionHead head = head_of(sizes);
    head.dropout.key = random_subkey(sizes->dropout.key, tile);
    size_t sequence = tile / sizes->heads, column = tile % sizes->heads * head.width;
    size_t in = sequence * head.length * head.stride + column;
    size_t out = sequence * head.length * head.out_stride + column;
    const real *q = job->qkv + in, *k = q + head.out_stride, *v = k + head.out_stride;
    real *saved = job->saved + tile * job->saved_each;
    real *scratch = job->scratch + worker * job->scratch_each;
    if (job->dqkv) {
        real *dq = job->dqkv + in, *dk = dq + head.out_stride, *dv = dk + head.out_stride;
        job->kind->backward(dq, dk, dv, job->dout + out, job->out + out, saved, scratch, q, k,
                            v, &head);
    } else {
        job->kind->forward(job->out + out, saved, scratch, q, k, v, &head);
    }
}

void attention_forward(const AttentionKind *kind, real *out, real *saved, real *scratch,
                       const real *qkv, const AttentionSizes *sizes)
{
    Job job = job_of(kind, sizes);
    job.out = out;
    job.saved = saved;
    job.scratch = scratch;
    job.qkv = qkv;
    team_run(sizes->batch * sizes->heads, do_tile, &job);
}

void attention_backward(const AttentionKind *kind, real *dqkv, const real *dout,
                        const real *out, const real *saved, real *scratch, const real *qkv,
                        const AttentionSizes *sizes)
{
    Job job = job_of(kind, sizes);
    job.dqkv = dqkv;
    job.dout = dout;
    job.out = (real *)out;     /* read only when there is a dqkv */
    job.saved = (real *)saved; /* the same */
    job.scratch = scratch;
    job.qkv = qkv;
    team_run(sizes->batch * sizes->heads, do_tile, &job);
}

static void step_tile(void *context, size_t tile, size_t worker)
{
    const Job *job = context;
    AttentionHead head = head_of(job->sizes);
    size_t sequence = tile / job->sizes->heads, column = tile % job->sizes->heads * head.width;
    const real *q = job->qkv + sequence * head.stride + column, *k = q + head.out_stride;
    job->kind->step(job->out + sequence * head.out_stride + column,
                    job->states + tile * job->state_each,
                    job->scratch + worker * job->scratch_each, q, k, k + head.out_stride,
                    job->position, &head);
}

void attention_step(const AttentionKind *kind, real *out, real *states, real *scratch,
                    const real *qkv, size_t position, const AttentionSizes *sizes)
{
    Job job = job_of(kind, sizes);
    job.out = out;
    job.states = states;
    job.scratch = scratch;
    job.qkv = qkv;
    job.position = position;
    team_run(sizes->batch * sizes->heads, step_tile, &job);
}
