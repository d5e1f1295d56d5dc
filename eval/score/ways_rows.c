/* The rows of scores, for people, for programs and for compare. */
#include "eval/runs/groups.h"
#include "eval/runs/scores.h"
#include "eval/runs/sentences.h"
#include "eval/score/ways.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- figures --- */

static double bits_per_character(double nats, const CorpusSplit *split)
{
    return nats / log(2) / (double)split->characters;
}

char *figures_text(double nats, const CorpusSplit *split)
{
    double loss = nats / (double)split_scored(split);
    if (split->labels.data)
        return text_format("loss %.4f nats per answer, perplexity %s", loss,
                           text_perplexity(exp(loss)).text);
    return text_format("loss %.4f nats per token, perplexity %s, %.4f bits per character, %.4f "
                       "bits per byte",
                       loss, text_perplexity(exp(loss)).text, bits_per_character(nats, split),
                       split_bits_per_byte(split, loss));
}

json_t *figures_json(double nats, const CorpusSplit *split)
{
    double loss = nats / (double)split_scored(split);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "loss", json_figure(loss),
                     "perplexity", json_figure(exp(loss)), "bits_per_character",
                     json_figure(bits_per_character(nats, split)), "bits_per_byte",
                     json_figure(split_bits_per_byte(split, loss)), "nats", json_figure(nats),
                     "tokens", json_count(split_scored(split)), "unknown",
                     json_count(split->unknown), "characters", json_count(split->characters),
                     "bytes", json_count(split->bytes));
}

/* --- rows for people --- */

/* NaN for a text. */
static double accuracy_of(const ScoreRow *row, const CorpusSplit *split)
{
    return split->labels.data ? score_accuracy(row->score) : (double)NAN;
}

static bool was_tuned(const ScoreRow *row)
{
    bool found = false;
    for (size_t i = 0; i < row->setting_count; i++)
        found |= row->settings[i].found;
    return found;
}

/* "window 128, stride 32"; the caller frees. */
static char *protocol_of(const ScoreRow *row)
{
    char *text = text_format("window %zu, stride %zu", row->window, row->stride);
    if (row->carried_streams)
        text_append(&text, ", state carried through %zu stream%s", row->carried_streams,
                    row->carried_streams == 1 ? "" : "s");
    return text;
}

static void print_answers(const ScoreRow *row, const CorpusSplit *split)
{
    char *protocol = protocol_of(row), *figures = figures_text(row->score.nats, split);
    sentences_print(text_format("%s: accuracy %.2f %%, %s", split->name,
                                100 * score_accuracy(row->score), figures));
    sentences_print(text_format("%zu answers, %zu of them right; %s; %.2f nats in all",
                                row->score.tokens, row->score.right, protocol,
                                row->score.nats));
    free(protocol);
    free(figures);
}

static void print_plain(const ScoreRow *row, const CorpusSplit *split)
{
    char *protocol = protocol_of(row), *figures = figures_text(row->score.nats, split);
    sentences_print(text_format("%s: %s", split->name, figures));
    sentences_print(text_format("%zu tokens, %zu of them unknown; %zu characters, %zu bytes; "
                                "%s; %.2f nats in all",
                                split->count, split->unknown, split->characters, split->bytes,
                                protocol, row->score.nats));
    if (split->unknown > 0)
        sentences_print(text_format(
            "Each unknown word is scored as one <unk>, with all its bytes: bits per character "
            "and per byte look lower than for a model that spells every word."));
    free(protocol);
    free(figures);
}

/* One of several runs. */
static void print_named(const char *name, const ScoreRow *row, const CorpusSplit *split)
{
    char *protocol = protocol_of(row), *figures = figures_text(row->score.nats, split),
         *line = text_format("%s: ", name);
    if (split->labels.data)
        text_append(&line, "accuracy %.2f %%, ", 100 * score_accuracy(row->score));
    text_append(&line, "%s; %s", figures, protocol);
    sentences_print(line);
    free(protocol);
    free(figures);
}

static void print_way(const ScoreRow *row, const ScoreRow *plain, const ScoredText *text)
{
    char *figures = figures_text(row->score.nats, text->split), *line = NULL;
    for (size_t i = 0; i < row->setting_count; i++)
        text_append(&line, "%s%s %g", i ? ", " : "", row->settings[i].name,
                    row->settings[i].value);
    if (was_tuned(row))
        text_append(&line, ", tuned on %s",
                    text->split == &text->corpus->valid ? "this very text"
                                                        : "the validation text");
    text_append(&line, ": %s; ", figures);
    if (row->stride != plain->stride)
        text_append(&line, "stride %zu; ", row->stride);
    text_append(&line, "%.2f nats in all", row->score.nats);
    sentences_print(line);
    free(figures);
}

