/* The config.json of what linnet exported. The model is read from the settings and tensors,
 * which linnet wrote; other programs read config.json, so it must say the same. */
#include "models/exchange/plan_foreign.h"
#include "src/base/memory.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

TensorLabel plan_shown(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    TensorLabel label = tensor_label(text ? text : "");
    free(text);
    return label;
}

/* Files have nine digits. */
bool plan_means(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return fabs(json_number_value(a) - json_number_value(b)) <=
               1e-8 * fabs(json_number_value(b));
    char *left = plan_typed(a), *right = plan_typed(b);
    bool same = left && right && strcmp(left, right) == 0;
    free(left);
    free(right);
    return same;
}

/* --- contradictions --- */

static bool agrees(const ImportPlan *plan, const char *name, const json_t *value,
                   const json_t *expected, Error *error);

static bool agrees_inside(const ImportPlan *plan, char *name, const json_t *value,
                          const json_t *expected, Error *error)
{
    bool good = agrees(plan, name, value, expected, error);
    free(name);
    return good;
}

/* Of objects, compares the keys that both have. The name leads to the value. */
static bool agrees(const ImportPlan *plan, const char *name, const json_t *value,
                   const json_t *expected, Error *error)
{
    size_t count = json_array_size(expected);
    const char *key;
    json_t *inner;
    bool good = true;
    if (!value || json_is_null(value))
        return true;
    if (json_is_object(value) && json_is_object(expected)) {
        json_object_foreach((json_t *)expected, key, inner)
            good = good &&
                   agrees_inside(plan, text_format("%s%s%s", name, *name ? "." : "", key),
                                 json_object_get(value, key), inner, error);
        return good;
    }
    if (count > 0 && json_array_size(value) == count) {
        for (size_t i = 0; good && i < count; i++)
            good = agrees_inside(plan, text_format("%s[%zu]", name, i),
                                 json_array_get(value, i), json_array_get(expected, i), error);
        return good;
    }
    return plan_means(value, expected) ||
           error_set(error, "%s: %s is %s, but the exported model has %s; export it again",
                     plan->path, name, plan_shown(value).text, plan_shown(expected).text);
}

/* What says nothing about the model: how it is opened, and the type that its weights had. */
static const char *const no_facts[] = {"auto_map", "torch_dtype", "use_cache"};

bool plan_check_export(const ImportPlan *plan, json_t *expected, Error *error)
{
    for (size_t i = 0; i < sizeof no_facts / sizeof *no_facts; i++)
        json_object_del(expected, no_facts[i]);
    bool good = agrees(plan, "", plan->root, expected, error);
    json_decref(expected);
    if (!good || plan->family == &family_linnet)
        return good;
    /* What a family can have besides, such as RoPE scaling, is not supported here either. */
    ImportPlan alone = {.path = memory_copy_text(plan->path), .family = plan->family};
    alone.config.vocabulary = plan->config.vocabulary;
    good = plan_read_foreign(&alone, plan->root, error);
    plan_free(&alone);
    return good;
}
