#include "eval/runs/groups.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <string.h>

/* --- which runs form a group --- */

const char *group_seed(const RunData *run)
{
    const char *seed = rundata_setting(run, "seed");
    return seed ? seed : "";
}

bool groups_setting_matters(const char *setting)
{
    static const char *const harmless[] = {"seed",         "save-every", "log-every",
                                           "sample-every", RUN_MACHINE,  NULL};
    return !text_is_among(setting, harmless);
}

bool groups_is_of_chain(const RunData *run, const char *setting)
{
    const char *generation = rundata_setting(run, "generation");
    return generation && strcmp(generation, "1") != 0 &&
           text_is_among(setting, (const char *const[]){"distill", RUN_TEACHER, NULL});
}

bool groups_setting_differs(const RunData *a, const RunData *b, const char *setting)
{
    const char *of_a = rundata_setting(a, setting), *of_b = rundata_setting(b, setting);
    bool same = of_a && of_b ? strcmp(of_a, of_b) == 0 : !of_a && !of_b;
    return !same && groups_setting_matters(setting) &&
           !(groups_is_of_chain(a, setting) && groups_is_of_chain(b, setting));
}

/* Whether b has every setting of a that matters, with the same value. */
static bool has_settings_of(const RunData *a, const RunData *b)
{
    for (size_t i = 0; i < arrlenu(a->settings); i++)
        if (groups_setting_differs(a, b, a->settings[i].name))
            return false;
    return true;
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool is_another_sample(const RunGroup *group, const RunData *run)
{
    const RunData *first = group->runs[0];
    if (arrlenu(run->settings) == 0 || first->parameters != run->parameters ||
        !groups_same_scale(first, run) ||
        !same_number(first->entropy_floor, run->entropy_floor) ||
        !has_settings_of(first, run) || !has_settings_of(run, first))
        return false;
    for (size_t i = 0; i < arrlenu(group->runs); i++)
        if (strcmp(group_seed(group->runs[i]), group_seed(run)) == 0)
            return false;
    return true;
}

/* --- names --- */

static bool is_blank(char c)
{
    return c && strchr("-_. ", c);
}

/* The length of the common prefix of all names, up to the end of a word. */
static size_t shared_length(const RunGroup *group)
{
    const char *first = group->runs[0]->name;
    size_t same = strlen(first);
    for (size_t i = 1; i < arrlenu(group->runs); i++) {
        size_t length = 0;
        while (length < same && first[length] == group->runs[i]->name[length])
            length++;
        same = length;
    }
    bool word_goes_on = false;
    for (size_t i = 0; i < arrlenu(group->runs); i++) {
        char next = group->runs[i]->name[same];
        word_goes_on |= next && !is_blank(next) && !(next >= '0' && next <= '9');
    }
    while (word_goes_on && same > 0 && !is_blank(first[same - 1]))
        same--;
    return same;
}

/* The common prefix of the names: "linear" of "linear-seed1" and "linear-seed2". */
static char *shared_name(const RunGroup *group)
{
    static const char *const endings[] = {"seed", "s"};
    char *name = memory_copy_text(group->runs[0]->name);
    size_t length = shared_length(group);
    if (!name[length])
        return name;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strncmp(name + length - ending, endings[i], ending) == 0 &&
            is_blank(name[length - ending - 1]))
            length -= ending;
    }
    while (length > 0 && is_blank(name[length - 1]))
        length--;
    name[length] = '\0';
    return name;
}

/* "softmax bpe 500": attention, tokenizer and size of the vocabulary; NULL if not known. */
static char *tokenizer_name_of(const RunData *run)
{
    const char *attention = rundata_setting(run, "attn");
    const char *tokens = rundata_setting(run, "tokens");
    const char *size = rundata_setting(run, "vocab-size");
    if (!attention || !tokens)
        return NULL;
    bool limited = size && strcmp(size, "0") != 0;
    return text_format("%s %s%s%s", attention, tokens, limited ? " " : "", limited ? size : "");
}

/* Marks the groups whose names are empty or not unique. */
static void find_unfit(const RunGroup *groups, bool *unfit)
{
    for (size_t g = 0; g < arrlenu(groups); g++) {
        unfit[g] = !*groups[g].name;
        for (size_t other = 0; other < arrlenu(groups); other++)
            unfit[g] |= other != g && strcmp(groups[g].name, groups[other].name) == 0;
    }
}

/* Names the tokenizer, too, where names are not unique; where that does not help, and instead
 * of empty names, stands the path of the first run. */
static void name_groups(RunGroup *groups)
{
    size_t count = arrlenu(groups);
    bool *unfit = memory_new(count, sizeof *unfit, "the groups of runs");
    for (size_t g = 0; g < count; g++)
        groups[g].name = shared_name(&groups[g]);
    find_unfit(groups, unfit);
    for (size_t g = 0; g < count; g++) {
        bool shared = unfit[g] && *groups[g].name;
        char *name = shared ? tokenizer_name_of(groups[g].runs[0]) : NULL;
        if (name) {
            free(groups[g].name);
            groups[g].name = name;
        }
    }
    find_unfit(groups, unfit);
    for (size_t g = 0; g < count; g++) {
        size_t others = arrlenu(groups[g].runs) - 1;
        if (!unfit[g])
            continue;
        free(groups[g].name);
        groups[g].name = memory_copy_text(groups[g].runs[0]->path);
        if (others > 0)
            text_append(&groups[g].name, " and %zu more", others);
    }
    free(unfit);
}

