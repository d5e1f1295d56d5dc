/* bin/toy: prints the toy corpus or its entropy, the lowest possible loss. */
#include "data/corpora/tasks.h"
#include "data/corpora/toy.h"
#include "src/base/memory.h"
#include "src/base/program.h"

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
    {.name = "tasks", .type = OPTION_ACTION,
     .help = "list the synthetic tasks with their settings, ranges and defaults"},
    {.name = "entropy", .type = OPTION_ACTION,
     .help = "print the entropy of the language instead of text"},
};
/* clang-format on */

static const About about = {
    .name = "toy",
    .purpose = "prints sentences of a small artificial language, or synthetic tasks, one "
               "example per line",
    .synopses = {"[OPTIONS] [TASK]"},
    .paragraphs =
        {"The entropy of the language is known exactly. train and eval have it built in: train "
         "toy.",
         "TASK, a synthetic task, is NAME or NAME:SETTING=N,SETTING=N, such as "
         "recall:pairs=16,keys=64. After a symbol, = marks the answer to predict: k3=v7. train "
         "TASK and eval RUN TASK score only these answers."},
    .examples = {"recall --length 500", "--length 100000 --seed 2", "--entropy"},
};

static void print_text(const ToyOptions *options)
{
    ToyStory story;
    toy_story_begin(&story, options->seed);
    while (story.tokens < options->tokens && !ferror(stdout))
        toy_story_tell(&story, stdout);
    toy_story_free(&story);
}

static void print_task(const ToyOptions *options, const char *name)
{
    Task task;
    Error error;
    if (!task_is_named(name))
        die_usage("'%s' is not a synthetic task; toy --tasks lists them", name);
    if (!task_read(&task, name, &error))
        die_usage("%s", error.text);
    int32_t *symbols = memory_new(2 * task.length, sizeof *symbols, "a task");
    int32_t *answers = symbols + task.length;
    for (size_t line = 0; line * (task.length + 1) < options->tokens && !ferror(stdout);
         line++) {
        task_write(&task, options->seed, line, symbols, answers);
        for (size_t i = 0; i < task.length; i++) {
            char *word = task_word(&task, (size_t)symbols[i]), *answer = NULL;
            if (answers[i] != TASK_NO_ANSWER)
                answer = task_word(&task, (size_t)answers[i]);
            printf("%s%s%s%s", i ? " " : "", word, answer ? "=" : "", answer ? answer : "");
            free(word);
            free(answer);
        }
        putchar('\n');
    }
    free(symbols);
}

int main(int argc, char **argv)
{
    ToyOptions options = {0};
    const Options group = {{OPTION_GROUP("Options", rows, &options)}};
    CommandLine line;
    program_read_command_line(&about, &group, argc, argv, &line);
    if (line.operand_count > 1)
        die_usage("one task at a time, not '%s' and '%s'", line.operands[0], line.operands[1]);
    bool lists = command_line_value(&line, "tasks"),
         measures = command_line_value(&line, "entropy");
    if (lists + measures + line.operand_count > 1)
        die_usage("--tasks lists the tasks, --entropy is that of the language; give one of "
                  "them, or a task");
    char *list = task_list();
    if (lists)
        fputs(list, stdout);
    else if (measures)
        printf("%.6f nats per token, perplexity %.4f\n", toy_entropy(), exp(toy_entropy()));
    else if (line.operand_count == 1)
        print_task(&options, line.operands[0]);
    else
        print_text(&options);
    free(list);
    program_end(&group, &line);
    return EXIT_SUCCESS;
}
