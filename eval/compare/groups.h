/* Runs that differ by nothing but chance, taken together.
 *
 * Runs whose settings are the same but for the seed, and for those that change no weight (how
 * often to save, log and sample), are a group: samples of one experiment. A group has a mean
 * curve with a band from its lowest to its highest run, and a mean best loss whose deviation
 * says how much of a difference between two groups may be chance.
 *
 * A run with a seed that its group has already is no second sample, and starts a group of its
 * own. So every run is in one group, and most groups have one run. */
#ifndef LINNET_GROUPS_H
#define LINNET_GROUPS_H

#include "eval/runs/rundata.h"
#include "eval/compare/student.h"

/* Validation losses of the runs at a step that all of them have. Nothing is averaged over a
 * part of the runs: where one of them is not finite, the mean and the band are NaN. */
typedef struct GroupPoint {
    size_t step;
    double epoch, tokens, seconds; /* the means */
    double mean, low, high;
} GroupPoint;

typedef struct RunGroup {
    char *name;           /* no two groups have the same; not made safe for terminals */
    const RunData **runs; /* an array of stb_ds, in the order given; each has another seed */
    GroupPoint *points;   /* an array of stb_ds; of the runs that have validations at all */
    Sample best;          /* of the best validation losses, of the runs that have one */
    Sample test;          /* of the test losses; empty unless groups_score found all */
} RunGroup;

/* The losses that groups are compared by. */
typedef enum GroupLoss { GROUP_BEST, GROUP_TEST } GroupLoss;

#define GROUP_TAILS 0.05 /* what intervals leave out: they are of 95 % */

/* An array of stb_ds, in the order of their first runs, which it borrows. Without `together`
 * every run is a group of its own. */
RunGroup *groups_make(const RunData *runs, size_t count, bool together);
void groups_free(RunGroup *groups);

/* Gives each group its test losses by this protocol, if all its runs were scored by it; NULL:
 * none were. */
void groups_score(RunGroup *groups, const RunScore *protocol);

const Sample *group_losses(const RunGroup *group, GroupLoss loss);

/* Gives the runs that the groups were made of their looks: each the colour of its group, and
 * seeds of a group other dashes. The first run's are the group's. */
void groups_identify(const RunGroup *groups, RunData *runs);

/* The setting of a run that tells it from the others of its group; "" if it has none. */
const char *group_seed(const RunData *run);

/* The epoch of the first validation that is no worse than the loss, as the mean of the runs;
 * NaN unless all reach it. */
double group_epoch_to_reach(const RunGroup *group, double loss);

/* How much worse `other` is than `base` in one of its losses, and the interval in which the
 * true difference lies in 95 of 100 cases (NaN where a group has a single run, or no two runs
 * of either differ). Not comparable: their losses are of different texts or tokens. Test losses
 * always compare, as their protocol names the very tokens. */
typedef struct GroupDifference {
    bool comparable;
    double difference;
    Interval interval;
} GroupDifference;

GroupDifference groups_difference(const RunGroup *base, const RunGroup *other, GroupLoss loss);

#endif
