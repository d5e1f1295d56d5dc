#include "train/loop/allowance.h"
#include "src/base/control_groups.h"
#include "src/base/file.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- the machine --- */

/* Memory that can be allocated without swapping. The kernel gives up cached files on demand,
 * and on a machine that has run for long they fill most of the memory. */
static double available_bytes(void)
{
    double pages = (double)sysconf(_SC_AVPHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    double kilobytes = file_number("/proc", "meminfo", "MemAvailable:", 0);
    return isnan(kilobytes) ? pages * page : 1024 * kilobytes;
}

/* --- the process --- */

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

/* --- control groups --- */

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

/* --- all limits --- */

Allowance allowance_find(double asked, double held)
{
    const Allowance all[] = {
        {asked > 0 ? asked : held + 0.8 * available_bytes(),
         asked > 0 ? "which is --max-mem" : "which is 80 % of what is free (--max-mem)"},
        {held + left_of_process(), "which is what ulimit leaves to this process"},
        {held + allowance_of_groups(""), "which is what the control group leaves"}};
    Allowance least = all[0];
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].bytes < least.bytes)
            least = all[i];
    return least;
}
