/* Compared runs for other programs: JSON and CSV. */
#include "eval/compare/compare.h"
#include "eval/show/markup.h"
#include "eval/show/table.h"
#include "eval/show/terminal.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- JSON --- */

/* Gives the object a number, or null. */
static void set_figure(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, json_figure(value));
}

static json_t *settings_of(const RunData *run)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < arrlenu(run->settings); i++) { /* a later line overrides */
        json_t *name = markup_json(run->settings[i].name);
        json_object_set_new(settings, json_string_value(name),
                            markup_json(run->settings[i].value));
        json_decref(name);
    }
    return settings;
}

static json_t *scores_of(const RunData *run)
{
    json_t *scores = json_array();
    for (size_t i = 0; i < arrlenu(run->scores); i++) {
        const RunScore *score = &run->scores[i];
        double loss = score_row_loss(score);
        json_array_append_new(
            scores,
            json_pack("{ss ss ss so so so so so so so so so so so}", "split", score->split,
                      "method", score->method, "found", score->found, "window",
                      json_count(score->window), "stride", json_count(score->stride),
                      "carried_streams", json_count(score->carried_streams), "text_crc",
                      json_count(score->text_crc), "tokens", json_count(score->tokens), "bytes",
                      score->bytes > 0 ? json_count(score->bytes) : json_null(),
                      "bits_per_byte", json_figure(score_row_bits(score)), "step",
                      json_count(score->step), "loss", json_figure(loss), "perplexity",
                      json_figure(exp(loss)), "accuracy", json_figure(score->accuracy)));
    }
    return scores;
}

/* The bits per byte of a validation loss; NaN: unknown. */
static double bits_of(const RunData *run, double loss)
{
    return run->val_bits > 0 ? loss * run->val_bits : NAN;
}

static json_t *validations_of(const RunData *run)
{
    json_t *points = json_array();
    for (size_t i = 0; i < arrlenu(run->rows); i++) {
        const RunLogRow *row = &run->rows[i];
        if (row->has_val_loss)
            json_array_append_new(
                points,
                json_pack("{so so so so so so so}", "step", json_count(row->step), "epoch",
                          json_figure(row->epoch), "tokens", json_count(row->tokens), "seconds",
                          json_figure(row->seconds), "val_loss", json_figure(row->val_loss),
                          "val_bits_per_byte", json_figure(bits_of(run, row->val_loss)),
                          "val_accuracy", json_figure(row->val_accuracy)));
    }
    return points;
}

/* The value of a setting: a number if it looks like one; null: it has none. */
static json_t *setting_json(const RunData *run, const char *name)
{
    const char *text = rundata_setting(run, name);
    size_t whole;
    double number;
    return !text                           ? json_null()
           : text_to_size(text, &whole)    ? json_count(whole)
           : text_to_double(text, &number) ? json_figure(number)
                                           : markup_json(text);
}

/* Null: 0, which stands for unknown. */
static json_t *known_count(size_t value)
{
    return value > 0 ? json_count(value) : json_null();
}

static json_t *test_json(const RunData *run, double (*of)(const RunScore *score))
{
    const RunScore *protocol = run->test ? run->test : run->test_bits;
    const ScoreUnit unit = run->test ? SCORE_PER_TOKEN : SCORE_PER_BYTE;
    const RunScore *score = protocol ? rundata_score(run, protocol, unit) : NULL;
    return score ? json_figure(of(score)) : json_null();
}

