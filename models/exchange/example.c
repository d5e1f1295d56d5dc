/* example.json: tokens and logits of a text, to check another program against. */
#include "data/tokenizers/utf8.h"
#include "models/exchange/forms.h"
#include "models/generator.h"
#include "src/base/containers.h"

static bool check_text(const char *name, const char *text, size_t size, Error *error)
{
    for (size_t at = 0, length; at < size; at += length) {
        length = text[at] ? utf8_length(text + at, size - at) : 0;
        if (!length)
            return error_set(
                error, "%s: byte %zu is not UTF-8 text, which an example has to be", name, at);
    }
    return true;
}

static json_t *example_json(const Model *model, const char *text, const int32_t *ids,
                            size_t count)
{
    size_t context = model->config.context, read = context < count ? context : count;
    json_t *tokens = json_array(), *logits = json_array();
    Generator generator;
    generator_make(&generator, model, 1);
    generator_restart(&generator);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(tokens, json_integer(ids[i]));
        if (i >= count - read)
            generator_read(&generator, &ids[i]);
    }
    for (size_t i = 0; i < model->config.vocabulary; i++)
        json_array_append_new(logits, json_figure((double)generator.logits[i]));
    generator_free(&generator);
    return json_pack("{s:s, s:o, s:o, s:o}", "text", text, "ids", tokens, "tokens_read",
                     json_count(read), "logits", logits);
}

bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    int32_t *ids = NULL;
    size_t unknown;
    if (!check_text(name, text, size, error) ||
        !vocabulary_encode(vocabulary, name, text, size, &ids, &unknown, error))
        return false;
    size_t count = arrlenu(ids);
    bool good = count > 0
                    ? export_folder_json(folder, "example.json",
                                         example_json(&loaded->model, text, ids, count), error)
                    : error_set(error, "%s: an example needs at least one token", name);
    arrfree(ids);
    return good;
}
