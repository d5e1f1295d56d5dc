/* A run as JSON, for rundata.h. */
#include "eval/runs/rundata.h"
#include "eval/show/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>

/* A name or null. */
static void append_name(char **text, const char *key, const char *value)
{
    text_append_json_key(text, key);
    char *safe = value ? terminal_safe_name(value, SIZE_MAX, true) : NULL;
    if (safe)
        text_append_json_string(text, safe);
    else
        text_append(text, "null");
    free(safe);
}

static void append_known(char **text, const char *key, size_t value, bool known)
{
    if (known)
        text_append_json_count(text, key, value);
    else
        text_append_json_figure(text, key, NAN);
}

static void print_point(FILE *stream, const RunLogRow *row)
{
    char *text = memory_copy_text("{");
    text_append_json_count(&text, "step", row->step);
    text_append_json_figure(&text, "epoch", row->epoch);
    text_append_json_count(&text, "tokens", row->tokens);
    text_append_json_figure(&text, "seconds", row->seconds);
    text_append_json_figure(&text, "val_loss", row->val_loss);
    fprintf(stream, "%s}", text);
    free(text);
}

static void append_settings(char **text, const RunData *run)
{
    text_append_json_key(text, "settings");
    text_append(text, "{");
    for (size_t i = 0; i < arrlenu(run->settings); i++) {
        const RunSetting *setting = &run->settings[i];
        if (rundata_setting(run, setting->name) != setting->value)
            continue; /* a later line overrides it */
        char *name = terminal_safe_name(setting->name, SIZE_MAX, true);
        append_name(text, name, setting->value);
        free(name);
    }
    text_append(text, "}");
}

static void append_score(char **text, const RunScore *score)
{
    text_append(text, "{\"split\": \"%s\"", score->split);
    text_append_json_key(text, "method");
    text_append_json_string(text, score->method);
    text_append_json_key(text, "found");
    text_append_json_string(text, score->found);
    text_append_json_count(text, "window", score->window);
    text_append_json_count(text, "stride", score->stride);
    text_append_json_count(text, "carried_streams", score->carried_streams);
    text_append_json_count(text, "text_crc", score->text_crc);
    text_append_json_count(text, "tokens", score->tokens);
    text_append_json_count(text, "step", score->step);
    text_append_json_figure(text, "loss", score_row_loss(score));
    text_append_json_figure(text, "perplexity", exp(score_row_loss(score)));
    text_append(text, "}");
}

static void append_scores(char **text, const RunData *run)
{
    text_append_json_key(text, "scores");
    text_append(text, "[");
    for (size_t i = 0; i < arrlenu(run->scores); i++) {
        text_append(text, "%s", i ? ", " : "");
        append_score(text, &run->scores[i]);
    }
    text_append(text, "]");
}

void rundata_print_json(FILE *stream, const RunData *run)
{
    char *text = memory_copy_text("{");
    append_name(&text, "name", run->name);
    append_name(&text, "path", run->path);
    append_name(&text, "attn", run->attn);
    append_known(&text, "parameters", run->parameters, run->parameters > 0);
    text_append_json_figure(&text, "entropy_floor", run->entropy_floor);
    text_append_json_figure(&text, "best_val_loss", run->best_val_loss);
    text_append_json_figure(&text, "best_val_perplexity", exp(run->best_val_loss));
    text_append_json_figure(&text, "best_epoch", run->best_epoch);
    append_known(&text, "best_step", run->best_step, !isnan(run->best_val_loss));
    text_append_json_figure(&text, "final_train_loss", run->final_train_loss);
    text_append_json_figure(&text, "tokens_per_second", run->tokens_per_second);
    text_append_json_figure(&text, "seconds", run->seconds);
    text_append_json_figure(&text, "peak_mb", run->peak_mb);
    append_settings(&text, run);
    append_scores(&text, run);
    fprintf(stream, "%s, \"points\": [", text);
    free(text);
    const char *between = "\n  ";
    for (size_t i = 0; i < arrlenu(run->rows); i++)
        if (run->rows[i].has_val_loss) {
            fputs(between, stream);
            print_point(stream, &run->rows[i]);
            between = ",\n  ";
        }
    fputs("]}", stream);
}
