#include "src/base/program.h"
#include "src/base/containers.h"
#include "src/base/json.h"
#include "src/base/processor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call with a constant, which any processor can run. */
__attribute__((constructor(101))) static void check_processor(void)
{
    processor_check(PROCESSOR_BUILT_FOR);
}

static const Option about_rows[] = {
    {.name = "help",
     .argument = "[WORD]",
     .type = OPTION_ACTION,
     .help = "print this help; all: every option, or those that mention a word"},
    {.name = "version", .type = OPTION_ACTION, .help = "print the version"},
};

/* If a standard stream was closed before the program started, the next file opened would get
 * its descriptor, and messages would end up in that file. So each closed descriptor is taken by
 * one whose reads or writes fail. */
static void keep_streams_apart(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Answers --help and --version, if one was given. The Makefile turns three forms of --help into
 * files. */
static bool answer(const About *about, const Options *options, const CommandLine *line)
{
    const char *word = command_line_value(line, "help");
    if (!word && !command_line_value(line, "version"))
        return false;
    OptionLine *lines = options_in_order(options);
    if (!word)
        printf("%s (linnet) %s\n", program_name, LINNET_VERSION);
    else if (strcmp(word, "man") == 0)
        about_print_manual(about, lines, line->operands, line->operand_count);
    else if (strcmp(word, "bash") == 0 || strcmp(word, "zsh") == 0)
        about_print_completion(about, lines, word[0] == 'z');
    else
        about_print_help(about, lines, word);
    arrfree(lines);
    return true;
}

void program_scan_command_line(const About *about, const Options *options, int argc,
                               char **argv, CommandLine *line)
{
    Error error;
    Options all = *options;
    all.groups[options_group_count(options)] = OPTION_GROUP("About", about_rows, NULL);
    keep_streams_apart();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit becomes an error with a message */
    program_name_set(argv[0]);
    json_use_memory();
    if (!options_scan(&all, argc, argv, line, &error))
        die_usage("%s", error.text);
    if (!answer(about, &all, line))
        return;
    command_line_free(line);
    program_finish_output();
    exit(EXIT_SUCCESS);
}

void program_read_command_line(const About *about, const Options *options, int argc,
                               char **argv, CommandLine *line)
{
    Error error;
    program_scan_command_line(about, options, argc, argv, line);
    options_set_defaults(options);
    if (!options_apply(options, line, &error))
        die_usage("%s", error.text);
}

static int why_output_failed; /* errno of the first failure; 0: none, or not known */

void program_flush_output(void)
{
    bool failed = ferror(stdout); /* before, for which errno has the reason, if still any */
    int reason = failed ? errno : 0;
    if (fflush(stdout) != 0)
        reason = errno;
    if (why_output_failed == 0)
        why_output_failed = reason;
}

void program_finish_output(void)
{
    program_flush_output();
    int reason = why_output_failed;
    if (reason == EPIPE) { /* the reader, such as head, has left: end as others do */
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if (reason != 0)
        die("cannot write to standard output: %s", strerror(reason));
    if (ferror(stdout))
        die("could not write all of the standard output");
}

void program_end(const Options *options, CommandLine *line)
{
    options_free_texts(options);
    command_line_free(line);
    program_finish_output();
}
