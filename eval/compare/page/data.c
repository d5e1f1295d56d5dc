/* The curves of the runs and of their groups as JSON. */
#include "eval/compare/page/report.h"
#include "eval/runs/runchart.h"
#include "eval/show/markup.h"
#include "eval/show/palette.h"
#include "src/base/containers.h"

#include <math.h>
#include <string.h>

/* Gives the object a list of values, each of which may name its i. */
#define SET_LIST(object, key, count, value)     \
    do {                                        \
        json_t *list = json_array();            \
        for (size_t i = 0; i < (count); i++)    \
            json_array_append_new(list, value); \
        json_object_set_new(object, key, list); \
    } while (0)

/* An object with what a run and a group have in common. */
static json_t *looks_of(const RunData *run, const char *name, bool diverged)
{
    const char *dashes = palette_dashes(run->identity);
    json_t *object = json_pack("{so so ss}", "name", markup_json(name), "corpus",
                               json_count(run->scale), "dash",
                               strcmp(dashes, "none") == 0 ? "" : dashes);
    json_object_set_new(object, "diverged", json_boolean(diverged));
    json_object_set_new(object, "bits", json_figure(run->val_bits > 0 ? run->val_bits : NAN));
    json_object_set_new(object, "colour",
                        json_sprintf("var(--c%zu)", palette_index(run->identity)));
    return object;
}

/* The validation losses are fewer: they come with the numbers of their rows. */
static void set_validations(json_t *object, const RunLogRow *rows)
{
    size_t *at = NULL;
    for (size_t i = 0; i < arrlenu(rows); i++)
        if (rows[i].has_val_loss)
            arrput(at, i);
    SET_LIST(object, "at", arrlenu(at), json_count(at[i]));
    SET_LIST(object, "val", arrlenu(at), json_figure(rows[at[i]].val_loss));
    arrfree(at);
}

static json_t *run_json(const Comparison *all, size_t r)
{
    json_t *object = looks_of(&all->runs[r], all->each[r].name,
                              rundata_diverged(&all->runs[r]));
    RunLogRow *rows = runchart_thin(all->runs[r].rows, REPORT_POINTS);
    size_t count = arrlenu(rows);
    SET_LIST(object, "step", count, json_count(rows[i].step));
    SET_LIST(object, "epoch", count, json_figure(rows[i].epoch));
    SET_LIST(object, "tokens", count, json_count(rows[i].tokens));
    SET_LIST(object, "seconds", count, json_figure(rows[i].seconds));
    SET_LIST(object, "train", count, json_figure(rows[i].train_loss));
    SET_LIST(object, "speed", count, json_figure(rows[i].tokens_per_second));
    const RunLogRow *matched = rundata_last_match(&all->runs[r]);
    if (matched)
        json_object_set_new(object, "matched",
                            json_pack("{so so so so}", "step", json_count(matched->step),
                                      "epoch", json_figure(matched->epoch), "tokens",
                                      json_count(matched->tokens), "seconds",
                                      json_figure(matched->seconds)));
    json_object_set_new(object, "trainBits", json_figure(all->runs[r].train_bits));
    set_validations(object, rows);
    arrfree(rows);
    return object;
}

/* The points of a group's mean curve to draw, an stb_ds array. */
static GroupPoint *thin_group(const RunGroup *group)
{
    ChartPoint *curve = NULL;
    GroupPoint *points = NULL;
    for (size_t i = 0; i < arrlenu(group->points); i++)
        arrput(curve, ((ChartPoint){(double)group->points[i].step, group->points[i].mean}));
    size_t *drawn = chart_thin(curve, arrlenu(curve), REPORT_POINTS);
    for (size_t i = 0; i < arrlenu(drawn); i++)
        arrput(points, group->points[drawn[i]]);
    arrfree(drawn);
    arrfree(curve);
    return points;
}

static json_t *group_json(const Comparison *all, const RunGroup *group)
{
    json_t *object = looks_of(group->runs[0], group->name, group_diverged(group));
    GroupPoint *points = thin_group(group);
    size_t count = arrlenu(points);
    SET_LIST(object, "runs", arrlenu(group->runs),
             json_count((size_t)(group->runs[i] - all->runs)));
    SET_LIST(object, "step", count, json_count(points[i].step));
    SET_LIST(object, "epoch", count, json_figure(points[i].epoch));
    SET_LIST(object, "tokens", count, json_figure(points[i].tokens));
    SET_LIST(object, "seconds", count, json_figure(points[i].seconds));
    SET_LIST(object, "mean", count, json_figure(points[i].mean));
    SET_LIST(object, "low", count, json_figure(points[i].low));
    SET_LIST(object, "high", count, json_figure(points[i].high));
    arrfree(points);
    return object;
}

static json_t *section_json(const Section *section)
{
    const RunData *first = section->each[0].runs[0];
    bool part = false; /* whether validations of a run read a part of the text */
    for (size_t r = 0; r < arrlenu(section->each); r++)
        part |= section->each[r].runs[0]->part_tokens > 0;
    return json_pack("{so so sb sb}", "name", markup_json(section->name), "floor",
                     json_figure(first->entropy_floor), "byBits", first->by_bits, "part", part);
}

void report_print_data(FILE *out, const Comparison *all)
{
    json_t *data = json_object();
    SET_LIST(data, "corpora", arrlenu(all->sections), section_json(&all->sections[i]));
    SET_LIST(data, "runs", all->count, run_json(all, i));
    SET_LIST(data, "groups", arrlenu(all->groups), group_json(all, &all->groups[i]));
    markup_print_json(out, data);
}
