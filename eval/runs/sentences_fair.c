/* Whether a comparison is fair: in what, besides the attention kind, the groups differ. */
#include "eval/runs/results.h"
#include "eval/runs/sentences.h"
#include "models/config.h"
#include "src/base/containers.h"
#include "src/base/options.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* What groups may differ in by settings, in the order of the sentence. Texts are compared each
 * by itself. */
static const char *const aspects[] = {"tokenizer", "recipe", "precision", "machine"};
enum { TOKENIZER, RECIPE, PRECISION, MACHINE, ASPECTS };

/* ASPECTS: the setting is of the text, of the model, or of no consequence. */
static size_t aspect_of(const char *setting)
{
    static const char *const of_text[] = {"corpus",     "valid",     "test", "attn",
                                          "generation", RUN_MATCHED, NULL};
    static const char *const of_tokens[] = {
        "tokens", "vocab-size", "min-count", "special-tokens", "lowercase", "trim", NULL};
    const ModelConfig config = {0};
    const Options model = {{config_group(&config)}};
    if (strcmp(setting, RUN_MACHINE) == 0)
        return MACHINE;
    if (strcmp(setting, "precision") == 0)
        return PRECISION;
    if (text_is_among(setting, of_tokens))
        return TOKENIZER;
    bool of_model = option_find(&model, setting) && !strstr(setting, "dropout");
    return of_model || text_is_among(setting, of_text) || !groups_setting_matters(setting)
               ? ASPECTS
               : RECIPE;
}

/* "lr 0.001, 0.003", the values of a setting, if there are several; else NULL. Runs of earlier
 * versions may lack it. The caller's. */
static char *values_text(const RunGroup *groups, const char *setting)
{
    enum { MOST = 4 };
    const char **values = NULL;
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++) {
            const char *value = rundata_setting(groups[g].runs[r], setting);
            size_t known = 0;
            while (value && known < arrlenu(values) && strcmp(values[known], value) != 0)
                known++;
            if (value && known == arrlenu(values))
                arrput(values, value);
        }
    char *text = arrlenu(values) > 1 ? memory_copy_text(setting) : NULL;
    for (size_t i = 0; text && i < arrlenu(values) && i < MOST; i++)
        text_append(&text, "%s%s", i ? ", " : " ", values[i]);
    if (arrlenu(values) > MOST)
        text_append(&text, " and %zu more", arrlenu(values) - MOST);
    arrfree(values);
    return text;
}

/* The tokens of a step: 0 if a setting is missing. */
static size_t step_tokens(const RunData *run)
{
    static const char *const factors[] = {"batch", "accumulate", "context"};
    size_t tokens = 1, factor;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        const char *value = rundata_setting(run, factors[i]);
        tokens *= value && text_to_size(value, &factor) ? factor : 0;
    }
    return tokens;
}

/* Whether batches of different contexts have the same number of tokens, as with --batch-tokens.
 */
static bool steps_are_equal(const RunGroup *groups)
{
    const size_t tokens = step_tokens(groups[0].runs[0]);
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
            if (step_tokens(groups[g].runs[r]) != tokens)
                return false;
    return tokens > 0;
}

/* Appends the settings of an aspect that differ. */
static void append_aspect(char **text, const RunGroup *groups, size_t aspect,
                          const char *besides)
{
    const RunSetting *settings = groups[0].runs[0]->settings;
    const bool equal_steps = steps_are_equal(groups);
    char *differ = NULL;
    for (size_t i = 0; i < arrlenu(settings); i++) {
        size_t first = 0;
        while (strcmp(settings[first].name, settings[i].name) != 0)
            first++;
        if (first < i || aspect_of(settings[i].name) != aspect ||
            (besides && strcmp(settings[i].name, besides) == 0) ||
            (equal_steps && strcmp(settings[i].name, "batch") == 0))
            continue;
        char *values = values_text(groups, settings[i].name);
        if (values)
            text_append(&differ, "%s%s", differ ? "; " : "", values);
        free(values);
    }
    if (differ)
        text_append(text, "%s%s (%s)", *text ? "; " : "", aspects[aspect], differ);
    free(differ);
}

/* Appends the range of a number of each group, if it spans more than one per cent. */
static void append_range(char **text, const RunGroup *groups, const char *what,
                         double (*of)(const RunGroup *group))
{
    const double tolerance = 1.01;
    size_t least = 0, most = 0;
    for (size_t g = 1; g < arrlenu(groups); g++) {
        if (!(of(&groups[g]) >= of(&groups[least])))
            least = isnan(of(&groups[g])) ? least : g;
        if (!(of(&groups[g]) <= of(&groups[most])))
            most = isnan(of(&groups[g])) ? most : g;
    }
    if (!(of(&groups[most]) > tolerance * of(&groups[least])))
        return;
    char *low = results_amount(of(&groups[least])), *high = results_amount(of(&groups[most]));
    text_append(text, "%s%s (%s: %s, %s: %s)", *text ? "; " : "", what, groups[least].name, low,
                groups[most].name, high);
    free(low);
    free(high);
}

char *sentences_unequal(const RunGroup *groups, const char *besides)
{
    char *text = NULL;
    append_range(&text, groups, "tokens seen", results_tokens);
    append_range(&text, groups, "parameters", results_parameters);
    for (size_t aspect = 0; aspect < ASPECTS; aspect++)
        append_aspect(&text, groups, aspect, besides);
    if (!text)
        return NULL;
    char *rates = besides ? NULL : values_text(groups, "lr");
    char *sentence = text_format("the groups differ in more than the model: %s%s", text,
                                 rates ? "; --by lr compares each at its best learning rate"
                                       : "");
    free(rates);
    free(text);
    return sentence;
}

char *sentences_steps(const RunGroup *group)
{
    size_t least = SIZE_MAX, most = 0;
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        const RunLogRow *rows = group->runs[r]->rows;
        if (isnan(group->runs[r]->best_val_loss) || arrlenu(rows) == 0)
            continue; /* it is not in the mean, or from a table of runs */
        size_t step = arrlast(rows).step;
        least = step < least ? step : least;
        most = step > most ? step : most;
    }
    return least < most ? text_format("its runs have reached different steps, from %zu to %zu; "
                                      "their mean best loss mixes these",
                                      least, most)
                        : NULL;
}
