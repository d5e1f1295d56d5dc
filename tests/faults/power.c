/* Power failures: records every call of a run that changes files, replays the record up to each
 * call on a simulated disk that keeps only synced data, and resumes the run from there.
 *
 * The record also shows the order of calls: a file is written, synced, closed and renamed, and
 * the directory synced, before the next file is begun. */
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/faults/checks.h"
#include "tests/faults/disk.h"
#include "tests/faults/session.h"

#include <stdlib.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)64 << 20)
enum { QUICK_STRIDE = 23 };

/* Writes the directory as it may be now; returns whether there is a checkpoint to resume from.
 */
static bool check_state(const Disk *disk, Kept bytes, Kept names, size_t call, bool saved)
{
    disk_write(disk, bytes, names);
    bool possible = has_checkpoint("run");
    expect(possible || !saved,
           "power lost at call %zu (bytes %d, names %d): no checkpoint loads", call, (int)bytes,
           (int)names);
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
    *saved = sure; /* once a checkpoint is safe, one must stay safe */
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
    expect(!disk_owes_sync(disk), "the directory is not synced at the end");
    disk_free(disk);
    free(record);
    remove_folder("run");
}
