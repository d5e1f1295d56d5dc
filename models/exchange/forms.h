/* The export formats of a trained model.
 *
 *   transformers   for the Python library of that name: config.json, generation_config.json,
 *                  model.safetensors, tokenizer.json and tokenizer_config.json. A GPT-2,
 *                  GPT-NeoX or Llama if one of them computes the model; otherwise a model
 *                  of its own, with modeling_linnet.py, which computes any. Tokens and logits
 *                  are linnet's.
 *   plain          any model, for your own program: model.safetensors with linnet's own
 *                  tensors, settings.json, vocabulary.json, metadata.json; and for people and
 *                  for train: settings.conf and vocabulary.txt, or of a BPE vocabulary
 *                  tokenizer.json, vocab.json and merges.txt
 *   gguf           one file for llama.cpp, of models that its architectures gpt2, gptneox or
 *                  llama compute
 *
 * and optionally example.json: a text, its tokens and the logits of the next one, to check
 * another program against.
 *
 * Except for gguf, each function writes into a directory that the caller has begun, and aborts
 * on failure. */
#ifndef LINNET_EXPORT_FORMS_H
#define LINNET_EXPORT_FORMS_H

#include "models/exchange/family.h"
#include "models/exchange/folder.h"
#include "models/checkpoint.h"

bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error);
bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error);

/* A GGUF file for llama.cpp, which appears whole or not at all. Says in *said what it is. */
bool export_gguf(const LoadedModel *loaded, const char *path, char **said, Error *error);

/* The text must be UTF-8 without zero bytes and have at least one token; name is for messages.
 * The logits follow its last token; the model reads at most its context length. */
bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error);

/* ---- What the forms share ---- */

/* The config.json of a model in the form of a family of transformers, or of linnet's own. */
json_t *export_config(const LoadedModel *loaded, const Family *family);
/* The settings of model and text under the names of the options. */
json_t *export_settings_json(const LoadedModel *loaded);

/* The weights of a model as a form names and lays them out, with the tensors that it always has
 * and the model lacks: zeros, computed positions, and a head that is the embedding. */
typedef struct ExportTensors {
    TensorRecord *records; /* an stb_ds array, in the order of the model; the names are owned */
    real **made; /* data that is not the model's, an stb_ds array; shapes as in records */
} ExportTensors;

void export_tensors_make(ExportTensors *tensors, const Model *model, const FamilyForm *form);
void export_tensors_free(ExportTensors *tensors);
/* What a tensor of this row (its shape) that the model lacks holds there. Caller frees. */
real *export_missing(const Model *model, const ParamRow *row);

/* Whether a bias in this part of the layers, such as ".mlp.", is not zero. */
bool export_has_biases(const Model *model, const char *part);

/* tokenizer.json, with vocab.json and merges.txt of a BPE vocabulary. */
bool export_tokenizer(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
/* tokenizer_config.json: the class and the token for padding. */
bool export_tokenizer_config(ExportFolder *folder, const Vocabulary *vocabulary, size_t context,
                             Error *error);
bool export_vocabulary_json(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
/* vocabulary.txt, or of a BPE vocabulary the files of export_tokenizer. */
bool export_vocabulary_text(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);

#endif
