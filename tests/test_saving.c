/* Safety of a run: atomic checkpoints, the lock of the run directory, recreating a removed
 * directory, and the memory check. */
#include "src/base/containers.h"
#include "src/base/control_groups.h"
#include "src/base/file.h"
#include "src/base/memory.h"
#include "src/base/text.h"
#include "tests/scratch.h"
#include "tests/support.h"
#include "tests/tests.h"
#include "train/loop/folder.h"
#include "train/loop/lock.h"
#include "train/loop/trainer.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char *run_path;

static void set_up(void)
{
    run_path = scratch_path("run");
    ck_assert_int_eq(mkdir(run_path, 0700), 0);
}

SUITE("saving", .folder = true, .set_up = set_up);

static char *in_run(const char *name)
{
    return file_join(run_path, name);
}

static bool is_there(const char *name)
{
    char *path = in_run(name);
    bool there = file_exists(path);
    free(path);
    return there;
}

static void move(const char *from, const char *to)
{
    char *old = in_run(from), *new = in_run(to);
    ck_assert_int_eq(rename(old, new), 0);
    free(old);
    free(new);
}

/* Flips one bit in the middle of the file. */
static void damage(const char *name)
{
    char *path = in_run(name), *bytes;
    size_t size;
    Error error;
    ck_assert_msg(file_read(path, 1 << 24, &bytes, &size, &error), "%s", error.text);
    bytes[size / 2] ^= 4;
    scratch_write(path, bytes, size);
    free(bytes);
    free(path);
}

/* --- checkpoints --- */

/* Settings of a small run on a few words. */
static void settle(Trainer *trainer)
{
    char *corpus = scratch_path("words.txt"), *text = NULL;
    for (size_t i = 0; i < 60; i++)
        text_append(&text, "w%zu w%zu w%zu\n", i % 7, i % 5, i % 3);
    scratch_write(corpus, text, strlen(text));
    free(text);
    *trainer = (Trainer){0};
    text = text_format("layers = 1\ndim = 8\nheads = 2\ncontext = 8\nbatch = 2\ncorpus = %s\n",
                       corpus);
    support_settle(&trainer->settings, text);
    free(text);
}

static void begin(Trainer *trainer)
{
    Error error;
    settle(trainer);
    ck_assert_msg(trainer_plan(trainer, NULL, &error), "%s", error.text);
    trainer_allocate(trainer);
    ck_assert_msg(trainer_start(trainer, &error), "%s", error.text);
}

/* Saves as the loop does. */
static bool save(const Trainer *trainer, Error *error)
{
    RunFolder folder = {.path = run_path, .next = in_run("next.safetensors")};
    bool good = trainer_save(trainer, folder.next, true, error) &&
                folder_turn(&folder, false, error);
    free(folder.next);
    return good;
}

static void step_and_save(Trainer *trainer, size_t times)
{
    Step step;
    Error error;
    for (size_t i = 0; i < times; i++) {
        ck_assert_msg(trainer_step(trainer, &step, &error), "%s", error.text);
        ck_assert_msg(save(trainer, &error), "%s", error.text);
    }
}

/* Expects to resume from the checkpoint of this step; "" expects none. */
static void check_newest(const char *step)
{
    Checkpoint checkpoint;
    Error error;
    bool good = folder_open_checkpoint(&checkpoint, run_path, &error);
    ck_assert_msg(good == (*step != '\0'), "%s", error.text);
    if (!good)
        return;
    ck_assert_str_eq(checkpoint_extra(&checkpoint, STEP_KEY), step);
    ck_assert_msg(folder_settle(&checkpoint, run_path, &error), "%s", error.text);
    checkpoint_close(&checkpoint);
}

TEST(previous_checkpoint_is_kept)
{
    Trainer trainer;
    begin(&trainer);
    check_newest("");
    step_and_save(&trainer, 1);
    ck_assert(!is_there("previous.safetensors"));
    check_newest("1");
    step_and_save(&trainer, 2);
    check_newest("3");
    ck_assert(!is_there("next.safetensors") && !is_there("last.safetensors.damaged"));
    damage("last.safetensors");
    check_newest("2");
    ck_assert(is_there("last.safetensors.damaged") && !is_there("last.safetensors"));
    step_and_save(&trainer, 1); /* the valid checkpoint survives */
    move("last.safetensors", "elsewhere");
    check_newest("2");
    trainer_free(&trainer);
}

