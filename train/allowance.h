/* How much memory this process may still take. Linux grants what it does not have, and ends the
 * program that believes it; so whoever needs much asks here first. */
#ifndef LINNET_ALLOWANCE_H
#define LINNET_ALLOWANCE_H

typedef struct Allowance {
    double bytes;
    const char *reason; /* the limit that is the least, as the end of a sentence */
} Allowance;

/* The least of what was asked for, or where that is 0, of 80 % of what is free; of the limits
 * of this process; and of the control groups that it is in. */
Allowance allowance_find(double asked);

/* What control groups leave: of version 2, and of version 1. Infinite where they say nothing.
 * The root is "", but for tests. */
double allowance_of_groups(const char *root);

#endif
