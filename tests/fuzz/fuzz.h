/* Fuzzing: mutated inputs for everything that linnet parses or prints.
 *
 * A target is a function that takes any bytes as an input of one kind, and checks more than
 * that nothing crashes: accepted input can be written and read back unchanged, refused input
 * gets a reason, and output has no control characters or markup. libfuzzer.c lets libFuzzer
 * look for inputs that break this; replay.c runs those in seeds/ and regressions/, with any
 * compiler. */
#ifndef LINNET_FUZZ_H
#define LINNET_FUZZ_H

#include "src/base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct FuzzTarget {
    const char *name; /* also the directory name of its inputs */
    void (*run)(const uint8_t *data, size_t size);
} FuzzTarget;

/* NULL if there is no target with that name. */
const FuzzTarget *fuzz_find(const char *name);
const FuzzTarget *fuzz_target(size_t index); /* NULL after the last */

/* Aborts, which a fuzzer notices, unless the condition holds. */
#define FUZZ_HOLDS(condition) \
    ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

/* Checks that a refusal has a reason; the error must have been empty before. */
void fuzz_check_reason(const Error *error);

/* A readable file with these bytes, which cannot be replaced. There is only one; its path stays
 * valid until the next call. */
const char *fuzz_file(const void *bytes, size_t size);
/* The path of a writable file, in a directory that is removed when the program ends. The caller
 * frees. */
char *fuzz_scratch(const char *name);
/* Writes a file with these bytes in that directory. */
void fuzz_scratch_put(const char *path, const void *bytes, size_t size);
const char *fuzz_scratch_folder(void);

/* The bytes up to the first zero as a string; moves past it. The caller frees. */
char *fuzz_next_text(const uint8_t **data, size_t *size);

/* A tensor file of a header, a zero byte, and numbers. This writes the length of the header, so
 * that inputs can grow. The caller frees. */
char *fuzz_frame(const uint8_t *data, size_t size, size_t *framed);

/* Displayed text must be UTF-8 without control characters. */
void fuzz_check_shown(const char *text, bool lines);
/* Every tag of the markup must be one that linnet prints. */
void fuzz_check_tags(const char *page);

void fuzz_header(const uint8_t *data, size_t size);
void fuzz_safetensors(const uint8_t *data, size_t size);
void fuzz_checkpoint(const uint8_t *data, size_t size);
void fuzz_import(const uint8_t *data, size_t size);
void fuzz_settings(const uint8_t *data, size_t size);
void fuzz_command_line(const uint8_t *data, size_t size);
void fuzz_reader(const uint8_t *data, size_t size);
void fuzz_corpus(const uint8_t *data, size_t size);
void fuzz_token_file(const uint8_t *data, size_t size);
void fuzz_vocabulary(const uint8_t *data, size_t size);
void fuzz_bpe(const uint8_t *data, size_t size);
void fuzz_run_log(const uint8_t *data, size_t size);
void fuzz_scores(const uint8_t *data, size_t size);
void fuzz_run_folder(const uint8_t *data, size_t size);
void fuzz_escaping(const uint8_t *data, size_t size);
void fuzz_picture(const uint8_t *data, size_t size);
void fuzz_detok(const uint8_t *data, size_t size);

#endif