void score_rows_print(const char *name, const ScoreRow *rows, size_t count,
                      const ScoredText *text)
{
    if (name)
        print_named(name, &rows[0], text->split);
    else
        (text->split->labels.data ? print_answers : print_plain)(&rows[0], text->split);
    for (size_t i = 1; i < count; i++)
        print_way(&rows[i], &rows[0], text);
}

/* The losses of several runs, in nats per token. */
static Sample losses_of(const ScoreRow *rows, size_t count)
{
    double *losses = memory_new(count, sizeof *losses, "the losses");
    for (size_t i = 0; i < count; i++)
        losses[i] = score_loss(rows[i].score);
    Sample sample = student_sample(losses, count);
    free(losses);
    return sample;
}

void seeds_print(const ScoreRow *rows, size_t count, const CorpusSplit *split)
{
    Sample losses = losses_of(rows, count);
    double reach = student_mean_reach(losses, GROUP_TAILS);
    sentences_print(text_format(
        "%s, mean of %zu seeds: loss %.4f (%.4f to %.4f) nats per %s, perplexity %s (%s to "
        "%s); in brackets the 95 %% interval over seeds",
        split->name, count, losses.mean, losses.mean - reach, losses.mean + reach,
        scored_unit(split), text_perplexity(exp(losses.mean)).text,
        text_perplexity(exp(losses.mean - reach)).text,
        text_perplexity(exp(losses.mean + reach)).text));
}

void ensemble_print(const Ensemble *ensemble)
{
    double nats = ensemble_nats(ensemble);
    char *figures = figures_text(nats, ensemble->split);
    sentences_print(text_format("%s, ensemble of %zu runs: %s; %.2f nats in all",
                                ensemble->split->name, ensemble->runs, figures, nats));
    free(figures);
}

/* --- rows for programs --- */

/* Adds the figures of the row and its protocol to an object. */
static void add_json(json_t *object, const ScoreRow *row, const CorpusSplit *split)
{
    json_t *numbers = figures_json(row->score.nats, split);
    json_object_update(object, numbers);
    json_decref(numbers);
    json_object_set_new(object, "accuracy", json_figure(accuracy_of(row, split)));
    json_object_set_new(object, "window", json_count(row->window));
    json_object_set_new(object, "stride", json_count(row->stride));
    json_object_set_new(object, "carried_streams", json_count(row->carried_streams));
}

static json_t *way_json(const ScoreRow *row, const CorpusSplit *split)
{
    json_t *way = json_pack("{s:s}", "method", row->settings[0].name);
    for (size_t i = 0; i < row->setting_count; i++)
        json_object_set_new(way, row->settings[i].name, json_figure(row->settings[i].value));
    json_object_set_new(way, "tuned", json_boolean(was_tuned(row)));
    add_json(way, row, split);
    return way;
}

json_t *score_rows_json(const ScoreRow *rows, size_t count, const ScoredText *text)
{
    json_t *all = json_pack("{s:s}", "split", text->split->name);
    add_json(all, &rows[0], text->split);
    if (count > 1)
        json_object_set_new(all, "ways", json_array());
    for (size_t i = 1; i < count; i++)
        json_array_append_new(json_object_get(all, "ways"), way_json(&rows[i], text->split));
    return all;
}

json_t *seeds_json(const ScoreRow *rows, size_t count)
{
    Sample losses = losses_of(rows, count);
    double reach = student_mean_reach(losses, GROUP_TAILS);
    return json_pack("{s:o, s:o, s:o}", "mean", json_figure(losses.mean), "low",
                     json_figure(losses.mean - reach), "high",
                     json_figure(losses.mean + reach));
}

json_t *ensemble_json(const Ensemble *ensemble)
{
    json_t *all = figures_json(ensemble_nats(ensemble), ensemble->split);
    json_object_set_new(all, "ensemble_of", json_count(ensemble->runs));
    return all;
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
                      .bytes = split->bytes,
                      .bytes_crc = split->text_crc,
                      .nats = row->score.nats,
                      .accuracy = accuracy_of(row, split),
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
