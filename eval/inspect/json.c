#include "eval/inspect/views.h"
#include "src/base/json.h"

#include <stdlib.h>

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

void inspect_print_json(FILE *out, const Inspection *inspection)
{
    json_t *tokens = json_array(), *heads = json_array();
    for (size_t i = 0; i < inspection->shown; i++)
        json_array_append_new(tokens, prediction_json(inspection, i));
    for (size_t i = 0; i < inspection->head_count; i++)
        json_array_append_new(heads, head_json(inspection, &inspection->heads[i]));
    json_print(out, json_pack("{s:o, s:o, s:b, s:o, s:o}", "read", json_count(inspection->read),
                              "shown", json_count(inspection->shown), "first_column_is_rest",
                              inspection->rest > 0, "tokens", tokens, "heads", heads));
}
