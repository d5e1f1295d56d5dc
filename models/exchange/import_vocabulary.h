/* The tokenizer of an imported model. */
#ifndef LINNET_IMPORT_VOCABULARY_H
#define LINNET_IMPORT_VOCABULARY_H

#include "models/exchange/plan.h"

/* Reads tokenizer.json, or vocab.json and merges.txt, or vocabulary.json of a plain export. It
 * has one token for each embedding: if a model has more embeddings than its tokenizer has
 * tokens, special tokens that no text contains are added. On failure nothing is left to free.
 */
bool import_vocabulary(Vocabulary *vocabulary, ImportPlan *plan, const char *folder,
                       Error *error);

#endif
