/* The control groups that the process is in. A group's limits hold for all groups inside it. */
#ifndef LINNET_CONTROL_GROUPS_H
#define LINNET_CONTROL_GROUPS_H

/* Versions 1 and 2 of them keep their limits in files of other names. */
typedef enum GroupVersion { GROUP_VERSION_1, GROUP_VERSION_2 } GroupVersion;

/* What the group of a folder leaves; infinite without a limit. */
typedef double (*GroupLimit)(GroupVersion version, const char *folder);

/* The least that any of the groups leaves of what a controller ("memory", "cpu") hands out. The
 * root is "", or in tests where a system's files begin. */
double control_groups_least(const char *root, const char *controller, GroupLimit limit);

/* The first number of the first line that begins with the label, in a file of the folder; NaN
 * if there is none, or it is no number. */
double control_groups_number(const char *folder, const char *name, const char *label);

/* How many processors' time the groups grant; infinite without a limit. */
double control_groups_processors(const char *root);

#endif
