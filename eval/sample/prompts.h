/* The prompts of sample: an option, a file or standard input. */
#ifndef LINNET_PROMPTS_H
#define LINNET_PROMPTS_H

#include "eval/sample/texts.h"

typedef struct PromptOptions {
    char *text, *file;
    bool lines; /* of the file or of standard input; each is a prompt */
} PromptOptions;

OptionGroup prompt_option_group(PromptOptions *options);

/* The file to read, READER_STANDARD_INPUT, or NULL: none. Standard input is read unasked if it
 * is a pipe, a socket or a file and no session reads it. A terminal and /dev/null hold no
 * prompt, nor does an input that is closed. */
const char *prompts_source(const PromptOptions *options, bool session);

typedef struct Prompts {
    Prompt *list; /* an stb_ds array; one without a text if there is no prompt */
    char *bytes;  /* read from the source */
} Prompts;

/* Reads the source, if there is one. The last line end of a prompt does not belong to it. */
bool prompts_read(Prompts *prompts, const PromptOptions *options, const char *source,
                  const Vocabulary *vocabulary, Error *error);
void prompts_free(Prompts *prompts);

#endif
