#include "train/loop/allowance.h"
#include "src/control_groups.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- the machine --- */

/* Memory that can be allocated without swapping. The kernel gives up cached files on demand,
 * and on a machine that has run for long they fill most of the memory. */
static double available_bytes(void)
{
    double pages = (double)sysconf(_SC_AVPHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    double bytes = pages * page, kilobytes;
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lf kB", &kilobytes) == 1)
            bytes = 1024 * kilobytes;
    if (file)
        fclose(file);
    return bytes;
}

/* --- the process --- */

/* The address space and the data of the process, in pages. */
static void read_own_size(double *space, double *data)
{
    FILE *file = fopen("/proc/self/statm", "re");
    *space = *data = 0;
    if (!file)
        return;
    if (fscanf(file, "%lf %*s %*s %*s %*s %lf", space, data) != 2)
        *space = *data = 0;
    fclose(file);
}

static double left_of(int resource, double used)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    return fmax(0, (double)limit.rlim_cur - used);
}

static double left_of_process(void)
{
    double space, data, page = (double)sysconf(_SC_PAGESIZE);
    read_own_size(&space, &data);
    return fmin(left_of(RLIMIT_AS, space * page), left_of(RLIMIT_DATA, data * page));
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
    double limit = control_groups_number(folder, files[version].limit, "");
    double used = control_groups_number(folder, files[version].usage, "");
    double cache = control_groups_number(folder, "memory.stat", files[version].cache);
    if (isnan(limit) || isnan(used)) /* no limit, or no such group */
        return INFINITY;
    return fmax(0, limit - used + (isnan(cache) ? 0 : fmin(cache, used)));
}

double allowance_of_groups(const char *root)
{
    return control_groups_least(root, "memory", left_of_group);
}

/* --- all limits --- */

Allowance allowance_find(double asked)
{
    const Allowance all[] = {
        {asked > 0 ? asked : 0.8 * available_bytes(),
         asked > 0 ? "which is --max-mem" : "which is 80 % of what is free (--max-mem)"},
        {left_of_process(), "which is what ulimit leaves to this process"},
        {allowance_of_groups(""), "which is what the control group leaves"}};
    Allowance least = all[0];
    for (size_t i = 1; i < sizeof all / sizeof *all; i++)
        if (all[i].bytes < least.bytes)
            least = all[i];
    return least;
}
