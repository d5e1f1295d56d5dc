/* What sample prints for programs: one JSON object. */
#include "eval/sample/texts.h"
#include "src/base/containers.h"
#include "src/base/json.h"

#include <stdlib.h>
#include <string.h>

/* A string for bytes of any kind: U+FFFD stands for those that are no character. */
static json_t *string_json(const char *text, size_t size)
{
    size_t mended_size;
    char *mended = utf8_mend(text, size, &mended_size);
    json_t *string = json_stringn(mended, mended_size);
    free(mended);
    return string;
}

/* --- settings --- */

static json_t *stops_json(const char *lines)
{
    Stops stops;
    Error error;
    json_t *all = json_array();
    if (stops_read(&stops, lines, &error)) {
        for (size_t i = 0; i < stops.count; i++)
            json_array_append_new(all, string_json(stops.texts[i].bytes, stops.texts[i].size));
        stops_free(&stops);
    }
    return all;
}

/* The names of the options, with _ for -. */
static json_t *settings_json(const Options *options)
{
    json_t *settings = json_object();
    const Option *option;
    for (size_t i = 0; (option = option_at(options, i)); i++) {
        char *name = memory_copy_text(option->name);
        for (char *c = name; (c = strchr(c, '-'));)
            *c = '_';
        json_object_set_new(settings, name,
                            option->type == OPTION_TEXT
                                ? stops_json(*(char *const *)option_field(options, option))
                                : json_option(options, option));
        free(name);
    }
    return settings;
}

/* --- the document --- */

void texts_json_begin(const char *run, Prompt prompt, const Options *settings)
{
    json_t *beginning = prompt.text ? string_json(prompt.text, prompt.size) : json_null();
    fputc('{', stdout);
    json_print_part(stdout,
                    json_pack("{s:o, s:o, s:o}", "run", string_json(run, strlen(run)), "prompt",
                              beginning, "settings", settings_json(settings)));
    fputs(", \"texts\": [", stdout);
}

void texts_json_print(const OneText *text, bool show_probs, bool first)
{
    json_t *ids = json_array(), *logarithms = json_array();
    for (size_t i = 0; i < arrlenu(text->ids); i++)
        json_array_append_new(ids, json_integer(text->ids[i]));
    for (size_t i = 0; i < arrlenu(text->losses); i++)
        json_array_append_new(logarithms, json_figure(-text->losses[i]));
    json_t *object = json_pack(
        "{s:o, s:s, s:o, s:o}", "text",
        string_json(text->buffer + text->begin, text->buffer_size - text->begin),
        "finish_reason", text->ended ? "stop" : "length", "tokens",
        json_count(arrlenu(text->ids)), "token_ids", ids);
    if (show_probs)
        json_object_set(object, "log_probabilities", logarithms);
    json_decref(logarithms);
    fputs(first ? "\n{" : ",\n{", stdout);
    json_print_part(stdout, object);
    fputc('}', stdout);
}

void texts_json_end(void)
{
    fputs("\n]}", stdout);
}