/* The states of the directory when a save is interrupted between its steps. */
TEST(save_may_be_interrupted_anywhere)
{
    Trainer trainer;
    begin(&trainer);
    step_and_save(&trainer, 3);
    move("last.safetensors", "next.safetensors"); /* last was renamed to previous */
    check_newest("3");
    ck_assert(is_there("last.safetensors") && !is_there("next.safetensors"));
    step_and_save(&trainer, 1);
    check_newest("4");
    char *torn = in_run("next.safetensors");
    scratch_write(torn, "half", 4);
    check_newest("4");
    free(torn);
    trainer_free(&trainer);
}

TEST(failed_save_keeps_old_checkpoints)
{
    Trainer trainer;
    Error error;
    begin(&trainer);
    step_and_save(&trainer, 2);
    char *next = in_run("next.safetensors");
    ck_assert_int_eq(mkdir(next, 0700), 0);
    ck_assert(!save(&trainer, &error));
    support_check_error(&error, next, "cannot replace");
    check_newest("2");
    ck_assert_int_eq(rmdir(next), 0);
    trainer.m[0] = (real)NAN;
    ck_assert(!save(&trainer, &error));
    support_check_error(&error, next, "NaN or infinity");
    check_newest("2");
    ck_assert(is_there("previous.safetensors"));
    free(next);
    trainer_free(&trainer);
}

TEST(weights_only_cannot_be_resumed)
{
    Trainer trainer;
    Error error;
    begin(&trainer);
    step_and_save(&trainer, 2);
    char *last = in_run("last.safetensors");
    ck_assert(trainer_save(&trainer, last, false, &error));
    check_newest("1");
    free(last);
    trainer_free(&trainer);
}

/* --- the lock --- */

/* Starts a child that holds the lock until killed; returns once it is held. */
static pid_t fork_owner(void)
{
    int ready[2];
    char byte;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        Error error;
        bool good = lock_acquire(LOCK_RUN, run_path, &error);
        if (write(ready[1], good ? "y" : "n", 1) == 1)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 'y');
    close(ready[0]);
    close(ready[1]);
    return child;
}

TEST(run_directory_is_locked_by_one_process)
{
    Error error;
    pid_t child = fork_owner();
    char *owner = text_format("in use by process %ld;", (long)child);
    ck_assert(!lock_acquire(LOCK_RUN, run_path, &error));
    support_check_error(&error, run_path, owner);
    ck_assert(
        !lock_acquire(LOCK_RUN, run_path, &error)); /* the failed attempt changed nothing */
    support_check_error(&error, run_path, owner);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert(is_there("lock")); /* the lock file is still there */
    ck_assert_msg(lock_acquire(LOCK_RUN, run_path, &error), "%s", error.text);
    lock_release(LOCK_RUN);
    ck_assert(!is_there("lock"));
    lock_release(LOCK_RUN); /* a second release does nothing */
    free(owner);
}

TEST(released_lock_can_be_taken_again)
{
    Error error;
    ck_assert(lock_acquire(LOCK_RUN, run_path, &error));
    ck_assert_msg(lock_acquire(LOCK_RUN, run_path, &error), "%s", error.text);
    ck_assert(is_there("lock"));
    char *path = in_run("lock");
    ck_assert_int_eq(unlink(path), 0);
    scratch_write(path, "another's\n", strlen("another's\n"));
    lock_release(LOCK_RUN);
    ck_assert(is_there("lock")); /* no longer ours */
    free(path);
    ck_assert(!lock_acquire(LOCK_RUN, "/nowhere/at/all", &error));
    support_check_error(&error, "/nowhere/at/all/lock", "cannot lock");
}

/* --- the run directory --- */

TEST(removed_directory_is_recreated)
{
    Trainer trainer;
    RunFolder folder;
    Error error;
    bool again;
    begin(&trainer);
    trainer.settings.session.run = in_run("inner");
    RunView run = trainer_view(&trainer);
    ck_assert_msg(folder_create(&folder, &run, &error), "%s", error.text);
    ck_assert(runlog_append(&folder.log, &(RunLogRow){.step = 1}, &error));
    ck_assert(folder_restore(&folder, &run, &again, &error) && !again);
    scratch_empty();
    ck_assert(!folder_restore(&folder, &run, &again, &error) && again);
    support_check_error(&error, folder.path, "the run directory is gone");
    ck_assert_int_eq(mkdir(run_path, 0700), 0);
    ck_assert_msg(folder_restore(&folder, &run, &again, &error), "%s", error.text);
    ck_assert(again && is_there("inner/settings.conf") && is_there("inner/lock"));
    ck_assert(runlog_append(&folder.log, &(RunLogRow){.step = 2}, &error));
    RunLogRow *rows;
    char *log = in_run("inner/log.csv");
    ck_assert(runlog_read(log, &rows, &error));
    ck_assert_uint_eq(rows[0].step + 10 * rows[1].step, 21);
    arrfree(rows);
    free(log);
    folder_free(&folder);
    lock_release(LOCK_RUN);
    trainer_free(&trainer);
}

