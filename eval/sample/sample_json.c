#include "eval/sample/sample_json.h"
#include "data/tokenizers/utf8.h"
#include "models/stop.h"
#include "src/base/containers.h"
#include "src/base/json.h"

#include <stdlib.h>
#include <string.h>

json_t *sample_json_string(const char *text, size_t size)
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
            json_array_append_new(
                all, sample_json_string(stops.texts[i].bytes, stops.texts[i].size));
        stops_free(&stops);
    }
    return all;
}

static json_t *setting_json(const OptionGroup *group, const Option *option)
{
    const void *field = option_field(group, option);
    switch (option->type) {
    case OPTION_SIZE:
        return json_count(*(const size_t *)field);
    case OPTION_REAL:
        return json_figure(*(const double *)field);
    case OPTION_FLAG:
        return json_boolean(*(const bool *)field);
    default:
        return stops_json(*(char *const *)field);
    }
}

/* The names of the options, with _ for -. */
static json_t *settings_json(const OptionGroup *group)
{
    json_t *settings = json_object();
    for (size_t i = 0; i < group->count; i++) {
        char *name = memory_copy_text(group->options[i].name);
        for (char *c = name; (c = strchr(c, '-'));)
            *c = '_';
        json_object_set_new(settings, name, setting_json(group, &group->options[i]));
        free(name);
    }
    return settings;
}

/* --- the document --- */

void sample_json_begin(FILE *stream, const char *run, const char *prompt, size_t size,
                       const OptionGroup *settings)
{
    json_t *beginning = prompt ? sample_json_string(prompt, size) : json_null();
    fputc('{', stream);
    json_print_part(stream,
                    json_pack("{s:o, s:o, s:o}", "run", sample_json_string(run, strlen(run)),
                              "prompt", beginning, "settings", settings_json(settings)));
    fputs(", \"texts\": [", stream);
}

void sample_json_text(FILE *stream, JsonText text, bool first)
{
    json_t *ids = json_array(), *logarithms = json_array();
    for (size_t i = 0; i < arrlenu(text.ids); i++)
        json_array_append_new(ids, json_integer(text.ids[i]));
    for (size_t i = 0; i < arrlenu(text.losses); i++)
        json_array_append_new(logarithms, json_figure(-text.losses[i]));
    json_t *object = json_pack("{s:o, s:s, s:o, s:o}", "text",
                               sample_json_string(text.bytes, text.size), "finish_reason",
                               text.stopped ? "stop" : "length", "tokens",
                               json_count(arrlenu(text.ids)), "token_ids", ids);
    if (text.with_losses)
        json_object_set(object, "log_probabilities", logarithms);
    json_decref(logarithms);
    fputs(first ? "\n{" : ",\n{", stream);
    json_print_part(stream, object);
    fputc('}', stream);
}

void sample_json_end(FILE *stream)
{
    fputs("\n]}", stream);
}