/* Whether a word ends before text[at]: after a blank, but not inside a number such as 0.01 or
 * 1e-3. */
static bool is_between_words(const char *text, size_t at)
{
    const char *digits = "0123456789";
    if (at == 0 || !is_blank(text[at - 1]))
        return false;
    bool in_number = text[at] && strchr(digits, text[at]) && at > 1 &&
                     (text[at - 1] == '.' ? strchr(digits, text[at - 2]) != NULL
                                          : text[at - 2] == 'e');
    return !in_number;
}

/* How many characters of whole words the names of all groups share at the beginning, or, after
 * so many, at the end. */
static size_t shared_words(RunGroup *const *groups, size_t prefix, bool at_end)
{
    const char *first = groups[0]->whole_name;
    size_t same = strlen(first) - (at_end ? prefix : 0);
    for (size_t g = 1; g < arrlenu(groups); g++) {
        const char *name = groups[g]->whole_name;
        size_t length = 0, of_first = strlen(first), of_name = strlen(name);
        while (length < same && length + prefix < of_name &&
               (at_end ? first[of_first - 1 - length] == name[of_name - 1 - length]
                       : first[length] == name[length]))
            length++;
        same = length;
    }
    /* A word has to be left in every name: the suffix takes its blank along. */
    while (same > 0 && !(at_end ? is_between_words(first, strlen(first) - same + 1)
                                : is_between_words(first, same)))
        same--;
    for (size_t g = 0; g < arrlenu(groups); g++)
        if (strlen(groups[g]->whole_name) <= prefix + same)
            return 0;
    return same;
}

/* Takes what the names of these groups share from those that are shown. */
static void shorten(RunGroup *const *groups)
{
    if (arrlenu(groups) < 2)
        return;
    const size_t prefix = shared_words(groups, 0, false),
                 suffix = shared_words(groups, prefix, true);
    for (size_t g = 0; g < arrlenu(groups); g++) {
        char *name = groups[g]->name;
        const size_t length = strlen(name) - prefix - suffix;
        memmove(name, name + prefix, length);
        name[length] = '\0';
    }
}

/* Groups that are compared apart may have one name. */
static void shorten_names(RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        groups[g].whole_name = memory_copy_text(groups[g].name);
    for (size_t first = 0; first < arrlenu(groups); first++) {
        RunGroup **together = NULL;
        bool is_first = true;
        for (size_t g = 0; g < arrlenu(groups); g++)
            if (strcmp(rundata_apart(groups[g].runs[0]),
                       rundata_apart(groups[first].runs[0])) == 0) {
                is_first = is_first && g >= first;
                arrput(together, &groups[g]);
            }
        if (is_first)
            shorten(together);
        arrfree(together);
    }
}

const char *group_name_beside(const RunGroup *group)
{
    return group->runs[0]->apart ? group->whole_name : group->name;
}

/* --- curves --- */

static bool is_on_curve(const RunLogRow *row, GroupCurve curve)
{
    return curve == GROUP_VALIDATION ? row->has_val_loss
           : curve == GROUP_TRAINING ? row->step > 0 && !row->matches
                                     : row->step > 0;
}

/* Moves *i to the first row of the curve at or after the given step, and returns it; NULL if
 * there is none. */
static const RunLogRow *row_from(const RunData *run, GroupCurve curve, size_t *i, size_t step)
{
    for (; *i < arrlenu(run->rows); ++*i)
        if (is_on_curve(&run->rows[*i], curve) && run->rows[*i].step >= step)
            return &run->rows[*i];
    return NULL;
}

static void add_to_point(GroupPoint *point, const RunLogRow *row, GroupCurve curve, double runs)
{
    const double value = curve == GROUP_VALIDATION ? row->val_loss
                         : curve == GROUP_TRAINING ? row->train_loss
                                                   : row->tokens_per_second;
    point->step = row->step;
    point->epoch += row->epoch / runs;
    point->tokens += (double)row->tokens / runs;
    point->seconds += row->seconds / runs;
    point->mean += value / runs;
    point->low = fmin(point->low, value);
    point->high = fmax(point->high, value);
}

/* Computes the next point at a step that all runs have; advances places[r] in the rows of run r
 * past it. */
static bool next_point(const RunData **runs, GroupCurve curve, size_t *places,
                       GroupPoint *point)
{
    size_t count = arrlenu(runs), step = 0;
    *point = (GroupPoint){.low = INFINITY, .high = -INFINITY};
    for (size_t agreeing = 0, r = 0; agreeing < count; r = (r + 1) % count) {
        const RunLogRow *row = row_from(runs[r], curve, &places[r], step);
        if (!row)
            return false;
        agreeing = row->step == step ? agreeing + 1 : 1;
        step = row->step;
    }
    for (size_t r = 0; r < count; r++)
        add_to_point(point, &runs[r]->rows[places[r]++], curve, (double)count);
    if (!isfinite(point->mean))
        point->mean = point->low = point->high = NAN;
    return true;
}

