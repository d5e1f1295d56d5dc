/* Limits of the Linux control groups (cgroups) that the process is in. A limit of a group also
 * applies to all groups inside it. */
#ifndef LINNET_CONTROL_GROUPS_H
#define LINNET_CONTROL_GROUPS_H

/* cgroup v1 and v2 keep their limits in differently named files. */
typedef enum GroupVersion { GROUP_VERSION_1, GROUP_VERSION_2 } GroupVersion;

/* Remaining allowance of the group at `folder`; INFINITY without a limit. */
typedef double (*GroupLimit)(GroupVersion version, const char *folder);

/* The minimum of `limit` over all enclosing groups of a controller ("memory", "cpu"). `root`
 * is "", or in tests a directory that stands in for /. */
double control_groups_least(const char *root, const char *controller, GroupLimit limit);

/* The CPU quota in processors; INFINITY without a limit. */
double control_groups_processors(const char *root);

#endif
