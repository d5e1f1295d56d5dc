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

/* The family of transformers that computes the model: GPT-2, GPT-NeoX or Llama; else NULL, and
 * `lacks` names a part that GPT-2 does not have. */
const Family *export_family(const ModelConfig *config, Error *lacks);
/* The config.json of a model in the form of a family of transformers, or of linnet's own. */
json_t *export_config(const LoadedModel *loaded, const Family *family);
bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error);

/* A GGUF file for llama.cpp, which appears whole or not at all. Says in *said what it is. */
bool export_gguf(const LoadedModel *loaded, const char *path, char **said, Error *error);

bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error);

/* The text must be UTF-8 without zero bytes and have at least one token; name is for messages.
 * The logits follow its last token; the model reads at most its context length. */
bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error);

/* ---- What the forms share ---- */

/* The model that a format expects, which may have tensors that ours lacks. Its learned
 * positions (context, C) are given if ours are fixed; biases are zeros. */
typedef struct ExportForm {
    ModelConfig config;
    const real *positions;
    bool (*leaves_out)(const Model *model, const ParamRow *row); /* NULL: nothing */
} ExportForm;

/* The positions (context, C) as if learned; NULL if they are. The caller frees. */
real *export_fixed_positions(const ModelConfig *config);

/* Writes model.safetensors as the family names and lays out tensors, NULL: with linnet's names.
 * With a form, also writes the tensors that its format requires and the model lacks. */
bool export_tensors(ExportFolder *folder, const LoadedModel *loaded, const Family *family,
                    const ExportForm *form, Error *error);

/* model.safetensors of a family of transformers. */
bool export_as_family(ExportFolder *folder, const LoadedModel *loaded, const Family *family,
                      Error *error);
/* Of a model of its own: model.safetensors and modeling_linnet.py. */
bool export_modeling(ExportFolder *folder, const LoadedModel *loaded, Error *error);
json_t *export_family_config(const LoadedModel *loaded, const Family *family);
json_t *export_modeling_config(const LoadedModel *loaded);

/* The settings of model and text under the names of the options. */
json_t *export_settings_json(const LoadedModel *loaded);

/* tokenizer.json, with vocab.json and merges.txt of a BPE vocabulary; vocabulary.json; and the
 * vocabulary.txt of others. */
bool export_tokenizer(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
/* tokenizer_config.json: the class and the token for padding. */
bool export_tokenizer_config(ExportFolder *folder, const Vocabulary *vocabulary, size_t context,
                             Error *error);
bool export_vocabulary_json(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
bool export_vocabulary_text(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
bool export_merges(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);

#endif
