/* Real instead of injected faults: a full disk, and programs started with closed streams. */
#include "eval/runs/runlog.h"
#include "src/base/containers.h"
#include "src/base/text.h"
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a full disk --- */

/* Mounts in a private namespace, which ends with this process; false without the right to. */
static bool mount_small_disk(const char *path)
{
    return mkdir(path, 0700) == 0 && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", path, "tmpfs", 0, "size=1m") == 0;
}

static void fill(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (fd >= 0 && write(fd, zeros, sizeof zeros) > 0)
        ;
    expect(errno == ENOSPC, "%s: %s", path, strerror(errno));
    close(fd);
}

static void check_full_disk(void)
{
    if (!mount_small_disk("disk")) {
        printf("skipped: a full disk, which needs the right to mount one: %s\n",
               strerror(errno));
        return;
    }
    copy_folder("base", "disk/run");
    fill("disk/filler");
    Outcome full = session_run(NULL, RUN_RESUME "disk/run");
    expect(full.status == 1 && strstr(full.messages, "No space left"),
           "a full disk: status %d: %s", full.status, full.messages);
    outcome_free(&full);
    expect(same_file("disk/run/last.safetensors", "base/last.safetensors"),
           "a full disk: the checkpoint was changed");
    expect(!folder_has("disk/run", ".tmp"), "a full disk: a temporary file is left");
    unlink("disk/filler");
    session_works(RUN_RESUME "disk/run");
    expect(same_end("disk/run", "ended"),
           "after a full disk: the files differ from an undisturbed run");
    umount("disk");
}

/* --- closed streams --- */

/* A file opened then gets the number of a stream, and messages would go into it. */
static void check_closed(const char *streams)
{
    RunLogRow *rows = NULL;
    Error error = {0};
    remove_folder("run");
    Outcome outcome = session_closed(streams, RUN_TRAIN "--no-quiet --run run text.txt");
    expect(outcome.status == 0, "streams %s closed: status %d: %s", streams, outcome.status,
           outcome.messages);
    expect(same_end("run", "ended"),
           "streams %s closed: the files differ from an undisturbed run", streams);
    expect(runlog_read("run/log.csv", &rows, &error) && arrlenu(rows) == 6,
           "streams %s closed: %zu rows in the log: %s", streams, arrlenu(rows), error.text);
    expect(same_file("run/settings.conf", "ended/settings.conf") &&
               same_file("run/samples.txt", "ended/samples.txt"),
           "streams %s closed: messages were written to a file", streams);
    arrfree(rows);
    outcome_free(&outcome);
}

void check_places(void)
{
    static const char *const streams[] = {"0", "1", "2", "12", "012"};
    make_runs();
    check_full_disk();
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        check_closed(streams[i]);
}
