/* Kills one run with kill -9 at random moments and resumes it each time. In the end its files
 * are those of an undisturbed run. */
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LONG_RUN RUN_TRAIN_OF("60")
enum { SEED = 11, KILLS = 200, KILLS_QUICK = 15 };

static long microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void check_end(int kills)
{
    expect(same_end("run", "undisturbed"),
           "killed %d times: the files differ from an undisturbed run", kills);
    expect(!folder_has("run", ".tmp"), "killed %d times: a temporary file is left", kills);
}

/* One session, killed after this time; returns whether it was still running. */
static bool kill_one(int number, long after)
{
    bool started = has_checkpoint("run");
    if (!started)
        remove_folder("run");
    Outcome outcome = session_kill(after,
                                   started ? RUN_RESUME "run" : LONG_RUN "--run run text.txt");
    bool killed = outcome.status == -SIGKILL;
    expect(killed || outcome.status == 0, "kill %d: status %d: %s", number, outcome.status,
           outcome.messages);
    outcome_free(&outcome);
    expect(!started || has_checkpoint("run"), "kill %d: no checkpoint is left", number);
    return killed;
}

void check_kills(bool quick)
{
    int kills = quick ? KILLS_QUICK : KILLS, in_this_run = 0, number = 0;
    long begin = microseconds();
    session_works(LONG_RUN "--run undisturbed text.txt");
    long whole = microseconds() - begin;
    printf("%d kills, seed %d\n", kills, SEED);
    srandom(SEED);
    remove_folder("run");
    while (number < kills) {
        if (kill_one(number, 1 + random() % (whole / 2))) {
            number++;
            in_this_run++;
        } else {
            check_end(in_this_run);
            remove_folder("run");
            in_this_run = 0;
        }
    }
    if (has_checkpoint("run")) {
        session_works(RUN_RESUME "run");
        check_end(in_this_run);
    }
    remove_folder("run");
}
