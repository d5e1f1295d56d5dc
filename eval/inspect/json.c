#include "eval/inspect/json.h"
#include "src/text.h"

#include <stdlib.h>

static void print_number(FILE *out, double value)
{
    char *text = NULL;
    text_append_json_number(&text, value);
    fputs(text, out);
    free(text);
}

static void print_token(FILE *out, const Inspection *inspection, int32_t id)
{
    char *word = inspection_word(inspection, id, SIZE_MAX, true), *text = NULL;
    text_append_json_string(&text, word);
    fprintf(out, "{\"id\": %d, \"token\": %s", (int)id, text);
    free(text);
    free(word);
}

static void print_prediction(FILE *out, const Inspection *inspection, size_t i)
{
    const Prediction *prediction = &inspection->predictions[i];
    print_token(out, inspection, inspection->ids[i]);
    if (prediction->rank > 0) {
        fprintf(out, ", \"next_rank\": %zu, \"next_probability\": ", prediction->rank);
        print_number(out, prediction->probability);
    }
    fprintf(out, ", \"likeliest\": [");
    for (size_t g = 0; g < inspection->guesses; g++) {
        fputs(g ? ", " : "", out);
        print_token(out, inspection, prediction->best[g].id);
        fprintf(out, ", \"probability\": ");
        print_number(out, prediction->best[g].probability);
        fputc('}', out);
    }
    fprintf(out, "]}");
}

static void print_head(FILE *out, const Inspection *inspection, const HeadView *view)
{
    fprintf(out,
            "{\"layer\": %zu, \"head\": %zu, \"kind\": \"%s\", \"entropy\": ", view->layer + 1,
            view->head + 1, view->kind->name);
    print_number(out, view->entropy);
    fprintf(out, ", \"distance\": ");
    print_number(out, view->distance);
    fprintf(out, ", \"weights\": [");
    for (size_t i = 0; i < inspection->shown; i++) {
        fputs(i ? ",\n[" : "\n[", out);
        for (size_t j = 0; j < inspection_row_end(inspection, i); j++) {
            fputs(j ? ", " : "", out);
            print_number(out, (double)view->weights[i * inspection->columns + j]);
        }
        fputc(']', out);
    }
    fprintf(out, "]}");
}

void inspect_print_json(FILE *out, const Inspection *inspection)
{
    fprintf(out, "{\"read\": %zu, \"shown\": %zu, \"first_column_is_rest\": %s,\n\"tokens\": [",
            inspection->read, inspection->shown,
            inspection_has_rest(inspection) ? "true" : "false");
    for (size_t i = 0; i < inspection->shown; i++) {
        fputs(i ? ",\n" : "\n", out);
        print_prediction(out, inspection, i);
    }
    fprintf(out, "],\n\"heads\": [");
    for (size_t i = 0; i < inspection->head_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        print_head(out, inspection, &inspection->heads[i]);
    }
    fprintf(out, "]}\n");
}
