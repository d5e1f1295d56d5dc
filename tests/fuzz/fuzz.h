/* Fuzzing: what people and their files may bring, mutated by the million.
 *
 * A target is a function that takes any bytes for an input of one kind, and checks what must
 * hold of every input: that nothing crashes is the least of it. What was read can be written
 * and read again as the same; what is refused is refused with a reason; what is printed holds
 * nothing that its reader would obey. libfuzzer.c lets libFuzzer look for inputs that break
 * this; replay.c tries those that are kept in seeds/ and regressions/, with any compiler. */
#ifndef LINNET_FUZZ_H
#define LINNET_FUZZ_H

#include "src/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct FuzzTarget {
    const char *name; /* of the folders of its inputs, too */
    void (*run)(const uint8_t *data, size_t size);
} FuzzTarget;

/* NULL if there is none of that name. */
const FuzzTarget *fuzz_find(const char *name);
const FuzzTarget *fuzz_target(size_t index); /* NULL after the last */

/* Ends the program, in a way that a fuzzer notices, unless the condition holds. */
#define FUZZ_HOLDS(condition) \
    ((condition) ? (void)0 : fuzz_broken(#condition, __FILE__, __LINE__))
_Noreturn void fuzz_broken(const char *condition, const char *file, int line);

/* A refusal gives a reason; call it with an error that was empty before. */
void fuzz_check_reason(const Error *error);

/* The bytes as a file that can be read, but not replaced. There is one at a time, and its path
 * stays valid until the next call. */
const char *fuzz_file(const void *bytes, size_t size);
/* The path of a file that can be written, in a folder that goes when the program ends. The
 * caller frees. */
char *fuzz_scratch(const char *name);
/* The bytes as a file in that folder. */
void fuzz_scratch_put(const char *path, const void *bytes, size_t size);
const char *fuzz_scratch_folder(void);

/* The bytes up to the first zero as a text, and moves on behind it. The caller frees. */
char *fuzz_next_text(const uint8_t **data, size_t *size);

/* Texts that are shown have to be UTF-8 without anything that terminals or pages obey. */
void fuzz_check_shown(const char *text, bool lines);

void fuzz_header(const uint8_t *data, size_t size);
void fuzz_safetensors(const uint8_t *data, size_t size);
void fuzz_checkpoint(const uint8_t *data, size_t size);
void fuzz_settings(const uint8_t *data, size_t size);
void fuzz_command_line(const uint8_t *data, size_t size);
void fuzz_reader(const uint8_t *data, size_t size);
void fuzz_corpus(const uint8_t *data, size_t size);
void fuzz_vocabulary(const uint8_t *data, size_t size);
void fuzz_run_log(const uint8_t *data, size_t size);
void fuzz_scores(const uint8_t *data, size_t size);
void fuzz_run_folder(const uint8_t *data, size_t size);
void fuzz_escaping(const uint8_t *data, size_t size);
void fuzz_picture(const uint8_t *data, size_t size);
void fuzz_detok(const uint8_t *data, size_t size);

#endif
