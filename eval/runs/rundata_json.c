/* A run as JSON, for rundata.h. */
#include "eval/runs/rundata.h"
#include "eval/terminal.h"
#include "src/containers.h"
#include "src/text.h"

#include <math.h>
#include <stdint.h>

static void append_name(char **text, const char *key, const char *value)
{
    text_append(text, "\"%s\": ", key);
    char *safe = value ? terminal_safe_name(value, SIZE_MAX, true) : NULL;
    if (safe)
        text_append_json_string(text, safe);
    else
        text_append(text, "null");
    text_append(text, ", ");
    free(safe);
}

static void append_number(char **text, const char *key, double value, const char *after)
{
    text_append(text, "\"%s\": ", key);
    text_append_json_number(text, value);
    text_append(text, "%s", after);
}

/* Whole numbers are written as such: a double's nine digits would round them. */
static void append_size(char **text, const char *key, size_t value, bool known)
{
    if (known)
        text_append(text, "\"%s\": %zu, ", key, value);
    else
        text_append(text, "\"%s\": null, ", key);
}

static void print_point(FILE *stream, const RunLogRow *row)
{
    char *text = NULL;
    append_size(&text, "step", row->step, true);
    append_number(&text, "epoch", row->epoch, ", ");
    append_size(&text, "tokens", row->tokens, true);
    append_number(&text, "seconds", row->seconds, ", ");
    append_number(&text, "val_loss", row->val_loss, "");
    fprintf(stream, "{%s}", text);
    free(text);
}

static void append_settings(char **text, const RunData *run)
{
    const char *between = "";
    text_append(text, "\"settings\": {");
    for (size_t i = 0; i < arrlenu(run->settings); i++) {
        const RunSetting *setting = &run->settings[i];
        if (rundata_setting(run, setting->name) != setting->value)
            continue; /* a later line has the last word */
        char *name = terminal_safe_name(setting->name, SIZE_MAX, true),
             *value = terminal_safe_name(setting->value, SIZE_MAX, true);
        text_append(text, "%s", between);
        text_append_json_string(text, name);
        text_append(text, ": ");
        text_append_json_string(text, value);
        between = ", ";
        free(name);
        free(value);
    }
    text_append(text, "}, ");
}

static void append_scores(char **text, const RunData *run)
{
    text_append(text, "\"scores\": [");
    for (size_t i = 0; i < arrlenu(run->scores); i++) {
        const RunScore *score = &run->scores[i];
        text_append(text, "%s{\"split\": \"%s\", \"method\": ", i ? ", " : "", score->split);
        text_append_json_string(text, score->method);
        text_append(text, ", \"found\": ");
        text_append_json_string(text, score->found);
        text_append(text, ", ");
        append_size(text, "window", score->window, true);
        append_size(text, "stride", score->stride, true);
        append_size(text, "carried_streams", score->carried_streams, true);
        append_size(text, "text_crc", score->text_crc, true);
        append_size(text, "tokens", score->tokens, true);
        append_size(text, "step", score->step, true);
        append_number(text, "loss", score_row_loss(score), ", ");
        append_number(text, "perplexity", exp(score_row_loss(score)), "}");
    }
    text_append(text, "], ");
}

void rundata_print_json(FILE *stream, const RunData *run)
{
    char *text = NULL;
    append_name(&text, "name", run->name);
    append_name(&text, "path", run->path);
    append_name(&text, "attn", run->attn);
    append_size(&text, "parameters", run->parameters, run->parameters > 0);
    append_number(&text, "entropy_floor", run->entropy_floor, ", ");
    append_number(&text, "best_val_loss", run->best_val_loss, ", ");
    append_number(&text, "best_val_perplexity", exp(run->best_val_loss), ", ");
    append_number(&text, "best_epoch", run->best_epoch, ", ");
    append_size(&text, "best_step", run->best_step, !isnan(run->best_val_loss));
    append_number(&text, "final_train_loss", run->final_train_loss, ", ");
    append_number(&text, "tokens_per_second", run->tokens_per_second, ", ");
    append_number(&text, "seconds", run->seconds, ", ");
    append_number(&text, "peak_mb", run->peak_mb, ", ");
    append_settings(&text, run);
    append_scores(&text, run);
    fprintf(stream, "{%s\"points\": [", text);
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
