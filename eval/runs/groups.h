/* Groups of runs that differ only in the seed.
 *
 * Runs with equal settings, except for the seed and for settings that do not affect the weights
 * (how often to save, log and sample), form a group: samples of one experiment. A group has a
 * mean curve with a band from its lowest to its highest run, and the mean and standard
 * deviation of its best losses.
 *
 * All groups of one scale are compared with one of them, the control, by Student's t with a
 * standard deviation pooled over all of them, and p by Holm's correction. The intervals cover
 * seeds, not texts.
 *
 * A run whose seed its group has already starts a group of its own. */
#ifndef LINNET_GROUPS_H
#define LINNET_GROUPS_H

#include "eval/runs/rundata.h"
#include "eval/runs/student.h"

/* What curves show: validation losses, training losses, tokens per second. */
typedef enum GroupCurve { GROUP_VALIDATION, GROUP_TRAINING, GROUP_SPEED } GroupCurve;

/* The values of a curve at a step that all runs have. If one of them is not finite, the mean
 * and the band are NaN. */
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

/* The loss of a group less that of its control. The numbers are NaN for the control itself,
 * and where losses do not compare or a group diverged. */
typedef struct GroupDifference {
    Difference of;      /* its interval and p need two seeds of each */
    double holm;        /* p corrected for all comparisons with this control */
    double control;     /* the control's mean loss */
    Pool pool;          /* of the control's scale */
    size_t comparisons; /* those that have a p */
} GroupDifference;

typedef struct RunGroup {
    /* The name as shown is without the words at both ends that the names of all groups share:
     * "kda-lr1e-3" and "kda-lr1e-2" are "lr1e-3" and "lr1e-2". The whole one is for other
     * programs. No two groups have the same; not made safe for terminals. */
    char *name, *whole_name;
    const RunData **runs; /* an array of stb_ds, in the order given; each has another seed */
    GroupPoint *points;   /* the validation curve; an array of stb_ds */
    Sample losses[GROUP_LOSSES];
    GroupDifference differences[GROUP_LOSSES];
} RunGroup;

/* The groups whose losses compare with one another: those on one corpus, with one value of the
 * setting whose values are compared apart. */
typedef struct Section {
    char *name; /* the corpus, that value and, where others have the corpus with other tokens,
                 * the settings that differ; not made safe; owned */
    RunGroup *each, *groups; /* as in Comparison, whose groups they borrow; arrays of stb_ds */
} Section;

/* All that is compared; arrays of stb_ds. */
typedef struct Comparison {
    const RunData *runs; /* (count) those of one corpus together; borrowed */
    size_t count;
    RunGroup *each;   /* a group for every run, in their order: their names differ */
    RunGroup *groups; /* the groups to compare; of each scale the control first */
    Section *sections;
    size_t controls; /* how many scales have the control that was asked for */
} Comparison;

#define GROUP_TAILS 0.05 /* of 95 % confidence intervals, and of tests */

/* An array of stb_ds, in the order of their first runs, which it borrows. Without `together`
 * every run is a group of its own. The first group of each scale is the control. */
RunGroup *groups_make(const RunData *runs, size_t count, bool together);
void groups_free(RunGroup *groups);

/* A curve of a group: an array of stb_ds over the runs that have such values at all. */
GroupPoint *group_curve(const RunGroup *group, GroupCurve curve);

/* The indexes of groups of one scale, an array of stb_ds: those with the lowest mean of the
 * measure first; those that diverged, then those without a loss, last. */
size_t *groups_rank(const RunGroup *groups);

/* Makes the group of this name, or with a run of this name or attention kind, the control of
 * its scale: moves it before the others. Returns of how many scales; the others keep theirs. */
size_t groups_choose_control(RunGroup *groups, const char *name);
/* Compares every group with the first one of its scale. */
void groups_compare(RunGroup *groups);

/* Compares sorted runs, which it borrows: gives them their scales, test protocols and looks,
 * and makes groups and sections of them, with this control where it is found, or with the
 * first groups (NULL). comparison_free frees it. */
Comparison comparison_make(RunData *runs, size_t count, bool together, const char *control);
void comparison_free(Comparison *comparison);
/* Whether the runs differ in a setting. */
bool comparison_differs(const Comparison *all, const char *name);

/* What groups of one scale are compared by: the best validation losses, or, if their tokens
 * differ, the bits per byte. */
GroupLoss groups_measure(const RunGroup *groups);
/* The test losses that go with a measure. */
GroupLoss groups_test_of(GroupLoss measure);
const char *groups_unit(GroupLoss loss);
/* Puts the runs whose losses compare together, in the order given. Runs with different values
 * of the setting `apart` (NULL: none) do not. */
void groups_sort(RunData *runs, size_t count, const char *apart);
/* Decides for each run whether it is compared in bits per byte, counts the scales, and decides
 * by which protocols the runs of each, which are neighbours, compare their test scores: those
 * that most of them have. */
void groups_choose_scales(RunData *runs, size_t count);

/* Gives the runs that the groups were made of their looks: each the colour of its group, and
 * seeds of a group other dashes. The first run's are the group's. */
void groups_identify(const RunGroup *groups, RunData *runs);

/* Whether runs that differ in this setting are of different groups: not the seed, nor what does
 * not affect the weights. */
bool groups_setting_matters(const char *setting);
/* Whether the setting names the teacher of a later run in a chain: chains are samples like
 * single runs. */
bool groups_is_of_chain(const RunData *run, const char *setting);
/* Whether two runs differ in a setting that matters, other than the teachers of chains. */
bool groups_setting_differs(const RunData *a, const RunData *b, const char *setting);
/* The run's seed; "" if it has none. */
const char *group_seed(const RunData *run);

/* The epoch of the first validation that is no worse than the loss, which is in bits per byte
 * if the runs are compared by these; as the mean of the runs. NaN unless all reach it. */
double group_epoch_to_reach(const RunGroup *group, double loss);

/* The losses that differences from the control are shown of where there is room for one kind:
 * those of the test, if all groups have them, or else the measure. */
GroupLoss groups_compared_loss(const RunGroup *groups);
/* "better" for a lower loss, "worse" for a higher one, unless it is "not told apart". */
const char *difference_word(double difference, bool told_apart);
/* That word by Holm's p; NULL if there is none. */
const char *group_verdict(const GroupDifference *difference);
/* A difference from the control in per cent: of perplexities, or of bits per byte. */
double group_per_cent(const GroupDifference *from, double difference, GroupLoss loss);

/* Whether the losses of two runs compare: they are of the same text, and of the same tokens or
 * in bits per byte, and are not to be compared apart. */
bool groups_same_scale(const RunData *a, const RunData *b);

/* The name where groups that are compared apart stand side by side. */
const char *group_name_beside(const RunGroup *group);

/* Whether the best loss of any run is of a part of the validation text. */
bool group_has_part(const RunGroup *group);

/* Whether any run of the group diverged. */
bool group_diverged(const RunGroup *group);

/* Appends "softmax, linear and gla", or "5 models". */
void groups_append_names(char **text, const RunGroup *groups);

#endif
