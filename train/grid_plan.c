/* What a grid would take, without training it: --dry-run. */
#include "train/grid.h"
#include "eval/show/table.h"
#include "eval/show/terminal.h"
#include "src/base/memory.h"
#include "src/base/phase.h"
#include "src/base/text.h"
#include "src/math/team.h"
#include "src/ranks/ranks.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* What a run would take. */
typedef struct Plan {
    size_t parameters, ffn, steps, tokens, memory; /* memory in bytes */
    double seconds;
} Plan;

/* Mean seconds of the steps that fit into a moment, without the first, which touches all memory
 * unless there is no other. */
static double time_step(Trainer *t)
{
    const double moment = 1;
    double began = clock_seconds(), seconds = 0;
    Error error;
    trainer_allocate(t);
    if (!trainer_start(t, &error))
        error_die(&error);
    for (size_t count = 0; t->progress.step < t->steps && seconds * (double)count < moment;) {
        Step step;
        if (!trainer_step(t, &step, &error))
            die("%s", error.text);
        if (t->progress.step == 1) {
            seconds = clock_seconds() - began;
            began = clock_seconds();
        } else {
            seconds = (clock_seconds() - began) / (double)++count;
        }
    }
    return seconds;
}

/* The tokens that validations read. A token takes about a third of the time of training. */
static double validated_tokens(const Trainer *t)
{
    size_t every = t->settings.train.eval_every, whole = split_scored(&t->corpus.valid);
    size_t count = t->steps / t->steps_per_epoch + (every ? t->steps / every : 0) + 1;
    return (double)count * (double)(t->part_tokens ? t->part_tokens : whole);
}

/* Plans a run; its time stays 0 unless a step is measured. */
static Plan plan_run(const GridRun *run, bool measures)
{
    Trainer t = {0};
    Error error;
    Init init;
    if (!settings_read(&t.settings, &run->line, NULL, &init, &error))
        error_die(&error);
    if (!t.settings.train.corpus)
        die_usage("a corpus is missing: train [OPTIONS] CORPUS, for example toy");
    ranks_start_team(t.settings.session.threads);
    t.init = init.is_open ? &init.checkpoint : NULL;
    if (!trainer_plan(&t, NULL, &error))
        error_die(&error);
    const TrainOptions *train = &t.settings.train;
    size_t of_step = train->batch * train->accumulate * t.model.config.context;
    size_t last_epoch = t.steps % t.steps_per_epoch * of_step;
    Plan plan = {.parameters = t.model.table.parameters,
                 .ffn = t.model.config.ffn,
                 .steps = t.steps,
                 .tokens = t.steps / t.steps_per_epoch * t.corpus.train.count + last_epoch,
                 .memory = t.memory};
    if (measures) {
        double validations = validated_tokens(&t) / (double)of_step / 3; /* in steps */
        plan.seconds = time_step(&t) * ((double)t.steps + validations);
    }
    init_close(&init);
    team_stop();
    trainer_free(&t);
    return plan;
}

static Table make_table(void)
{
    static const TableColumn columns[] = {
        {.title = "run", .worth = TABLE_ALWAYS, .left = true},
        {.title = "parameters", .worth = 9},
        {.title = "MLP", .worth = 3},
        {.title = "tokens", .worth = 8},
        {.title = "steps", .worth = 7},
        {.title = "MB", .worth = 6},
        {.title = "time", .worth = TABLE_ALWAYS},
        {.title = "state", .worth = 5, .left = true, .rare = true},
    };
    Table table = {0};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_add_column(&table, columns[i]);
    return table;
}

static void add_row(Table *table, const GridRun *run, const Plan *plan)
{
    static const char *const states[] = {NULL, "open", "finished"};
    const char *state = states[run->standing.state];
    table_add_row(table, (TableRow){0});
    table_add(table, memory_copy_text(*run->name ? run->name : run->folder));
    table_add(table, text_format("%zu", plan->parameters));
    table_add(table, text_format("%zu", plan->ffn));
    table_add(table, text_format("%zu", plan->tokens));
    table_add(table, text_format("%zu", plan->steps));
    table_add(table, text_format("%.1f", (double)plan->memory / 1e6));
    table_add(table, memory_copy_text(text_duration(plan->seconds).text));
    table_add(table, state ? memory_copy_text(state) : NULL);
}

/* Runs that differ in seed or learning rate take the same time, which is measured once. */
int grid_plan(const CommandLine *line)
{
    Grid grid = grid_make(line);
    Table table = make_table();
    Plan *plans = NULL; /* an array of stb_ds */
    double seconds = 0, left = 0;
    grid_place(&grid);
    grid_look(&grid);
    for (size_t i = 0; i < arrlenu(grid.runs); i++) {
        size_t known = 0;
        while (known < i && !grid_alike(&grid, known, i))
            known++;
        Plan plan = plan_run(&grid.runs[i], known == i);
        if (known < i)
            plan.seconds = plans[known].seconds;
        arrput(plans, plan);
        add_row(&table, &grid.runs[i], &plan);
        seconds += plan.seconds;
        left += plan.seconds * (1 - grid.runs[i].standing.share);
    }
    if (ranks_first()) {
        table_print(stdout, &table, TABLE_TERMINAL, terminal_width(STDOUT_FILENO));
        printf("\n%zu run%s, about %s", arrlenu(plans), text_plural(arrlenu(plans)),
               text_duration(seconds).text);
        if (left < seconds)
            printf(", of which %s are left", text_duration(left).text);
        printf("\n");
    }
    table_free(&table);
    arrfree(plans);
    grid_free(&grid);
    return 0;
}
