/* Which runs compare, by which measure, and the differences between groups; all that is
 * compared, in sections. */
#include "eval/runs/groups.h"
#include "eval/show/palette.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Settings that a loss depends on even for the same model: those of the text, then those of
 * its tokens. */
static const struct {
    const char *name, *before; /* the value in runs older than the setting */
} scale_settings[] = {{"corpus", ""},     {"valid", ""},       {"test", ""},
                      {"trim", "no"},     {"lowercase", "no"}, {"tokens", ""},
                      {"vocab-size", ""}, {"min-count", ""},   {"special-tokens", ""}};
enum { TEXT_SETTINGS = 5, SCALE_SETTINGS = sizeof scale_settings / sizeof *scale_settings };

static const char *scale_setting(const RunData *run, size_t i)
{
    const char *value = rundata_setting(run, scale_settings[i].name);
    return value ? value : scale_settings[i].before;
}

static bool scale_setting_differs(const RunData *a, const RunData *b, size_t i)
{
    return strcmp(scale_setting(a, i), scale_setting(b, i)) != 0;
}

/* Files of one name may be different texts. */
static bool text_size_differs(const RunData *a, const RunData *b)
{
    return a->valid_bytes && b->valid_bytes && a->valid_bytes != b->valid_bytes;
}

/* Whether the first settings of the scale agree. Equal settings may learn other tokens, and
 * runs with --init have those of another text: where both vocabularies are known, they decide.
 */
static bool agree(const RunData *a, const RunData *b, size_t count)
{
    if (text_size_differs(a, b))
        return false;
    bool known = count > TEXT_SETTINGS && a->vocabulary && b->vocabulary;
    if (known && strcmp(a->vocabulary, b->vocabulary) != 0)
        return false;
    for (size_t i = 0; i < (known ? TEXT_SETTINGS : count); i++)
        if (scale_setting_differs(a, b, i))
            return false;
    return true;
}

/* A run is compared in bits per byte if runs on its text differ in their tokens, and all of
 * them know their bits per byte. */
static void choose_measure(RunData *runs, size_t count)
{
    for (size_t r = 0; r < count; r++) {
        bool known = true, differ = false;
        for (size_t other = 0; other < count; other++)
            if (agree(&runs[r], &runs[other], TEXT_SETTINGS)) {
                known &= runs[other].val_bits > 0;
                differ |= !agree(&runs[r], &runs[other], SCALE_SETTINGS);
            }
        runs[r].by_bits = known && differ;
    }
}

void groups_sort(RunData *runs, size_t count, const char *apart)
{
    for (size_t r = 0; r < count; r++)
        runs[r].apart = apart ? rundata_find(&runs[r], apart) : NULL;
    choose_measure(runs, count);
    for (size_t end = 0; end < count;) {
        const RunData first = runs[end];
        for (size_t r = end; r < count; r++)
            if (groups_same_scale(&first, &runs[r])) {
                RunData run = runs[r];
                memmove(&runs[end + 1], &runs[end], (r - end) * sizeof run);
                runs[end++] = run;
            }
    }
}

void groups_choose_scales(RunData *runs, size_t count)
{
    choose_measure(runs, count);
    for (size_t first = 0, end, index = 0; first < count; first = end, index++) {
        for (end = first + 1; end < count && groups_same_scale(&runs[first], &runs[end]);)
            end++;
        const RunScore *test = rundata_shared_test(&runs[first], end - first, SCORE_PER_TOKEN),
                       *bits = rundata_shared_test(&runs[first], end - first, SCORE_PER_BYTE);
        for (size_t r = first; r < end; r++) {
            runs[r].scale = index;
            runs[r].test = test;
            runs[r].test_bits = runs[r].by_bits ? bits : NULL;
        }
    }
}

bool groups_same_scale(const RunData *a, const RunData *b)
{
    return strcmp(rundata_apart(a), rundata_apart(b)) == 0 &&
           agree(a, b, a->by_bits && b->by_bits ? TEXT_SETTINGS : SCALE_SETTINGS);
}

bool group_has_part(const RunGroup *group)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (group->runs[r]->best_is_part)
            return true;
    return false;
}

bool group_diverged(const RunGroup *group)
{
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (rundata_diverged(group->runs[r]))
            return true;
    return false;
}