GroupPoint *group_curve(const RunGroup *group, GroupCurve curve)
{
    GroupPoint *points = NULL;
    const RunData **runs = NULL;
    for (size_t r = 0; r < arrlenu(group->runs); r++)
        if (row_from(group->runs[r], curve, &(size_t){0}, 0))
            arrput(runs, group->runs[r]);
    if (!runs)
        return NULL;
    size_t *places = memory_new(arrlenu(runs), sizeof *places, "the groups of runs");
    for (GroupPoint point; next_point(runs, curve, places, &point);)
        arrput(points, point);
    free(places);
    arrfree(runs);
    return points;
}

/* --- losses --- */

/* NaN if the run has none. The protocol of test losses is that of the group's first run. */
static double loss_of(const RunData *run, const RunData *first, GroupLoss loss)
{
    if (loss == GROUP_BEST)
        return run->best_val_loss;
    if (loss == GROUP_BITS)
        return run->best_val_loss * run->val_bits;
    bool bits = loss == GROUP_TEST_BITS;
    const RunScore *protocol = bits ? first->test_bits : first->test;
    const RunScore *score =
        protocol ? rundata_score(run, protocol, bits ? SCORE_PER_BYTE : SCORE_PER_TOKEN) : NULL;
    return !score ? NAN : bits ? score_row_bits(score) : score_row_loss(score);
}

static Sample losses_of(const RunGroup *group, GroupLoss loss)
{
    double *losses = NULL;
    bool complete = true;
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunData *run = group->runs[r];
        double value = loss_of(run, group->runs[0], loss);
        if (!isnan(value))
            arrput(losses, value);
        complete &= loss == GROUP_BEST ||
                    (loss == GROUP_BITS ? run->val_bits > 0 : !isnan(value));
    }
    Sample sample = student_sample(losses, complete ? arrlenu(losses) : 0);
    arrfree(losses);
    return sample;
}

GroupLoss groups_measure(const RunGroup *groups)
{
    return arrlenu(groups) > 0 && groups[0].runs[0]->by_bits ? GROUP_BITS : GROUP_BEST;
}

/* Whether group a stands after b in the ranking. */
static bool ranks_after(const RunGroup *a, const RunGroup *b, GroupLoss measure)
{
    const double of_a = a->losses[measure].mean, of_b = b->losses[measure].mean;
    const int place_a = isnan(of_a) ? 2 : group_diverged(a),
              place_b = isnan(of_b) ? 2 : group_diverged(b);
    return place_a != place_b ? place_a > place_b : of_a > of_b;
}

size_t *groups_rank(const RunGroup *groups)
{
    const GroupLoss measure = groups_measure(groups);
    size_t *order = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++) {
        size_t at = g;
        arrput(order, g);
        for (; at > 0 && ranks_after(&groups[order[at - 1]], &groups[g], measure); at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
    return order;
}

GroupLoss groups_test_of(GroupLoss measure)
{
    return measure == GROUP_BITS ? GROUP_TEST_BITS : GROUP_TEST;
}

RunGroup *groups_make(const RunData *runs, size_t count, bool together)
{
    RunGroup *groups = NULL;
    for (size_t r = 0; r < count; r++) {
        size_t g = together ? 0 : arrlenu(groups);
        while (g < arrlenu(groups) && !is_another_sample(&groups[g], &runs[r]))
            g++;
        if (g == arrlenu(groups))
            arrput(groups, (RunGroup){0});
        arrput(groups[g].runs, &runs[r]);
    }
    name_groups(groups);
    shorten_names(groups);
    for (size_t g = 0; g < arrlenu(groups); g++) {
        groups[g].points = group_curve(&groups[g], GROUP_VALIDATION);
        for (GroupLoss loss = 0; loss < GROUP_LOSSES; loss++)
            groups[g].losses[loss] = losses_of(&groups[g], loss);
    }
    groups_compare(groups);
    return groups;
}

void groups_free(RunGroup *groups)
{
    for (size_t g = 0; g < arrlenu(groups); g++) {
        free(groups[g].name);
        free(groups[g].whole_name);
        arrfree(groups[g].runs);
        arrfree(groups[g].points);
    }
    arrfree(groups);
}

double group_epoch_to_reach(const RunGroup *group, double loss)
{
    double sum = 0;
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunData *run = group->runs[r];
        const RunLogRow *rows = run->rows;
        double unit = run->by_bits ? run->val_bits : 1;
        size_t i = 0;
        while (i < arrlenu(rows) && !(rows[i].has_val_loss && rows[i].val_loss * unit <= loss))
            i++;
        sum += i < arrlenu(rows) ? rows[i].epoch : NAN;
    }
    return sum / (double)arrlenu(group->runs);
}
