#include "tests/faults/session.h"
#include "models/checkpoint.h"
#include "src/base/containers.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/faults/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define MOST_BYTES ((size_t)64 << 20)

static struct {
    char *programs, *folder;
    size_t runs, checks, failed;
    int fired; /* the file into which a fault writes a byte */
} session;

void session_begin(const char *programs)
{
    session.programs = realpath(programs, NULL);
    bool in_memory = access("/dev/shm", W_OK) == 0;
    session.folder = text_format("%s/linnet-faults-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
    if (!session.programs || !mkdtemp(session.folder) || chdir(session.folder) != 0)
        die("%s, %s: %s", programs, session.folder, strerror(errno));
    session.fired = fileno(tmpfile());
    put_text();
}

int session_end(void)
{
    if (chdir("/") == 0)
        remove_folder(session.folder);
    free(session.programs);
    free(session.folder);
    printf("faults: %zu sessions, %zu checks, %zu failed\n", session.runs, session.checks,
           session.failed);
    return session.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

bool expect(bool held, const char *format, ...)
{
    session.checks++;
    if (held)
        return true;
    session.failed++;
    va_list args;
    va_start(args, format);
    printf("failed: ");
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
    return false;
}

/* --- running --- */

static char *text_of(const char *path)
{
    Error error;
    char *bytes;
    size_t size;
    if (!file_read(path, MOST_BYTES, &bytes, &size, &error))
        die("%s", error.text);
    return bytes;
}

static void redirect(const char *path, int flags, int fd)
{
    int opened = open(path, flags, 0600);
    if (opened < 0 || dup2(opened, fd) < 0)
        _exit(127);
    close(opened);
}

/* How to run a program. */
typedef struct Way {
    const char *fault, *record, *closed; /* NULL for none */
    long microseconds;                   /* time until it is killed; 0: never */
} Way;

/* In the child process: becomes the program. */
static _Noreturn void become(const char *command, const Way *way)
{
    char *words = memory_copy_text(command), **arguments = NULL;
    for (char *word; (word = strsep(&words, " "));)
        arrput(arguments, word);
    char *program = file_join(session.programs, arguments[0]);
    arguments[0] = program;
    arrput(arguments, NULL);
    if (way->fault)
        setenv(INJECT_FAULT, way->fault, 1);
    if (way->record)
        setenv(INJECT_RECORD, way->record, 1);
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect("out", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("err", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    dup2(session.fired, INJECT_FIRED_FD);
    for (const char *stream = way->closed; stream && *stream; stream++)
        close(*stream - '0');
    alarm(TIME_LIMIT);
    execv(program, arguments);
    _exit(127);
}

static Outcome run(const char *command, const Way *way)
{
    int status;
    struct stat fired;
    session.runs++;
    if (ftruncate(session.fired, 0) != 0)
        die("cannot empty a file: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0)
        become(command, way);
    if (child > 0 && way->microseconds) {
        usleep((useconds_t)way->microseconds);
        kill(child, SIGKILL);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || fstat(session.fired, &fired) != 0)
        die("cannot run a program: %s", strerror(errno));
    return (Outcome){.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status),
                     .fired = fired.st_size > 0,
                     .out = text_of("out"),
                     .messages = text_of("err")};
}

Outcome session_run(const char *fault, const char *command)
{
    return run(command, &(Way){.fault = fault});
}

Outcome session_kill(long microseconds, const char *command)
{
    return run(command, &(Way){.microseconds = microseconds});
}

Outcome session_closed(const char *streams, const char *command)
{
    return run(command, &(Way){.closed = streams});
}

Outcome session_recorded(const char *path, const char *command)
{
    return run(command, &(Way){.record = path});
}

void outcome_free(Outcome *outcome)
{
    free(outcome->out);
    free(outcome->messages);
}

void session_works(const char *command)
{
    Outcome outcome = session_run(NULL, command);
    expect(outcome.status == 0, "%s: status %d: %s", command, outcome.status, outcome.messages);
    outcome_free(&outcome);
}

/* --- files --- */

void put_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        die("%s: %s", path, strerror(errno));
    close(fd);
}

bool same_file(const char *a, const char *b)
{
    Error error;
    char *bytes[2] = {NULL};
    size_t sizes[2];
    bool same = file_read(a, MOST_BYTES, &bytes[0], &sizes[0], &error) &&
                file_read(b, MOST_BYTES, &bytes[1], &sizes[1], &error) &&
                sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0;
    free(bytes[0]);
    free(bytes[1]);
    return same;
}

/* The names in a directory; the caller frees each. */
static char **names_in(const char *path)
{
    char **names = NULL;
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            arrput(names, memory_copy_text(entry->d_name));
    if (folder)
        closedir(folder);
    return names;
}

static void free_names(char **names)
{
    for (size_t i = 0; i < arrlenu(names); i++)
        free(names[i]);
    arrfree(names);
}

/* Calls back for each file in either directory, with its paths in both. */
static bool for_files(const char *from, const char *to,
                      bool (*each)(const char *from, const char *to))
{
    bool good = true;
    char **names = names_in(from);
    for (size_t i = 0; i < arrlenu(names); i++) {
        char *a = file_join(from, names[i]), *b = file_join(to, names[i]);
        good = each(a, b) && good;
        free(a);
        free(b);
    }
    free_names(names);
    return good;
}

static bool copy_file(const char *from, const char *to)
{
    Error error;
    char *bytes;
    size_t size;
    if (!file_read(from, MOST_BYTES, &bytes, &size, &error))
        die("%s", error.text);
    put_file(to, bytes, size);
    free(bytes);
    return true;
}

void copy_folder(const char *from, const char *to)
{
    remove_folder(to);
    if (mkdir(to, 0777) != 0)
        die("%s: %s", to, strerror(errno));
    for_files(from, to, copy_file);
}

bool same_folder(const char *a, const char *b)
{
    return for_files(a, b, same_file) && for_files(b, a, same_file);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void remove_folder(const char *path)
{
    enum { OPEN_FOLDERS = 8 };
    nftw(path, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

bool folder_has(const char *path, const char *part)
{
    char **names = names_in(path);
    bool found = false;
    for (size_t i = 0; i < arrlenu(names); i++)
        found = found || strstr(names[i], part);
    free_names(names);
    return found;
}

void remove_leftovers(const char *path)
{
    char **names = names_in(path);
    for (size_t i = 0; i < arrlenu(names); i++) {
        char *file = file_join(path, names[i]);
        if (strstr(names[i], ".tmp"))
            remove_folder(file);
        free(file);
    }
    free_names(names);
}

real *checkpoint_numbers(const char *path, size_t *count)
{
    Error error;
    Checkpoint checkpoint;
    if (!checkpoint_open(&checkpoint, path, &error))
        return NULL;
    size_t reals = checkpoint.table.total;
    *count = 3 * reals;
    real *all = memory_new(*count, sizeof *all, "a checkpoint");
    bool good = checkpoint_load(&checkpoint, all, all + reals, all + 2 * reals, NULL, &error);
    checkpoint_close(&checkpoint);
    if (good)
        return all;
    free(all);
    return NULL;
}

static bool loads(const char *path)
{
    size_t count;
    real *numbers = checkpoint_numbers(path, &count);
    free(numbers);
    return numbers != NULL;
}

bool same_numbers(const char *a, const char *b)
{
    size_t counts[2];
    real *numbers[2] = {checkpoint_numbers(a, &counts[0]), checkpoint_numbers(b, &counts[1])};
    bool same = numbers[0] && numbers[1] && counts[0] == counts[1] &&
                memcmp(numbers[0], numbers[1], counts[0] * sizeof *numbers[0]) == 0;
    free(numbers[0]);
    free(numbers[1]);
    return same;
}

bool has_checkpoint(const char *path)
{
    static const char ending[] = ".safetensors";
    char **names = names_in(path);
    bool found = false;
    for (size_t i = 0; !found && i < arrlenu(names); i++) {
        char *file = file_join(path, names[i]), *end = strstr(names[i], ending);
        found = end && strcmp(end, ending) == 0 && loads(file);
        free(file);
    }
    free_names(names);
    return found;
}

/* --- a text --- */

void put_text(void)
{
    static const char *const birds[] = {"linnet", "finch", "lark", "wren", "swift"};
    static const char *const acts[] = {"sings", "sleeps", "eats", "flies", "rests", "hides"};
    enum {
        LINES = 90,
        BIRDS = sizeof birds / sizeof *birds,
        ACTS = sizeof acts / sizeof *acts
    };
    char *text = NULL;
    for (size_t i = 0; i < LINES; i++)
        text_append(&text, "the %s %s %s\n", birds[i * i % BIRDS], acts[i % ACTS],
                    i % 3 ? "today" : "again and again");
    put_file("text.txt", text, strlen(text));
    gzFile packed = gzopen("text.gz", "wb");
    if (!packed || gzwrite(packed, text, (unsigned)strlen(text)) <= 0 ||
        gzclose(packed) != Z_OK)
        die("cannot pack the text");
    free(text);
}
