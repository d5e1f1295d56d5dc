/* Files in the GGUF format (version 3) of ggml and llama.cpp: pairs of keys and values, then
 * tensors of single precision.
 *
 * Keys and values go into memory; the tensors are read from where they are when the file is
 * written. */
#ifndef LINNET_GGUF_FILE_H
#define LINNET_GGUF_FILE_H

#include "data/tokenizers/vocabulary.h"

enum { GGUF_NAME = 64 };

/* A matrix as the file has it: each output is a row. */
typedef struct GgufTensor {
    char name[GGUF_NAME];
    size_t rows, columns; /* rows is 0 for a vector */
    const real *at;       /* NULL: zeros */
    size_t row_step, column_step;
    const size_t *order; /* row (of a vector, element) r is order[r] of the source; or NULL */
} GgufTensor;

typedef struct Gguf {
    char *pairs; /* as in the file; an stb_ds array */
    size_t pair_count;
    GgufTensor *tensors; /* an stb_ds array */
} Gguf;

void gguf_add_text(Gguf *gguf, const char *key, const char *value);
void gguf_add_count(Gguf *gguf, const char *key, size_t value); /* below 2^32 */
void gguf_add_number(Gguf *gguf, const char *key, double value);
void gguf_add_flag(Gguf *gguf, const char *key, bool value);
void gguf_add_texts(Gguf *gguf, const char *key, char *const *values, size_t count);
void gguf_add_numbers(Gguf *gguf, const char *key, const int32_t *values, size_t count);

/* Adds the tokens of bpe and byte. llama.cpp has none of the other tokenizers: then the file
 * says that it has no vocabulary, and the result is false. */
bool gguf_add_vocabulary(Gguf *gguf, const Vocabulary *vocabulary);

void gguf_add_tensor(Gguf *gguf, const GgufTensor *tensor);

/* Writes the file, which appears whole or not at all; *size gets its bytes. */
bool gguf_write(const Gguf *gguf, const char *path, size_t *size, Error *error);
void gguf_free(Gguf *gguf);

#endif
