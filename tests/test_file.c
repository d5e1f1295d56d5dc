/* Reading files of bounded size, and atomic replacement. */
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/support.h"
#include "tests/tests.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

SUITE("file", .folder = true);

static void check_content(const char *path, const char *content)
{
    char *bytes;
    size_t size;
    Error error;
    ck_assert_msg(file_read(path, 1000000, &bytes, &size, &error), "%s", error.text);
    ck_assert_str_eq(bytes, content);
    ck_assert_uint_eq(size, strlen(content));
    free(bytes);
}

TEST(files_are_read_whole_up_to_a_limit)
{
    char *path = scratch_path("file"), *bytes = NULL;
    size_t size;
    Error error;
    scratch_write(path, "ab\0cd", 5);
    ck_assert(file_read(path, 5, &bytes, &size, &error));
    ck_assert_uint_eq(size, 5);
    ck_assert_mem_eq(bytes, "ab\0cd", 6);
    free(bytes);
    ck_assert(!file_read(path, 4, &bytes, &size, &error));
    ck_assert_ptr_null(bytes);
    support_check_error(&error, path, "limit of 4");
    scratch_write(path, "", 0);
    ck_assert(file_read(path, 0, &bytes, &size, &error));
    ck_assert_uint_eq(size, 0);
    ck_assert_str_eq(bytes, "");
    free(bytes);
}

TEST(only_regular_files_are_read)
{
    char *missing = scratch_path("missing"), *pipe = scratch_path("pipe"), *bytes;
    char *here = scratch_path(".");
    size_t size;
    Error error;
    ck_assert(!file_read(missing, 10, &bytes, &size, &error));
    support_check_error(&error, missing, "No such file");
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert(!file_read(pipe, 10, &bytes, &size, &error)); /* and does not block */
    support_check_error(&error, pipe, "not a regular file");
    ck_assert(!file_read(here, 1000000, &bytes, &size, &error));
    support_check_error(&error, here, "not a regular file");
    ck_assert(file_exists(pipe) && !file_exists(missing));
    ck_assert(file_is_folder(here) && !file_is_folder(pipe));
}

TEST(files_are_replaced_atomically)
{
    char *path = scratch_path("file");
    Error error;
    ck_assert_msg(file_replace_text(path, "first", &error), "%s", error.text);
    check_content(path, "first");
    FileReplacement file;
    ck_assert(file_replace_begin(&file, path, &error));
    ck_assert(file_replace_write(&file, "sec", 3, &error));
    check_content(path, "first"); /* until the commit */
    ck_assert(file_replace_write(&file, "ond", 3, &error));
    ck_assert(file_replace_commit(&file, &error));
    check_content(path, "second");
    ck_assert(file_replace_begin(&file, path, &error));
    ck_assert(file_replace_write(&file, "third", 5, &error));
    file_replace_abort(&file);
    check_content(path, "second");
    ck_assert_uint_eq(scratch_count(), 1);
}

TEST(failed_replacement_removes_temporary_file)
{
    char *lost = scratch_path("no/such/folder/file"), *taken = scratch_path("taken");
    Error error;
    ck_assert(!file_replace_text(lost, "text", &error));
    support_check_error(&error, lost, "cannot create");
    ck_assert_int_eq(mkdir(taken, 0700), 0);
    ck_assert(!file_replace_text(taken, "text", &error));
    support_check_error(&error, taken, "cannot replace");
    ck_assert_uint_eq(scratch_count(), 1);
    ck_assert(!file_replace_text("/dev/null", "text", &error)); /* also as root */
    support_check_error(&error, "/dev/null", "not a regular file");
}

/* RLIMIT_FSIZE also applies to the test runner's files, so restore it. */
static bool replace_within(rlim_t most, const char *path, const char *text, Error *error)
{
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    bool good = file_replace_text(path, text, error);
    setrlimit(RLIMIT_FSIZE, &before);
    return good;
}

TEST(full_disk_keeps_the_old_file)
{
    char *path = scratch_path("file");
    Error error;
    ck_assert(file_replace_text(path, "old", &error));
    char *text = memory_new(5001, 1, "a test");
    memset(text, 'x', 5000);
    ck_assert(!replace_within(1000, path, text, &error));
    support_check_error(&error, path, "cannot write");
    support_check_error(&error, path, "unchanged");
    check_content(path, "old");
    ck_assert_uint_eq(scratch_count(), 1);
    free(text);
}

TEST(sealed_replacement_can_be_read_before_commit)
{
    char *path = scratch_path("file");
    FileReplacement file;
    Error error;
    ck_assert(file_replace_text(path, "old", &error));
    ck_assert(file_replace_begin(&file, path, &error));
    ck_assert(file_replace_reserve(&file, 1000, &error));
    ck_assert(file_replace_write(&file, "new", 3, &error));
    ck_assert(file_replace_seal(&file, &error));
    check_content(file.temporary, "new"); /* regardless of the reserved size */
    check_content(path, "old");
    ck_assert(file_replace_commit(&file, &error));
    check_content(path, "new");
    ck_assert(file_replace_begin(&file, path, &error));
    ck_assert(file_replace_seal(&file, &error));
    file_replace_abort(&file);
    check_content(path, "new");
    ck_assert_uint_eq(scratch_count(), 1);
}

/* The pid of a process that has exited. */
static long dead_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return (long)child;
}

TEST(leftovers_of_dead_processes_are_removed)
{
    long dead = dead_process(), self = (long)getpid();
    char *gone = text_format("a.%ld.tmp", dead), *ours = text_format("b.%ld.tmp", self);
    const char *names[] = {gone,    ours,     "c.tmp", "c.x1.tmp", "d.99999999999999999999.tmp",
                           "1.tmp", "e.0.tmp"};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++)
        scratch_put(names[i], "");
    file_remove_leftovers(scratch_folder());
    ck_assert_uint_eq(scratch_count(), COUNT - 1);
    char *path = scratch_path(gone);
    ck_assert(!file_exists(path));
    free(gone);
    free(ours);
    file_remove_leftovers("/nowhere/at/all");
}

TEST(leftover_with_own_pid_is_replaced)
{
    char *name = text_format("file.%ld.tmp", (long)getpid()), *path = scratch_path("file");
    Error error;
    scratch_put(name, "a longer text of another process with our number");
    ck_assert_msg(file_replace_text(path, "new", &error), "%s", error.text);
    check_content(path, "new");
    ck_assert_uint_eq(scratch_count(), 1);
    free(name);
}

static void write_until_a_signal(const char *path, int number)
{
    FileReplacement file;
    Error error;
    if (file_replace_begin(&file, path, &error) && file_replace_write(&file, "new", 3, &error))
        raise(number);
    _exit(1);
}

TEST(a_signal_leaves_no_temporary_file)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < COUNT(numbers); i++)
        signal(numbers[i], SIG_DFL); /* not those of the test framework */
    char *path = scratch_put("file", "old");
    for (size_t i = 0; i < COUNT(numbers); i++) {
        pid_t child = fork();
        int status;
        if (child == 0)
            write_until_a_signal(path, numbers[i]);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
        ck_assert_uint_eq(scratch_count(), 1);
        check_content(path, "old");
    }
}

TEST(files_are_renamed)
{
    char *from = scratch_put("from", "text"), *to = scratch_put("to", "other");
    Error error;
    ck_assert(file_rename(from, to, &error));
    check_content(to, "text");
    ck_assert_uint_eq(scratch_count(), 1);
    ck_assert(!file_rename(from, to, &error));
    support_check_error(&error, from, "cannot rename");
}
