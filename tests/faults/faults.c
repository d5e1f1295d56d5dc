/* Counted faults: the first call that can fail does, in the next session the second, and so on
 * until a session has no call left to fail. SQLite is tested this way; it reaches every path
 * that handles an error.
 *
 * Whatever fails, a program either succeeds or ends with status 1 and a reason; earlier files
 * stay intact; and a training run resumes to exactly the files of an undisturbed one. */
#include "src/base/memory.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "tests/faults/checks.h"
#include "tests/faults/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

#define MOST_BYTES ((size_t)64 << 20)

typedef struct Fault {
    const char *name, *action;
    int reason;
    const char *calls;
    const char *says; /* part of the error message, if not NULL */
    bool has_to_work; /* the failure must have no effect */
    bool may_litter;  /* removing temporary files fails as well */
} Fault;

#define MEMORY  "malloc,calloc,realloc,aligned_alloc,open_memstream"
#define READS   "read,pread"
#define WRITES  "write,pwrite,ftruncate,fallocate"
#define OPENS   "open,fopen,fdopen,tmpfile,opendir,mkdir"
#define LOOKS   "access,stat,fstat,lseek,readlink,realpath,flock,readdir"
#define NAMES   "rename,link,unlink"
#define SYNCS   "fsync,fdatasync"
#define MAKES   "open,mkdir," NAMES "," SYNCS ",ftruncate"
#define CHANGES "open,mkdir," WRITES "," NAMES "," SYNCS ",close"

static const Fault faults[] = {
    {"memory", "once", ENOMEM, MEMORY, "memory", false, false},
    {"no memory", "always", ENOMEM, MEMORY, "memory", false, false},
    {"threads", "always", EAGAIN, "pthread_create", NULL, true, false},
    {"unpacking", "once", ENOMEM, "inflateInit2_,inflate", NULL, false, false},
    {"open", "once", EMFILE, OPENS, NULL, false, false},
    {"no files", "always", EMFILE, OPENS, NULL, false, true},
    {"read", "once", EIO, READS, NULL, false, false},
    {"interrupted", "once", EINTR, READS ",write", NULL, true, false},
    {"short read", "half", 0, READS, NULL, true, false},
    {"short write", "half", 0, "write", NULL, false, false},
    {"write", "once", ENOSPC, WRITES, NULL, false, false},
    {"disk full", "always", ENOSPC, WRITES, NULL, false, false},
    {"quota", "always", EDQUOT, WRITES, NULL, false, false},
    {"sync", "once", EIO, SYNCS, NULL, false, false},
    {"close", "once", EIO, "close,fclose", NULL, false, false},
    {"names", "once", EIO, NAMES, NULL, false, true},
    {"no names", "always", EROFS, NAMES, NULL, false, true},
    {"look", "once", EIO, LOOKS, NULL, false, false},
    {"clock", "always", 0, "clock_gettime,time", NULL, true, false},
    {"output", "once", EIO, "fflush", NULL, false, false},
    {"folder gone", "gone", 0, CHANGES, NULL, false, true},
    {"killed", "kill", 0, CHANGES, NULL, false, true},
    {"asked to end", "signal", 0, MAKES, NULL, false, false},
    {"told to end", "signals", 0, MAKES, NULL, false, false},
};

typedef struct Body {
    const char *name, *command;
    const char *end;  /* for training: the undisturbed run */
    const char *out;  /* the file or directory it writes, if not NULL */
    bool goes_on;     /* which exists already, incomplete */
    const char *only; /* the only fault to try; NULL: all */
} Body;

static const Body bodies[] = {
    {"train", RUN_TRAIN "--run run text.txt", "ended", NULL, false, NULL},
    {"train packed", RUN_TRAIN "--run run text.gz", "ended-packed", NULL, false, "unpacking"},
    {"resume", RUN_RESUME "run", "ended", NULL, true, NULL},
    {"eval", "eval base text.txt --split test", NULL, NULL, false, NULL},
    {"sample", "sample --seed 1 --length 8 --prompt the base", NULL, NULL, false, NULL},
    {"inspect", "inspect base --text the.linnet.sings", NULL, NULL, false, NULL},
    {"compare", "compare base ended --html page", NULL, "page", false, NULL},
    {"curves", "compare base ended --svg page", NULL, "page", false, NULL},
    {"export", "export base exported", NULL, "exported", false, NULL},
    {"import", "import model imported", NULL, "imported", false, NULL},
};

