#include "eval/score/together.h"
#include "eval/runs/groups.h"
#include "eval/show/markup.h"
#include "src/base/containers.h"
#include "src/base/text.h"

#include <stdlib.h>

/* --- the runs --- */

bool together_meet(Together *together, const char *run, const Checkpoint *checkpoint,
                   Error *error)
{
    RunData settings;
    bool good = rundata_read_checkpoint(&settings, run, checkpoint, error);
    arrput(together->settings, settings);
    return good;
}

/* Names of several runs lose what all of them share, as those of compare do. */
static void name_runs(Together *together)
{
    RunGroup *each = groups_make(together->settings, arrlenu(together->settings), false);
    for (size_t i = 0; i < together->options->runs; i++)
        arrput(together->names, memory_copy_text(each ? each[i].name : together->runs[i]));
    groups_free(each);
}

static bool differ_in_seed(const Together *together)
{
    RunGroup *groups = groups_make(together->settings, arrlenu(together->settings), true);
    bool seeds = arrlenu(groups) == 1 && arrlenu(together->rows) == together->options->runs;
    groups_free(groups);
    return seeds;
}

void together_begin(Together *together, const ScoredText *text, size_t window)
{
    const EvalOptions *options = together->options;
    name_runs(together);
    together->objects = json_array();
    const bool breaks_down = options->by_position || options->paired;
    together->averages = options->runs > 1 && !options->separately && !breaks_down;
    if (breaks_down) {
        breakdown_make(&together->breakdown, text, options->runs, window);
        together->listeners[together->count++] = breakdown_listener(&together->breakdown);
    }
    if (together->averages) {
        ensemble_make(&together->ensemble, text->split);
        together->listeners[together->count++] = ensemble_listener(&together->ensemble);
    }
}

/* --- printing --- */

static bool is_single(const Together *together)
{
    return together->options->runs == 1 && !together->options->separately;
}

void together_add(Together *together, size_t run, const ScoreRow *rows, size_t count,
                  const ScoredText *text)
{
    const bool single = is_single(together);
    arrput(together->rows, rows[0]);
    if (!together->options->json) {
        score_rows_print(single ? NULL : together->names[run], rows, count, text);
        return;
    }
    json_t *object = single ? json_object()
                            : json_pack("{s:o}", "run", markup_json(together->runs[run])),
           *figures = score_rows_json(rows, count, text);
    json_object_update(object, figures);
    json_decref(figures);
    json_array_append_new(together->objects, object);
}

static void print_json(const Together *together, const CorpusSplit *split)
{
    const EvalOptions *options = together->options;
    json_t *all = json_incref(json_array_get(together->objects, 0));
    for (size_t run = 0; options->by_position && run < options->runs; run++)
        json_object_set_new(json_array_get(together->objects, run), "by_position",
                            positions_json(&together->breakdown.positions[run]));
    if (!is_single(together)) {
        json_decref(all);
        all = together->averages ? ensemble_json(&together->ensemble) : json_object();
        json_object_set_new(all, "split", json_string(split->name));
        json_object_set(all, "runs", together->objects);
        json_object_set_new(all, "single_runs",
                            differ_in_seed(together)
                                ? seeds_json(together->rows, arrlenu(together->rows))
                                : json_null());
    }
    if (options->paired)
        json_object_set_new(
            all, "paired",
            paired_json(&together->breakdown, (const char *const *)together->runs));
    json_print(stdout, all);
}

static void print_text(const Together *together, const CorpusSplit *split)
{
    const char *const *names = (const char *const *)together->names;
    if (differ_in_seed(together))
        seeds_print(together->rows, arrlenu(together->rows), split);
    if (together->averages)
        ensemble_print(&together->ensemble);
    if (together->options->by_position)
        positions_print(&together->breakdown, names);
    if (together->options->paired)
        paired_print(&together->breakdown, names);
}

void together_end(Together *together, const CorpusSplit *split)
{
    Error error;
    const EvalOptions *options = together->options;
    (options->json ? print_json : print_text)(together, split);
    if (options->svg &&
        !positions_write_svg(&together->breakdown, (const char *const *)together->names,
                             options->svg, &error))
        die("%s", error.text);
    breakdown_free(&together->breakdown);
    ensemble_free(&together->ensemble);
    json_decref(together->objects);
    for (size_t i = 0; i < arrlenu(together->settings); i++)
        rundata_free(&together->settings[i]);
    arrfree(together->settings);
    text_lines_free(together->names);
    arrfree(together->rows);
}
