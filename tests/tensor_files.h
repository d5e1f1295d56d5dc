/* Tensor files for tests, all at one path: good ones by the writer, and bad ones made by hand,
 * because the writer cannot make them. */
#ifndef LINNET_TENSOR_FILES_H
#define LINNET_TENSOR_FILES_H

#include "models/safetensors.h"
#include "tests/scratch.h"
#include "tests/tests.h"

extern char *tensor_path;

/* For SUITE: tensor_path is in a directory that is empty before every test. */
#define TENSOR_FILE .folder = true, .set_up = tensor_set_path
void tensor_set_path(void);

/* --- by hand --- */

/* One entry of a header. */
#define TENSOR_ENTRY(name, type, shape, begin, end)                                      \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #begin \
    "," #end "]}"

void tensor_put_bytes(const void *bytes, size_t size);
/* A length that may be wrong, the header, and zeros as data. */
void tensor_put_length(uint64_t length, const void *header, size_t header_size,
                       size_t data_size);
void tensor_put(const char *header, size_t data_size);

/* --- by the writer --- */

enum { TENSOR_SAMPLES = 7, TENSOR_NOTES = 3, TENSOR_GOLDEN = 219 };
extern const TensorRecord tensor_samples[TENSOR_SAMPLES];
extern const MetadataPair tensor_notes[TENSOR_NOTES];
void tensor_write_samples(void);

/* A complete file that the writer must reproduce byte for byte (and a zero). */
extern const char tensor_golden[TENSOR_GOLDEN + 1];

/* --- checks --- */

/* The error names the path, in printable ASCII. */
void tensor_check_message(const Error *error);
bool tensor_opens(Error *error);
/* The file is refused with this reason. */
void tensor_refused(const char *what, const char *reason);
void tensor_refused_header(const char *header, size_t data_size, const char *reason);

#endif
