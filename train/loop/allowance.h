/* How much memory this process may still allocate. Linux grants memory that it does not have,
 * and kills the program that uses it, so large allocations ask here first. */
#ifndef LINNET_ALLOWANCE_H
#define LINNET_ALLOWANCE_H

typedef struct Allowance {
    double bytes;
    const char *reason; /* the tightest limit, as the end of a sentence */
} Allowance;

/* What a need may be, of which this process has `held` bytes already: the minimum of `asked`
 * (0: 80 % of the free memory), the limits of this process, and those of its control groups. */
Allowance allowance_find(double asked, double held);

/* Memory that control groups (version 1 and 2) leave; infinite without limits. ROOT is ""
 * except in tests. */
double allowance_of_groups(const char *root);

#endif
