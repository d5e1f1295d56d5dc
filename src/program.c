#include "src/program.h"
#include "src/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Option about_rows[] = {
    {.name = "help", .type = OPTION_ACTION, .help = "this text"},
    {.name = "version", .type = OPTION_ACTION, .help = "what this is"},
};

/* The groups and behind them the one that every program has; the caller frees. */
static OptionGroup *with_about(const OptionGroup *groups, size_t *count)
{
    OptionGroup *all = memory_take(*count + 1, sizeof *all, "the options");
    memcpy(all, groups, *count * sizeof *all);
    all[(*count)++] = (OptionGroup){.title = "About",
                                    .options = about_rows,
                                    .count = sizeof about_rows / sizeof *about_rows};
    return all;
}

void program_scan_command_line(const OptionGroup *groups, size_t count,
                               void (*print_usage)(void), int argc, char **argv,
                               CommandLine *line)
{
    Error error;
    program_name_set(argv[0]);
    OptionGroup *all = with_about(groups, &count);
    if (!options_scan(all, count, argc, argv, line, &error))
        die_usage("%s", error.text);
    bool help = command_line_value(line, "help"), version = command_line_value(line, "version");
    if (help) {
        print_usage();
        options_print_help(all, count);
    } else if (version) {
        printf("%s (linnet) %s\n", program_name, LINNET_VERSION);
    }
    free(all);
    if (help || version) {
        program_finish_output();
        exit(EXIT_SUCCESS);
    }
}

void program_read_command_line(const OptionGroup *groups, size_t count,
                               void (*print_usage)(void), int argc, char **argv,
                               CommandLine *line)
{
    Error error;
    program_scan_command_line(groups, count, print_usage, argc, argv, line);
    options_set_defaults(groups, count);
    if (!options_apply(groups, count, line, &error))
        die_usage("%s", error.text);
}

void program_finish_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        die("cannot write to standard output: %s", strerror(errno));
}