/* --- memory --- */

/* Writes a file of a fake system root below the run directory. */
static void put(const char *path, const char *text)
{
    char *whole = in_run(path), *command = text_format("mkdir -p \"$(dirname '%s')\"", whole);
    ck_assert_int_eq(system(command), 0);
    scratch_write(whole, text, strlen(text));
    free(command);
    free(whole);
}

TEST(cgroup_v2_memory_limit_is_found)
{
    ck_assert(isinf(allowance_of_groups(run_path)));
    put("proc/self/cgroup", "0::/outer/inner\n");
    put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    put("sys/fs/cgroup/outer/inner/memory.current", "100\n");
    ck_assert(isinf(allowance_of_groups(run_path)));
    put("sys/fs/cgroup/outer/memory.max", "1000\n");
    put("sys/fs/cgroup/outer/memory.current", "400\n");
    ck_assert(allowance_of_groups(run_path) == 600);
    put("sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 150\n");
    ck_assert(allowance_of_groups(run_path) == 750); /* the page cache can be reclaimed */
    put("sys/fs/cgroup/outer/inner/memory.max", "150\n");
    ck_assert(allowance_of_groups(run_path) == 50);
    put("sys/fs/cgroup/memory.max", "10\n");
    put("sys/fs/cgroup/memory.current", "20\n");
    ck_assert(allowance_of_groups(run_path) == 0);
    put("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    ck_assert(isinf(control_groups_processors(run_path)));
    put("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    ck_assert(control_groups_processors(run_path) == 1.5);
}

TEST(cgroup_v1_memory_limit_is_found)
{
    put("proc/self/cgroup", "6:cpuset:/bound\n5:devices:/other\n4:cpu,memory:/a\n0::/\n");
    put("sys/fs/cgroup/cpu/bound/cpu.cfs_period_us", "50000\n"); /* of other processes */
    put("sys/fs/cgroup/cpu/bound/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n");
    put("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "3000\n");
    put("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    ck_assert(allowance_of_groups(run_path) == 2500);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "4000\n");
    ck_assert(allowance_of_groups(run_path) == 2500);
    put("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "50000\n");
    put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
    ck_assert(isinf(control_groups_processors(run_path)));
    put("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
    ck_assert(control_groups_processors(run_path) == 4);
}

/* Data size of this process in bytes. */
static double own_data(void)
{
    double pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*s %*s %*s %*s %*s %lf", &pages), 1);
    fclose(file);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

TEST(smallest_memory_limit_counts)
{
    const double room = 30e6;
    struct rlimit before, limit;
    Allowance free_memory = allowance_find(0, 0), asked = allowance_find(1000, 0);
    ck_assert(free_memory.bytes > room && asked.bytes == 1000);
    ck_assert_ptr_nonnull(strstr(asked.reason, "--max-mem"));
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    limit = before;
    limit.rlim_cur = (rlim_t)(own_data() + room);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &limit), 0);
    Allowance little = allowance_find(0, 0), more = allowance_find(0, room);
    setrlimit(RLIMIT_DATA, &before);
    ck_assert(little.bytes > 0 && little.bytes <= room);
    ck_assert_ptr_nonnull(strstr(little.reason, "ulimit"));
    ck_assert(more.bytes > room && more.bytes <= 2 * room); /* of which it has one */
}

TEST(sampling_memory_is_counted)
{
    Trainer plain, sampling;
    Error error;
    settle(&plain);
    settle(&sampling);
    sampling.settings.session.sample_every = 1;
    ck_assert(trainer_plan(&plain, NULL, &error) && trainer_plan(&sampling, NULL, &error));
    ck_assert_uint_gt(plain.memory, plain.arena.used + corpus_memory(&plain.corpus));
    ck_assert_uint_gt(sampling.memory, plain.memory);
    trainer_free(&plain);
    trainer_free(&sampling);
}
