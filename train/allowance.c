#include "train/allowance.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- the machine --- */

/* Memory that can be had without pushing others out. What the kernel keeps of files, in case
 * they are read again, it gives up for the asking; on a machine that has run for long that is
 * most of it. */
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

/* The address space that the process has, and its data; in pages. */
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

/* The files of one version of them. */
typedef struct GroupFiles {
    const char *mount, *limit, *usage, *cache;
} GroupFiles;

static const GroupFiles version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                     "inactive_file "};
static const GroupFiles version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                     "memory.usage_in_bytes", "total_inactive_file "};

/* The number behind the label, on the first line that begins with it; NaN if there is none. */
static double read_number(const char *folder, const char *name, const char *label)
{
    char *path = text_format("%s/%s", folder, name), line[256];
    double value = (double)NAN;
    FILE *file = fopen(path, "re");
    while (file && isnan(value) && fgets(line, sizeof line, file))
        if (strncmp(line, label, strlen(label)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            if (!text_to_double(line + strlen(label), &value)) {
                value = (double)NAN; /* "max" */
                break;
            }
        }
    if (file)
        fclose(file);
    free(path);
    return value;
}

/* What one group leaves. Kept files count as used there, and yet are given up for the asking.
 */
static double left_of_group(const GroupFiles *files, const char *folder)
{
    double limit = read_number(folder, files->limit, "");
    double used = read_number(folder, files->usage, "");
    double cache = read_number(folder, "memory.stat", files->cache);
    if (isnan(limit) || isnan(used)) /* no limit, or no such group */
        return INFINITY;
    return fmax(0, limit - used + (isnan(cache) ? 0 : fmin(cache, used)));
}

/* Of a group and all those that it is in. */
static double left_of_groups(const GroupFiles *files, const char *root, const char *group)
{
    double left = INFINITY;
    char *folder = text_format("%s%s%s", root, files->mount, group);
    size_t top = strlen(root) + strlen(files->mount);
    for (;;) {
        left = fmin(left, left_of_group(files, folder));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= top || !slash)
            break;
        *slash = '\0';
    }
    free(folder);
    return left;
}

double allowance_of_groups(const char *root)
{
    char *path = text_format("%s/proc/self/cgroup", root), line[4096];
    double left = INFINITY;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *group = strstr(line, ":/");
        if (!group)
            continue;
        *group++ = '\0';
        if (strcmp(line, "0:") == 0)
            left = fmin(left, left_of_groups(&version_2, root, group));
        else if (strstr(line, "memory"))
            left = fmin(left, left_of_groups(&version_1, root, group));
    }
    if (file)
        fclose(file);
    free(path);
    return left;
}

/* --- all of it --- */

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
