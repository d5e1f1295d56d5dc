/* bin/toy: prints the toy corpus, or the entropy that no model of it can beat. */
#include "data/toy.h"
#include "data/toy_story.h"
#include "src/containers.h"
#include "src/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct ToyOptions {
    size_t seed, tokens;
} ToyOptions;

static const Option rows[] = {
    {.name = "seed",
     .argument = "N",
     .type = OPTION_SIZE,
     .offset = offsetof(ToyOptions, seed),
     .high = OPTION_MOST,
     .fallback = "1",
     .help = "another seed, another text of the same language"},
    {.name = "tokens",
     .argument = "N",
     .type = OPTION_SIZE,
     .offset = offsetof(ToyOptions, tokens),
     .low = 1,
     .high = OPTION_MOST,
     .fallback = "100000",
     .help = "stop at the end of the sentence that reaches N tokens, line ends counted"},
    {.name = "entropy",
     .type = OPTION_ACTION,
     .help = "print the entropy of the language instead of a text"},
    {.name = "help", .type = OPTION_ACTION, .help = "print this help"},
    {.name = "version", .type = OPTION_ACTION, .help = "print the version"},
};

static void print_help(const OptionGroup *group)
{
    printf(
        "Usage: %s [OPTION]...\n"
        "Prints sentences from a seeded grammar, one a line: a corpus to try models on, whose\n"
        "entropy is known exactly.\n",
        program_name);
    options_print_help(group, 1);
}

static void print_text(const ToyOptions *options)
{
    ToyStory story;
    char *line = NULL;
    toy_story_begin(&story, options->seed);
    while (story.tokens < options->tokens && !ferror(stdout)) {
        arrsetlen(line, 0);
        toy_story_tell(&story, &line);
        fwrite(line, 1, arrlenu(line), stdout);
    }
    arrfree(line);
    toy_story_free(&story);
}

int main(int argc, char **argv)
{
    ToyOptions options = {0};
    const OptionGroup group = {"Options", rows, sizeof rows / sizeof *rows, &options};
    CommandLine line;
    Error error;
    program_name_set(argv[0]);
    options_set_defaults(&group, 1);
    if (!options_scan(&group, 1, argc, argv, &line, &error) ||
        !options_apply(&group, 1, &line, &error))
        die_usage("%s", error.text);
    if (line.operand_count > 0)
        die_usage("'%s' is not an option, and nothing else is expected", line.operands[0]);

    errno = 0;
    if (command_line_value(&line, "help"))
        print_help(&group);
    else if (command_line_value(&line, "version"))
        printf("toy (linnet) %s\n", LINNET_VERSION);
    else if (command_line_value(&line, "entropy"))
        printf("%.6f nats per token, perplexity %.4f\n", toy_entropy(), exp(toy_entropy()));
    else
        print_text(&options);
    command_line_free(&line);
    if (fflush(stdout) != 0 || ferror(stdout))
        die("cannot write to standard output: %s", strerror(errno));
    return 0;
}
