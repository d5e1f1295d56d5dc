#include "src/base/control_groups.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Whether a line "7:cpu,cpuacct" lists the controller. */
static bool lists(char *line, const char *controller)
{
    char *items = strchr(line, ':');
    for (char *item; items && (item = strsep(&items, ":,"));)
        if (strcmp(item, controller) == 0)
            return true;
    return false;
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
        else if (lists(line, controller))
            least = fmin(least, least_upwards(mount_1, group, GROUP_VERSION_1, limit));
    }
    if (file)
        fclose(file);
    free(mount_1);
    free(mount_2);
    free(path);
    return least;
}

/* A quota of -1 or "max" means no limit. */
static double processors_of(GroupVersion version, const char *folder)
{
    bool second = version == GROUP_VERSION_2;
    double quota = file_number(folder, second ? "cpu.max" : "cpu.cfs_quota_us", "", 0);
    double period = file_number(folder, second ? "cpu.max" : "cpu.cfs_period_us", "", second);
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

double control_groups_processors(const char *root)
{
    return control_groups_least(root, "cpu", processors_of);
}
