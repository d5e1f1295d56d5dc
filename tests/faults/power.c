/* Power failures: all that a run does to its files is written down, played again up to each
 * call on a disk that keeps only what it was made to keep, and the run continued from there.
 *
 * The same record shows that things are done in their order: a file is written, synced, closed,
 * renamed, and then the folder is synced, before the next file is begun. */
#include "src/file.h"
#include "src/text.h"
#include "tests/faults/checks.h"
#include "tests/faults/disk.h"
#include "tests/faults/session.h"

#include <stdlib.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)64 << 20)
enum { QUICK_STRIDE = 23 };

/* The folder as it may be now; returns whether there is something to go on from. */
static bool check_state(const Disk *disk, Kept bytes, Kept names, size_t call, bool saved)
{
    disk_write(disk, bytes, names);
    bool possible = has_checkpoint("run");
    expect(possible || !saved, "power lost at call %zu (bytes %d, names %d): nothing loads",
           call, (int)bytes, (int)names);
    if (!possible)
        return false;
    Outcome outcome = session_run(NULL, RUN_RESUME "run");
    expect(outcome.status == 0 && same_end("run", "ended"),
           "power lost at call %zu (bytes %d, names %d): --resume: status %d: %s", call,
           (int)bytes, (int)names, outcome.status, outcome.messages);
    outcome_free(&outcome);
    return true;
}

static void check_states(const Disk *disk, size_t call, bool *saved)
{
    bool sure = true;
    for (Kept bytes = KEPT_ALL; bytes < KEPT_WAYS; bytes++)
        for (Kept names = KEPT_ALL; names <= KEPT_NONE; names++)
            sure = check_state(disk, bytes, names, call, *saved) && sure;
    *saved = sure; /* once no failure could take it away, none may later */
}

void check_power(bool quick)
{
    char *record;
    size_t size, call = 0;
    Error error;
    bool changed, saved = false;
    make_runs();
    remove_folder("run");
    unlink("record");
    Outcome outcome = session_recorded("record", RUN_TRAIN "--run run text.txt");
    outcome_free(&outcome);
    if (!file_read("record", MOST_BYTES, &record, &size, &error))
        die("%s", error.text);
    Disk *disk = disk_make("run");
    for (const char *next = record; *next; call++) {
        const char *fault = NULL;
        next = disk_play(disk, next, &changed, &fault);
        expect(!fault, "call %zu: %s", call, fault ? fault : "");
        if (changed && call % (quick ? QUICK_STRIDE : 1) == 0)
            check_states(disk, call, &saved);
    }
    expect(!disk_owes_sync(disk), "in the end the folder is not synced");
    disk_free(disk);
    free(record);
    remove_folder("run");
}