bool same_end(const char *run, const char *other)
{
    static const char *const names[] = {"best.safetensors", "last.safetensors"};
    bool same = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *a = file_join(run, names[i]), *b = file_join(other, names[i]);
        same = same && same_file(a, b);
        free(a);
        free(b);
    }
    return same;
}

/* --- checks after a fault --- */

/* One session: a fault at the NUMBERth call. */
typedef struct Trial {
    const Fault *fault;
    const Body *body;
    char *label;
    const Outcome *usual; /* the output without a fault */
    Outcome outcome;
} Trial;

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Each line of the messages begins with the program's name. */
static bool is_signed(const Trial *trial)
{
    size_t length = strcspn(trial->body->command, " ");
    for (const char *line = trial->outcome.messages; *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, trial->body->command, length) != 0 || line[length] != ':' ||
            !strchr(line, '\n'))
            return false;
    return true;
}

/* Whether the page reports an unreadable part of a run. */
static bool page_tells(const char *path)
{
    Error error;
    char *text;
    size_t size;
    if (!path || file_is_folder(path) || !file_read(path, MOST_BYTES, &text, &size, &error))
        return false;
    bool tells = strstr(text, "No sample: ");
    free(text);
    return tells;
}

/* Whether a message is none of the usual ones. */
static bool has_new_message(const Trial *trial)
{
    char *messages = memory_copy_text(trial->outcome.messages), *rest = messages;
    bool is_new = false;
    for (char *line; (line = strsep(&rest, "\n"));)
        is_new = is_new || !strstr(trial->usual->messages, line);
    free(messages);
    return is_new;
}

/* The program finished as if nothing had happened. */
static bool is_silent(const Trial *trial)
{
    return trial->outcome.status == 0 && !has_new_message(trial) &&
           !page_tells(trial->body->out);
}

static void check_ending(const Trial *trial)
{
    const Outcome *outcome = &trial->outcome;
    const Fault *fault = trial->fault;
    if (strcmp(fault->action, "kill") == 0 && outcome->fired) {
        expect(outcome->status == -SIGKILL, "%s: status %d", trial->label, outcome->status);
        return;
    }
    if (strncmp(fault->action, "signal", 6) == 0 && outcome->fired) {
        int by = outcome->status < 0 ? -outcome->status : outcome->status - 128;
        expect(outcome->status == 0 || by == SIGTERM || by == SIGINT, "%s: status %d: %s",
               trial->label, outcome->status, outcome->messages);
        return;
    }
    expect(outcome->status == 0 || (outcome->status == 1 && !fault->has_to_work),
           "%s: status %d%s: %s", trial->label, outcome->status,
           outcome->status == -SIGALRM ? ", it hung" : "", outcome->messages);
    if (is_silent(trial))
        expect(strcmp(outcome->out, trial->usual->out) == 0, "%s: other output: %s",
               trial->label, outcome->out);
    if (outcome->status != 1)
        return;
    expect(*outcome->messages && is_signed(trial), "%s: messages: %s", trial->label,
           outcome->messages);
    if (fault->says) /* once, besides the usual messages */
        expect(strstr(outcome->messages, fault->says) &&
                   count_lines(outcome->messages) <= count_lines(trial->usual->messages) + 1,
               "%s: messages: %s", trial->label, outcome->messages);
}

/* If the best checkpoint cannot be saved, the next better validation saves one. The run then
 * records another best step than an undisturbed run, but ends with its weights. The same holds
 * if the directory disappeared together with the best checkpoint. */
static bool is_same_end(const Trial *trial)
{
    char *last = file_join(trial->body->end, "last.safetensors");
    bool without_best = strstr(trial->outcome.messages, "best.safetensors") ||
                        strcmp(trial->fault->action, "gone") == 0;
    bool same = without_best ? same_numbers("run/last.safetensors", last)
                             : same_end("run", trial->body->end);
    free(last);
    return same;
}

