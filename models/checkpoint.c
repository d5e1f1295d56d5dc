#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

#define MOMENT_M "opt.m."
#define MOMENT_V "opt.v."
#define AVERAGE  "avg."
#define WORDS    "vocab"

Options checkpoint_options(const ModelConfig *config, const CorpusOptions *corpus)
{
    return (Options){{config_group(config), corpus_group(corpus)}};
}

/* --- forms of attention kinds --- */

/* The form of a kind, such as "kda=1". Caller frees. */
static char *form_of(const AttentionKind *kind)
{
    return text_format("%s=%zu", kind->name, kind->form);
}

/* Those of the kinds that have changed what they compute, separated by blanks; NULL if none
 * has. Caller frees. */
static char *forms_of(const ModelConfig *config)
{
    char *forms = NULL;
    for (size_t k = 0; k < config->attention.count; k++) {
        const AttentionKind *kind = config_kind(config, k);
        char *form = form_of(kind);
        if (kind->form > 0 && !text_is_listed(form, forms))
            text_append(&forms, "%s%s", forms ? " " : "", form);
        free(form);
    }
    return forms;
}

/* Weights of an earlier form would be read as those of another function. */
static bool check_forms(const Checkpoint *c, Error *error)
{
    const char *stored = safetensors_metadata(&c->file, FORMS_KEY);
    bool good = true;
    for (size_t k = 0; good && k < c->config.attention.count; k++) {
        const AttentionKind *kind = config_kind(&c->config, k);
        char *form = form_of(kind);
        good = kind->form == 0 || text_is_listed(form, stored) ||
               error_set(error,
                         "%s: a model of an earlier '%s' attention, which this linnet does not "
                         "have: %s. Train it anew, or use the linnet that wrote it",
                         c->file.path, kind->name, kind->changed);
        free(form);
    }
    return good;
}

/* --- saving --- */

static void add_tensors(TensorRecord **records, char ***names, const ParamTable *table,
                        const char *prefix, const real *base)
{
    for (size_t i = 0; base && i < table->count; i++) {
        const ParamRow *row = &table->rows[i];
        char *name = text_format("%s%s", prefix, row->name);
        TensorRecord record = {.name = name,
                               .type = TENSOR_REAL,
                               .rank = row->rank,
                               .shape = {row->shape[0], row->shape[1]},
                               .data = base + row->offset};
        arrput(*names, name);
        arrput(*records, record);
    }
}

static void add_array(TensorRecord **records, const char *name, TensorType type, size_t count,
                      const void *data)
{
    TensorRecord record = {
        .name = name, .type = type, .rank = 1, .shape = {count}, .data = data};
    arrput(*records, record);
}

bool checkpoint_save(const char *path, const CheckpointContent *content, Error *error)
{
    const Model *model = content->model;
    TensorRecord *records = NULL;
    char **names = NULL;
    size_t size;
    char *words = vocabulary_write(content->vocabulary, &size);
    add_tensors(&records, &names, &model->table, "", model->base);
    add_tensors(&records, &names, &model->table, MOMENT_M, content->m);
    add_tensors(&records, &names, &model->table, MOMENT_V, content->v);
    add_tensors(&records, &names, &model->table, AVERAGE, content->average);
    add_array(&records, WORDS, TENSOR_U8, size, words);
    if (content->carried)
        add_array(&records, CARRIED_ARRAY, TENSOR_REAL, content->carried_reals,
                  content->carried);
    if (content->subwords)
        add_array(&records, SUBWORDS_ARRAY, TENSOR_REAL, content->subwords_reals,
                  content->subwords);
    const Options options = checkpoint_options(&model->config, content->corpus);
    char *settings = options_write_text(&options);
    char *start = text_format("%d", (int)content->vocabulary->start);
    char *forms = forms_of(&model->config);
    MetadataPair *metadata = NULL;
    arrput(metadata, ((MetadataPair){"linnet", LINNET_VERSION}));
    arrput(metadata, ((MetadataPair){SETTINGS_KEY, settings}));
    if (forms)
        arrput(metadata, ((MetadataPair){FORMS_KEY, forms}));
    if (content->vocabulary->start != TOKEN_NONE)
        arrput(metadata, ((MetadataPair){TEXT_START_KEY, start}));
    for (size_t i = 0; i < content->extra_count; i++)
        arrput(metadata, content->extra[i]);
    bool good = safetensors_write(path, records, arrlenu(records), metadata, arrlenu(metadata),
                                  error);
    for (size_t i = 0; i < arrlenu(names); i++)
        free(names[i]);
    arrfree(names);
    arrfree(records);
    arrfree(metadata);
    free(forms);
    free(start);
    free(settings);
    free(words);
    return good;
}

/* --- opening --- */

