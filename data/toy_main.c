/* bin/toy: prints the toy corpus or its entropy, the lowest possible loss. */
#include "data/toy.h"
#include "src/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct ToyOptions {
    size_t seed, tokens;
} ToyOptions;

#define FIELD(name) offsetof(ToyOptions, name)
/* clang-format off */
static const Option rows[] = {
    {.name = "seed", OPTION_WHOLE(FIELD(seed), 0, OPTION_MOST, "1"),
     .help = "random seed: another text of the same language"},
    {.name = "length", OPTION_WHOLE(FIELD(tokens), 1, OPTION_MOST, "100000"),
     .help = "end with the sentence that reaches N tokens, <eos> included",
     .also = "tokens"},
    {.name = "entropy", .type = OPTION_ACTION,
     .help = "print the entropy of the language instead of text"},
};
/* clang-format on */

static const About about = {
    .name = "toy",
    .purpose = "prints sentences of a small artificial language, one per line",
    .synopses = {"[OPTIONS]"},
    .paragraphs =
        {"They serve as a corpus whose entropy is known exactly. train toy and eval RUN "
         "toy use the same language without a file."},
    .examples = {"--length 100000 --seed 2", "--entropy"},
};

static void print_text(const ToyOptions *options)
{
    ToyStory story;
    toy_story_begin(&story, options->seed);
    while (story.tokens < options->tokens && !ferror(stdout))
        toy_story_tell(&story, stdout);
    toy_story_free(&story);
}

int main(int argc, char **argv)
{
    ToyOptions options = {0};
    const OptionGroup group = OPTION_GROUP("Options", rows, &options);
    CommandLine line;
    program_read_command_line(&about, &group, 1, argc, argv, &line);
    if (line.operand_count > 0)
        die_usage("'%s' is not an option, and nothing else is expected", line.operands[0]);
    if (command_line_value(&line, "entropy"))
        printf("%.6f nats per token, perplexity %.4f\n", toy_entropy(), exp(toy_entropy()));
    else
        print_text(&options);
    command_line_free(&line);
    program_finish_output();
    return EXIT_SUCCESS;
}
