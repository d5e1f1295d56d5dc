/* The memory of a training run: its layout, and whether the machine has as much. Linux grants
 * memory that it does not have, and kills the program that uses it. */
#include "models/generator.h"
#include "models/update.h"
#include "src/base/control_groups.h"
#include "src/base/file.h"
#include "src/ranks/ranks.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- what the machine has --- */

/* Memory that can be allocated without swapping. The kernel gives up cached files on demand,
 * and on a machine that has run for long they fill most of the memory. */
static double available_bytes(void)
{
    double pages = (double)sysconf(_SC_AVPHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    double kilobytes = file_number("/proc", "meminfo", "MemAvailable:", 0);
    return isnan(kilobytes) ? pages * page : 1024 * kilobytes;
}

static double left_of(const struct rlimit *limit, double used)
{
    if (limit->rlim_cur == RLIM_INFINITY)
        return INFINITY;
    return fmax(0, (double)limit->rlim_cur - (isnan(used) ? 0 : used));
}

static double left_of_process(void)
{
    enum { SPACE = 0, DATA = 5 }; /* of statm, in pages */
    double page = (double)sysconf(_SC_PAGESIZE);
    double space = file_number("/proc", "self/statm", "", SPACE) * page;
    double data = file_number("/proc", "self/statm", "", DATA) * page;
    struct rlimit space_limit = {.rlim_cur = RLIM_INFINITY}, data_limit = space_limit;
    getrlimit(RLIMIT_AS, &space_limit);
    getrlimit(RLIMIT_DATA, &data_limit);
    return fmin(left_of(&space_limit, space), left_of(&data_limit, data));
}

/* The files of each version. */
static const struct {
    const char *limit, *usage, *cache;
} files[] = {
    [GROUP_VERSION_1] = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                         "total_inactive_file "},
    [GROUP_VERSION_2] = {"memory.max", "memory.current", "inactive_file "},
};

/* Memory that one group leaves. Cached files count as used there, but are given up on demand.
 */
static double left_of_group(GroupVersion version, const char *folder)
{
    double limit = file_number(folder, files[version].limit, "", 0);
    double used = file_number(folder, files[version].usage, "", 0);
    double cache = file_number(folder, "memory.stat", files[version].cache, 0);
    if (isnan(limit) || isnan(used)) /* no limit, or no such group */
        return INFINITY;
    return fmax(0, limit - used + (isnan(cache) ? 0 : fmin(cache, used)));
}

double allowance_of_groups(const char *root)
{
    return control_groups_least(root, "memory", left_of_group);
}

Allowance allowance_find(double asked, double allocated)
{
    const Allowance all[] = {
        {asked > 0 ? asked : allocated + 0.8 * available_bytes(),
         asked > 0 ? "which is --max-mem" : "which is 80 % of what is free (--max-mem)"},
        {allocated + left_of_process(), "which is what ulimit leaves to this process"},
        {allocated + allowance_of_groups(""), "which is what the control group leaves"}};
    Allowance least = all[0];
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].bytes < least.bytes)
            least = all[i];
    return least;
}

/* --- what training needs --- */

static void lay_out(Trainer *t)
{
    size_t total = t->model.table.total, rows = t->pass.rows;
    model_layout(&t->model, &t->arena);
    shards_layout(&t->shards, &t->arena);
    t->square_sums = arena_bytes(&t->arena, t->pieces[ranks_count()], sizeof *t->square_sums);
    t->shard_sums = arena_bytes(&t->arena, t->shards.count, sizeof *t->shard_sums);
    t->m = arena_reals(&t->arena, total);
    t->v = arena_reals(&t->arena, total);
    t->update_scratch = arena_reals(
        &t->arena, update_scratch_reals(&t->model, t->settings.train.optimizer));
    if (trainer_averages(&t->settings.train))
        t->average = arena_reals(&t->arena, total);
    if (t->settings.train.subwords)
        subwords_layout(&t->subwords, &t->arena);
    pass_layout(&t->pass, &t->arena);
    if (t->teacher_pass.model)
        pass_layout(&t->teacher_pass, &t->arena);
    t->inputs = arena_bytes(&t->arena, rows, sizeof *t->inputs);
    t->targets = arena_bytes(&t->arena, rows, sizeof *t->targets);
    if (t->pass.carries) {
        t->carried = arena_reals(&t->arena, t->shards.count * t->pass.states_reals);
        t->carried_next = arena_reals(&t->arena, t->shards.count * t->pass.states_reals);
    }
}

/* What is allocated already: the text, the order of its windows, the n-grams of tokens, the
 * teacher's weights. */
static size_t allocated_memory(const Trainer *t)
{
    return corpus_memory(&t->corpus) + t->batches.windows * sizeof *t->batches.order +
           subwords_lists_bytes(&t->subwords) +
           t->teacher.model.table.total * sizeof *t->teacher.model.base;
}

/* Whether a checkpoint to continue from fits into a file. */
static bool check_checkpoint(const Trainer *t, Error *error)
{
    size_t tensors = trainer_averages(&t->settings.train) ? 4 : 3;
    size_t reals = tensors * t->model.table.total;
    if (t->pass.carries)
        reals += t->shards.count * t->pass.states_reals;
    if (t->settings.train.subwords)
        reals += subwords_state_reals(&t->subwords);
    if (reals <= SAFETENSORS_MOST_DATA / sizeof(real))
        return true;
    return error_set(
        error,
        "a checkpoint of %zu parameters with the optimizer state would take %.1f GB, the limit "
        "is %.1f; lower --dim, --ffn, --layers or --vocab-size",
        t->model.table.parameters, 1e-9 * (double)(reals * sizeof(real)),
        1e-9 * (double)SAFETENSORS_MOST_DATA);
}

bool trainer_check_memory(Trainer *t, Error *error)
{
    static const char *const advice[2][2] = {
        {"lower --batch, --context, --dim, --ffn or --layers, or use --recompute",
         "lower --batch, --context, --dim, --ffn or --layers"},
        {"--recompute needs less", "continue on a machine with more memory"}};
    const SessionOptions *session = &t->settings.session;
    const double megabyte = 1e6;
    lay_out(t);
    t->memory = t->arena.used + allocated_memory(t);
    if (session->sample_every > 0)
        t->memory += generator_bytes(&t->model);
    double need = (double)t->memory;
    Allowance allowance = allowance_find((double)session->max_mem * megabyte,
                                         (double)allocated_memory(t));
    if (need <= allowance.bytes)
        return check_checkpoint(t, error);
    return error_set(
        error, "training needs %.0f MB (%.0f for the text%s), the limit is %.0f MB, %s; %s",
        need / megabyte, (double)allocated_memory(t) / megabyte,
        t->teacher_pass.model ? " and the teacher's weights" : "", allowance.bytes / megabyte,
        allowance.reason, advice[session->resume != NULL][session->recompute]);
}

void trainer_allocate(Trainer *t)
{
    arena_allocate(&t->arena, "training");
    lay_out(t);
}
