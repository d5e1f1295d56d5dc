/* What a model's directory says about the model: its family, and linnet's settings for it. */
#ifndef LINNET_IMPORT_PLAN_H
#define LINNET_IMPORT_PLAN_H

#include "data/corpora/corpus.h"
#include "models/exchange/family.h"
#include "models/exchange/store.h"
#include "src/base/json.h"

typedef struct ImportPlan {
    char *path;   /* of config.json, for messages */
    json_t *root; /* what is in it; NULL: there is none */
    const Family *family;
    bool own;           /* linnet made these files and stored its settings in them */
    ModelConfig config; /* checked */
    CorpusOptions corpus;
    size_t key_heads;              /* divides the heads */
    bool attention_bias, mlp_bias; /* whether the files have these biases */
    int32_t start;                 /* the token before a text, or TOKEN_NONE */
    char **notes;                  /* what is different here, an stb_ds array */
} ImportPlan;

/* Reads config.json and the settings stored with the tensors; config.vocabulary becomes the
 * number of embeddings. plan_free frees it, also after a failure. */
bool plan_read(ImportPlan *plan, const char *folder, const TensorStore *store, Error *error);
void plan_free(ImportPlan *plan);

/* Checks that the config.json of linnet's own files does not contradict the one that export
 * would write for the model, which is freed. */
bool plan_check_export(const ImportPlan *plan, json_t *expected, Error *error);

/* Appends a note. */
void plan_note(ImportPlan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

FamilySizes plan_sizes(const ImportPlan *plan);

#endif