static bool read_settings(Checkpoint *c, Error *error)
{
    const Options options = checkpoint_options(&c->config, &c->corpus);
    const char *settings = safetensors_metadata(&c->file, SETTINGS_KEY);
    if (!settings)
        return error_set(error, "%s: a safetensors file, but not a linnet checkpoint",
                         c->file.path);
    char *where = text_format("%s: settings", c->file.path);
    options_set_defaults(&options);
    Error why;
    bool good = options_read_text(&options, settings, where, error);
    free(where);
    if (good && !config_check(&c->config, &why))
        good = error_set(error, "%s: settings: %s", c->file.path, why.text);
    return good;
}

/* With the token before a text. */
static bool read_vocabulary(Checkpoint *c, Error *error)
{
    enum { MOST_BYTES = 1 << 30 };
    const TensorEntry *entry = safetensors_find(&c->file, WORDS);
    if (!entry || entry->type != TENSOR_U8 || entry->rank != 1 || entry->size > MOST_BYTES)
        return error_set(error, "%s: the tensor vocab is missing or malformed", c->file.path);
    char *words = memory_new(entry->size + 1, 1, "the vocabulary");
    Error why;
    bool good = safetensors_load(&c->file, WORDS, TENSOR_U8, 1, entry->shape, words, error);
    if (good && !(vocabulary_read(&c->vocabulary, tokenizer_find(c->corpus.tokenizer), words,
                                  entry->size, &why) &&
                  (!c->corpus.lowercase || vocabulary_lower(&c->vocabulary, &why))))
        good = error_set(error, "%s: %s", c->file.path, why.text);
    free(words);
    c->config.vocabulary = c->vocabulary.count;
    const char *text = safetensors_metadata(&c->file, TEXT_START_KEY);
    size_t start;
    if (!good || !text)
        return good;
    if (!text_to_size(text, &start) || start >= c->vocabulary.count)
        return error_set(error, "%s: " TEXT_START_KEY " %s is none of %zu tokens", c->file.path,
                         tensor_label(text).text, c->vocabulary.count);
    c->vocabulary.start = (int32_t)start;
    return true;
}

/* Whether a tensor, with or without a prefix, is one of the model. */
static bool is_known(const Checkpoint *c, const char *name)
{
    static const char *const prefixes[] = {"", MOMENT_M, MOMENT_V, AVERAGE};
    bool known = false;
    for (size_t i = 0; !known && i < sizeof prefixes / sizeof *prefixes; i++)
        known = strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
                param_table_find(&c->table, name + strlen(prefixes[i]));
    return known;
}

/* Checks for unknown, missing and misshapen tensors; optimizer state must be complete or
 * absent. */
static bool check_tensors(Checkpoint *c, Error *error)
{
    size_t moments = 0, averages = 0;
    for (size_t i = 0; i < c->file.header.tensor_count; i++) {
        const char *name = c->file.header.tensors[i].name;
        if (strcmp(name, WORDS) == 0 || strcmp(name, SUBWORDS_ARRAY) == 0 ||
            (c->config.carry_state && strcmp(name, CARRIED_ARRAY) == 0))
            continue;
        if (!is_known(c, name))
            return error_set(error, "%s: unexpected tensor %s", c->file.path,
                             tensor_label(name).text);
        moments += strncmp(name, "opt.", 4) == 0;
        averages += strncmp(name, AVERAGE, strlen(AVERAGE)) == 0;
    }
    for (size_t i = 0; i < c->table.count; i++) {
        const ParamRow *row = &c->table.rows[i];
        const TensorEntry *tensor = safetensors_find(&c->file, row->name);
        if (!tensor)
            return error_set(error, "%s: tensor %s is missing", c->file.path, row->name);
        if (!tensor_has_shape(tensor, row->rank, row->shape))
            return error_set(error, "%s: tensor %s has shape %s, the settings require %s",
                             c->file.path, row->name,
                             tensor_shape_label(tensor->rank, tensor->shape).text,
                             tensor_shape_label(row->rank, row->shape).text);
    }
    c->has_moments = moments == 2 * c->table.count;
    if (moments && !c->has_moments)
        return error_set(error, "%s: optimizer state incomplete: some moments are missing",
                         c->file.path);
    c->has_average = averages == c->table.count;
    if (averages && !c->has_average)
        return error_set(error, "%s: the weight average is incomplete", c->file.path);
    return true;
}

/* Limits the number of layers by the number of tensors in the file, before the table is
 * allocated. */
static bool check_size(const Checkpoint *c, Error *error)
{
    size_t linear = c->config.bias ? 8 : 4,
           norms = c->config.bias && !c->config.rms_norm ? 4 : 2;
    size_t rows_at_least = (linear + norms) * c->config.layers;
    if (rows_at_least > c->file.header.tensor_count)
        return error_set(error, "%s: %zu tensors are too few for a model of %zu layers",
                         c->file.path, c->file.header.tensor_count, c->config.layers);
    return true;
}