void groups_append_names(char **text, const RunGroup *groups)
{
    enum { MOST_NAMES = 3 };
    const size_t count = arrlenu(groups);
    if (count > MOST_NAMES) {
        text_append(text, "%zu models", count);
        return;
    }
    for (size_t g = 0; g < count; g++)
        text_append(text, "%s%s", text_joint(g, count), groups[g].name);
}

/* The name of the section of a run among all that are compared. The caller's. */
static char *section_name(const RunData *run, const RunData *runs, size_t count)
{
    char *name = memory_copy_text(run->corpus ? run->corpus : "unknown corpus");
    const size_t settings = run->by_bits ? TEXT_SETTINGS : SCALE_SETTINGS;
    bool resized = false;
    for (size_t r = 0; r < count; r++)
        resized |= !scale_setting_differs(run, &runs[r], 0) && text_size_differs(run, &runs[r]);
    if (run->apart)
        text_append(&name, ", %s = %s", run->apart->name, run->apart->value);
    if (resized)
        text_append(&name, ", validation text of %zu bytes", run->valid_bytes);
    for (size_t i = 1; i < settings; i++) {
        bool differs = false;
        for (size_t r = 0; r < count; r++)
            differs |= !scale_setting_differs(run, &runs[r], 0) &&
                       scale_setting_differs(run, &runs[r], i);
        if (differs)
            text_append(&name, ", %s = %s", scale_settings[i].name,
                        *scale_setting(run, i) ? scale_setting(run, i) : "none");
    }
    return name;
}

/* --- comparisons with a control --- */

/* The first group whose losses compare with those of group g. */
static size_t control_of(const RunGroup *groups, size_t g)
{
    size_t control = 0;
    while (!groups_same_scale(groups[control].runs[0], groups[g].runs[0]))
        control++;
    return control;
}

static bool is_of_bytes(GroupLoss loss)
{
    return loss == GROUP_BITS || loss == GROUP_TEST_BITS;
}

const char *groups_unit(GroupLoss loss)
{
    return is_of_bytes(loss) ? "bits per byte" : "nats per token";
}

/* Whether the losses of a group may be compared with those of others of its scale. */
static bool takes_part(const RunGroup *control, const RunGroup *group, GroupLoss loss)
{
    return !group_diverged(group) && agree(control->runs[0], group->runs[0],
                                           is_of_bytes(loss) ? TEXT_SETTINGS : SCALE_SETTINGS);
}

/* Compares the groups of one scale, an array of stb_ds of which the first is the control. */
static void compare_scale(RunGroup **scale, GroupLoss loss)
{
    const RunGroup *control = scale[0];
    const size_t count = arrlenu(scale);
    Sample *samples = NULL;
    double *p = memory_new(count, sizeof *p, "the groups of runs");
    for (size_t g = 0; g < count; g++)
        if (takes_part(control, scale[g], loss))
            arrput(samples, scale[g]->losses[loss]);
    GroupDifference none = {.of = {NAN, NAN, NAN, NAN},
                            .control = control->losses[loss].mean,
                            .pool = student_pool(samples, arrlenu(samples))};
    for (size_t g = 0; g < count; g++) {
        GroupDifference *from = &scale[g]->differences[loss];
        *from = none;
        if (g > 0 && takes_part(control, control, loss) && takes_part(control, scale[g], loss))
            from->of = student_difference(control->losses[loss], scale[g]->losses[loss],
                                          none.pool, GROUP_TAILS);
        p[g] = from->of.p;
        none.comparisons += isnan(p[g]) ? 0 : 1;
    }
    student_holm(p, count);
    for (size_t g = 0; g < count; g++) {
        scale[g]->differences[loss].holm = p[g];
        scale[g]->differences[loss].comparisons = none.comparisons;
    }
    free(p);
    arrfree(samples);
}

void groups_compare(RunGroup *groups)
{
    for (size_t first = 0; first < arrlenu(groups); first++) {
        RunGroup **scale = NULL;
        if (control_of(groups, first) != first)
            continue;
        for (size_t g = first; g < arrlenu(groups); g++)
            if (control_of(groups, g) == first)
                arrput(scale, &groups[g]);
        for (GroupLoss loss = 0; loss < GROUP_LOSSES; loss++)
            compare_scale(scale, loss);
        arrfree(scale);
    }
}

