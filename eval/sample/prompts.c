#include "eval/sample/prompts.h"
#include "data/corpora/reader.h"
#include "src/base/containers.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELD(name) offsetof(PromptOptions, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "prompt", OPTION_STRING("TEXT", FIELD(text), NULL),
     .help = "text to continue, or - for standard input; without this option, standard input is "
             "read if it is a pipe or a file",
     .also = "start prompt-text input",
     .common = true},
    {.name = "prompt-file", OPTION_STRING("FILE", FIELD(file), NULL),
     .help = "continue the text in this file, without its last line end",
     .also = "file input-file prompts",
     .common = true},
    {.name = "lines", OPTION_SWITCH(FIELD(lines), "no"),
     .help = "each line of --prompt-file or of standard input is a prompt of its own",
     .also = "prompt-per-line batch",
     .common = true},
};
/* clang-format on */

OptionGroup prompt_option_group(PromptOptions *options)
{
    return OPTION_GROUP("Prompt", rows, options);
}

static bool is_piped(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) == 0 &&
           (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode) || S_ISREG(input.st_mode));
}

const char *prompts_source(const PromptOptions *options, bool session)
{
    if (options->file)
        return options->file;
    bool reads = options->text ? strcmp(options->text, READER_STANDARD_INPUT) == 0
                               : options->lines || (!session && is_piped());
    return reads ? READER_STANDARD_INPUT : NULL;
}

/* Says so when nothing comes: an inherited pipe may stay open for ever. */
static void await_input(void)
{
    enum { PATIENCE = 2000 }; /* milliseconds */
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, PATIENCE) == 0)
        print_warning("waiting for a prompt on standard input; --prompt '' or </dev/null "
                      "generate text without one");
}

static void add(Prompts *prompts, char *text, size_t size)
{
    text[size] = '\0';
    arrput(prompts->list, ((Prompt){text, size}));
}

/* Cuts what was read into prompts. */
static void cut(Prompts *prompts, size_t size, bool lines)
{
    char *end = prompts->bytes + size;
    for (char *at = prompts->bytes, *stop; at < end; at = stop + 1) {
        stop = lines ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!stop)
            stop = end[-1] == '\n' ? end - 1 : end;
        add(prompts, at, (size_t)(stop - at));
    }
}

bool prompts_read(Prompts *prompts, const PromptOptions *options, const char *source,
                  const Vocabulary *vocabulary, Error *error)
{
    size_t size = options->text ? strlen(options->text) : 0;
    *prompts = (Prompts){0};
    if (!source) {
        arrput(prompts->list, ((Prompt){options->text, size}));
        return true;
    }
    if (strcmp(source, READER_STANDARD_INPUT) == 0)
        await_input();
    if (!reader_read(source, vocabulary->tokenizer->raw, READER_USUAL_MB, NULL, &prompts->bytes,
                     &size, error) ||
        !tokenizer_check(vocabulary->tokenizer, reader_name(source), prompts->bytes, size,
                         error))
        return false;
    cut(prompts, size, options->lines);
    if (!options->lines && size == 0)
        arrput(prompts->list, ((Prompt){NULL, 0}));
    return true;
}

void prompts_free(Prompts *prompts)
{
    arrfree(prompts->list);
    free(prompts->bytes);
}