/* What fits into one row: what a run is, then its results. */
static json_t *facts_of(const RunData *run)
{
    json_t *const seen = isnan(run->tokens) ? json_null() : json_count((size_t)run->tokens);
    json_t *object = json_pack(
        "{so so so so so so so so so sb}", "name", markup_json(run->name), "path",
        markup_json(run->path), "kind", markup_json(run->attn), "learning_rate",
        setting_json(run, "lr"), "context", setting_json(run, "context"), "seed",
        setting_json(run, "seed"), "parameters", known_count(run->parameters), "tokens", seen,
        "corpus", markup_json(run->corpus), "diverged", rundata_diverged(run));
    set_figure(object, "entropy_floor", run->entropy_floor);
    set_figure(object, "best_val_loss", run->best_val_loss);
    set_figure(object, "best_val_perplexity", exp(run->best_val_loss));
    set_figure(object, "best_val_bits_per_byte", bits_of(run, run->best_val_loss));
    set_figure(object, "best_val_accuracy", run->best_accuracy);
    json_object_set_new(object, "test_loss", test_json(run, score_row_loss));
    json_object_set_new(object, "test_bits_per_byte", test_json(run, score_row_bits));
    json_object_set_new(object, "best_val_is_part", json_boolean(run->best_is_part));
    json_object_set_new(object, "val_tokens", known_count(run->valid_tokens));
    json_object_set_new(object, "val_part_tokens", known_count(run->part_tokens));
    set_figure(object, "val_unknown_share", run->unknown);
    set_figure(object, "best_epoch", run->best_epoch);
    json_object_set_new(object, "best_step",
                        isnan(run->best_val_loss) ? json_null() : json_count(run->best_step));
    set_figure(object, "final_train_loss", run->final_train_loss);
    set_figure(object, "tokens_per_second", run->tokens_per_second);
    set_figure(object, "seconds", run->seconds);
    set_figure(object, "peak_mb", run->peak_mb);
    json_object_set_new(object, "state_bytes", known_count(run->state));
    return object;
}

json_t *compare_run_json(const RunData *run)
{
    json_t *object = facts_of(run);
    json_object_set_new(object, "attn", markup_json(run->attn));
    json_object_set_new(object, "settings", settings_of(run));
    json_object_set_new(object, "scores", scores_of(run));
    json_object_set_new(object, "points", validations_of(run));
    return object;
}

static json_t *sample_json(const Sample *sample)
{
    return json_pack("{so so so so so}", "count", json_count((size_t)sample->count), "mean",
                     json_figure(sample->mean), "standard_deviation",
                     json_figure(sample->deviation), "low", json_figure(sample->low), "high",
                     json_figure(sample->high));
}

static json_t *group_json(const RunGroup *group, const RunData *runs)
{
    json_t *indexes = json_array(), *seeds = json_array(), *points = json_array();
    for (size_t r = 0; r < arrlenu(group->runs); r++) {
        json_array_append_new(indexes, json_count((size_t)(group->runs[r] - runs)));
        json_array_append_new(seeds, markup_json(group_seed(group->runs[r])));
    }
    for (size_t i = 0; i < arrlenu(group->points); i++) {
        const GroupPoint *point = &group->points[i];
        json_array_append_new(
            points,
            json_pack("{so so so so so so so}", "step", json_count(point->step), "epoch",
                      json_figure(point->epoch), "tokens", json_figure(point->tokens),
                      "seconds", json_figure(point->seconds), "mean", json_figure(point->mean),
                      "low", json_figure(point->low), "high", json_figure(point->high)));
    }
    return json_pack("{so so so so so so so so}", "name", markup_json(group->whole_name),
                     "runs", indexes, "seeds", seeds, "best_val_loss",
                     sample_json(&group->losses[GROUP_BEST]), "best_val_bits_per_byte",
                     sample_json(&group->losses[GROUP_BITS]), "test_loss",
                     sample_json(&group->losses[GROUP_TEST]), "test_bits_per_byte",
                     sample_json(&group->losses[GROUP_TEST_BITS]), "points", points);
}

/* Adds the difference of a group from its control in losses of a kind; keys begin with the
 * prefix. */
static void set_difference(json_t *object, const char *prefix, const RunGroup *group,
                           GroupLoss loss)
{
    const GroupDifference *from = &group->differences[loss];
    const char *verdict = group_verdict(from);
    const struct {
        const char *key;
        json_t *value;
    } rows[] = {
        {"unit", json_string(groups_unit(loss))},
        {"difference", json_figure(from->of.mean)},
        {"low", json_figure(from->of.low)},
        {"high", json_figure(from->of.high)},
        {"per_cent", json_figure(group_per_cent(from, from->of.mean, loss))},
        {"pooled_standard_deviation", json_figure(from->pool.deviation)},
        {"degrees_of_freedom", json_figure(from->pool.freedom)},
        {"p", json_figure(from->of.p)},
        {"p_holm", json_figure(from->holm)},
        {"verdict", verdict ? json_string(verdict) : json_null()},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *key = text_format("%s%s", prefix, rows[i].key);
        json_object_set_new(object, key, rows[i].value);
        free(key);
    }
}

