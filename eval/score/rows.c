#include "eval/score/rows.h"
#include "src/file.h"
#include "src/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double bits_per_character(const ScoreRow *row, const CorpusSplit *split)
{
    return row->score.nats / log(2) / (double)split->characters;
}

static bool was_tuned(const ScoreRow *row)
{
    bool found = false;
    for (size_t i = 0; i < row->setting_count; i++)
        found |= row->settings[i].found;
    return found;
}

/* --- for people --- */

static char *protocol_text(const ScoreRow *row)
{
    char *text = text_format("window %zu, stride %zu", row->window, row->stride);
    if (row->carried_streams)
        text_append(&text, ", state carried through %zu stream%s", row->carried_streams,
                    row->carried_streams == 1 ? "" : "s");
    return text;
}

static void print_plain(const ScoreRow *row, const CorpusSplit *split)
{
    double loss = score_loss(row->score);
    char *protocol = protocol_text(row);
    printf("%s: loss %.4f nats per token, perplexity %s, %.4f bits per character\n"
           "%zu tokens, %zu of them unknown; %zu characters; %s; %.2f nats in all\n",
           split->name, loss, text_perplexity(exp(loss)).text, bits_per_character(row, split),
           row->score.tokens, split->unknown, split->characters, protocol, row->score.nats);
    free(protocol);
}

static void print_way(const ScoreRow *row, const ScoreRow *plain, const ScoredText *text)
{
    double loss = score_loss(row->score);
    for (size_t i = 0; i < row->setting_count; i++)
        printf("%s%s %g", i ? ", " : "", row->settings[i].name, row->settings[i].value);
    if (was_tuned(row))
        printf(", tuned on %s", text->is_validation ? "this very text" : "the validation text");
    printf(": loss %.4f nats per token, perplexity %s, %.4f bits per character; ", loss,
           text_perplexity(exp(loss)).text, bits_per_character(row, text->split));
    if (row->stride != plain->stride)
        printf("stride %zu; ", row->stride);
    printf("%.2f nats in all\n", row->score.nats);
}

void score_rows_print(const ScoreRow *rows, size_t count, const ScoredText *text)
{
    print_plain(&rows[0], text->split);
    for (size_t i = 1; i < count; i++)
        print_way(&rows[i], &rows[0], text);
}

/* --- for programs --- */

static void append_numbers(char **json, const ScoreRow *row, const CorpusSplit *split)
{
    double loss = score_loss(row->score);
    text_append_json_figure(json, "loss", loss);
    text_append_json_figure(json, "perplexity", exp(loss));
    text_append_json_figure(json, "bits_per_character", bits_per_character(row, split));
    text_append_json_figure(json, "nats", row->score.nats);
    text_append_json_count(json, "tokens", row->score.tokens);
    text_append_json_count(json, "unknown", split->unknown);
    text_append_json_count(json, "characters", split->characters);
    text_append_json_count(json, "window", row->window);
    text_append_json_count(json, "stride", row->stride);
    text_append_json_count(json, "carried_streams", row->carried_streams);
}

static void append_way(char **json, const ScoreRow *row, const CorpusSplit *split)
{
    text_append(json, "{\"method\": \"%s\"", row->settings[0].name);
    for (size_t i = 0; i < row->setting_count; i++)
        text_append_json_figure(json, row->settings[i].name, row->settings[i].value);
    text_append(json, ", \"tuned\": %s", was_tuned(row) ? "true" : "false");
    append_numbers(json, row, split);
    text_append(json, "}");
}

void score_rows_print_json(const ScoreRow *rows, size_t count, const ScoredText *text)
{
    char *json = text_format("{\"split\": \"%s\"", text->split->name);
    append_numbers(&json, &rows[0], text->split);
    for (size_t i = 1; i < count; i++) {
        text_append(&json, i == 1 ? ", \"ways\": [" : ", ");
        append_way(&json, &rows[i], text->split);
    }
    printf("%s%s}\n", json, count > 1 ? "]" : "");
    free(json);
}

/* --- for compare --- */

/* The settings as given, or as tuned. */
static void write_settings(char text[SCORE_METHOD], const ScoreRow *row, bool found)
{
    char *words = NULL;
    for (size_t i = 0; i < row->setting_count; i++) {
        const WaySetting *setting = &row->settings[i];
        const char *between = words ? " " : "";
        if (!found && setting->found)
            text_append(&words, "%s%s tuned", between, setting->name);
        else if (found == setting->found)
            text_append(&words, "%s%s %g", between, setting->name, setting->value);
    }
    if (words)
        snprintf(text, SCORE_METHOD, "%s", words);
    free(words);
}

static RunScore run_score(const ScoreRow *row, const CorpusSplit *split, size_t step)
{
    RunScore score = {.window = row->window,
                      .stride = row->stride,
                      .carried_streams = row->carried_streams,
                      .text_crc = split->crc,
                      .tokens = row->score.tokens,
                      .nats = row->score.nats,
                      .step = step,
                      .method = SCORE_PLAIN};
    snprintf(score.split, sizeof score.split, "%s", split->name);
    write_settings(score.method, row, false);
    write_settings(score.found, row, true);
    return score;
}

void score_rows_note(const ScoreRow *rows, size_t count, const ScoredText *text,
                     const char *run, size_t step)
{
    Error error;
    char *path = file_join(run, RUN_SCORES);
    for (size_t i = 0; i < count; i++) {
        RunScore score = run_score(&rows[i], text->split, step);
        if (isfinite(score.nats) && !scores_note(path, &score, &error)) {
            print_warning("cannot save the score for compare: %s", error.text);
            break;
        }
    }
    free(path);
}
