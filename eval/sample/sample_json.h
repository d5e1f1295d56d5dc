/* What sample prints for programs: one JSON object. */
#ifndef LINNET_SAMPLE_JSON_H
#define LINNET_SAMPLE_JSON_H

#include "src/base/options.h"

#include <jansson.h>
#include <stdio.h>

/* A string for bytes of any kind: U+FFFD stands for those that are no character. */
json_t *sample_json_string(const char *text, size_t size);

/* A text after its prompt. */
typedef struct JsonText {
    const char *bytes;
    size_t size;
    bool stopped;         /* before a stop text */
    const int32_t *ids;   /* of its tokens, those of the stop text included; an stb_ds array */
    const double *losses; /* theirs, an stb_ds array */
    bool with_losses;
} JsonText;

/* The object is printed in parts, so that its texts need not be kept: run, prompt (or NULL)
 * and settings; the texts; the end, without a line end. */
void sample_json_begin(FILE *stream, const char *run, const char *prompt, size_t size,
                       const OptionGroup *settings);
void sample_json_text(FILE *stream, JsonText text, bool first);
void sample_json_end(FILE *stream);

#endif
