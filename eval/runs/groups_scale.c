/* Which runs compare, by which measure, and the differences between groups; all that is
 * compared, in sections. */
#include "eval/runs/groups.h"
#include "eval/show/palette.h"
#include "src/base/containers.h"
#include "src/base/text.h"

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

void groups_sort(RunData *runs, size_t count)
{
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
    return agree(a, b, a->by_bits && b->by_bits ? TEXT_SETTINGS : SCALE_SETTINGS);
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

GroupDifference groups_difference(const RunGroup *base, const RunGroup *other, GroupLoss loss)
{
    const Sample *of_base = &base->losses[loss], *of_other = &other->losses[loss];
    const bool of_bytes = loss == GROUP_BITS || loss == GROUP_TEST_BITS;
    const size_t settings = of_bytes ? TEXT_SETTINGS : SCALE_SETTINGS;
    return (GroupDifference){
        .comparable = agree(base->runs[0], other->runs[0], settings),
        .difference = of_other->mean - of_base->mean,
        .interval = student_difference(*of_base, *of_other, GROUP_TAILS),
    };
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

Comparison comparison_make(RunData *runs, size_t count, bool together)
{
    groups_choose_scales(runs, count);
    Comparison comparison = {.runs = runs,
                             .count = count,
                             .each = groups_make(runs, count, false),
                             .groups = groups_make(runs, count, together)};
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