/* The difference of a group from the control, the first one whose losses compare; NULL for that
 * one. */
static json_t *difference_json(const RunGroup *groups, size_t g)
{
    size_t base = 0;
    while (!groups_same_scale(groups[base].runs[0], groups[g].runs[0]))
        base++;
    if (base == g)
        return NULL;
    json_t *object = json_pack("{so so sb so}", "base", json_count(base), "other",
                               json_count(g), "comparable", true, "confidence",
                               json_figure(1 - GROUP_TAILS));
    const GroupLoss measure = groups_measure(&groups[g]);
    set_difference(object, "", &groups[g], measure);
    set_difference(object, "test_", &groups[g], groups_test_of(measure));
    return object;
}

static const char *group_name_of(const RunGroup *groups, const RunData *run)
{
    for (size_t g = 0; g < arrlenu(groups); g++)
        for (size_t r = 0; r < arrlenu(groups[g].runs); r++)
            if (groups[g].runs[r] == run)
                return groups[g].whole_name;
    return "";
}

/* Prints an array with a line for each element, and frees it. */
static void print_lines(FILE *stream, const char *key, json_t *array)
{
    size_t i;
    json_t *element;
    fprintf(stream, "\"%s\": [\n", key);
    json_array_foreach(array, i, element)
    {
        json_dumpf(element, stream, JSON_REAL_PRECISION(9));
        fputs(i + 1 < json_array_size(array) ? ",\n" : "\n", stream);
    }
    fputc(']', stream);
    json_decref(array);
}

void compare_print_json(FILE *stream, const Comparison *all, const Sweep *sweep)
{
    json_t *of_runs = json_array(), *of_groups = json_array(), *differences = json_array();
    for (size_t r = 0; r < all->count; r++) {
        json_t *run = compare_run_json(&all->runs[r]);
        json_object_set_new(run, "group",
                            markup_json(group_name_of(all->groups, &all->runs[r])));
        json_array_append_new(of_runs, run);
    }
    for (size_t g = 0; g < arrlenu(all->groups); g++) {
        json_t *difference = difference_json(all->groups, g);
        json_array_append_new(of_groups, group_json(&all->groups[g], all->runs));
        if (difference)
            json_array_append_new(differences, difference);
    }
    fputc('{', stream);
    print_lines(stream, "runs", of_runs);
    fputs(",\n", stream);
    print_lines(stream, "groups", of_groups);
    fputs(",\n", stream);
    print_lines(stream, "differences", differences);
    if (sweep) {
        fputs(",\n\"by\": ", stream);
        json_t *by = sweep_json(sweep, all);
        json_dumpf(by, stream, JSON_REAL_PRECISION(9));
        json_decref(by);
    }
    fputs("}\n", stream);
}

/* --- CSV --- */

static char *number(double value)
{
    return isnan(value) ? memory_copy_text("nan") : text_format("%.9g", value);
}

static void add_row(Table *table, const RunData *run, const RunLogRow *row, const char *group)
{
    table_add_row(table, (TableRow){0});
    table_add(table, memory_copy_text(run->path));
    table_add(table, memory_copy_text(group));
    table_add(table, memory_copy_text(group_seed(run)));
    table_add(table, text_format("%zu", row->step));
    table_add(table, number(row->epoch));
    table_add(table, text_format("%zu", row->tokens));
    table_add(table, number(row->seconds));
    table_add(table, row->matches || row->step == 0 ? NULL : number(row->train_loss));
    table_add(table, row->has_val_loss ? number(row->val_loss) : NULL);
    table_add(table, row->step == 0 ? NULL : number(row->tokens_per_second));
    table_add(table, isnan(row->peak_mb) ? NULL : number(row->peak_mb));
    table_add(table, run->corpus ? memory_copy_text(run->corpus) : NULL);
    double bits = row->has_val_loss ? bits_of(run, row->val_loss) : NAN;
    table_add(table, isnan(bits) ? NULL : number(bits));
    table_add(table, row->val_tokens > 0 ? text_format("%zu", row->val_tokens) : NULL);
    table_add(table, row->final_val_loss > 0 ? number(row->final_val_loss) : NULL);
    table_add(table, isnan(row->val_accuracy) ? NULL : number(row->val_accuracy));
    table_add(table, row->matches ? number(row->match_loss) : NULL);
}

