/* example.json: tokens and logits of a text, to check another program against. */
#include "data/utf8.h"
#include "eval/export/forms.h"
#include "models/generator.h"
#include "src/containers.h"

typedef struct Example {
    const char *text;
    const int32_t *ids;
    size_t count, read; /* tokens, and how many of the last ones the model read */
    const real *logits;
    size_t vocabulary;
} Example;

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

static void print_example(FILE *out, const void *what)
{
    const Example *example = what;
    fputs("{\n  \"text\": ", out);
    export_json_string(out, example->text);
    fputs(",\n  \"ids\": [", out);
    for (size_t i = 0; i < example->count; i++)
        fprintf(out, "%s%d", i ? ", " : "", example->ids[i]);
    fprintf(out, "],\n  \"tokens_read\": %zu,\n  \"logits\": [", example->read);
    for (size_t i = 0; i < example->vocabulary; i++) {
        fputs(i ? ", " : "", out);
        export_json_number(out, (double)example->logits[i]);
    }
    fputs("]\n}\n", out);
}

static bool write_example(ExportFolder *folder, const LoadedModel *loaded, Example *example,
                          Error *error)
{
    const Model *model = &loaded->model;
    Generator generator;
    generator_make(&generator, model, 1);
    generator_restart(&generator);
    example->read = model->config.context < example->count ? model->config.context
                                                           : example->count;
    for (size_t i = example->count - example->read; i < example->count; i++)
        generator_read(&generator, &example->ids[i]);
    example->logits = generator.logits;
    example->vocabulary = model->config.vocabulary;
    bool good = export_folder_print(folder, "example.json", print_example, example, error);
    generator_free(&generator);
    return good;
}

bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error)
{
    const Vocabulary *vocabulary = &loaded->checkpoint.vocabulary;
    if (!check_text(name, text, size, error) ||
        !tokenizer_check(vocabulary->tokenizer, name, text, size, error))
        return false;
    int32_t *ids = NULL;
    vocabulary->tokenizer->encode(vocabulary, text, size, &ids);
    Example example = {.text = text, .ids = ids, .count = arrlenu(ids)};
    bool good = example.count > 0
                    ? write_example(folder, loaded, &example, error)
                    : error_set(error, "%s: an example needs at least one token", name);
    arrfree(ids);
    return good;
}
