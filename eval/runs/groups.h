/* Groups of runs that differ only in the seed.
 *
 * Runs with equal settings, except for the seed and for settings that do not affect the weights
 * (how often to save, log and sample), form a group: samples of one experiment. A group has a
 * mean curve with a band from its lowest to its highest run, and the mean and standard
 * deviation of its best losses, which give confidence intervals.
 *
 * A run whose seed its group has already starts a group of its own. */
#ifndef LINNET_GROUPS_H
#define LINNET_GROUPS_H

#include "eval/runs/rundata.h"
#include "eval/runs/student.h"

/* Validation losses at a step that all runs have. If one of them is not finite, the mean and
 * the band are NaN. */
typedef struct GroupPoint {
    size_t step;
    double epoch, tokens, seconds; /* the means */
    double mean, low, high;
} GroupPoint;

/* The losses to compare groups by. */
typedef enum GroupLoss {
    GROUP_BEST,      /* the best validation losses, of the runs that have one */
    GROUP_BITS,      /* the same in bits per byte; none unless all runs know them */
    GROUP_TEST,      /* the test losses; none unless all runs have their protocol's */
    GROUP_TEST_BITS, /* the same in bits per byte */
    GROUP_LOSSES
} GroupLoss;

typedef struct RunGroup {
    char *name;           /* no two groups have the same; not made safe for terminals */
    const RunData **runs; /* an array of stb_ds, in the order given; each has another seed */
    GroupPoint *points;   /* an array of stb_ds; of the runs that have validations at all */
    Sample losses[GROUP_LOSSES];
} RunGroup;

/* The groups whose losses compare with one another: those on one corpus. */
typedef struct Section {
    char *name; /* the corpus and, where others have it with other tokens, the settings that
                 * differ; not made safe; owned */
    RunGroup *each, *groups; /* as in Comparison, whose groups they borrow; arrays of stb_ds */
} Section;

/* All that is compared; arrays of stb_ds. */
typedef struct Comparison {
    const RunData *runs; /* (count) those of one corpus together; borrowed */
    size_t count;
    RunGroup *each;   /* a group for every run, in their order: their names differ */
    RunGroup *groups; /* the groups to compare */
    Section *sections;
} Comparison;

#define GROUP_TAILS 0.05 /* of 95 % confidence intervals */

/* An array of stb_ds, in the order of their first runs, which it borrows. Without `together`
 * every run is a group of its own. */
RunGroup *groups_make(const RunData *runs, size_t count, bool together);
void groups_free(RunGroup *groups);

/* Compares sorted runs, which it borrows: gives them their scales, test protocols and looks,
 * and makes groups and sections of them. comparison_free frees it. */
Comparison comparison_make(RunData *runs, size_t count, bool together);
void comparison_free(Comparison *comparison);

/* What groups of one scale are compared by: the best validation losses, or, if their tokens
 * differ, the bits per byte. */
GroupLoss groups_measure(const RunGroup *groups);
/* The test losses that go with a measure, and its unit. */
GroupLoss groups_test_of(GroupLoss measure);
const char *groups_unit(GroupLoss measure);
/* Puts the runs of one corpus together, the corpora in the order given. */
void groups_sort(RunData *runs, size_t count);
/* Decides for each run whether it is compared in bits per byte, counts the scales, and decides
 * by which protocols the runs of each, which are neighbours, compare their test scores: those
 * that most of them have. */
void groups_choose_scales(RunData *runs, size_t count);

/* Gives the runs that the groups were made of their looks: each the colour of its group, and
 * seeds of a group other dashes. The first run's are the group's. */
void groups_identify(const RunGroup *groups, RunData *runs);

/* The run's seed; "" if it has none. */
const char *group_seed(const RunData *run);

/* The epoch of the first validation that is no worse than the loss, which is in bits per byte
 * if the runs are compared by these; as the mean of the runs. NaN unless all reach it. */
double group_epoch_to_reach(const RunGroup *group, double loss);

/* The loss of `other` less that of `base`, with its 95 % confidence interval (NaN if a group
 * has a single run, or if all runs of each are equal). Losses on different texts or tokens are
 * not comparable. */
typedef struct GroupDifference {
    bool comparable;
    double difference;
    Interval interval;
} GroupDifference;

/* Whether the losses of two runs compare: they are of the same text, and of the same tokens or
 * in bits per byte. */
bool groups_same_scale(const RunData *a, const RunData *b);

/* Whether the best loss of any run is of a part of the validation text. */
bool group_has_part(const RunGroup *group);

/* Whether any run of the group diverged. */
bool group_diverged(const RunGroup *group);

/* Appends "softmax, linear and gla", or "5 models". */
void groups_append_names(char **text, const RunGroup *groups);

GroupDifference groups_difference(const RunGroup *base, const RunGroup *other, GroupLoss loss);

#endif