bool checkpoint_open(Checkpoint *checkpoint, const char *path, Error *error)
{
    *checkpoint = (Checkpoint){0};
    if (!safetensors_open(&checkpoint->file, path, error))
        return false;
    bool good = read_settings(checkpoint, error) && check_forms(checkpoint, error) &&
                check_size(checkpoint, error) && read_vocabulary(checkpoint, error);
    if (good) {
        param_table_make(&checkpoint->table, &checkpoint->config);
        good = check_tensors(checkpoint, error);
    }
    if (!good)
        checkpoint_close(checkpoint);
    return good;
}

void checkpoint_close(Checkpoint *checkpoint)
{
    const Options options = checkpoint_options(&checkpoint->config, &checkpoint->corpus);
    options_free_texts(&options);
    vocabulary_free(&checkpoint->vocabulary);
    param_table_free(&checkpoint->table);
    safetensors_close(&checkpoint->file);
    *checkpoint = (Checkpoint){0};
}

/* --- loading --- */

static bool load_tensors(const Checkpoint *c, const char *prefix, real *base, Error *error)
{
    bool good = true;
    for (size_t i = 0; base && good && i < c->table.count; i++) {
        const ParamRow *row = &c->table.rows[i];
        char *name = text_format("%s%s", prefix, row->name);
        good = safetensors_load(&c->file, name, TENSOR_REAL, row->rank, row->shape,
                                base + row->offset, error);
        free(name);
    }
    return good;
}

bool checkpoint_load(const Checkpoint *checkpoint, real *weights, real *m, real *v,
                     real *average, Error *error)
{
    if ((m || v) && !checkpoint->has_moments)
        return error_set(error,
                         "%s: weights only, without optimizer state; training resumes from the "
                         "run's last.safetensors",
                         checkpoint->file.path);
    if (average && !checkpoint->has_average)
        return error_set(error, "%s: the weight average is missing", checkpoint->file.path);
    return load_tensors(checkpoint, "", weights, error) &&
           load_tensors(checkpoint, MOMENT_M, m, error) &&
           load_tensors(checkpoint, MOMENT_V, v, error) &&
           load_tensors(checkpoint, AVERAGE, average, error);
}

bool checkpoint_load_array(const Checkpoint *checkpoint, const char *name, real *array,
                           size_t reals, Error *error)
{
    return safetensors_load(&checkpoint->file, name, TENSOR_REAL, 1, &reals, array, error);
}

const char *checkpoint_extra(const Checkpoint *checkpoint, const char *key)
{
    return safetensors_metadata(&checkpoint->file, key);
}

bool checkpoint_has_text(const Checkpoint *checkpoint, const char *key,
                         const CorpusSplit *split)
{
    const char *crc = checkpoint_extra(checkpoint, key);
    return crc && strcmp(crc, checksum_text(split->crc).digits) == 0;
}

char *checkpoint_path(const char *run, Error *error)
{
    if (!file_exists(run)) {
        error_set(error, "%s: no such run directory or checkpoint", run);
        return NULL;
    }
    if (!file_is_folder(run))
        return memory_copy_text(run);
    static const char *const names[] = {CHECKPOINT_BEST, CHECKPOINT_LAST, CHECKPOINT_PREVIOUS};
    char *path = file_first_in(run, names, sizeof names / sizeof *names);
    if (path)
        return path;
    bool foreign = file_is_in(run, "config.json"); /* as Hugging Face saves a model */
    error_set(error,
              "%s: no checkpoint in this directory (best.safetensors, last.safetensors)%s", run,
              foreign ? "; linnet-import makes a run of a Hugging Face model" : "");
    return NULL;
}

/* --- a model to use --- */

/* Training renames the checkpoints of its run: one may go away after it was found. */
bool checkpoint_open_run(Checkpoint *checkpoint, const char *run, Error *error)
{
    enum { TRIES = 3 };
    bool good = false;
    for (int i = 0; !good && i < (file_is_folder(run) ? TRIES : 1); i++) {
        char *path = checkpoint_path(run, error);
        good = path && checkpoint_open(checkpoint, path, error);
        free(path);
    }
    return good;
}

bool loaded_open(LoadedModel *loaded, const char *run, Error *error)
{
    *loaded = (LoadedModel){0};
    if (!checkpoint_open_run(&loaded->checkpoint, run, error))
        return false;
    model_make(&loaded->model, &loaded->checkpoint.config);
    model_allocate(&loaded->model);
    if (checkpoint_load(&loaded->checkpoint, loaded->model.base, NULL, NULL, NULL, error))
        return true;
    loaded_close(loaded);
    return false;
}

void loaded_close(LoadedModel *loaded)
{
    model_free(&loaded->model);
    checkpoint_close(&loaded->checkpoint);
}