void compare_print_csv_log(FILE *stream, const Comparison *all)
{
    static const char *const titles[] = {"run",
                                         "group",
                                         "seed",
                                         "step",
                                         "epoch",
                                         "tokens",
                                         "seconds",
                                         "train_loss",
                                         "val_loss",
                                         "tokens_per_second",
                                         "peak_mb",
                                         "corpus",
                                         "val_bits_per_byte",
                                         "val_tokens",
                                         "final_val_loss",
                                         "val_accuracy",
                                         "match_loss"};
    Table table = {0};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        table_add_column(&table, (TableColumn){.title = titles[i]});
    table_print(stream, &table, TABLE_CSV, 0);
    for (size_t r = 0; r < all->count; r++) {
        const RunData *run = &all->runs[r];
        const char *group = group_name_of(all->groups, run);
        for (size_t i = 0; i < arrlenu(run->rows); i++) {
            add_row(&table, run, &run->rows[i], group);
            table_print(stream, &table, TABLE_CSV, 0); /* a log may be long */
        }
    }
    table_free(&table);
}

/* A map of stb_ds from the names of settings to whether they have columns of their own: they
 * differ between runs, and are not in every row anyway. */
typedef struct Extra {
    char *key;
    bool value;
} Extra;

static Extra *extra_settings(const Comparison *all)
{
    static const char *const shown[] = {"attn", "lr", "context", "seed", "corpus", NULL};
    Extra *extra = NULL;
    for (size_t r = 0; r < all->count; r++)
        for (size_t i = 0; i < arrlenu(all->runs[r].settings); i++) {
            char *name = all->runs[r].settings[i].name;
            if (shgeti(extra, name) < 0)
                shput(extra, name,
                      !text_is_among(name, shown) && comparison_differs(all, name));
        }
    return extra;
}

static void set_settings(json_t *row, const Extra *extra, const RunData *run)
{
    for (size_t i = 0; i < shlenu(extra); i++) {
        /* "tokens" are those that were seen */
        const char *key = strcmp(extra[i].key, "tokens") == 0 ? "tokenizer" : extra[i].key;
        char *safe = terminal_safe_name(key, SIZE_MAX, true);
        if (extra[i].value)
            json_object_set_new(row, safe, setting_json(run, extra[i].key));
        free(safe);
    }
}

/* The caller's; NULL: unknown. */
static char *cell_of(const json_t *value)
{
    return json_is_string(value)    ? memory_copy_text(json_string_value(value))
           : json_is_integer(value) ? text_format("%lld", (long long)json_integer_value(value))
           : json_is_real(value)    ? number(json_real_value(value))
           : json_is_boolean(value) ? memory_copy_text(json_is_true(value) ? "true" : "false")
                                    : NULL;
}

void compare_print_csv(FILE *stream, const Comparison *all)
{
    Table table = {0};
    Extra *extra = extra_settings(all);
    json_t **rows = NULL, *value;
    const char *key;
    for (size_t r = 0; r < all->count; r++) {
        json_t *row = facts_of(&all->runs[r]);
        json_object_set_new(row, "group",
                            markup_json(group_name_of(all->groups, &all->runs[r])));
        set_settings(row, extra, &all->runs[r]);
        arrput(rows, row);
        table_add_row(&table, (TableRow){0});
        json_object_foreach(row, key, value)
        {
            if (r == 0)
                table_add_column(&table, (TableColumn){.title = key});
            table_add(&table, cell_of(value));
        }
    }
    table_print(stream, &table, TABLE_CSV, 0);
    table_free(&table);
    for (size_t r = 0; r < all->count; r++)
        json_decref(rows[r]);
    arrfree(rows);
    shfree(extra);
}
