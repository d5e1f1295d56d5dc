/* A model of a directory in another program's form, or in a form that linnet exported. */
#ifndef LINNET_IMPORTED_H
#define LINNET_IMPORTED_H

#include "data/corpora/corpus.h"
#include "models/exchange/family.h"
#include "models/exchange/store.h"

/* What the directory says about the model: its family, and linnet's settings for it. */
typedef struct ImportPlan {
    char *path;   /* of config.json, for messages */
    json_t *root; /* what is in it; NULL: there is none */
    const Family *family;
    bool exported;      /* linnet made these files and stored its settings in them */
    ModelConfig config; /* checked */
    CorpusOptions corpus;
    size_t key_heads;              /* divides the heads */
    bool attention_bias, mlp_bias; /* whether the files have these biases */
    int32_t start;                 /* the token before a text, or TOKEN_NONE */
    char **notes;                  /* what is different in linnet, an stb_ds array */
} ImportPlan;

typedef struct ImportedModel {
    ImportPlan plan;
    Vocabulary vocabulary;
    Model model;
} ImportedModel;

/* Reads and checks everything in the directory before the weights are allocated. On failure
 * there is nothing to close. */
bool imported_open(ImportedModel *imported, const char *folder, Error *error);
void imported_close(ImportedModel *imported);

/* Makes a run directory: best.safetensors and settings.conf. It appears whole or not at all. */
bool imported_save(const ImportedModel *imported, const char *source, const char *run,
                   Error *error);

/* ---- The parts ---- */

/* Reads config.json and the settings stored with the tensors; config.vocabulary becomes the
 * number of embeddings. plan_free frees it, also after a failure. */
bool plan_read(ImportPlan *plan, const char *folder, const TensorStore *store, Error *error);
void plan_free(ImportPlan *plan);
/* Appends a note. */
void plan_note(ImportPlan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads from the config.json of another program which biases the files have, and the settings
 * of a model of the plan's family. */
bool config_json_read_biases(ImportPlan *plan, Error *error);
bool config_json_read(ImportPlan *plan, Error *error);
/* Whether the config.json of linnet's own files does not contradict `expected`, the one that
 * export would write for the model, which is freed. */
bool config_json_agrees(const ImportPlan *plan, json_t *expected, Error *error);
/* A value as one would type it for an option, NULL if it is none: caller frees. And in a
 * message. */
char *config_json_typed(const json_t *value);
TensorLabel config_json_shown(const json_t *value);

/* Reads tokenizer.json, or vocab.json and merges.txt, or vocabulary.json of a plain export. It
 * has one token for each embedding: if a model has more embeddings than its tokenizer has
 * tokens, special tokens that no text contains are added. On failure nothing is left to free.
 */
bool import_vocabulary(Vocabulary *vocabulary, ImportPlan *plan, const char *folder,
                       Error *error);

#endif
