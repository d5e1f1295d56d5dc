#include "train/series.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The line of one model of the series. A folder that was named holds one folder for each. */
static CommandLine line_of(const CommandLine *line, const char *kind, char **run)
{
    CommandLine one = *line;
    one.given = memory_take(line->given_count + 1, sizeof *one.given, "the command line");
    memcpy(one.given, line->given, line->given_count * sizeof *one.given);
    for (size_t i = 0; i < one.given_count; i++) {
        OptionArgument *given = &one.given[i];
        if (strcmp(given->option->name, "attn") == 0)
            given->value = kind;
        if (strcmp(given->option->name, "run") == 0) {
            free(*run);
            *run = file_join(given->value, kind);
            given->value = *run;
        }
    }
    return one;
}

/* Becomes the program that compares, which lies beside this one, under a name alike. */
static void compare(char **paths)
{
    char *folder = file_program_folder();
    char *name = text_format("%s/%s%s", folder,
                             strncmp(program_name, "linnet-", 7) == 0 ? "linnet-" : "",
                             "compare");
    char **words = NULL;
    arrput(words, name);
    for (size_t i = 0; i < arrlenu(paths); i++)
        arrput(words, paths[i]);
    arrput(words, NULL);
    printf("\n");
    fflush(stdout);
    execv(name, words);
    die("%s: %s", name, strerror(errno));
}

int series_train(const CommandLine *line,
                 int (*train_one)(const CommandLine *line, char **path))
{
    if (command_line_value(line, "resume"))
        die_usage(
            "--attn: a run that is resumed is of one kind; resume the others by themselves");
    char *kinds = memory_copy_text(command_line_value(line, "attn")), *rest = kinds;
    char **paths = NULL, *run = NULL;
    int status = EXIT_SUCCESS;
    for (char *kind; status == EXIT_SUCCESS && (kind = strsep(&rest, ","));) {
        CommandLine one = line_of(line, kind, &run);
        char *path = NULL;
        printf("%s== %s\n", arrlenu(paths) ? "\n" : "", kind);
        fflush(stdout);
        status = train_one(&one, &path);
        arrput(paths, path);
        free(one.given);
    }
    if (status == EXIT_SUCCESS)
        compare(paths);
    for (size_t i = 0; i < arrlenu(paths); i++)
        free(paths[i]);
    arrfree(paths);
    free(run);
    free(kinds);
    return status;
}
