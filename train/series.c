#include "train/series.h"
#include "train/observers/audience.h"
#include "src/containers.h"
#include "src/file.h"
#include "src/memory.h"
#include "src/ranks.h"
#include "src/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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
    ranks_end();
    execv(name, words);
    die("%s: %s", name, strerror(errno));
}

/* Every model's settings are looked at before the first is trained. */
static void check(const CommandLine *line, char **kinds)
{
    char *run = NULL;
    for (size_t i = 0; i < arrlenu(kinds); i++) {
        Settings settings = {0};
        OptionGroup groups[GROUP_COUNT];
        Error error;
        CommandLine one = line_of(line, kinds[i], &run);
        if (!settings_read(&settings, &one, NULL, &error))
            die_usage("%s", error.text);
        if (!audience_check(&settings.session, &error))
            die("%s", error.text);
        settings_groups(&settings, groups);
        options_free_texts(groups, GROUP_COUNT);
        free(one.given);
    }
    free(run);
}

static void make_folder(const char *run)
{
    if (run && ranks_first() && mkdir(run, 0777) != 0 && errno != EEXIST)
        die("%s: cannot make this folder: %s", run, strerror(errno));
}

int series_train(const CommandLine *line,
                 int (*train_one)(const CommandLine *line, char **path))
{
    if (command_line_value(line, "resume"))
        die_usage("--attn: a run that is resumed is of one kind; resume the others alone");
    char *copy = memory_copy_text(command_line_value(line, "attn")), *rest = copy;
    char **kinds = NULL, **paths = NULL, *run = NULL;
    for (char *kind; (kind = strsep(&rest, ","));)
        arrput(kinds, kind);
    check(line, kinds);
    make_folder(command_line_value(line, "run"));
    int status = EXIT_SUCCESS;
    for (size_t i = 0; status == EXIT_SUCCESS && i < arrlenu(kinds); i++) {
        CommandLine one = line_of(line, kinds[i], &run);
        char *path = NULL;
        if (ranks_first())
            printf("%s== %s\n", i ? "\n" : "", kinds[i]);
        fflush(stdout);
        status = train_one(&one, &path);
        arrput(paths, path);
        free(one.given);
    }
    if (status == EXIT_SUCCESS && ranks_first())
        compare(paths);
    for (size_t i = 0; i < arrlenu(paths); i++)
        free(paths[i]);
    arrfree(paths);
    arrfree(kinds);
    free(run);
    free(copy);
    return status;
}
