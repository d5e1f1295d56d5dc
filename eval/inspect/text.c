#include "eval/inspect/views.h"
#include "eval/show/markup.h"
#include "eval/show/terminal.h"
#include "src/base/json.h"
#include "src/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 14, STRONGEST = 8 };

/* Appends a word as a column. */
static void print_padded(FILE *out, const char *word, size_t width)
{
    size_t columns = text_columns(word);
    fprintf(out, "%s%*s", word, (int)(columns < width ? width - columns : 0), "");
}

/* The rest of a line, filled with items such as "word 0.12" as far as they fit. */
typedef struct Enumeration {
    FILE *out;
    size_t room, count;
} Enumeration;

/* Appends an item; returns whether it fits. */
static bool enumerate(Enumeration *list, const char *word, double value)
{
    char *number = inspection_value(value);
    char *entry = text_format("%s%s %s", list->count ? "  " : "", word, number);
    free(number);
    size_t columns = text_columns(entry);
    bool fits = columns <= list->room;
    if (fits) {
        fputs(entry, list->out);
        list->room -= columns;
        list->count++;
    }
    free(entry);
    return fits;
}

static Enumeration enumeration_after(FILE *out, size_t used, TextShape shape)
{
    return (Enumeration){out, shape.width > used ? shape.width - used : 0, 0};
}

/* --- tables --- */

enum { FIGURES = 17, TOKENS = 6 + 2 * (WORD + 1) }; /* columns of a model's, and before them */

/* Of one model: the probability and rank of the token that follows, then the likeliest tokens
 * as far as `width` has room, of which it returns the rest. */
static size_t print_prediction(FILE *out, const Inspection *inspection, size_t i, size_t width,
                               bool utf8)
{
    const Prediction *prediction = &inspection->predictions[i];
    if (prediction->rank > 0) {
        fprintf(out, prediction->probability < 5e-5 ? "%7.0e" : "%7.4f",
                prediction->probability);
        fprintf(out, " %7zu  ", prediction->rank);
    } else {
        fprintf(out, "%*s", FIGURES, "");
    }
    Enumeration list = enumeration_after(out, FIGURES, (TextShape){width, utf8});
    bool fits = true;
    for (size_t g = 0; g < inspection->guesses && fits; g++) {
        char *word = inspection_word(inspection, prediction->best[g].id, WORD, utf8);
        fits = enumerate(&list, word, prediction->best[g].probability);
        free(word);
    }
    return list.room;
}

/* The names of the models above their columns. */
static void print_labels(FILE *out, const Inspections *all, size_t width, bool utf8)
{
    fprintf(out, "%*s", TOKENS, "");
    for (size_t m = 0; m < all->count; m++) {
        char *label = terminal_safe_name(all->runs[m], width - 1, utf8);
        print_padded(out, label, m + 1 < all->count ? width : 0);
        free(label);
    }
    fputc('\n', out);
}

void inspect_print_predictions(FILE *out, const Inspections *all, TextShape shape)
{
    const Inspection *first = all->each;
    size_t width = shape.width > TOKENS ? (shape.width - TOKENS) / all->count : 0;
    width = width > FIGURES ? width : FIGURES;
    if (all->count > 1)
        print_labels(out, all, width, shape.utf8);
    fprintf(out, "%4s  %-*s%-*s", "#", WORD + 1, "token", WORD + 1, "followed by");
    for (size_t m = 0, rest = 0; m < all->count; m++) {
        const char *list = width >= FIGURES + strlen("likeliest") ? "likeliest" : "";
        fprintf(out, "%*s%7s %7s  %s", (int)rest, "", "prob.", "rank", list);
        rest = width - FIGURES - strlen(list);
    }
    fputc('\n', out);
    for (size_t i = 0; i < first->shown; i++) {
        char *word = inspection_token(first, i, WORD, shape.utf8);
        fprintf(out, "%4zu  ", inspection_number(first, i));
        print_padded(out, word, WORD + 1);
        free(word);
        word = i + 1 < first->shown ? inspection_token(first, i + 1, WORD, shape.utf8)
                                    : memory_copy_text("");
        print_padded(out, word, WORD + 1);
        free(word);
        for (size_t m = 0, rest = 0; m < all->count; m++) {
            fprintf(out, "%*s", (int)rest, "");
            rest = print_prediction(out, &all->each[m], i, width, shape.utf8);
        }
        fputc('\n', out);
    }
}

