#include "src/control_groups.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double control_groups_number(const char *folder, const char *name, const char *label)
{
    char *path = text_format("%s/%s", folder, name), line[256];
    double value = (double)NAN;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, label, strlen(label)) == 0) {
            char *number = line + strlen(label);
            number[strcspn(number, " \n")] = '\0';
            if (!text_to_double(number, &value))
                value = (double)NAN; /* "max" */
            break;
        }
    if (file)
        fclose(file);
    free(path);
    return value;
}

/* The minimum over a group and its ancestors. */
static double least_upwards(const char *mount, const char *group, GroupVersion version,
                            GroupLimit limit)
{
    double least = INFINITY;
    char *folder = text_format("%s%s", mount, group);
    for (;;) {
        least = fmin(least, limit(version, folder));
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= strlen(mount) || !slash)
            break;
        *slash = '\0';
    }
    free(folder);
    return least;
}

double control_groups_least(const char *root, const char *controller, GroupLimit limit)
{
    char *path = text_format("%s/proc/self/cgroup", root), line[4096];
    char *mount_2 = text_format("%s/sys/fs/cgroup", root);
    char *mount_1 = text_format("%s/%s", mount_2, controller);
    double least = INFINITY;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *group = strstr(line, ":/");
        if (!group)
            continue;
        *group++ = '\0';
        if (strcmp(line, "0:") == 0)
            least = fmin(least, least_upwards(mount_2, group, GROUP_VERSION_2, limit));
        else if (strstr(line, controller))
            least = fmin(least, least_upwards(mount_1, group, GROUP_VERSION_1, limit));
    }
    if (file)
        fclose(file);
    free(mount_1);
    free(mount_2);
    free(path);
    return least;
}

/* --- processors --- */

/* The period in cpu.max, which holds "QUOTA PERIOD". */
static double period_of(const char *folder)
{
    char *path = text_format("%s/cpu.max", folder);
    double quota, period = (double)NAN;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lf %lf", &quota, &period) != 2)
        period = (double)NAN;
    if (file)
        fclose(file);
    free(path);
    return period;
}

static double processors_of(GroupVersion version, const char *folder)
{
    bool second = version == GROUP_VERSION_2;
    double quota = control_groups_number(folder, second ? "cpu.max" : "cpu.cfs_quota_us", "");
    double period = second ? period_of(folder)
                           : control_groups_number(folder, "cpu.cfs_period_us", "");
    return quota > 0 && period > 0 ? quota / period
                                   : INFINITY; /* a quota of -1 means no limit */
}

double control_groups_processors(const char *root)
{
    return control_groups_least(root, "cpu", processors_of);
}