/* Whether the group or one of its runs has this name, or else this attention kind. */
static bool is_called(const RunGroup *group, const char *name, bool by_kind)
{
    const char *kind = group->runs[0]->attn;
    bool called = by_kind
                      ? kind && strcmp(kind, name) == 0
                      : strcmp(group->name, name) == 0 || strcmp(group->whole_name, name) == 0;
    for (size_t r = 0; !by_kind && r < arrlenu(group->runs); r++)
        called |= strcmp(group->runs[r]->name, name) == 0;
    return called;
}

size_t groups_choose_control(RunGroup *groups, const char *name)
{
    const size_t count = arrlenu(groups);
    size_t found = 0;
    for (size_t first = 0, end; first < count; first = end) {
        size_t chosen = count;
        for (end = first; end < count && control_of(groups, end) == first;)
            end++;
        for (int by_kind = 0; by_kind < 2; by_kind++)
            for (size_t g = first; g < end && chosen == count; g++)
                chosen = is_called(&groups[g], name, by_kind) ? g : count;
        if (chosen == count)
            continue;
        const RunGroup control = groups[chosen];
        memmove(&groups[first + 1], &groups[first], (chosen - first) * sizeof control);
        groups[first] = control;
        found++;
    }
    groups_compare(groups);
    return found;
}

GroupLoss groups_compared_loss(const RunGroup *groups)
{
    const GroupLoss measure = groups_measure(groups), test = groups_test_of(measure);
    size_t measured = 0, tested = 0;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        measured += isnan(groups[g].differences[measure].of.mean) ? 0 : 1;
        tested += isnan(groups[g].differences[test].of.mean) ? 0 : 1;
    }
    return tested > 0 && tested >= measured ? test : measure;
}

const char *difference_word(double difference, bool told_apart)
{
    return !told_apart ? "not told apart" : difference < 0 ? "better" : "worse";
}

const char *group_verdict(const GroupDifference *difference)
{
    return isnan(difference->holm)
               ? NULL
               : difference_word(difference->of.mean, difference->holm < GROUP_TAILS);
}

double group_per_cent(const GroupDifference *from, double difference, GroupLoss loss)
{
    return 100 * (is_of_bytes(loss) ? difference / from->control : expm1(difference));
}

/* --- all that is compared --- */

void groups_identify(const RunGroup *groups, RunData *runs)
{
    /* further seeds have the colour of the first, with dashes that no other group has */
    size_t rounds = (arrlenu(groups) + PALETTE_COLOURS - 1) / PALETTE_COLOURS;
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t i = 0; i < arrlenu(groups[g].runs); i++)
            runs[groups[g].runs[i] - runs].identity = g + i * rounds * PALETTE_COLOURS;
}

/* The groups of one scale, which are borrowed. */
static RunGroup *groups_of_scale(const RunGroup *groups, size_t scale)
{
    RunGroup *part = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (groups[g].runs[0]->scale == scale)
            arrput(part, groups[g]);
    return part;
}

Comparison comparison_make(RunData *runs, size_t count, bool together, const char *control)
{
    groups_choose_scales(runs, count);
    Comparison comparison = {.runs = runs,
                             .count = count,
                             .each = groups_make(runs, count, false),
                             .groups = groups_make(runs, count, together)};
    if (control)
        comparison.controls = groups_choose_control(comparison.groups, control);
    groups_identify(comparison.groups, runs);
    for (size_t r = 0; r < count; r++) {
        const size_t scale = runs[r].scale;
        if (scale == arrlenu(comparison.sections))
            arrput(comparison.sections,
                   ((Section){.name = section_name(&runs[r], runs, count),
                              .each = groups_of_scale(comparison.each, scale),
                              .groups = groups_of_scale(comparison.groups, scale)}));
    }
    return comparison;
}

bool comparison_differs(const Comparison *all, const char *name)
{
    const char *first = rundata_setting(&all->runs[0], name);
    for (size_t r = 1; r < all->count; r++) {
        const char *value = rundata_setting(&all->runs[r], name);
        if (!first != !value || (first && strcmp(first, value) != 0))
            return true;
    }
    return false;
}

void comparison_free(Comparison *comparison)
{
    for (size_t s = 0; s < arrlenu(comparison->sections); s++) {
        free(comparison->sections[s].name);
        arrfree(comparison->sections[s].each);
        arrfree(comparison->sections[s].groups);
    }
    arrfree(comparison->sections);
    groups_free(comparison->each);
    groups_free(comparison->groups);
    *comparison = (Comparison){0};
}
