/* The forms in which a trained model leaves linnet.
 *
 *   transformers   what the Python library of that name opens as a GPT-2: config.json,
 *                  generation_config.json, model.safetensors, tokenizer.json and
 *                  tokenizer_config.json. Tokens and logits are the same as here, which is why
 *                  models that GPT-2 cannot express are refused.
 *   plain          any model, for a program of one's own: model.safetensors with linnet's own
 *                  tensors, settings.json, vocabulary.json, metadata.json
 *   text           for people: vocabulary.txt, settings.conf, metadata.json
 *
 * and beside each of them, if wanted, example.json: a text, its tokens and what the model says
 * comes next, to check another program against.
 *
 * Each function writes into a folder that the caller began, and that the caller aborts when the
 * function fails. */
#ifndef LINNET_EXPORT_FORMS_H
#define LINNET_EXPORT_FORMS_H

#include "eval/export/folder.h"
#include "eval/loaded.h"

/* Whether GPT-2 of transformers can be this model; the error says what it lacks. */
bool export_check_transformers(const ModelConfig *config, Error *error);
bool export_transformers(ExportFolder *folder, const LoadedModel *loaded, Error *error);

bool export_plain(ExportFolder *folder, const LoadedModel *loaded, Error *error);
bool export_text(ExportFolder *folder, const LoadedModel *loaded, Error *error);

/* The text has to be UTF-8 without zero bytes, and at least one token long; name says whose it
 * is. The logits are those behind its last token, of which the model has read as many as its
 * context holds. */
bool export_example(ExportFolder *folder, const LoadedModel *loaded, const char *name,
                    const char *text, size_t size, Error *error);

/* ---- What the forms share ---- */

/* model.safetensors. The prefix stands before the names of all tensors but the head's. The
 * rows of positions (context, C) are for a model that does not hold them itself, else NULL. */
bool export_tensors(ExportFolder *folder, const LoadedModel *loaded, const char *prefix,
                    const real *positions, Error *error);

/* tokenizer.json, vocabulary.json and vocabulary.txt. */
bool export_tokenizer(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
bool export_vocabulary_json(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);
bool export_vocabulary_text(ExportFolder *folder, const Vocabulary *vocabulary, Error *error);

/* A quoted string, and a number (null if it is not finite). */
void export_json_string(FILE *out, const char *text);
void export_json_number(FILE *out, double number);

#endif