static void print_head(FILE *out, const Inspection *inspection, const HeadView *view,
                       TextShape shape)
{
    enum { USED = 43 };
    size_t last = inspection->shown - 1, columns[STRONGEST];
    size_t count = inspection_strongest(inspection, view, last, columns, STRONGEST);
    fprintf(out, "%5zu %5zu  %-11s %7.2f %8.1f  ", view->layer + 1, view->head + 1,
            view->kind->name, view->entropy, view->distance);
    Enumeration list = enumeration_after(out, USED, shape);
    bool fits = true;
    for (size_t k = 0; k < count && fits; k++) {
        char *word = inspection_place(inspection, columns[k], WORD, shape.utf8);
        double weight = (double)view->weights[last * inspection->columns + columns[k]];
        fits = enumerate(&list, word, weight);
        free(word);
    }
    fputc('\n', out);
}

void inspect_print_heads(FILE *out, const Inspection *inspection, TextShape shape)
{
    if (inspection->label) {
        char *label = terminal_safe_name(inspection->label, shape.width, shape.utf8);
        fprintf(out, "%s\n", label);
        free(label);
    }
    fprintf(out, "%5s %5s  %-11s %7s %8s  %s\n", "layer", "head", "kind", "entropy", "distance",
            "the last token attends to");
    for (size_t i = 0; i < inspection->head_count; i++)
        print_head(out, inspection, &inspection->heads[i], shape);
}

size_t inspections_heads(const Inspections *all)
{
    size_t most = 0;
    for (size_t m = 0; m < all->count; m++)
        most = all->each[m].head_count > most ? all->each[m].head_count : most;
    return most;
}

/* --- pictures --- */

enum { SHADES = 5 };
/* The smallest share of the largest weight for each shade. */
static const double shade_shares[SHADES] = {0.01, 0.05, 0.15, 0.35, 0.7};

/* Negative weights are letters. */
static const char *shade_of(double share, bool utf8)
{
    static const char *const shades[][SHADES] = {
        {".", ":", "+", "*", "#"}, {"·", "░", "▒", "▓", "█"}, {"a", "b", "c", "d", "e"}};
    size_t level = 0;
    while (level < SHADES && fabs(share) >= shade_shares[level])
        level++;
    if (level == 0)
        return " ";
    return shades[share < 0 ? 2 : utf8][level - 1];
}

static void print_key(FILE *out, const HeadView *view, TextShape shape)
{
    fprintf(out, "weights from");
    for (size_t s = 0; s < SHADES; s++)
        fprintf(out, "  %s %.2g", shade_of(shade_shares[s], shape.utf8),
                shade_shares[s] * view->full);
    if (view->low < 0)
        fprintf(out, "; negative: a to e");
    fprintf(out, "\n\n");
}

/* Fits a picture to the screen: shortens its words, then drops its first columns. */
typedef struct Fit {
    size_t word, across, first;
} Fit;

enum { NUMBER = 6, WORD_LEAST = 6 };

static Fit fit_of(const Inspection *inspection, TextShape shape)
{
    size_t columns = inspection->columns, before = NUMBER + 1;
    size_t room = shape.width > before ? shape.width - before : 1;
    Fit fit = {.word = WORD, .across = 1};
    if (WORD + 2 * columns <= room)
        fit.across = 2;
    else if (WORD + columns > room)
        fit.word = room > columns + WORD_LEAST ? room - columns : WORD_LEAST;
    size_t most = room > fit.word ? room - fit.word : 1;
    if (fit.across * columns > most)
        fit.first = columns - most;
    return fit;
}

