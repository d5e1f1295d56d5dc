#include "src/program.h"
#include "src/containers.h"
#include "src/processor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const uint32_t processor_built_for = 0
#ifdef __SSE4_2__
                                     | PROCESSOR_SSE42
#endif
#ifdef __POPCNT__
                                     | PROCESSOR_POPCNT
#endif
#ifdef __AVX__
                                     | PROCESSOR_AVX
#endif
#ifdef __AVX2__
                                     | PROCESSOR_AVX2
#endif
#ifdef __FMA__
                                     | PROCESSOR_FMA
#endif
#ifdef __BMI__
                                     | PROCESSOR_BMI
#endif
#ifdef __BMI2__
                                     | PROCESSOR_BMI2
#endif
#ifdef __AVX512F__
                                     | PROCESSOR_AVX512F
#endif
#ifdef __AVX512BW__
                                     | PROCESSOR_AVX512BW
#endif
#ifdef __AVX512DQ__
                                     | PROCESSOR_AVX512DQ
#endif
#ifdef __AVX512VL__
                                     | PROCESSOR_AVX512VL
#endif
#ifdef __AVX512BF16__
                                     | PROCESSOR_AVX512BF16
#endif
    ;

/* Has the linker take the constructor out of the library. */
__attribute__((used)) static void (*const check)(void) = processor_check;

static const Option about_rows[] = {
    {.name = "help",
     .argument = "[WORD]",
     .type = OPTION_ACTION,
     .help = "print this help; all: every option, or those that mention a word"},
    {.name = "version", .type = OPTION_ACTION, .help = "print the version"},
};

/* The groups, and after them the one that every program has; the caller frees. */
static OptionGroup *with_about(const OptionGroup *groups, size_t *count)
{
    OptionGroup *all = memory_take(*count + 1, sizeof *all, "the options");
    memcpy(all, groups, *count * sizeof *all);
    all[(*count)++] = (OptionGroup){.title = "About",
                                    .options = about_rows,
                                    .count = sizeof about_rows / sizeof *about_rows};
    return all;
}

/* If a standard stream was closed before the program started, the next file opened would get
 * its descriptor, and messages would end up in that file. So each closed descriptor is taken by
 * one whose reads or writes fail. */
static void keep_streams_apart(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Answers --help and --version. The Makefile turns three forms of --help into files. */
static void answer(const About *about, const OptionGroup *groups, size_t count,
                   const CommandLine *line)
{
    const char *word = command_line_value(line, "help");
    if (!word && !command_line_value(line, "version"))
        return;
    OptionLine *lines = options_in_order(groups, count);
    if (!word)
        printf("%s (linnet) %s\n", program_name, LINNET_VERSION);
    else if (strcmp(word, "man") == 0)
        about_print_manual(about, lines, line->operands, line->operand_count);
    else if (strcmp(word, "bash") == 0 || strcmp(word, "zsh") == 0)
        about_print_completion(about, lines, word[0] == 'z');
    else
        about_print_help(about, lines, word);
    arrfree(lines);
    program_finish_output();
    exit(EXIT_SUCCESS);
}

void program_scan_command_line(const About *about, const OptionGroup *groups, size_t count,
                               int argc, char **argv, CommandLine *line)
{
    Error error;
    keep_streams_apart();
    program_name_set(argv[0]);
    OptionGroup *all = with_about(groups, &count);
    if (!options_scan(all, count, argc, argv, line, &error))
        die_usage("%s", error.text);
    answer(about, all, count, line);
    free(all);
}

void program_read_command_line(const About *about, const OptionGroup *groups, size_t count,
                               int argc, char **argv, CommandLine *line)
{
    Error error;
    program_scan_command_line(about, groups, count, argc, argv, line);
    options_set_defaults(groups, count);
    if (!options_apply(groups, count, line, &error))
        die_usage("%s", error.text);
}

void program_finish_output(void)
{
    bool good = fflush(stdout) == 0 && !ferror(stdout);
    if (!good && errno == EPIPE) { /* the reader, such as head, has left: end as others do */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (!good)
        die("cannot write to standard output: %s", strerror(errno));
}