/* The resumed run ends like the undisturbed one. */
static void check_run(const Trial *trial)
{
    if (!has_checkpoint("run")) {
        bool went_along = has_checkpoint("elsewhere");
        expect(went_along || (trial->outcome.status != 0 && !trial->body->goes_on),
               "%s: no checkpoint is left: %s", trial->label, trial->outcome.messages);
        return;
    }
    Outcome resumed = session_run(NULL, RUN_RESUME "run");
    expect(resumed.status == 0, "%s: then --resume: status %d: %s", trial->label,
           resumed.status, resumed.messages);
    expect(resumed.status != 0 || is_same_end(trial),
           "%s: then --resume: the files differ from an undisturbed run", trial->label);
    expect(!folder_has("run", ".tmp"), "%s: --resume leaves a temporary file", trial->label);
    outcome_free(&resumed);
}

static void check_files(const Trial *trial)
{
    const Body *body = trial->body;
    if (!trial->fault->may_litter)
        expect(!folder_has(".", ".tmp") && !folder_has("run", ".tmp"),
               "%s: a temporary file is left", trial->label);
    remove_leftovers(".");
    remove_leftovers("base");
    if (body->end)
        check_run(trial);
    expect(same_folder("base", "pristine"), "%s: the files of a run were changed",
           trial->label);
    if (!body->out || !is_silent(trial)) /* an incomplete export is useless, but harmless */
        return;
    char *usual = text_format("usual-%s", body->out);
    expect(file_is_folder(usual) ? same_folder(body->out, usual) : same_file(body->out, usual),
           "%s: it made another %s", trial->label, body->out);
    free(usual);
}

/* --- all faults --- */

static void prepare(const Body *body)
{
    remove_folder("run");
    remove_folder("elsewhere");
    if (body->goes_on)
        copy_folder("base", "run");
    if (body->out)
        remove_folder(body->out);
}

/* The outcome without a fault. */
static Outcome run_usual(const Body *body)
{
    prepare(body);
    Outcome usual = session_run(NULL, body->command);
    expect(usual.status == 0, "%s: status %d: %s", body->name, usual.status, usual.messages);
    if (body->out) {
        char *kept = text_format("usual-%s", body->out);
        remove_folder(kept);
        expect(rename(body->out, kept) == 0, "%s: it made no %s", body->name, body->out);
        free(kept);
    }
    remove_folder("pristine"); /* a program may write a file to a run directory once */
    copy_folder("base", "pristine");
    return usual;
}

/* Returns false if no call was left to fail. */
static bool try_fault(const Body *body, const Fault *fault, size_t number, const Outcome *usual)
{
    char *spec = text_format("%s %zu %d %s", fault->action, number, fault->reason,
                             fault->calls);
    Trial trial = {.fault = fault,
                   .body = body,
                   .label = text_format("%s, %s at call %zu", body->name, fault->name, number),
                   .usual = usual};
    prepare(body);
    trial.outcome = session_run(spec, body->command);
    bool fired = trial.outcome.fired;
    check_ending(&trial);
    check_files(&trial);
    outcome_free(&trial.outcome);
    free(trial.label);
    free(spec);
    return fired;
}

void make_runs(void)
{
    remove_folder("ended");
    remove_folder("ended-packed");
    remove_folder("base");
    session_works(RUN_TRAIN "--run ended text.txt");
    session_works(RUN_TRAIN "--run ended-packed text.gz");
    session_works(RUN_TRAIN "--stop-after 3 --run base text.txt");
    remove_folder("model");
    session_works("export base model");
}

/* Thousands of allocations come from the same places: tries about one in sixty. */
static size_t next_number(size_t number, const Fault *fault, bool quick)
{
    enum { ALIKE = 64 };
    if (quick)
        return 2 * number + 1;
    return strcmp(fault->calls, MEMORY) == 0 ? number + 1 + number / ALIKE : number + 1;
}

void check_faults(bool quick)
{
    make_runs();
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
        Outcome usual = run_usual(&bodies[b]);
        for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
            size_t number = 1;
            if (bodies[b].only && strcmp(bodies[b].only, faults[f].name) != 0)
                continue;
            while (try_fault(&bodies[b], &faults[f], number, &usual))
                number = next_number(number, &faults[f], quick);
        }
        outcome_free(&usual);
    }
}