/* The last digits of the column numbers; < is the sum of all earlier columns. */
static void print_numbers(FILE *out, const Inspection *inspection, Fit fit)
{
    size_t rest = inspection->rest;
    fprintf(out, "%*s", (int)(NUMBER + fit.word + 1), "");
    for (size_t j = fit.first; j < inspection->columns; j++) {
        if (j < rest)
            fprintf(out, "%*s", (int)fit.across, "<");
        else
            fprintf(out, "%*zu", (int)fit.across, inspection_number(inspection, j - rest) % 10);
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const Inspection *inspection, const HeadView *view, size_t i,
                      TextShape shape, Fit fit)
{
    char *word = inspection_token(inspection, i, fit.word, shape.utf8);
    fprintf(out, "%4zu  ", inspection_number(inspection, i));
    print_padded(out, word, fit.word + 1);
    free(word);
    for (size_t j = fit.first; j < inspection_row_end(inspection, i) && view->full > 0; j++) {
        double share = (double)view->weights[i * inspection->columns + j] / view->full;
        for (size_t k = 0; k < fit.across; k++)
            fputs(shade_of(share, shape.utf8), out);
    }
    fputc('\n', out);
}

void inspect_print_picture(FILE *out, const Inspection *inspection, const HeadView *view,
                           TextShape shape)
{
    Fit fit = fit_of(inspection, shape);
    char *title = inspection_title(inspection, view, shape.utf8);
    fprintf(out, "%s\n", title);
    free(title);
    print_key(out, view, shape);
    if (fit.first > 0)
        fprintf(out, "The first %zu of %zu columns do not fit on this screen.\n\n", fit.first,
                inspection->columns);
    print_numbers(out, inspection, fit);
    for (size_t i = 0; i < inspection->shown; i++)
        print_row(out, inspection, view, i, shape, fit);
}

/* --- JSON: every digit, rows up to the diagonal --- */

static json_t *token_json(const Inspection *inspection, int32_t id)
{
    char *word = inspection_word(inspection, id, SIZE_MAX, true);
    json_t *token = json_pack("{s:i, s:s}", "id", (int)id, "token", word);
    free(word);
    return token;
}

static json_t *prediction_json(const Inspection *inspection, size_t i)
{
    const Prediction *prediction = &inspection->predictions[i];
    char character[UTF8_LONGEST + 1];
    json_t *token = token_json(inspection, inspection->ids[i]), *likeliest = json_array();
    if (vocabulary_completes(inspection->vocabulary, inspection->ids, i, character))
        json_object_set_new(token, "completes", json_string(character));
    if (prediction->rank > 0) {
        json_object_set_new(token, "next_rank", json_count(prediction->rank));
        json_object_set_new(token, "next_probability", json_figure(prediction->probability));
    }
    for (size_t g = 0; g < inspection->guesses; g++) {
        json_t *guess = token_json(inspection, prediction->best[g].id);
        json_object_set_new(guess, "probability", json_figure(prediction->best[g].probability));
        json_array_append_new(likeliest, guess);
    }
    json_object_set_new(token, "likeliest", likeliest);
    return token;
}

static json_t *head_json(const Inspection *inspection, const HeadView *view)
{
    json_t *weights = json_array();
    for (size_t i = 0; i < inspection->shown; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < inspection_row_end(inspection, i); j++)
            json_array_append_new(
                row, json_figure((double)view->weights[i * inspection->columns + j]));
        json_array_append_new(weights, row);
    }
    return json_pack("{s:o, s:o, s:s, s:o, s:o, s:o}", "layer", json_count(view->layer + 1),
                     "head", json_count(view->head + 1), "kind", view->kind->name, "entropy",
                     json_figure(view->entropy), "distance", json_figure(view->distance),
                     "weights", weights);
}

static json_t *inspection_json(const Inspection *inspection)
{
    json_t *tokens = json_array(), *heads = json_array();
    for (size_t i = 0; i < inspection->shown; i++)
        json_array_append_new(tokens, prediction_json(inspection, i));
    for (size_t i = 0; i < inspection->head_count; i++)
        json_array_append_new(heads, head_json(inspection, &inspection->heads[i]));
    return json_pack("{s:o, s:o, s:b, s:o, s:o}", "read", json_count(inspection->read), "shown",
                     json_count(inspection->shown), "first_column_is_rest",
                     inspection->rest > 0, "tokens", tokens, "heads", heads);
}

void inspect_print_json(FILE *out, const Inspections *all)
{
    if (all->count == 1) {
        json_print(out, inspection_json(all->each));
        return;
    }
    json_t *runs = json_array();
    for (size_t m = 0; m < all->count; m++) {
        json_t *run = inspection_json(&all->each[m]);
        json_object_set_new(run, "run", markup_json(all->runs[m]));
        json_array_append_new(runs, run);
    }
    json_print(out, json_pack("{s:o}", "runs", runs));
}
