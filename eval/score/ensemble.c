#include "eval/score/ensemble.h"
#include "eval/show/markup.h"
#include "src/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One model's reading; batches follow each other in the order of the text. */
typedef struct Reading {
    double *logs;
    size_t at; /* tokens so far */
} Reading;

/* log(e^a + e^b); probabilities of zero are allowed. */
static double log_sum(double a, double b)
{
    double most = fmax(a, b);
    return isinf(most) ? most : most + log1p(exp(fmin(a, b) - most));
}

static void hear(void *context, Pass *pass)
{
    Reading *reading = context;
    for (size_t n = 0; n < pass->scored.count; n++) {
        double loss = (double)pass->row_loss[pass->scored.rows[n]];
        reading->logs[reading->at] = log_sum(reading->logs[reading->at], -loss);
        reading->at++;
    }
}

void ensemble_make(Ensemble *ensemble, size_t runs, const CorpusSplit *split)
{
    size_t scored = split_scored(split);
    *ensemble = (Ensemble){.runs = memory_take(runs, sizeof *ensemble->runs, "the average"),
                           .split = split,
                           .logs = memory_take(scored, sizeof *ensemble->logs, "the average")};
    for (size_t i = 0; i < scored; i++)
        ensemble->logs[i] = -INFINITY;
}

void ensemble_free(Ensemble *ensemble)
{
    free(ensemble->logs);
    free(ensemble->runs);
    *ensemble = (Ensemble){0};
}

const ScoreRow *ensemble_read(Ensemble *ensemble, const char *name, const EvalOptions *options,
                              const Model *model, int32_t prime, const ScoreListener *another)
{
    const Protocol protocol = {options->window, options->stride, options->batch, prime};
    EnsembleRun *run = &ensemble->runs[ensemble->count++];
    Scorer scorer;
    Reading reading = {ensemble->logs, 0};
    ScoreListener listeners[2] = {{hear, &reading}};
    if (another)
        listeners[1] = *another;
    scorer_make(&scorer, model, &protocol);
    *run = (EnsembleRun){
        .name = name,
        .row = {.score = scorer_score(&scorer, ensemble->split, listeners, another ? 2 : 1),
                .window = options->window,
                .stride = options->stride,
                .carried_streams = model->config.carry_state ? options->batch : 0}};
    scorer_free(&scorer);
    return &run->row;
}

double ensemble_nats(const Ensemble *ensemble)
{
    double nats = 0, models = log((double)ensemble->count);
    for (size_t i = 0; i < split_scored(ensemble->split); i++)
        nats += models - ensemble->logs[i];
    return nats;
}

void ensemble_print(const Ensemble *ensemble)
{
    for (size_t i = 0; i < ensemble->count; i++) {
        const ScoreRow *row = &ensemble->runs[i].row;
        char *protocol = score_row_protocol(row);
        char *figures = figures_text(row->score.nats, ensemble->split);
        print_output("%s: %s; %s", ensemble->runs[i].name, figures, protocol);
        free(protocol);
        free(figures);
    }
    if (ensemble->count < 2)
        return;
    double nats = ensemble_nats(ensemble);
    char *figures = figures_text(nats, ensemble->split);
    printf("%s, average of %zu runs: %s; %.2f nats in all\n", ensemble->split->name,
           ensemble->count, figures, nats);
    free(figures);
}

void ensemble_print_json(const Ensemble *ensemble)
{
    json_t *all = figures_json(ensemble_nats(ensemble), ensemble->split);
    json_object_set_new(all, "split", json_string(ensemble->split->name));
    json_object_set_new(all, "runs", json_array());
    for (size_t i = 0; i < ensemble->count; i++) {
        json_t *run = json_pack("{s:o}", "run", markup_json(ensemble->runs[i].name));
        score_row_add_json(run, &ensemble->runs[i].row, ensemble->split);
        json_array_append_new(json_object_get(all, "runs"), run);
    }
    json_print(stdout, all);
}
